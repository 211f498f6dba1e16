"""Pieces that are copied one by one: rows or columns that one 2-D copy moves, small copies that a pack moves.

A kernel, a wait or an allocation may be between those of a loop.
"""

from collections.abc import Mapping

import numpy as np

from isthmus.advice.code import CALLS, own_code, way_code
from isthmus.advice.loops import Burst, Loop, bursts, in_one_call, looped, one_way, packed, pieces_need, source_of
from isthmus.advice.places import copy_places, size_steps
from isthmus.advice.rates import Rates
from isthmus.advice.records import Interface
from isthmus.advice.rule import Draft, Rule, Summary, Words
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import (
    LATENCY_BYTES,
    LEAST_BURST,
    LIST_BYTES,
    LONGEST_PERIOD_SECONDS,
    MOST_COMPUTING,
    SMALL_COPY_BYTES,
)
from isthmus.language import say, sentences
from isthmus.record import PiecesNeed, SectionNeed, decimal_bytes, format_bytes, format_seconds, near_bytes
from isthmus.trace import UNKNOWN, Integers, direction_index, grouped, union, vendors

# What a program can call instead; the plainest first.
_CALLS: Mapping[Interface, tuple[str, ...]] = {
    "cuda": ("section", "pack", "pack_threads"),
    "opencl": ("section", "pack"),
}


def regular_bursts(scene: Scene) -> list[Burst]:
    """Copies in a row of one size whose addresses are one distance apart on either side, and not side by side."""
    if "addresses" not in scene.trace.knows:
        return []
    copies = scene.trace.copies
    rows = scene.copies[copies.rows[scene.copies] <= 1]
    rows = rows[(copies.source_address[rows] != UNKNOWN) & (copies.destination_address[rows] != UNKNOWN)]
    if rows.size < LEAST_BURST:
        return []
    rows = rows[np.argsort(scene.device_begin(rows), kind="stable")]
    sizes = copies.bytes[rows]
    steps = [np.diff(copies.source_address[rows]), np.diff(copies.destination_address[rows])]
    regular = (sizes[1:] == sizes[:-1]) & (np.abs(steps[0]) >= sizes[1:]) & (np.abs(steps[1]) >= sizes[1:])
    regular &= (np.abs(steps[0]) != sizes[1:]) | (np.abs(steps[1]) != sizes[1:])
    new = np.ones(steps[0].size, np.bool_)
    new[1:] = (steps[0][1:] != steps[0][:-1]) | (steps[1][1:] != steps[1][:-1]) | (regular[1:] != regular[:-1])
    links = np.cumsum(new)
    long = regular & (np.bincount(links)[links] >= LEAST_BURST - 1)
    run = np.full(rows.size, UNKNOWN)
    # A copy belongs to the steps that lead to it, or, where it is the first, from it.
    run[:-1][long] = links[long]
    run[1:][long] = links[long]
    member = run != UNKNOWN
    return bursts(scene, rows[member], run[member])


def _find_strided(scene: Scene, rates: Rates) -> Draft | None:
    copies, calls = scene.trace.copies, _CALLS[scene.interface]

    def pitch(loop: Burst, addresses: Integers) -> int:
        return abs(int(addresses[loop.rows[1]] - addresses[loop.rows[0]]))

    def replaced(burst: Burst) -> Loop | None:
        first = int(burst.rows[0])
        direction, width = one_way(int(copies.direction[first])), int(copies.bytes[first])
        pitches = [pitch(burst, copies.source_address), pitch(burst, copies.destination_address)]
        host, device = pitches if direction == "h2d" else pitches[::-1]
        source = source_of(scene, burst)
        if source is None or min(host, device) < width:
            return None
        need = SectionNeed(burst.rows.size, width, host, direction, source, device)
        methods = [method for method in rates.plan(need).methods if method.name in calls]
        best = min(methods, key=lambda method: (method.seconds.median, calls.index(method.name)), default=None)
        if best is None:
            # As pieces, where the run has no times for rows that lie so.
            return Loop(packed(scene, rates, burst, source), {"need": need, "way": "pack", "threads": 1})
        return Loop(best.seconds, {"need": need, "way": best.name, "threads": best.options.get("threads", 1)})

    return looped(scene, rates, regular_bursts(scene), replaced, copies.source_address, copies.destination_address)


def _words_strided(summary: Summary) -> Words:
    facts = summary.facts
    need: SectionNeed = facts["need"]
    call = CALLS[f"rows_{need.direction}"][summary.interface]
    change = say("advice.strided_section", call=call) if facts["way"] == "section" else say("advice.strided_pack")
    size, pitch = format_bytes(need.width_bytes), format_bytes(max(need.pitch_bytes, need.device_pitch_bytes or 0))
    return Words(
        say("advice.strided_title", count=summary.calls, size=decimal_bytes(summary.bytes)),
        say("advice.strided_cause", count=facts["count"], size=size, pitch=pitch, time=format_seconds(facts["each"])),
        change,
        say("advice.strided_pricing", count=facts["count"], time=format_seconds(facts["new"])),
        way_code(need, facts["way"], summary.interface, {"threads": facts["threads"]}),
        "strided",
    )


STRIDED = Rule("strided", (("addresses",),), _find_strided, _words_strided)


