"""Which way wins from which size and from how many uses on, whatever the totals come from."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np

from isthmus.analysis.breakeven.measured import (
    BREAKEVEN_CASES,
    BREAKEVEN_USES,
    BREAKEVEN_WAYS,
    Key,
    Totals,
    interpolated,
    ordered_ways,
)
from isthmus.analysis.statistics.once import once
from isthmus.analysis.statistics.resample import Draws, interval_of, middle
from isthmus.analysis.statistics.threshold import MOST_USES, Threshold, size_threshold_of_logs, uses_threshold
from isthmus.record import Interval

# A memory kind is significantly slower where this share of the draws says so.
_SLOWER = 0.975
# Copies of locked pages by the same calls: what their uses beyond the first differ by is noise.
_SAME_USES = ("pinned", "registered", "touched_registered", "staging")


class Contest(NamedTuple):
    """The question from where on the challenger wins, in one case and with so many uses of the buffer."""

    case: str
    uses: int
    incumbent: str
    challenger: str


@dataclass(frozen=True)
class Breakeven:
    """Totals of memory kinds, measured or derived, and what follows from them."""

    totals: Mapping[Key, Totals]

    def kinds(self, case: str) -> list[str]:
        """The memory kinds that have totals in this case, pageable first."""
        return ordered_ways(kind for each, kind in self.totals if each == case)

    def cases(self) -> list[str]:
        """The cases that have totals, in the order of BREAKEVEN_CASES."""
        return [case for case in BREAKEVEN_CASES if any(case == each for each, _ in self.totals)]

    def contests(self) -> Iterator[Contest]:
        """Every two memory kinds of every case with every number of uses that is asked."""
        for case in self.cases():
            for incumbent, challenger in combinations(self.kinds(case), 2):
                for uses in BREAKEVEN_USES:
                    yield Contest(case, uses, incumbent, challenger)

    @cached_property
    def thresholds(self) -> dict[Contest, Threshold]:
        """The size from which the challenger wins, for each contest whose memory kinds share a size."""
        thresholds = {contest: self.threshold(contest) for contest in self.contests()}
        return {contest: threshold for contest, threshold in thresholds.items() if threshold}

    def threshold(self, contest: Contest) -> Threshold | None:
        """The size from which the challenger wins, None where no size is shared."""
        case, uses, incumbent, challenger = contest
        slow, fast = (self._logs.get((case, kind, uses), {}) for kind in (incumbent, challenger))
        sizes = [size for size in slow if size in fast]
        if not sizes:
            return None
        both = [np.array([logs[size] for size in sizes]) for logs in (slow, fast)]
        return size_threshold_of_logs(sizes, *both)

    def seconds(self, case: str, kind: str, uses: int) -> dict[int, Draws]:
        """Seconds by ascending size for a number of uses that any way was measured with, or one that is asked for.

        Those are BREAKEVEN_USES and MOST_USES. Empty for a memory kind that is not there.
        """
        return self._seconds.get((case, kind, uses), {})

    @cached_property
    def _seconds(self) -> dict[tuple[str, str, int], dict[int, Draws]]:
        known = {*BREAKEVEN_USES, MOST_USES}.union(*(totals.uses() for totals in self.totals.values()))
        return {(case, kind, uses): totals.at(uses) for (case, kind), totals in self.totals.items() for uses in known}

    @cached_property
    def _logs(self) -> dict[tuple[str, str, int], dict[int, Draws]]:
        """The logarithms of the seconds for BREAKEVEN_USES: each memory kind meets every other."""
        return {
            key: dict(zip(seconds, np.log(list(seconds.values())), strict=True))
            for key, seconds in self._seconds.items()
            if key[2] in BREAKEVEN_USES
        }

    def speed_up(self, case: str, kind: str, uses: int) -> dict[int, Interval]:
        """How many times as fast as pageable memory, by size."""
        slow, fast = self.seconds(case, "pageable", uses), self.seconds(case, kind, uses)
        return {size: interval_of(slow[size] / fast[size]) for size in slow if size in fast}

    def least_uses(self, case: str, size: float, incumbent: str, challenger: str) -> Threshold | None:
        """From how many uses on the challenger wins with buffers of this size, in closed form.

        None where either way's totals do not reach to this size, or say nothing of one use more.
        """
        both = [self.totals.get((case, kind)) for kind in (incumbent, challenger)]
        if None in both:
            return None
        nodes = sorted(set.union(*(totals.uses() for totals in both if totals)) | {MOST_USES})
        gains = {}
        for uses in nodes:
            slow, fast = (interpolated(self.seconds(case, kind, uses), size) for kind in (incumbent, challenger))
            if slow is not None and fast is not None:
                gains[uses] = slow - fast
        if MOST_USES not in gains or len(gains) < 2:
            return None
        return uses_threshold(list(gains), np.array(list(gains.values())))

    def fastest(self, case: str, uses: int, size: int, *, among: Sequence[str] = BREAKEVEN_WAYS) -> list[str]:
        """The memory kinds not significantly slower than the fastest at this size, the fastest first."""
        comparable = self._comparable(case, uses, tuple(kind for kind in self.kinds(case) if kind in among))
        seconds = {kind: draws for kind, each in comparable.items() if (draws := interpolated(each, size)) is not None}
        ranked = sorted(seconds, key=lambda kind: float(seconds[kind][0]))
        return [kind for kind in ranked if float((seconds[kind][1:] > seconds[ranked[0]][1:]).mean()) < _SLOWER]

    @once(kept=32)
    def _comparable(self, case: str, uses: int, kinds: Sequence[str]) -> dict[str, dict[int, Draws]]:
        """Seconds by memory kind and size; kinds with the same uses differ by their first use alone."""
        seconds = {kind: self.seconds(case, kind, uses) for kind in kinds}
        first = {kind: self.seconds(case, kind, 1) for kind in _SAME_USES if kind in seconds}
        further = {
            kind: {size: seconds[kind][size] - first[kind][size] for size in first[kind] if size in seconds[kind]}
            for kind in first
        }
        for kind, sizes in further.items():
            seconds[kind] = {
                size: first[kind][size] + middle([each[size] for each in further.values() if size in each])
                for size in sizes
            }
        return seconds
