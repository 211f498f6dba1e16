"""Whether the samples of one case tend to be longer than those of another: the test of Mann and Whitney."""

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

# Up to here the exact distribution is counted, beyond the normal one is as good.
_MOST_EXACT = 25


def rank_test(first: Sequence[float], second: Sequence[float]) -> float:
    """Two-sided p-value that both came from one distribution: exact for few samples without ties, else normal.

    Source: Mann and Whitney 1947, doi 10.1214/aoms/1177730491; the variance with ties is Lehmann's, Nonparametrics,
    section 1.4, and the normal distribution has a continuity correction of a half.

    Raises ValueError when either has no samples.
    """
    if not first or not second:
        raise ValueError("a rank test needs samples on both sides")
    n, m = len(first), len(second)
    both = np.sort(np.concatenate([first, second]))
    # Ranks from 0 on; equal values share the middle of theirs.
    low, high = np.searchsorted(both, first, "left"), np.searchsorted(both, first, "right")
    u = float(np.sum(low + high - 1)) / 2 - n * (n - 1) / 2
    # Symmetric around its mean, so that only the nearer tail has to be looked at.
    u = min(u, n * m - u)
    # Where each stretch of equal values begins.
    begins = np.flatnonzero(np.concatenate([[True], both[1:] != both[:-1]]))
    ties = np.diff(begins, append=len(both))
    if len(ties) == len(both) and max(n, m) <= _MOST_EXACT:
        ways = _ways(min(n, m), max(n, m))
        return min(1.0, 2 * sum(ways[: round(u) + 1]) / sum(ways))
    total = n + m
    variance = n * m / 12 * (total + 1 - float(np.sum(ties**3 - ties)) / (total * (total - 1)))
    if variance <= 0:
        return 1.0
    return min(1.0, math.erfc(max(n * m / 2 - u - 0.5, 0.0) / math.sqrt(2 * variance)))


def least_p(n: int, m: int) -> float:
    """The smallest p-value that n samples against m can have: when all of the one are longer than all of the other."""
    return min(1.0, 2 / math.comb(n + m, n))


@cache
def _ways(n: int, m: int) -> list[int]:
    """In how many orders of n and m samples each value of U from 0 to n m comes about.

    The coefficients of a Gaussian binomial coefficient, built by multiplying with 1 - x**(m + i) and dividing by
    1 - x**i.
    """
    ways = [1] + [0] * (n * m)
    for i in range(1, n + 1):
        for power in range(n * m, m + i - 1, -1):
            ways[power] -= ways[power - m - i]
        for power in range(i, n * m + 1):
            ways[power] += ways[power - i]
    return ways


def corrected(p_values: Sequence[float] | npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The p-values of many tests adjusted so that of those below 0.05 at most 5 % are expected to be wrong.

    The false discovery rate, because thousands of cases are tested at once: methods that guard against a single false
    one (Bonferroni, Holm) would ask for p-values that six samples against six cannot reach. Source: Benjamini and
    Hochberg 1995, doi 10.1111/j.2517-6161.1995.tb02031.x.
    """
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values)[::-1]
    ranks = np.arange(len(values), 0, -1)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(values[order] * len(values) / ranks))
    return adjusted
