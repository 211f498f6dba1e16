"""How far medians of two runs lie apart although nothing changed, by cases that are alike; a test of two samples."""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from isthmus.record import KIB, MIB, Case

SizeClass = Literal["small", "middle", "large"]

# Calls dominate below, the link above; in between both do. Measured on an H200: pinned transfers repeat within 0.4 %
# from 4 MiB on and within 8 % below 64 KiB.
_SMALL, _LARGE = 64 * KIB, 4 * MIB
# What medians of one case differ by between two runs, as far as is known before looking (docs/statistics.md).
UNSEEN = 0.03
# In values: how much what is known of a wider family counts for a narrower one.
_WEIGHT = 6
# A median absolute deviation times this estimates the standard deviation of a normal distribution.
_NORMAL_MAD = 1.4826
# Up to here the exact distribution is counted, beyond the normal one is as good.
_MOST_EXACT = 25


class GroupKey(NamedTuple):
    """What cases have in common that are expected to change together."""

    experiment: str
    method: str
    direction: str
    host_memory: str
    size: SizeClass


def group_key(case: Case) -> GroupKey:
    """The group of a case."""
    size: SizeClass = "small" if case.bytes < _SMALL else "middle" if case.bytes < _LARGE else "large"
    return GroupKey(case.experiment, case.method, case.direction or "", case.host_memory, size)


# From wide to narrow.
_FAMILIES: tuple[Callable[[GroupKey], tuple[str, ...]], ...] = (
    lambda key: (key.experiment,),
    lambda key: (key.experiment, key.size),
    lambda key: (key.experiment, key.size, key.host_memory),
    tuple,
)


def spreads(keys: Sequence[GroupKey], values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """For each case the variance of logarithms of ratios among cases like it.

    Estimated from its group, which is often small, and as if they were a few more values from ever wider families: its
    memory kind's sizes of that class, the experiment's, the whole experiment. Ratios around a median that a change of
    all moves, so that it does not count as spread.
    """
    variances = np.full(len(values), UNSEEN**2)
    for shared in _FAMILIES:
        families: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for index, key in enumerate(keys):
            families[shared(key)].append(index)
        for family in families.values():
            variances[family] = robust_variance(values[family], float(variances[family[0]]))
    return variances


def robust_variance(values: npt.NDArray[np.float64], expected: float) -> float:
    """The variance around the median, from the median absolute deviation: a few that really changed do not widen it.

    `expected` is the variance that counts as if it came from a few more values.
    """
    deviation = _NORMAL_MAD * float(np.median(np.abs(values - np.median(values))))
    degrees = len(values) - 1
    return (_WEIGHT * expected + degrees * deviation**2) / (_WEIGHT + degrees)


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
