"""Copies from or to pageable memory, which the driver stages: avoid that by the cheapest method, or leave them."""

from typing import Any

import numpy as np

from isthmus.advice.code import CALLS, way_code
from isthmus.advice.loops import one_way
from isthmus.advice.pageable_remedies import Group, Memory, Remedy, best_remedy, memory_of
from isthmus.advice.places import copy_places, size_steps
from isthmus.advice.rates import Rates, saved
from isthmus.advice.records import ONE_WAY
from isthmus.advice.rule import Draft, Rule, Summary, Words
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import least_gain
from isthmus.language import say, sentences
from isthmus.record import BufferNeed, BufferSource, Direction, decimal_bytes, format_rate, format_seconds
from isthmus.trace import UNKNOWN, Integers, grouped, union


def _find(scene: Scene, rates: Rates) -> Draft | None:
    every = np.concatenate([scene.of(direction, "pageable") for direction in ONE_WAY])
    if not every.size:
        return None
    groups = [each for direction in ONE_WAY for each in _of_way(scene, rates, direction)]
    if not groups:
        return Draft("copies", every, np.zeros((every.size, 3)), level="note")
    rows = np.concatenate([group.rows for group, _, _ in groups])
    leading, largest, memory = max(groups, key=lambda each: each[1].gain)
    facts = {
        "way": largest.name,
        "memory": memory,
        "bytes": int(np.median(leading.sizes)),
        "direction": one_way(int(scene.trace.copies.direction[leading.rows[0]])),
        "uses": leading.rows.size,
        "once": sum(float(method.once[0]) for _, method, _ in groups),
        "addresses": "addresses" in scene.trace.knows,
        "dry": _dry(scene, rows),
        "span": scene.span_seconds,
        **_new_facts(rates, leading, memory),
    }
    once = np.sum([method.once for _, method, _ in groups], axis=0)
    return Draft("copies", rows, np.concatenate([method.gains for _, method, _ in groups]), once, facts=facts)


def _of_way(scene: Scene, rates: Rates, direction: Direction) -> list[tuple[Group, Remedy, Memory]]:
    """Groups of copies for which another method is faster, each with the fastest."""
    rows = scene.of(direction, "pageable")
    if not rows.size:
        return []
    sizes = scene.trace.copies.bytes[rows]
    cost, exposed = scene.cost(rows, rates), scene.exposed(rows)
    groups = []
    for at in grouped(copy_places(scene, rows), size_steps(sizes)):
        group = Group(rows[at], direction, sizes[at], cost[at], exposed[at])
        memory = memory_of(scene, rates, group)
        best = best_remedy(scene, rates, group, memory)
        if best.gain > 0:
            groups.append((group, best, memory))
    return groups


def _new_facts(rates: Rates, group: Group, memory: Memory) -> dict[str, Any]:
    """What copies into new pages reach, and into pages that are there would; nothing for others."""
    if memory != "new pages":
        return {}
    warm = rates.copy("pageable", group.direction, group.sizes)
    moved, lasted = float(group.sizes.sum()), float(group.cost.sum())
    gain = float(saved(group.cost, warm, group.exposed)[:, 0].sum())
    return {"seen": moved / lasted, "warm": moved / float(warm[:, 0].sum()), "warm_gain": gain}


def _dry(scene: Scene, rows: Integers) -> float:
    """Seconds in which other streams had nothing left to do because the thread that feeds them was in these calls.

    What of that the copies cost the program is in the gain already.
    """
    trace = scene.trace
    rows = rows[scene.blocking(rows)]
    kernels, calls = trace.kernels, scene.call(rows)
    known = (kernels.process == scene.process) & (kernels.call >= 0) & (kernels.call < len(trace.calls))
    if not rows.size or not known.any():
        return 0.0
    thread = np.where(known, trace.calls.thread[np.where(known, kernels.call, 0)], UNKNOWN)
    fed = known & np.isin(thread, np.unique(trace.calls.thread[calls]))
    fed &= (kernels.stream != UNKNOWN) & ~np.isin(kernels.stream, np.unique(trace.copies.stream[rows]))
    at_work = union(scene.moments(kernels.start_ns[fed]), scene.moments(kernels.end_ns[fed]))
    begin = scene.moments(trace.calls.start_ns[calls])
    end = begin + scene.lasted(trace.calls, calls)
    worked = at_work.covered(begin, end)
    return float(np.maximum(end - begin - worked, 0.0)[worked > 0].sum())


def _words(summary: Summary) -> Words:
    title = say("advice.pageable_title", count=summary.calls, size=decimal_bytes(summary.bytes))
    cause, facts = say("advice.pageable_cause"), summary.facts
    if not facts:
        return Words(title, cause, say("advice.pageable_leave"))
    pages, warmer = "", ""
    if "seen" in facts:
        pages = say("advice.pageable_new_pages", seen=format_rate(facts["seen"]), warm=format_rate(facts["warm"]))
        warmer = say("advice.pageable_warm", time=format_seconds(facts["warm_gain"]))
    dry = (
        say("advice.pageable_dry", time=format_seconds(facts["dry"]))
        if facts["dry"] >= least_gain(facts["span"])
        else ""
    )
    changes = {
        "registered": say("advice.pageable_register"),
        "pinned": say("advice.pageable_pin", call=CALLS["pin"][summary.interface]),
        "loader": say("advice.pageable_loader"),
        "kept": say("advice.pageable_kept", call=CALLS["pin"][summary.interface]),
        "staging": say("advice.pageable_stage"),
    }
    either = ""
    plain = facts["way"] in ("registered", "pinned") and summary.interface == "cuda"
    if plain and (facts["memory"], facts["direction"]) == ("unknown", "h2d"):
        either = say("advice.pageable_or_loader")
    once = say("advice.pageable_once", time=format_seconds(facts["once"])) if facts["once"] > 0 else ""
    buffers = "" if facts["addresses"] else say("advice.pageable_one_buffer")
    # In code, a buffer that is kept or filled ahead is pinned memory like any other.
    method = "pinned" if facts["way"] in ("loader", "kept") else facts["way"]
    source: BufferSource = "new" if method == "pinned" else "pageable"
    need = BufferNeed(facts["bytes"], facts["direction"], facts["uses"], source)
    kept = {"registered": "same", "pinned": "new", "loader": "new", "staging": "staging"}
    lines = "pageable-d2h" if facts["direction"] == "d2h" else f"pageable-{kept[facts['way']]}-h2d"
    return Words(
        title,
        sentences([cause, pages, dry]),
        sentences([changes[facts["way"]], warmer, either]),
        sentences([once, buffers]),
        way_code(need, method, summary.interface),
        lines,
    )


RULE = Rule("pageable", (), _find, _words)
