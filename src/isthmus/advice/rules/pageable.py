"""Copies from or to pageable memory, which the driver stages: lock the memory once, stage it oneself, or leave it."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from isthmus.advice.code import CALLS, way_code
from isthmus.advice.loops import one_way
from isthmus.advice.new_pages import into_new_pages, most_in_a_row
from isthmus.advice.places import copy_places, size_steps
from isthmus.advice.rates import Range, Rates, saved
from isthmus.advice.records import ONE_WAY, Interface
from isthmus.advice.rule import Draft, Rule, Summary, Words
from isthmus.advice.scene import Scene
from isthmus.language import say, sentences
from isthmus.plan import Unpriced
from isthmus.record import BufferNeed, BufferSource, Direction, decimal_bytes, format_seconds
from isthmus.trace import UNKNOWN, Integers, grouped

# The plainest first, which leads where two save the same. OpenCL has no call that locks memory where it is.
_WAYS: Mapping[Interface, tuple[str, ...]] = {
    "cuda": ("registered", "pinned", "staging"),
    "opencl": ("pinned", "staging"),
}


class _Way(NamedTuple):
    """What one way of moving a group's copies saves of each, and what it costs once."""

    name: str
    gains: Range
    once: Range
    # Whether the copies went into new memory each time.
    new_pages: bool

    @property
    def gain(self) -> float:
        return float(self.gains[:, 0].sum() - self.once[0])


def _find(scene: Scene, rates: Rates) -> Draft | None:
    every = np.concatenate([scene.of(direction, "pageable") for direction in ONE_WAY])
    if not every.size:
        return None
    found = [group for direction in ONE_WAY for group in _of_way(scene, rates, direction)]
    if not found:
        return Draft("copies", every, np.zeros((every.size, 3)), severity="information")
    rows = np.concatenate([rows for rows, _ in found])
    leading, largest = max(found, key=lambda each: each[1].gain)
    facts = {
        "way": largest.name,
        "bytes": int(np.median(scene.trace.copies.bytes[leading])),
        "direction": one_way(int(scene.trace.copies.direction[leading[0]])),
        "uses": leading.size,
        "once": sum(float(way.once[0]) for _, way in found),
        "addresses": "addresses" in scene.trace.knows,
        "new_pages": bool(largest.new_pages),
    }
    once = np.sum([way.once for _, way in found], axis=0)
    return Draft("copies", rows, np.concatenate([way.gains for _, way in found]), once, facts=facts)


def _of_way(scene: Scene, rates: Rates, direction: Direction) -> list[tuple[Integers, _Way]]:
    """Groups of copies for which another way is faster, each with the fastest."""
    rows = scene.of(direction, "pageable")
    if not rows.size:
        return []
    sizes = scene.trace.copies.bytes[rows]
    each = _prices(rates, direction, sizes, scene.interface)
    cost, exposed = scene.cost(rows, rates), scene.exposed(rows)
    is_new = into_new_pages(scene, rates, rows)
    found = []
    for group in grouped(copy_places(scene, rows), size_steps(sizes)):
        buffers = np.unique(scene.host_address(rows[group]))
        # Without addresses, copies of one place and size are taken to be of one buffer.
        count = buffers.size if (buffers != UNKNOWN).all() else 1
        new_pages = "pinned" in each and bool(is_new[group].mean() > 0.5)
        if new_pages:
            count = min(count, most_in_a_row(scene, rows[group]))
        ways = []
        for name, price in each.items():
            # New memory is not there yet to be locked, and a copy from a pinned buffer has to make its pages, too.
            if new_pages and name != "pinned":
                continue
            gains = saved(cost[group], price[group], exposed[group])
            ways.append(_Way(name, gains, _once(rates, name, int(sizes[group].max()), count), new_pages))
        best = max(ways, key=lambda way: way.gain)
        if best.gain > 0:
            found.append((rows[group], best))
    return found


def _prices(rates: Rates, direction: Direction, sizes: Integers, interface: Interface) -> Mapping[str, Range]:
    """Seconds of each copy by the ways that the run can price. Raises Unpriced where it can none."""
    recipes: dict[str, Callable[[], Range]] = {
        "registered": lambda: rates.copy("registered", direction, sizes),
        "pinned": lambda: rates.copy("pinned", direction, sizes),
        "staging": lambda: rates.copy("pinned", direction, sizes) + rates.memcpy(sizes),
    }
    found: dict[str, Range] = {}
    for name in _WAYS[interface]:
        try:
            _once(rates, name, int(sizes.max()), 1)
            found[name] = recipes[name]()
        except Unpriced as unpriced:
            reason = unpriced
    if not found:
        raise reason
    return found


def _once(rates: Rates, way: str, size: int, buffers: int) -> Range:
    """Locking memory that is there; pinned memory instead of what the program has; one pinned buffer to stage in."""
    if way == "registered":
        return rates.held("registered", size) * buffers
    pinned = rates.held("pinned", size)
    if way == "staging":
        return pinned
    spared: Range = rates.held("pageable", size)[[0, 2, 1]]
    return np.maximum(pinned - spared, 0.0) * buffers


def _words(summary: Summary) -> Words:
    title = say("advice.pageable_title", count=summary.calls, size=decimal_bytes(summary.bytes))
    cause, facts = say("advice.pageable_cause"), summary.facts
    if facts.get("new_pages"):
        cause = sentences([cause, say("advice.pageable_new_pages")])
    if not facts:
        return Words(title, cause, say("advice.pageable_leave"))
    changes = {
        "registered": say("advice.pageable_register"),
        "pinned": say("advice.pageable_pin", call=CALLS["pin"][summary.interface]),
        "staging": say("advice.pageable_stage"),
    }
    once = say("advice.pageable_once", time=format_seconds(facts["once"])) if facts["once"] > 0 else ""
    buffers = "" if facts["addresses"] else say("advice.pageable_one_buffer")
    source: BufferSource = "new" if facts["way"] == "pinned" else "pageable"
    need = BufferNeed(facts["bytes"], facts["direction"], facts["uses"], source)
    code = way_code(need, facts["way"], summary.interface)
    kept = {"registered": "same", "pinned": "new", "staging": "staging"}[facts["way"]]
    lines = "pageable-d2h" if facts["direction"] == "d2h" else f"pageable-{kept}-h2d"
    return Words(title, cause, changes[facts["way"]], sentences([once, buffers]), code, lines)


RULE = Rule("pageable", (), _find, _words)
