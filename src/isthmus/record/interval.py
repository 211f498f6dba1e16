"""Median with its 95 % confidence interval from order statistics: no assumption about the distribution."""

from collections.abc import Sequence
from functools import cache
from statistics import median
from typing import NamedTuple

# The fewest samples whose smallest and largest enclose the median with 95 % confidence: 1 - 2 / 2**6 = 96.9 %.
LEAST_SAMPLES = 6
_LEAST_FOR_INTERVAL = 3


class Interval(NamedTuple):
    """Median and the ends of its 95 % confidence interval, in the unit of the samples."""

    median: float
    low: float
    high: float

    @staticmethod
    def exists_for(count: int) -> bool:
        """Whether so many samples say anything of how well their median is known."""
        return count >= _LEAST_FOR_INTERVAL

    @property
    def is_known(self) -> bool:
        """Whether there is one: fewer than three samples, or samples that are all alike, give a median alone."""
        return self.low < self.high

    @property
    def relative_half_width(self) -> float:
        """Half the interval's width over the median: 0.02 means "known within 2 %"."""
        return (self.high - self.low) / 2 / self.median if self.median > 0 else float("inf")

    def scaled(self, factor: float) -> "Interval":
        """The same in another unit, or of so many times as much; the factor is positive."""
        return Interval(self.median * factor, self.low * factor, self.high * factor)


def median_interval(samples: Sequence[float]) -> Interval:
    """The interval between the order statistics that hold the median with at least 95 % confidence.

    With fewer than LEAST_SAMPLES no pair of order statistics reaches 95 %: the interval is then the whole range, which
    the number of samples next to it gives away; of one or two samples it is the median alone. Source: Hoefler and Belli
    2015, doi 10.1145/2807591.2807644, section 3.1.3.

    Raises ValueError without samples.
    """
    if not samples:
        raise ValueError("a median needs at least one sample")
    # The standard library and not numpy: a run has thousands of such summaries, of a few dozen samples each.
    ordered = sorted(samples)
    if not Interval.exists_for(len(ordered)):
        return Interval(*[median(ordered)] * 3)
    rank = _lower_rank(len(ordered))
    return Interval(median(ordered), ordered[rank], ordered[-1 - rank])


@cache
def _lower_rank(count: int) -> int:
    """Zero-based rank of the lower end: the largest r with P(Binomial(count, 1/2) <= r) <= 2.5 %, in whole numbers."""
    rank, term, tail = 0, 1, 1
    while True:
        term = term * (count - rank) // (rank + 1)
        tail += term
        if 40 * tail > 1 << count:
            return rank
        rank += 1
