"""What each direction loses while the other one runs: times on the device's clock, against those alone."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from isthmus.analysis.bandwidth.prediction import Predictor
from isthmus.analysis.statistics.curve import ONE_WAY
from isthmus.analysis.statistics.resample import Draws, interval_of, resampled_medians
from isthmus.record import Case, Interval, Run


@dataclass(frozen=True, eq=False)
class TwoWays:
    """Copies of one kind of memory, by direction: alone, and concurrent with one of the other direction and the same
    size.

    Both are seconds of the device; the time until the host knows is not in them. There are both directions of both.
    """

    host_memory: str
    alone: Mapping[str, Predictor]
    together: Mapping[str, Predictor]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes that were measured in all four directions."""
        measured = [set(series.sizes) for series in (*self.alone.values(), *self.together.values())]
        return tuple(sorted(set.intersection(*measured)))

    def slowdown(self, direction: str, size: int) -> Interval:
        """How many times as long a copy takes while the other direction runs."""
        return interval_of(self.together[direction].draws(size) / self.alone[direction].draws(size))

    def added(self, direction: str, size: float) -> Draws:
        """Seconds by which it takes longer; no less than none, since a copy does not help another."""
        longer: Draws = np.maximum(self.together[direction].draws(size) - self.alone[direction].draws(size), 0.0)
        return longer


def two_ways(run: Run, *, only: str | None = None) -> list[TwoWays]:
    """One for each kind of memory, or `only` one, of which the run has all four series of the bandwidth experiment."""
    alone: dict[tuple[str, str], list[Case]] = {}
    together: dict[tuple[str, str], list[Case]] = {}
    for case in run.cases:
        if (
            case.experiment != "bandwidth"
            or case.direction not in ONE_WAY
            or case.node is not None
            or not _counts(case)
        ):
            continue
        series = together if case.method == "duplex" else alone
        series.setdefault((case.host_memory, case.direction), []).append(case)
    kinds = dict.fromkeys(memory for memory, _ in together if only in {memory, None})
    return [
        TwoWays(memory, _predictors(alone, memory), _predictors(together, memory))
        for memory in kinds
        if all((memory, direction) in series for direction in ONE_WAY for series in (alone, together))
    ]


def _counts(case: Case) -> bool:
    samples = case.samples("device_seconds")
    return not case.skipped and case.verified != "no" and bool(samples) and min(samples) > 0


def _predictors(series: Mapping[tuple[str, str], list[Case]], memory: str) -> dict[str, Predictor]:
    return {direction: _predictor(series[memory, direction]) for direction in ONE_WAY}


def _predictor(cases: list[Case]) -> Predictor:
    """The first of several cases of a size, such as with several alignments."""
    by_size: dict[int, Case] = {}
    for case in cases:
        by_size.setdefault(case.bytes, case)
    sizes = tuple(sorted(by_size))
    return Predictor(sizes, resampled_medians([by_size[size].samples("device_seconds") for size in sizes]))
