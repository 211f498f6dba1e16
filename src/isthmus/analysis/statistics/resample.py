"""Medians with their bootstrap draws: an uncertainty in a form that any calculation carries through to its result."""

from collections.abc import Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from isthmus.record import Interval

# The ends of a 95 % interval are then the tenth draw from either side.
DRAWS = 400
# Standard deviations that hold 95 % of a normal distribution to either side.
_NORMAL_95 = 1.96

# The last axis holds the estimate itself in column 0 and the draws behind it.
Draws = npt.NDArray[np.float64]


def resampled_medians(series: Sequence[Sequence[float]], *, seed: int = 0, known_within: float = 0.0) -> Draws:
    """One row for each series: the median of its samples, then the medians of DRAWS resamples of them.

    Samples that were taken one after the other agree better than those of another visit would. So no median counts as
    known better than within the share `known_within` of itself, with 95 % confidence: what the run aimed at, and all
    that it claims.

    A resample's median is the mean of one or two of the ordered samples, and which ones depends on order statistics of
    as many uniform numbers alone; those are drawn directly, so that the work does not grow with the number of samples.
    Source: David and Nagaraja, Order Statistics, 3rd edition, sections 2.1 and 2.5.

    Raises ValueError when a series is empty.
    """
    if not all(series):
        raise ValueError("a median needs at least one sample")
    if not series:
        return np.empty((0, 1 + DRAWS))
    counts = np.array([len(samples) for samples in series], dtype=np.int64)
    # Python sorts a dozen numbers in less time than it takes to make an array of them.
    ordered = np.fromiter(chain.from_iterable(map(sorted, series)), np.float64, counts.sum())
    first = (np.cumsum(counts) - counts)[:, np.newaxis]
    random = np.random.default_rng(seed)
    lower, upper = _middle_ranks(counts[:, np.newaxis], random)
    middle = np.hstack([(counts[:, np.newaxis] - 1) // 2, lower]), np.hstack([counts[:, np.newaxis] // 2, upper])
    medians: Draws = (ordered[first + middle[0]] + ordered[first + middle[1]]) / 2
    if known_within > 0:
        medians[:, 1:] *= random.lognormal(0.0, known_within / _NORMAL_95, (len(counts), DRAWS))
    return medians


def interval_of(draws: Draws) -> Interval:
    """The estimate with the 2.5th and 97.5th percentiles of its draws, widened to hold the estimate where need be."""
    ordered = np.sort(draws[1:])
    low, high = _quantile(ordered, 0.025), _quantile(ordered, 0.975)
    middle = float(draws[0])
    return Interval(middle, min(low, middle), max(high, middle))


def middle(rows: Sequence[Draws]) -> Draws:
    """The median of a few rows, draw by draw, as `numpy.median` gives it in many times the time."""
    ordered = np.sort(rows, axis=0)
    both: Draws = (ordered[(len(rows) - 1) // 2] + ordered[len(rows) // 2]) / 2
    return both


def _quantile(ordered: npt.NDArray[np.float64], share: float) -> float:
    """What `numpy.quantile` gives, to the last bit: a report asks for thousands, which take that ten times as long."""
    place = (len(ordered) - 1) * share
    index = int(place)
    beyond = place - index
    low, high = float(ordered[index]), float(ordered[min(index + 1, len(ordered) - 1)])
    # From the nearer of the two, as numpy does.
    return low + (high - low) * beyond if beyond < 0.5 else high - (high - low) * (1 - beyond)


def _middle_ranks(
    counts: npt.NDArray[np.int64], random: np.random.Generator
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Ranks of the two middle samples of DRAWS resamples of each series; twice the same rank for odd counts."""
    shape = (len(counts), DRAWS)
    middle = (counts + 1) // 2
    lower = random.beta(middle, counts - middle + 1, shape)
    # The next of the counts - middle uniform numbers that lie above the one just drawn.
    above = lower + (1 - lower) * random.beta(1, np.maximum(counts - middle, 1), shape)
    upper = np.where(counts % 2, lower, above)
    ranks = [np.minimum((counts * place).astype(np.int64), counts - 1) for place in (lower, upper)]
    return ranks[0], ranks[1]
