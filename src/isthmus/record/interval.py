"""Median with its 95 % confidence interval from order statistics: no assumption about the distribution."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

__all__ = ["Interval", "median_interval"]

# numpy and scipy are imported where they are used: they take a third of a second, which only commands that summarise
# should pay.


class Interval(NamedTuple):
    """Median and the ends of its 95 % confidence interval, in the unit of the samples."""

    median: float
    low: float
    high: float

    @property
    def relative_half_width(self) -> float:
        """Half the interval's width over the median: 0.02 means "known within 2 %"."""
        return (self.high - self.low) / 2 / self.median if self.median > 0 else float("inf")


def median_interval(samples: Sequence[float]) -> Interval:
    """The interval between the order statistics that hold the median with at least 95 % confidence.

    With fewer than 6 samples no pair of order statistics reaches 95 %: the interval is then the whole range, which the
    number of samples beside it gives away. Source: Hoefler and Belli 2015, doi 10.1145/2807591.2807644, section 3.1.3.

    Raises ValueError without samples.
    """
    if len(samples) == 0:
        raise ValueError("a median needs at least one sample")
    import numpy as np

    ordered = np.sort(np.asarray(samples, dtype=np.float64))
    rank = _lower_rank(len(ordered))
    return Interval(float(np.median(ordered)), float(ordered[rank]), float(ordered[-1 - rank]))


@cache
def _lower_rank(count: int) -> int:
    """Zero-based rank of the lower end: the largest r with P(Binomial(count, 1/2) <= r) <= 2.5 %."""
    import numpy as np
    from scipy.special import bdtr

    ranks = np.arange(count // 2 + 1)
    tail = bdtr(ranks, count, 0.5)
    return int(max(np.searchsorted(tail, 0.025, side="right") - 1, 0))
