"""Pages of managed memory that move because they are touched: prefetch them, or copy explicitly."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from isthmus.advice.code import own_code, way_code
from isthmus.advice.rates import Range, Rates, range_of
from isthmus.advice.records import ONE_WAY
from isthmus.advice.rule import Draft, Rule, Summary, Words
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import PREFETCH_SHARE, least_gain
from isthmus.analysis.managed.granularity import counted_passes
from isthmus.document.finding import Level
from isthmus.language import say, sentences
from isthmus.plan import Method
from isthmus.record import Direction, ManagedNeed, decimal_bytes, format_seconds
from isthmus.trace import UNKNOWN, Integers, cause_index, direction_index, fault_index, union

_PREFETCH, _EXPLICIT, _ON_DEMAND = "prefetch_whole", "explicit_whole_pinned", "managed"
_PHASES = {"h2d": 0, "d2h": 1}


# What the run did when it counted the moves of an array of which everything was touched.
_COUNTED = {"h2d": "counted_device_sweep", "d2h": "counted_host_touches"}


class _Side(NamedTuple):
    """Pages that moved in one direction: how much, and the time in which their moving can have held the program up."""

    direction: Direction
    rows: Integers
    bytes: int
    bound: float


def _find(scene: Scene, rates: Rates) -> Draft | None:
    causes = _on_demand(scene)
    sides = [side for side in (_side(scene, direction, causes) for direction in ONE_WAY) if side.rows.size]
    if not sides:
        return None
    rows = np.concatenate([side.rows for side in sides])
    touched = _touched(scene, rows)
    # How often pages came back to where they had been before.
    copies = scene.trace.copies
    known = rows[copies.source_address[rows] != UNKNOWN]
    order = known[np.lexsort((copies.start_ns[known], copies.source_address[known]))]
    same = np.diff(copies.source_address[order]) == 0
    facts: dict[str, Any] = {"returns": int((same & (np.diff(copies.direction[order]) != 0)).sum()), "bytes": touched}
    facts["evicted"] = _evicted(scene)
    facts["faults"] = {kind: _faults(scene, kind) for kind in ("device", "cpu", "thrashing")}
    bound = sum(side.bound for side in sides)
    offered = {method.name: method for method in rates.plan(ManagedNeed(touched, fraction=1.0)).methods}
    if not {_ON_DEMAND, _PREFETCH, _EXPLICIT} <= offered.keys():
        # What could be gained at most is no price.
        facts |= {"way": _PREFETCH, "bound": bound}
        level: Level = "ATTENTION" if bound >= least_gain(scene.span_seconds) else "note"
        return Draft("copies", rows, np.zeros((rows.size, 3)), facts=facts, level=level)
    gains_of = {
        method: [_saved(rates, side, method, touched, offered) for side in sides] for method in (_PREFETCH, _EXPLICIT)
    }
    totals = {method: float(sum(gain[0] for gain in gains)) for method, gains in gains_of.items()}
    # A prefetch is a line; other memory and copies are a change of the program.
    best = _PREFETCH if totals[_PREFETCH] >= PREFETCH_SHARE * totals[_EXPLICIT] else _EXPLICIT
    sizes = scene.trace.copies.bytes
    gains = [
        sizes[side.rows][:, np.newaxis] / side.bytes * gain for side, gain in zip(sides, gains_of[best], strict=True)
    ]
    if facts["evicted"]:
        # What does not fit comes and goes whatever is prefetched.
        gains = [gain * [1.0, 0.0, 1.0] for gain in gains]
    facts["way"] = best
    facts["other"] = totals[_EXPLICIT if best == _PREFETCH else _PREFETCH]
    return Draft("copies", rows, np.concatenate(gains), bound=bound, facts=facts)


def _on_demand(scene: Scene) -> list[int]:
    """Causes of moves that no call asked for: a fault, and what the driver guesses to be touched next.

    What a program prefetches moves for the cause ``user`` (CUPTI, CUpti_ActivityUnifiedMemoryMigrationCause).
    """
    causes = [cause_index("fault"), cause_index("prefetch")]
    calls, names = scene.trace.calls, scene.trace.names
    asking = [place for place, name in enumerate(names) if "MemPrefetch" in name]
    asked = bool((np.isin(calls.name, asking) & (calls.process == scene.process)).any())
    # Without a cause they may be what such calls moved.
    return causes if asked else [*causes, UNKNOWN]


def _side(scene: Scene, direction: Direction, causes: list[int]) -> _Side:
    copies = scene.trace.copies
    mask = (copies.process == scene.process) & (copies.migration == 1)
    mask &= (copies.direction == direction_index(direction)) & (copies.bytes > 0)
    rows = np.flatnonzero(mask & np.isin(copies.cause, causes))
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


def _saved(rates: Rates, side: _Side, method: str, touched: int, offered: Mapping[str, Method]) -> Range:
    """What the run says that pages moved on demand take longer, for so many bytes, within what the timeline has.

    Each move on demand costs its own time, so that what they take beyond one prefetch grows with their number.
    """
    phase, passes = _PHASES[side.direction], side.bytes / touched
    seconds = {name: passes * range_of(each.steps[phase].seconds) for name, each in offered.items()}
    demanded, new = seconds[_ON_DEMAND], seconds[method]
    if moves := _moves_a_byte(rates, side.direction):
        more = side.rows.size / (moves * side.bytes) - 1
        demanded = demanded + np.maximum(demanded - seconds[_PREFETCH], 0.0) * more
    gain: Range = np.minimum(demanded - new[[0, 2, 1]], side.bound)
    # Where it would take longer, pages are left to move as they do.
    return gain if gain[0] > 0 else np.zeros(3)


def _moves_a_byte(rates: Rates, direction: Direction) -> float:
    """Moves for each byte that the run counted where all of an array was touched; 0 where it counted none."""
    counted = [
        each
        for each in counted_passes(rates.run)
        if (each.case.method, each.case.direction) == (_COUNTED[direction], direction) and not each.is_far_apart
    ]
    moved = sum(each.moved_bytes for each in counted)
    return sum(each.sizes.total() for each in counted) / moved if moved else 0.0


def _touched(scene: Scene, rows: Integers) -> int:
    """Bytes of memory that moved at least once; all that moved where addresses are not known."""
    copies = scene.trace.copies
    if (copies.source_address[rows] == UNKNOWN).any():
        return int(copies.bytes[rows].sum())
    begin = copies.source_address[rows].astype(np.float64)
    return int(union(begin, begin + copies.bytes[rows]).length)


def _evicted(scene: Scene) -> tuple[int, int] | None:
    """How many moves, and of how many bytes, only made room on the device; None of none."""
    copies = scene.trace.copies
    rows = np.flatnonzero((copies.process == scene.process) & (copies.cause == cause_index("eviction")))
    return (int(rows.size), int(copies.bytes[rows].clip(0).sum())) if rows.size else None


def _faults(scene: Scene, kind: str) -> int:
    """How many of a kind the process had; a record is of several where its devices faulted on them together."""
    faults = scene.trace.faults
    return int(faults.count[(faults.process == scene.process) & (faults.kind == fault_index(kind))].sum())


def _words(summary: Summary) -> Words:
    # No trace of OpenCL tells migrations, so that these are CUDA's also where OpenCL made the copies.
    facts = summary.facts
    returns = say("advice.managed_returns", count=facts["returns"]) if facts["returns"] else ""
    faults = say("advice.managed_faults", **facts["faults"]) if any(facts["faults"].values()) else ""
    evicted, smaller = "", ""
    if facts["evicted"]:
        count, size = facts["evicted"]
        evicted = say("advice.managed_evicted", count=count, size=decimal_bytes(size))
        smaller = say("advice.managed_smaller")
    if facts["way"] == _EXPLICIT:
        change, other = say("advice.managed_explicit"), "advice.managed_or_prefetch"
        code = way_code(ManagedNeed(facts["bytes"], fraction=1.0), _EXPLICIT, "cuda")
    else:
        code = own_code("prefetch", "cuda")
        change, other = say("advice.managed_prefetch"), "advice.managed_or_explicit"
    alternative, pricing = "", say("advice.managed_pricing")
    if "bound" in facts:
        pricing = say("advice.managed_unpriced", time=format_seconds(facts["bound"]))
    elif facts["other"] > 0:
        alternative = say(other, time=format_seconds(facts["other"]))
    return Words(
        say("advice.managed_title", count=summary.calls, size=decimal_bytes(summary.bytes)),
        sentences([evicted, returns, faults]),
        sentences([smaller, change, alternative]),
        pricing,
        code,
    )


RULE = Rule("managed", (("migrations",),), _find, _words, in_kernels=True)