def _find_small_copies(scene: Scene, rates: Rates) -> Draft | None:
    copies = scene.trace.copies
    rows = scene.copies[(copies.bytes[scene.copies] <= LATENCY_BYTES) & (copies.rows[scene.copies] <= 1)]
    # What is at regular distances is the other rule's.
    regular = regular_bursts(scene)
    if regular:
        rows = rows[~np.isin(rows, np.concatenate([burst.rows for burst in regular]))]

    def replaced(burst: Burst) -> Loop | None:
        source = source_of(scene, burst)
        if source is None:
            return None
        need = pieces_need(scene, burst, source)
        is_list = source == "pageable" and need.direction == "h2d" and need.piece_bytes <= LIST_BYTES
        facts = {
            "need": need,
            "period": burst.period,
            "computing": burst.computing,
            "lists": is_list and scene.trace.maker == "kineto",
        }
        whole = in_one_call(scene, rates, burst, source) if scene.interface == "cuda" else None
        if whole is not None:
            return Loop(whole[1], {**facts, "way": whole[0]})
        return Loop(packed(scene, rates, burst, source), {**facts, "way": "pack"})

    in_a_row = bursts(scene, rows)
    left = rows[~np.isin(rows, np.concatenate([burst.rows for burst in in_a_row]))] if in_a_row else rows
    # Larger ones are the work itself.
    left = left[copies.bytes[left] <= SMALL_COPY_BYTES]
    return looped(scene, rates, [*in_a_row, *paced(scene, left)], replaced)


def _words_small_copies(summary: Summary) -> Words:
    facts = summary.facts
    need: PiecesNeed = facts["need"]
    at_once = facts["new"] * need.pieces / facts["count"]
    title, cause = (
        "advice.small_title",
        say("advice.small_cause", count=facts["count"], time=format_seconds(facts["each"])),
    )
    if facts["period"]:
        title, computing = "advice.paced_title", f"{100 * facts['computing']:.0f} %"
        words = {"period": format_seconds(facts["period"]), "time": format_seconds(facts["each"])}
        cause = say("advice.paced_cause", count=facts["count"], computing=computing, **words)
    in_one_call = facts["way"] != "pack"
    change = say("advice.small_one_call" if in_one_call else "advice.small_change")
    if facts["period"]:
        change = say("advice.paced_change")
    size, time = near_bytes(need.pieces * need.piece_bytes), format_seconds(at_once)
    pricing = say("advice.small_call_pricing" if in_one_call else "advice.small_pricing", size=size, time=time)
    return Words(
        say(title, count=summary.calls, size=decimal_bytes(summary.bytes)),
        cause,
        sentences([say("advice.small_lists") if facts["lists"] else "", change]),
        pricing,
        {**own_code("small_copies", summary.interface), **way_code(need, facts["way"], summary.interface)},
        "small-lists" if facts["lists"] else "small-copies",
    )


SMALL_COPIES = Rule("small-copies", (), _find_small_copies, _words_small_copies, windows="each")


def paced(scene: Scene, rows: Integers) -> list[Burst]:
    """Runs of these copies from one place and of one size, each soon after the one before, with kernels between.

    What one block and one copy would save is the time of the calls that copy, wait for that and get memory. Values that
    come to the host may decide what it does next, so that they can seldom come as one.
    """
    runs = []
    copies = scene.trace.copies
    rows = rows[copies.direction[rows] == direction_index("h2d")]
    for group in grouped(copy_places(scene, rows), size_steps(copies.bytes[rows])):
        alike = rows[group][np.argsort(scene.asked(rows[group]), kind="stable")]
        if alike.size < LEAST_BURST:
            continue
        apart = np.diff(scene.asked(alike)) > LONGEST_PERIOD_SECONDS
        runs += [run for run in np.split(alike, np.flatnonzero(apart) + 1) if run.size >= LEAST_BURST]
    return [burst for run in runs if (burst := _burst(scene, run)) is not None]


def _burst(scene: Scene, rows: Integers) -> Burst | None:
    begin, (_, end) = scene.asked(rows), scene.occupied(rows)
    waits = scene.waits(rows)
    waited = waits != UNKNOWN
    ends = scene.in_calls(waits)[1]
    end = np.where(waited, np.maximum(end, ends), end)
    whole = (float(begin[0]), float(end[-1]))
    computing = union(*scene.kernels)
    share = float(computing.covered(*(np.array([each]) for each in whole)).sum()) / max(whole[1] - whole[0], 1e-9)
    started = np.searchsorted(scene.kernels[0], begin)
    # With no kernel between they are a burst of another kind; a call that waits for kernels is no row's.
    is_alone = np.median(np.diff(started)) == 0
    waits_for_kernels = 2 * computing.covered(begin, end).sum() > (end - begin).sum()
    if is_alone or waits_for_kernels or share > MOST_COMPUTING:
        return None
    elapsed = float(scene.elapsed(rows, begin, end).sum())
    between = _allocating(scene, whole)
    period = float(np.median(np.diff(begin)))
    return Burst(rows, elapsed, between, bool(waited.mean() > 0.5), period, share)


def _allocating(scene: Scene, whole: tuple[float, float]) -> float:
    """Seconds in calls that get or free memory within this time in which no device did anything."""
    table = scene.trace.calls
    names = [place for place, name in enumerate(scene.trace.names) if vendors.allocates(name) or vendors.frees(name)]
    mine = np.flatnonzero((table.process == scene.process) & np.isin(table.name, names))
    begin, end = scene.in_calls(mine)
    inside = (begin >= whole[0]) & (end <= whole[1])
    return float(scene.idle_between(begin[inside], end[inside]).sum()) if mine.size else 0.0
