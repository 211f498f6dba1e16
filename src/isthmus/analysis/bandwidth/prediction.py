"""What a transfer of any size takes, between the measured sizes and beyond them, with an interval that is checked."""

import zlib
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import log2
from typing import Literal

import numpy as np
import numpy.typing as npt

from isthmus.analysis.statistics.curve import ONE_WAY, Curve
from isthmus.analysis.statistics.resample import DRAWS, Draws, interval_of, resampled_medians
from isthmus.analysis.statistics.shape import relative_line
from isthmus.grouping import grouped
from isthmus.record import Case, Direction, Interval, Run

Beyond = Literal["", "below", "above"]

# How many of the nearest held-out sizes say how wrong a prediction may be: enough to count on, all of one regime.
_NEAREST = 8
# Through how many sizes at an end a line goes on beyond it.
_LINE_SIZES = 5
# With fewer the t distribution has draws without bound, and no variance.
_LEAST_FREEDOM = 3
# The logarithm of the factor by which no draw is further off, so that sums stay finite.
_FURTHEST = 7.0


@dataclass(frozen=True)
class Prediction:
    """Seconds with their 95 % interval; `beyond` says on which side of the measured sizes they lie, if they do.

    `draws` are the estimate and its draws, for sums and comparisons.
    """

    seconds: Interval
    beyond: Beyond
    draws: Draws = field(repr=False, compare=False)


@dataclass(frozen=True, eq=False)
class Predictor:
    """A series of measured times: ascending `sizes` in bytes, and for each a row of seconds with their draws."""

    sizes: tuple[int, ...]
    seconds: Draws

    def at(self, size: float) -> Prediction:
        """What that many bytes take when they are moved another time.

        Between two measured sizes the time runs straight, in bytes and seconds, from one to a point halfway in their
        logarithms, and from there to the other. It passes through each measured time, falls only where they fall, and
        is exact wherever a transfer costs a latency and a time for each byte, which is what transfers do on either
        side of every change of protocol. The point halfway is the mean of two guesses that both have this: the straight
        line between the two, which a change of protocol next to them does not touch, but whose error is that of two
        moments at which a machine was measured; and the line of least relative squares through two sizes on either
        side, which averages four such errors, but reaches across changes. Held-out sizes of every kept run are missed
        by less with it than with the first alone (docs/statistics.md). Monotone cubics (Fritsch and Carlson 1980,
        doi 10.1137/0717021) miss them by more: they carry the noise of one size on to the next. Beyond the
        measured sizes it follows the line through the five nearest, from the measured time on. Segments with
        breakpoints found in the data (Bai and Perron 2003) predicted held-out ends of kept runs no better.

        The interval is that of the measured medians, widened by how far the eight nearest sizes lay from what the
        others had made of them (`errors`), with the t distribution of so many. Beyond the range it widens further, as
        if every doubling of the size were another such step.
        """
        beyond: Beyond = "below" if size < self.sizes[0] else "above" if size > self.sizes[-1] else ""
        draws = self.draws(size)
        return Prediction(interval_of(draws), beyond, draws)

    def draws(self, size: float) -> Draws:
        """The seconds of `at` as an estimate with its draws, for sums of many."""
        draws = self._interpolated(size)
        draws[1:] *= np.exp(np.clip(self._error_at(size) * self._luck, -_FURTHEST, _FURTHEST))
        return draws

    @cached_property
    def errors(self) -> npt.NDArray[np.float64]:
        """How far each size but the first and the last is from what its neighbours make of it.

        As the logarithm of predicted over measured. The nearest two are twice as far apart as those in use.
        """
        sizes, known = np.asarray(self.sizes, dtype=np.float64), self.seconds[:, :1]
        errors = np.empty(max(len(sizes) - 2, 0))
        for index in range(1, len(sizes) - 1):
            near = [at for at in (index - 2, index - 1, index + 1, index + 2) if 0 <= at < len(sizes)]
            errors[index - 1] = np.log(_between(sizes[near], known[near], sizes[index])[0] / known[index, 0])
        return errors

    def without(self, index: int) -> "Predictor":
        """The series as if one of its sizes had not been measured."""
        return Predictor(self.sizes[:index] + self.sizes[index + 1 :], np.delete(self.seconds, index, axis=0))

    def _interpolated(self, size: float) -> Draws:
        above = bisect_left(self.sizes, size)
        if above < len(self.sizes) and self.sizes[above] == size:
            known: Draws = self.seconds[above].copy()
            return known
        if 0 < above < len(self.sizes):
            near = slice(max(above - 2, 0), above + 2)
            return _between(np.asarray(self.sizes[near], dtype=np.float64), self.seconds[near], size)
        end, near = (0, slice(_LINE_SIZES)) if above == 0 else (-1, slice(-_LINE_SIZES, None))
        fixed, per_byte = relative_line(np.asarray(self.sizes[near], dtype=np.float64), self.seconds[near])
        # Scaled to the measured time there, so that it goes on from it without a jump.
        outside: Draws = self.seconds[end] * (fixed + per_byte * size) / (fixed + per_byte * self.sizes[end])
        return outside

    def _error_at(self, size: float) -> float:
        """Standard deviation of the logarithm of what a size takes from what it is predicted to take."""
        first, last = self.sizes[0], self.sizes[-1]
        inside = min(max(size, first), last)
        doublings = abs(log2(size / inside))
        if len(self.errors) == 0:
            # Nothing was checked; but a time that rises with the size is one of those between its neighbours'.
            return float(abs(np.log(self.seconds[-1, 0] / self.seconds[0, 0]))) / 4 if first < inside < last else 0.0
        distances = np.abs(np.log(np.asarray(self.sizes[1:-1]) / inside))
        nearest = np.argsort(distances, kind="stable")[:_NEAREST]
        return float(np.sqrt(np.mean(self.errors[nearest] ** 2) * (1 + doublings)))

    @cached_property
    def _luck(self) -> npt.NDArray[np.float64]:
        """How each draw is off, in standard deviations: at all sizes alike, so that sums keep their order.

        Seeded by the data: the same in every process, and independent of any other series.
        """
        random = np.random.default_rng(zlib.crc32(np.ascontiguousarray(self.seconds[:, 0]).tobytes()))
        freedom = max(_LEAST_FREEDOM, min(len(self.errors), _NEAREST))
        return random.standard_t(freedom, DRAWS)


