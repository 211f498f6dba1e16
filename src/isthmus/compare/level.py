"""One level of a comparison: estimated differences with their errors, and the verdicts that follow from them."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from isthmus.compare.rank_test import corrected
from isthmus.record import Interval

Array = npt.NDArray[np.float64]
Verdict = Literal["slower", "faster", "same", "cannot_tell"]
VERDICTS: tuple[Verdict, ...] = ("slower", "faster", "same", "cannot_tell")

_SIGNIFICANT = 0.05
# Of standard errors: where what two runs differ by anyway is more than this, they say nothing of use.
_UNSTEADY = math.log(1.25)
# Medians of one machine measured twice have heavier tails than a normal distribution; those of Student's with six
# degrees of freedom fit the pairs of runs in results/ (docs/comparing.md). So many standard errors hold 95 % of it.
DEGREES = 6
_STUDENT_95 = 2.447


@dataclass(frozen=True)
class Level:
    """Logarithms of ratios, new over base, their standard errors, and p-values of their being beyond the margin.

    `raw` are the p-values of each alone, `limit` is the margin as a logarithm. `least` is the smallest p-value that
    each could have had, whatever its ratio: few samples cannot show anything. `forgiven` is how much of a difference
    does not count towards p-values: the margin, or nothing.
    """

    shift: Array
    error: Array
    raw: Array
    limit: float
    least: Array
    forgiven: float

    @cached_property
    def p(self) -> Array:
        """The p-values corrected for their number."""
        return corrected(self.raw)

    @cached_property
    def detectable(self) -> Array:
        """How far from 0 each would have had to be for being named, as one of so many; infinite where it could not.

        Benjamini and Hochberg's procedure asks less of each the more are named.
        """
        named = np.count_nonzero(self.p <= _SIGNIFICANT)
        needed = _SIGNIFICANT * min(named + 1, len(self.raw)) / max(len(self.raw), 1)
        named_from = np.maximum(self.limit, self.forgiven + _errors_beyond(needed) * self.error)
        return np.where(self.least <= needed, named_from, math.inf)

    def interval(self, index: int) -> Interval:
        """The ratio with its 95 % interval."""
        shift, half = self.shift[index], _STUDENT_95 * self.error[index]
        return Interval(*(math.exp(value) for value in (shift, shift - half, shift + half)))

    def differs(self, index: int) -> bool:
        """Whether the difference is certainly beyond the margin, as one of so many."""
        return bool(self.p[index] <= _SIGNIFICANT)

    def doubtful(self, index: int) -> bool:
        """Whether chance would not be expected to show such a difference even once among so many."""
        return bool(self.raw[index] <= min(_SIGNIFICANT, 1 / len(self.raw)))

    def steady(self, index: int) -> bool:
        """Whether there is enough of it, and what two runs of one machine differ by is known and small enough."""
        return bool(self.least[index] <= _SIGNIFICANT and self.error[index] <= _UNSTEADY)


def beyond(shift: Array, error: Array, limit: float) -> Array:
    """Two-sided p-values that the true difference is within the limit; 1 where the estimate itself is."""
    return tails(np.maximum(np.abs(shift) - limit, 0.0) / error)


def verdict(found: Level, index: int, above: tuple[Verdict, float, bool] = ("same", 0.0, False)) -> Verdict:
    """The verdict of one estimate: its own where that is certain, else that of what it belongs to, where it fits.

    `above` is the verdict of the level above, the logarithm of its ratio, and whether that level is steady. The same
    is what shows no difference, not even a doubtful one, where it or what it belongs to is steady.
    """
    shift, half = found.shift[index], _STUDENT_95 * found.error[index]
    if found.differs(index):
        return "slower" if shift > 0 else "faster"
    if abs(shift) + half <= found.limit:
        return "same"
    inherited, common, steady = above
    if inherited in ("slower", "faster") and abs(shift) > found.limit and (shift > 0) == (common > 0):
        return inherited
    if found.doubtful(index) or not (found.steady(index) or steady):
        return "cannot_tell"
    if inherited in ("slower", "faster"):
        # Unlike what it belongs to, or too uncertain to be told from it.
        return "same" if abs(shift - common) > half else "cannot_tell"
    return inherited


def tails(scaled: Array) -> Array:
    """What Student's distribution with six degrees of freedom has beyond so many standard errors, on both sides.

    In closed form. Source: Abramowitz and Stegun, 26.7.4.
    """
    cosine_squared = DEGREES / (DEGREES + scaled**2)
    held: Array = np.sqrt(1 - cosine_squared) * (1 + cosine_squared / 2 + 3 / 8 * cosine_squared**2)
    return np.clip(1 - held, 0.0, 1.0)


def _errors_beyond(p: float) -> float:
    """How many standard errors have tails of `p`, by bisection; p-values below 1e-10 count as that."""
    low, high = 0.0, 200.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if tails(np.array(middle)) > p else (low, middle)
    return high
