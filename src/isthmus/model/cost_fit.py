"""Cost as a fixed part and a part for each byte: a robust line, stated only where it describes the measured points."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
import numpy.typing as npt

from isthmus.model.allocation import CostCurve
from isthmus.model.resample import Draws, interval_of
from isthmus.record import Interval

__all__ = ["TOLERANCE", "CostFit", "CostPiece", "fit_cost"]

# A line describes points when none of them is further from it than this, as a share of the point.
TOLERANCE = 0.25
_LEAST_POINTS = 3
# A part of less than this share of the whole is not worth a word.
_NEGLIGIBLE = 0.1
_LIKELY = 40


@dataclass(frozen=True)
class CostPiece:
    """seconds = `fixed` + `per_byte` x bytes between two measured sizes, both with 95 % bootstrap intervals.

    `deviation` is the largest of the points from it, as a share of the point.
    """

    from_bytes: int
    to_bytes: int
    fixed: Interval
    per_byte: Interval
    deviation: float

    @property
    def flat(self) -> bool:
        """Whether the size hardly matters."""
        return self.per_byte.median * self.to_bytes <= _NEGLIGIBLE * self.fixed.median

    @property
    def proportional(self) -> bool:
        """Whether there is no fixed part to be seen, even at the smallest size."""
        return self.fixed.median <= _NEGLIGIBLE * self.per_byte.median * self.from_bytes


@dataclass(frozen=True)
class CostFit:
    """One line for all sizes, or two that follow each other; `pieces` is empty where neither describes the points."""

    pieces: tuple[CostPiece, ...]


# Several conclusions and tables ask for the fit of the same curve, which takes some 20 ms.
@lru_cache(maxsize=512)
def fit_cost(curve: CostCurve) -> CostFit:
    """The line of least relative deviations through a curve, or two where one is not within TOLERANCE of every point.

    Neither part is negative. A line needs three points. The sum of the deviations and not of their squares is least, so
    that one size at which something else happened does not bend the line; the intervals come from the same fit to
    bootstrap draws of the medians.
    """
    if len(curve.points) < _LEAST_POINTS:
        return CostFit(())
    sizes = np.asarray(curve.sizes, dtype=np.float64)
    whole = _piece(sizes, curve.draws)
    if whole.deviation <= TOLERANCE:
        return CostFit((whole,))
    splits = range(_LEAST_POINTS, len(sizes) - _LEAST_POINTS + 1)
    estimates = curve.draws[:, :1]
    deviations = {
        split: max(
            _deviation(sizes[part], estimates[part, 0], *_lines(sizes[part], estimates[part]))
            for part in (slice(split), slice(split, None))
        )
        for split in splits
    }
    best = min(deviations, key=lambda split: deviations[split], default=None)
    if best is None or deviations[best] > TOLERANCE:
        return CostFit(())
    return CostFit((_piece(sizes[:best], curve.draws[:best]), _piece(sizes[best:], curve.draws[best:])))


def _piece(sizes: npt.NDArray[np.float64], draws: Draws) -> CostPiece:
    fixed, per_byte = _lines(sizes, draws)
    return CostPiece(
        from_bytes=int(sizes[0]),
        to_bytes=int(sizes[-1]),
        fixed=interval_of(fixed),
        per_byte=interval_of(per_byte),
        deviation=_deviation(sizes, draws[:, 0], fixed[:1], per_byte[:1]),
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
    # Of some hundreds of lines those that are far from best for the medians are best for no draw.
    likely = np.argsort(_misses(sizes, times[:, :1], fixed[:, :1], per_byte[:, :1])[:, 0], kind="stable")[:_LIKELY]
    fixed, per_byte = fixed[likely], per_byte[likely]
    best = np.argmin(_misses(sizes, times, fixed, per_byte), axis=0)[np.newaxis]
    return np.take_along_axis(fixed, best, axis=0)[0], np.take_along_axis(per_byte, best, axis=0)[0]


def _misses(sizes: npt.NDArray[np.float64], times: Draws, fixed: Draws, per_byte: Draws) -> Draws:
    """Sum of the relative deviations of each line (a row) in each draw; infinite where a part is negative."""
    misses: Draws = np.zeros_like(fixed)
    for size, time in zip(sizes, times, strict=True):
        misses += np.abs((fixed + per_byte * size) / time - 1)
    misses[(fixed < 0) | (per_byte < 0)] = np.inf
    return misses


def _deviation(sizes: npt.NDArray[np.float64], times: Draws, fixed: Draws, per_byte: Draws) -> float:
    return float(np.max(np.abs((fixed[0] + per_byte[0] * sizes) / times - 1)))
