"""Cost as a fixed part and a part for each byte: a robust line, stated only where it describes the measured points."""

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from isthmus.analysis.allocation.model import CostCurve
from isthmus.analysis.statistics.resample import Draws, interval_of
from isthmus.record import Interval

# A line describes points when it passes each within this share of the point, or within the point's own 95 % interval.
TOLERANCE = 0.25
_LEAST_POINTS = 3
# So many sizes may have one at which something else happened.
_SIZES_AN_OUTLIER = 10
# A part of less than this share of the whole is not worth a word.
_NEGLIGIBLE = 0.1
_LIKELY = 40


@dataclass(frozen=True)
class CostPiece:
    """seconds = `fixed` + `per_byte` x bytes between two measured sizes, both with 95 % bootstrap intervals.

    `deviation` is the largest of the points from it, as a share of the point, but for those at `outliers` (bytes).
    """

    from_bytes: int
    to_bytes: int
    fixed: Interval
    per_byte: Interval
    deviation: float
    outliers: tuple[int, ...]

    @property
    def flat(self) -> bool:
        """Whether the size hardly matters."""
        return self.per_byte.median * self.to_bytes <= _NEGLIGIBLE * self.fixed.median

    @property
    def proportional(self) -> bool:
        """Whether there is no fixed part to be seen, even at the smallest size."""
        return self.fixed.median <= _NEGLIGIBLE * self.per_byte.median * self.from_bytes


def fit_cost(curve: CostCurve) -> tuple[CostPiece, ...]:
    """The line of least relative deviations through a curve, or two where one does not describe it; none where neither.

    A line needs three points, and neither of its parts is negative. The sum of the deviations and not of their squares
    is least, and of ten sizes one may lie off the line if it is not the last, so that something else that happened at
    one size neither bends the line nor forbids it. The intervals come from the same fit to bootstrap draws.
    """
    count = len(curve.points)
    one = [(slice(0, count),)] if count >= _LEAST_POINTS else []
    two = [(slice(0, at), slice(at, count)) for at in range(_LEAST_POINTS, count - _LEAST_POINTS + 1)]
    for partings in (one, two):
        judged = [(_flaws(curve, parting), parting) for parting in partings]
        best = min(judged, key=lambda each: each[0], default=None)
        if best and best[0] < _UNACCEPTABLE:
            return tuple(_piece(curve, part) for part in best[1])
    return ()


_UNACCEPTABLE = (math.inf, math.inf)


def _flaws(curve: CostCurve, parting: tuple[slice, ...]) -> tuple[float, float]:
    """How many sizes the lines of these parts miss, and by how much the others at most."""
    misses = [_misses(curve, part) for part in parting]
    off = [[miss > TOLERANCE for miss in each] for each in misses]
    outliers = sum(map(sum, off))
    crowded = any(len(each) - sum(each) < _LEAST_POINTS for each in off)
    if crowded or off[-1][-1] or outliers > len(curve.points) // _SIZES_AN_OUTLIER:
        return _UNACCEPTABLE
    return outliers, max(miss for each in misses for miss in each if miss <= TOLERANCE)


def _misses(curve: CostCurve, part: slice) -> list[float]:
    """How far the line through these points passes each, as a share of it; 0 within the point's interval."""
    sizes = np.asarray(curve.sizes[part], dtype=np.float64)
    fixed, per_byte = _lines(sizes, curve.draws[part, :1])
    return [
        0.0 if point.seconds.low <= value <= point.seconds.high else abs(float(value) / point.seconds.median - 1)
        for point, value in zip(curve.points[part], fixed[0] + per_byte[0] * sizes, strict=True)
    ]


def _piece(curve: CostCurve, part: slice) -> CostPiece:
    sizes, times = np.asarray(curve.sizes[part], dtype=np.float64), curve.draws[part]
    fixed, per_byte = _lines(sizes, times)
    off = np.array([miss > TOLERANCE for miss in _misses(curve, part)])
    deviations = np.abs((fixed[0] + per_byte[0] * sizes) / times[:, 0] - 1)
    return CostPiece(
        from_bytes=int(sizes[0]),
        to_bytes=int(sizes[-1]),
        fixed=interval_of(fixed),
        per_byte=interval_of(per_byte),
        deviation=float(np.max(deviations[~off])),
        outliers=tuple(int(size) for size in sizes[off]),
    )


def _lines(sizes: npt.NDArray[np.float64], times: Draws) -> tuple[Draws, Draws]:
    """Fixed part and part for each byte of the best line of each column of `times`.

    A line of least absolute deviations passes through as many points as it has parameters, so all of those are tried:
    every pair, and each point alone with a constant and with a line through the origin, which are the best ones where
    the other parameter would be negative.
    """
    first, second = np.array(list(combinations(range(len(sizes)), 2))).T
    slopes = (times[second] - times[first]) / (sizes[second] - sizes[first])[:, np.newaxis]
    heights = times[first] - slopes * sizes[first][:, np.newaxis]
    none = np.zeros_like(times)
    per_byte = np.concatenate([slopes, none, times / sizes[:, np.newaxis]])
    fixed = np.concatenate([heights, times, none])
    # Lines that are far from best for the medians are best for no draw.
    likely = np.argsort(_sums(sizes, times[:, :1], fixed[:, :1], per_byte[:, :1])[:, 0], kind="stable")[:_LIKELY]
    fixed, per_byte = fixed[likely], per_byte[likely]
    best = np.argmin(_sums(sizes, times, fixed, per_byte), axis=0)[np.newaxis]
    return np.take_along_axis(fixed, best, axis=0)[0], np.take_along_axis(per_byte, best, axis=0)[0]


def _sums(sizes: npt.NDArray[np.float64], times: Draws, fixed: Draws, per_byte: Draws) -> Draws:
    """Sum of the relative deviations of each line (a row) in each draw; infinite where a part is negative."""
    misses: Draws = np.zeros_like(fixed)
    for size, time in zip(sizes, times, strict=True):
        misses += np.abs((fixed + per_byte * size) / time - 1)
    misses[(fixed < 0) | (per_byte < 0)] = np.inf
    return misses