def _between(sizes: npt.NDArray[np.float64], seconds: Draws, size: float) -> Draws:
    """What `size`, between two of at most four neighbouring ascending sizes, takes (`Predictor.at` says how)."""
    above = int(np.searchsorted(sizes, size))
    low, high, before, after = sizes[above - 1], sizes[above], seconds[above - 1], seconds[above]
    middle = np.sqrt(low * high)
    straight = before + (middle - low) / (high - low) * (after - before)
    fixed, per_byte = relative_line(sizes, seconds)
    halfway = np.clip((straight + fixed + per_byte * middle) / 2, np.minimum(before, after), np.maximum(before, after))
    if size < middle:
        high, after = middle, halfway
    else:
        low, before = middle, halfway
    share = (size - low) / (high - low)
    draws: Draws = (1 - share) * before + share * after
    return draws


def curve_predictor(curve: Curve) -> Predictor:
    """The series of a curve with points; a case's own time, which moves twice its bytes where both directions run.

    Raises ValueError for a curve without points.
    """
    if not curve.points:
        raise ValueError("a prediction needs at least one measured size")
    return Predictor(tuple(point.bytes for point in curve.points), curve.draws)


@dataclass(frozen=True, eq=False)
class TwoWays:
    """Copies of one kind of memory, by direction: alone, and concurrent with one of the other direction and the same
    size.

    Both are seconds of the device; the time until the host knows is not in them. There are both directions of both.
    """

    alone: Mapping[Direction, Predictor]
    together: Mapping[Direction, Predictor]

    def added(self, direction: Direction, size: float) -> Draws:
        """Seconds by which it takes longer; no less than none, since a copy does not help another."""
        return np.maximum(self.together[direction].draws(size) - self.alone[direction].draws(size), 0.0)


def two_ways(run: Run, host_memory: str) -> TwoWays | None:
    """Copies of a kind of memory; None where the run lacks one of their four series of the bandwidth experiment."""
    cases = [each for each in run.cases if (each.experiment, each.host_memory) == ("bandwidth", host_memory)]
    series = grouped(
        (each for each in cases if each.node is None and _counts(each)),
        lambda each: ("together" if each.method == "duplex" else "alone", each.direction),
    )
    if not all((name, direction) in series for name in ("alone", "together") for direction in ONE_WAY):
        return None
    alone, together = (
        {direction: _predictor(series[name, direction]) for direction in ONE_WAY} for name in ("alone", "together")
    )
    return TwoWays(alone, together)


def _counts(case: Case) -> bool:
    samples = case.samples("device_seconds")
    return not case.skipped and case.verified != "no" and bool(samples) and min(samples) > 0


def _predictor(cases: list[Case]) -> Predictor:
    """The first of several cases of a size, such as with several alignments."""
    by_size: dict[int, Case] = {}
    for case in cases:
        by_size.setdefault(case.bytes, case)
    sizes = tuple(sorted(by_size))
    return Predictor(sizes, resampled_medians([by_size[size].samples("device_seconds") for size in sizes]))
