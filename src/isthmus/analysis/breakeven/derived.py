"""Thresholds derived from single costs: set-up and copies that the run measured apart, against what was measured."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from isthmus.analysis.breakeven.measured import (
    Costs,
    Key,
    Term,
    Totals,
    cached,
    interpolated,
    measured_costs,
    measured_once,
    measured_totals,
)
from isthmus.analysis.breakeven.thresholds import Breakeven, Contest
from isthmus.analysis.statistics.once import once
from isthmus.analysis.statistics.resample import Draws
from isthmus.analysis.statistics.threshold import Threshold, size_threshold
from isthmus.record import MIB, Interval, OneWay, Run

# Two sizes this near to one another are the same answer.
AGREEMENT = 0.25
# With more uses the set-up counts for little, and the threshold is that of the copies.
DERIVED_USES = (1, 2, 5, 10)
_COPIED: Mapping[str, Sequence[OneWay]] = {"round_trip": ("h2d", "d2h"), "reduction": ("h2d",)}
_KINDS = ("pageable", "pinned")
# A derived time is this part of a measured one at least, whatever the costs add up to.
_LEAST = 1e-3
# Large enough to be worth a transfer, small enough that every machine measures it.
_REFERENCE_BYTES = 64 * MIB


class Derived(NamedTuple):
    """From which size on pinned memory should beat pageable memory, next to what was measured.

    `loss` is what it costs at most to choose by the derived size: how far the measured times of the two are apart
    between the sizes, as a share of the shorter. Near a threshold both take about the same, however far it moves.
    """

    contest: Contest
    derived: Threshold
    measured: Threshold
    loss: float | None

    @property
    def apart(self) -> float | None:
        """The derived size over the measured one, less 1; None where either is no size."""
        both = (self.derived, self.measured)
        sizes = all(each.state == "from" and each.known for each in both)
        return self.derived.value / self.measured.value - 1 if sizes else None

    @property
    def agrees(self) -> bool | None:
        """Whether both give the same answer, a size within AGREEMENT; None where either cannot tell."""
        if not (self.derived.known and self.measured.known):
            return None
        return abs(self.apart) <= AGREEMENT if self.apart is not None else self.derived.state == self.measured.state


def derived_thresholds(run: Run, measured: Mapping[Contest, Threshold]) -> Sequence[Derived]:
    """Derived next to measured thresholds of pinned against pageable memory; none where the run lacks the costs.

    A use costs a copy there and, of a round trip, one back, as they were timed alone; getting, touching and releasing
    memory what a trip of one use takes more than one use more does. Filling the buffer and the kernel are the same for
    both kinds of memory. A copy there is of data that caches hold, as the buffer was just filled; not in a round trip,
    where the CPU's copy back takes the caches, and the next use meets the times of data that is in none. On four H200s
    24 of 27 thresholds are within AGREEMENT with that, and 15 with cached data in both cases.
    """
    totals, costs = measured_totals(run), measured_costs(run)
    warm = cached(costs)
    there = {_copy(kind, "h2d"): rows for kind in _KINDS if (rows := costs.get(_copy(kind, "h2d")))}
    by_case = {"round_trip": warm | there}
    return [
        made
        for contest, threshold in measured.items()
        if (made := _derived(contest, threshold, totals, by_case.get(contest.case, warm)))
    ]


def _derived(contest: Contest, measured: Threshold, totals: Mapping[Key, Totals], costs: Costs) -> Derived | None:
    directions = _COPIED.get(contest.case)
    if directions is None or (contest.incumbent, contest.challenger) != _KINDS or contest.uses not in DERIVED_USES:
        return None
    copies = {kind: [costs.get(_copy(kind, each), {}) for each in directions] for kind in _KINDS}
    pageable, pinned = (dict(_times(totals[contest.case, kind], copies[kind], contest.uses)) for kind in _KINDS)
    whole = totals[contest.case, "pageable"].at(contest.uses)
    sizes = [size for size in whole if size in pageable and size in pinned]
    if len(sizes) < 2:
        return None
    # What the two kinds share is as measured, so that curves bend between sizes as measured ones do.
    slow = np.array([whole[size] for size in sizes])
    fast = np.array([whole[size] - pageable[size] + pinned[size] for size in sizes])
    fast = np.maximum(fast, _LEAST * slow)
    derived = size_threshold(sizes, slow, fast)
    if not all(each.state == "from" and each.known for each in (derived, measured)):
        return Derived(contest, derived, measured, None)
    real = totals[contest.case, "pinned"].at(contest.uses)
    gains = [math.log(whole[size][0] / real[size][0]) for size in sizes]
    low, high = sorted((derived.value, measured.value))
    between = [low, *(size for size in sizes if low < size < high), high]
    loss = math.expm1(max(abs(np.interp(np.log(between), np.log(sizes), gains))))
    return Derived(contest, derived, measured, loss)


def _copy(kind: str, direction: OneWay) -> Term:
    return Term("bandwidth", "copy", kind, direction)


def _times(totals: Totals, copies: Sequence[Mapping[int, Draws]], uses: int) -> Iterator[tuple[int, Draws]]:
    """Seconds of set-up and copies by size, where all of them are known."""
    for size, by_uses in totals.seconds.items():
        each = [interpolated(seconds, size) for seconds in copies]
        known = [seconds for seconds in each if seconds is not None]
        if 1 in by_uses and size in totals.further and len(known) == len(each):
            yield size, by_uses[1] - totals.further[size] + uses * sum(known)


@dataclass(frozen=True)
class BreakevenAnalysis:
    """Times of one use, and which way wins where."""

    once: dict[Key, dict[int, Interval]]  # seconds of one use as they were measured, by size
    measured: Breakeven
    derived: Sequence[Derived]  # pinned against pageable memory

    @property
    def reference_bytes(self) -> int:
        """64 MiB, or the largest measured size where that is less."""
        return min(_REFERENCE_BYTES, max(size for totals in self.measured.totals.values() for size in totals.seconds))


@once()
def analyse_breakeven(run: Run) -> BreakevenAnalysis | None:
    """Everything that the breakeven experiment of a run says; None where it has no case that counts."""
    measured = Breakeven(measured_totals(run))
    if not any(totals.seconds for totals in measured.totals.values()):
        return None
    return BreakevenAnalysis(measured_once(run), measured, derived_thresholds(run, measured.thresholds))
