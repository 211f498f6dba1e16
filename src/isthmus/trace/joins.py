"""What belongs together in a trace: records of devices and calls with one correlation, and what numbers stand for."""

from collections.abc import Mapping

import numpy as np

from isthmus.trace.columns import UNKNOWN, Integers

# Correlations are below this.
CORRELATIONS = 1 << 32


def places_of(process: Integers, correlation: Integers, in_process: Integers, in_correlation: Integers) -> Integers:
    """For each record the place of what has its process and correlation; of several the first, of none UNKNOWN."""
    distinct, first = np.unique(_keys(in_process, in_correlation), return_index=True)
    wanted = _keys(process, correlation)
    if distinct.size == 0:
        return np.full_like(wanted, UNKNOWN)
    place = np.minimum(np.searchsorted(distinct, wanted), distinct.size - 1)
    return np.where((wanted >= 0) & (distinct[place] == wanted), first[place], UNKNOWN)


def _keys(process: Integers, correlation: Integers) -> Integers:
    known = (process >= 0) & (correlation >= 0)
    return np.where(known, process * CORRELATIONS + correlation, UNKNOWN)


def looked_up(values: Integers, found: Mapping[int, int]) -> Integers:
    """What stands for each value; UNKNOWN for those that are not among the found."""
    distinct, places = np.unique(values, return_inverse=True)
    stands: Integers = np.array([found.get(value, UNKNOWN) for value in distinct.tolist()], np.int64)[places]
    return stands
