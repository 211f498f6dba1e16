"""How far medians of two runs lie apart although nothing changed: estimated from the cases that are alike."""

from collections import defaultdict
from collections.abc import Callable, Sequence
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
