"""Pages of managed memory that move because they are touched: prefetch them, or copy explicitly."""

from typing import NamedTuple

import numpy as np

from isthmus.advice.code import way_code
from isthmus.advice.places import grouped
from isthmus.advice.rates import Range, Rates, range_of
from isthmus.advice.records import ONE_WAY
from isthmus.advice.rule import Draft, Rule, Summary, Words
from isthmus.advice.scene import Scene
from isthmus.advice.stretches import union
from isthmus.advice.thresholds import PREFETCH_SHARE
from isthmus.language import say, sentences
from isthmus.plan import ManagedNeed
from isthmus.record import Direction, format_seconds, near_bytes
from isthmus.trace import UNKNOWN, Integers, cause_index, direction_index

__all__ = ["RULE"]

_PREFETCH, _EXPLICIT, _ON_DEMAND = "prefetch_whole", "explicit_whole_pinned", "managed"
_PHASES = {"h2d": 0, "d2h": 1}


class _Side(NamedTuple):
    """Pages that moved one way: how much, and the time in which their moving can have held the program up."""

    direction: Direction
    rows: Integers
    bytes: int
    bound: float


def _find(scene: Scene, rates: Rates) -> Draft | None:
    sides = [side for side in (_side(scene, direction) for direction in ONE_WAY) if side.rows.size]
    if not sides:
        return None
    ways = {way: [_saved(rates, side, way) for side in sides] for way in (_PREFETCH, _EXPLICIT)}
    totals = {way: float(sum(gain[0] for gain in gains)) for way, gains in ways.items()}
    # A prefetch is a line; other memory and copies are a change of the program.
    best = _PREFETCH if totals[_PREFETCH] >= PREFETCH_SHARE * totals[_EXPLICIT] else _EXPLICIT
    rows = np.concatenate([side.rows for side in sides])
    sizes = scene.trace.copies.bytes
    gains = [sizes[side.rows][:, np.newaxis] / side.bytes * gain for side, gain in zip(sides, ways[best], strict=True)]
    facts = {"way": best, "returns": _returns(scene, rows), "bytes": _touched(scene, rows)}
    facts["other"] = totals[_EXPLICIT if best == _PREFETCH else _PREFETCH]
    return Draft("copies", rows, np.concatenate(gains), bound=sum(side.bound for side in sides), facts=facts)


def _side(scene: Scene, direction: Direction) -> _Side:
    copies = scene.trace.copies
    mask = (copies.process == scene.process) & (copies.migration == 1)
    mask &= (copies.direction == direction_index(direction)) & (copies.bytes > 0)
    rows = np.flatnonzero(mask & np.isin(copies.cause, [cause_index("fault"), UNKNOWN]))
    begin, end = scene.device_begin(rows), scene.device_end(rows)
    if direction == "h2d":
        # Kernels in which pages arrived.
        begins, ends = scene.kernels
    else:
        # What the host did of its own, from call to call, while pages left.
        calling = scene.calling
        begins = np.concatenate([[0.0], calling.end])
        ends = np.concatenate([calling.begin, [scene.span_seconds]])
    moved = union(begin, end)
    touched = moved.covered(begins, ends) > 0
    stretches = union(begins[touched], ends[touched])
    # Pages that moved outside of all of them held up something that the trace does not show.
    rest = moved.without(stretches).length
    return _Side(direction, rows, int(copies.bytes[rows].sum()), stretches.length + rest)


def _saved(rates: Rates, side: _Side, way: str) -> Range:
    """What the run says that pages moved on demand take longer, for so many bytes, within what the timeline has."""
    ways = {each.name: each.steps for each in rates.plan(ManagedNeed(side.bytes, fraction=1.0)).ways}
    phase = _PHASES[side.direction]
    if _ON_DEMAND in ways and way in ways:
        demanded, new = range_of(ways[_ON_DEMAND][phase].seconds), range_of(ways[way][phase].seconds)
    else:
        kind = "managed" if way == _PREFETCH else "pinned"
        new = rates.copy(kind, side.direction, np.array([side.bytes]))[0]
        demanded = np.full(3, side.bound)
    found: Range = np.minimum(demanded[0] - new[[0, 2, 1]], side.bound)
    # Where it would take longer, pages are left to move as they do.
    return found if found[0] > 0 else np.zeros(3)


def _touched(scene: Scene, rows: Integers) -> int:
    """Bytes of memory that moved at least once; all that moved where addresses are not known."""
    copies = scene.trace.copies
    if (copies.source_address[rows] == UNKNOWN).any():
        return int(copies.bytes[rows].sum())
    begin = copies.source_address[rows].astype(np.float64)
    return int(union(begin, begin + copies.bytes[rows]).length)


def _returns(scene: Scene, rows: Integers) -> int:
    """How often pages came back to where they had been before."""
    copies = scene.trace.copies
    known = rows[copies.source_address[rows] != UNKNOWN]
    order = known[np.argsort(copies.start_ns[known], kind="stable")]
    count = 0
    for group in grouped(copies.source_address[order]):
        count += int((np.diff(copies.direction[order[group]]) != 0).sum())
    return count


def _words(summary: Summary) -> Words:
    facts = summary.facts
    thrashing = say("advice.managed_thrashing", count=facts["returns"]) if facts["returns"] else ""
    if facts["way"] == _EXPLICIT:
        change, other = say("advice.managed_explicit"), "advice.managed_or_prefetch"
    else:
        change, other = say("advice.managed_prefetch"), "advice.managed_or_explicit"
    return Words(
        say("advice.managed_title", count=summary.calls, size=near_bytes(summary.bytes)),
        sentences([say("advice.managed_cause"), thrashing]),
        sentences([change, say(other, time=format_seconds(facts["other"])) if facts["other"] > 0 else ""]),
        say("advice.managed_pricing"),
        way_code(ManagedNeed(facts["bytes"], fraction=1.0), facts["way"]),
    )


RULE = Rule("managed", (("migrations",),), _find, _words)
