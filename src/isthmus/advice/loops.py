"""Bursts of copies that one copy could replace: what they cost, what it would, and the draft of all of them."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from isthmus.advice.places import size_steps
from isthmus.advice.rates import Range, Rates, Seconds, range_of, saved
from isthmus.advice.records import Mask
from isthmus.advice.rule import Draft
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import LEAST_BURST, LEAST_BURST_SHARE, LONGEST_BURST_GAP_SECONDS, MOST_PACKED_BYTES
from isthmus.record import Interval, LayoutName, OneWay, PiecesNeed, PiecesSource
from isthmus.trace import DIRECTIONS, UNKNOWN, Integers, grouped, memory_index

# Kinds of bursts, by size, number and distances, that are priced: those of the most copies.
_MOST_KINDS = 64
# Methods that one call has, the library's or the driver's.
_ONE_CALL = ("kernel", "pack_threads", "pack_kernel", "batch")


@dataclass(frozen=True)
class Burst:
    """Copies in a row: one direction, one kind of the host's memory, no kernel and no other copy between them."""

    rows: Integers
    # Seconds from the first call to the last copy's end in which nothing but these copies went on.
    elapsed: float
    # Seconds that the program spent of its own between the calls: of an interpreter it may be most.
    between: float
    # Whether the host waited for each of them.
    waited: bool
    # From one to the next in seconds, and the share of that in which kernels run, where such are between them.
    period: float = 0.0
    computing: float = 0.0


def bursts(scene: Scene, rows: Integers, *same: Integers) -> list[Burst]:
    """Runs of at least `LEAST_BURST` of these copies, in which each of `same`, one entry a copy, stays the same."""
    if rows.size < LEAST_BURST:
        return []
    order = np.argsort(scene.device_begin(rows), kind="stable")
    rows = rows[order]
    keys = [scene.trace.copies.direction[rows], scene.host_kind(rows), *(key[order] for key in same)]
    asked, end = scene.asked(rows), np.maximum.accumulate(scene.occupied(rows)[1])
    apart = asked[1:] - end[:-1] > LONGEST_BURST_GAP_SECONDS
    for key in keys:
        apart |= key[1:] != key[:-1]
    apart |= _between(scene, rows)
    first = np.concatenate([[0], np.flatnonzero(apart) + 1])
    last = np.concatenate([first[1:], [rows.size]]) - 1
    long = last - first + 1 >= LEAST_BURST
    first, last = first[long], last[long]
    runs = [rows[begin : until + 1] for begin, until in zip(first.tolist(), last.tolist(), strict=True)]
    if not runs:
        return []
    # Where copies wait in a queue, those before them end after they were asked for.
    begin = np.maximum(asked[first], np.concatenate([[-np.inf], end])[first])
    elapsed = scene.elapsed(np.concatenate(runs), begin, end[last])
    if scene.other is not None:
        elapsed = np.array([scene.cost(each, scene.other).sum() for each in runs])
    waited = [_waited(scene, each) for each in runs]
    between = scene.own_time(begin, end[last])
    return [Burst(*each) for each in zip(runs, elapsed.tolist(), between.tolist(), waited, strict=True)]


def _between(scene: Scene, rows: Integers) -> Mask:
    """Whether a kernel, or another copy, began between each two."""
    begin = scene.device_begin(rows)
    others = scene.copies[~np.isin(scene.copies, rows)]
    started = np.sort(np.concatenate([scene.kernels[0], scene.device_begin(others)]))
    place = np.searchsorted(started, begin)
    changes: Mask = place[1:] != place[:-1]
    return changes


def _waited(scene: Scene, rows: Integers) -> bool:
    calls = scene.call(rows)
    waits = (scene.waits(rows) != UNKNOWN)[calls != UNKNOWN]
    return bool(waits.size) and bool(waits.mean() > 0.5)


@dataclass(frozen=True)
class Loop:
    """What takes the place of a burst: its seconds, and what the words are to know of it."""

    seconds: Interval
    facts: Mapping[str, Any]


def looped(
    scene: Scene, rates: Rates, bursts: Sequence[Burst], replaced: Callable[[Burst], Loop | None], *also: Integers
) -> Draft | None:
    """The draft of those bursts that `replaced` shortens; bursts with one distance in `also` count as alike."""
    taken: list[Integers] = []
    gains: list[Range] = []
    took: list[Seconds] = []
    largest: tuple[float, dict[str, Any]] = (0.0, {})
    for kind in _kinds(scene, bursts, also):
        alike = [bursts[at] for at in kind.tolist()]
        # The one that words and code are of.
        longest = max(alike, key=lambda burst: burst.rows.size)
        loop = replaced(longest)
        if loop is None:
            continue
        as_it_is = _as_it_is(scene, rates, longest)
        each = (min(longest.elapsed, as_it_is) + longest.between) / longest.rows.size
        figures = {"count": longest.rows.size, "each": each, "new": loop.seconds.median}
        for burst in alike:
            # Those of a kind differ a little in number.
            count = burst.rows.size
            share = count / longest.rows.size
            cost = min(burst.elapsed, as_it_is * share)
            gain = saved(np.array(cost), range_of(loop.seconds) * share, np.array(burst.elapsed))
            # One call instead of many leaves little to do between them; what it leaves is not known.
            gain = gain + np.array([burst.between, 0.0, burst.between])
            if gain[0] <= LEAST_BURST_SHARE * burst.elapsed:
                continue
            taken.append(burst.rows)
            took.append(np.full(count, (cost + burst.between) / count))
            gains.append(np.repeat(gain[np.newaxis] / count, count, axis=0))
            if gain[0] > largest[0]:
                largest = (float(gain[0]), {**loop.facts, **figures})
    if not taken:
        return None
    bound = sum(burst.elapsed + burst.between for burst in bursts)
    every, seconds = np.concatenate(taken), np.concatenate(took)
    return Draft("copies", every, np.concatenate(gains), bound=bound, facts=largest[1], took=seconds)


def one_way(direction: int) -> OneWay:
    """The name of a direction between host and device."""
    return "h2d" if DIRECTIONS[direction] == "h2d" else "d2h"


def source_of(scene: Scene, burst: Burst) -> PiecesSource | None:
    """The host's memory of a burst, where a run may have measured it."""
    kind = int(scene.host_kind(burst.rows[:1])[0])
    return "pinned" if kind == memory_index("pinned") else "pageable" if kind == memory_index("pageable") else None


def pieces_need(scene: Scene, burst: Burst, source: PiecesSource) -> PiecesNeed:
    """As many pieces of a burst as are packed at once, which lie apart on the host; on the device as addresses say."""
    copies, rows = scene.trace.copies, burst.rows
    each = max(int(copies.bytes[rows].sum()) // rows.size, 1)
    layout, count = _device_layout(scene, rows), min(rows.size, max(MOST_PACKED_BYTES // each, 1))
    return PiecesNeed(count, each, one_way(int(copies.direction[rows[0]])), source, "scattered", layout)


def in_one_call(scene: Scene, rates: Rates, burst: Burst, source: PiecesSource) -> tuple[str, Interval] | None:
    """The fastest call that moves all of a burst without a change of its memory, and its time; None if none is known.

    The library's batches and rows are moved by a kernel or by threads that pack, whatever its table says is faster.
    """
    known = _measured(scene, rates, burst, source)
    return min(((name, known[name]) for name in _ONE_CALL if name in known), key=lambda each: each[1], default=None)


def packed(scene: Scene, rates: Rates, burst: Burst, source: PiecesSource) -> Interval:
    """Seconds of packing a burst into one pinned buffer by one thread, and of its copy. Raises Unpriced."""
    seconds = _measured(scene, rates, burst, source)
    if "pack" in seconds:
        return seconds["pack"]
    whole = np.array([int(scene.trace.copies.bytes[burst.rows].sum())])
    copy = rates.copy("pinned", one_way(int(scene.trace.copies.direction[burst.rows[0]])), whole)
    return Interval(*(copy + rates.memcpy(whole))[0].tolist())


def _as_it_is(scene: Scene, rates: Rates, burst: Burst) -> float:
    """Seconds of a burst as the run measured such loops, which nothing traced; without end where it did not."""
    source = source_of(scene, burst)
    if source is None:
        return math.inf
    seconds = _measured(scene, rates, burst, source)
    method = "waited_copies" if burst.waited else "copies"
    return seconds[method].median if method in seconds else math.inf


def _measured(scene: Scene, rates: Rates, burst: Burst, source: PiecesSource) -> dict[str, Interval]:
    """What each method to move a burst, some pieces of it at a time, takes on the measured machine.

    A run that knows no pieces that lie so, as quick ones do, knows those that lie apart on both sides, which take no
    less: packed ones are still to be put in place.
    """
    need = pieces_need(scene, burst, source)
    options = rates.plan(need).methods or rates.plan(replace(need, device_layout="scattered")).methods
    times = burst.rows.size / need.pieces
    return {method.name: Interval(*(times * seconds for seconds in method.seconds)) for method in options}


def _device_layout(scene: Scene, rows: Integers) -> LayoutName:
    """How pieces lie on the device; apart where the trace does not say."""
    begin = scene.device_address(rows)
    if (begin == UNKNOWN).any():
        return "scattered"
    order = np.argsort(begin, kind="stable")
    begin, sizes = begin[order], scene.trace.copies.bytes[rows[order]]
    return "contiguous" if (begin[1:] == begin[:-1] + sizes[:-1]).all() else "scattered"


def _kinds(scene: Scene, bursts: Sequence[Burst], also: Sequence[Integers]) -> list[Integers]:
    """Places of the bursts that are alike, those of the most copies first."""
    if not bursts:
        return []
    first, second = (np.array([burst.rows[at] for burst in bursts]) for at in (0, 1))
    counts = np.array([burst.rows.size for burst in bursts])
    means = np.array([scene.trace.copies.bytes[burst.rows].mean() for burst in bursts])
    waited = np.array([burst.waited for burst in bursts])
    keys = [scene.trace.copies.direction[first], scene.host_kind(first), waited, size_steps(counts)]
    keys += [size_steps(means), *(column[second] - column[first] for column in also)]
    return sorted(grouped(*keys), key=lambda kind: -int(counts[kind].sum()))[:_MOST_KINDS]
