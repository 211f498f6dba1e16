"""The array of `managed` as the CPU sees it: how it is initialised, and what it adds up to."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import numpy.typing as npt

__all__ = ["Doubles", "initial_sum", "initialise"]

Doubles = npt.NDArray[np.float64]

# As in the paper: element i is i % 3343.
_PERIOD = 3343
# So many periods stay in a core's cache, from which they are copied over and over.
_PERIODS = 32
_BLOCK = np.tile(np.arange(_PERIOD, dtype=np.float64), _PERIODS)


def initialise(array: Doubles, pool: ThreadPoolExecutor, threads: int) -> None:
    """Set every element, by so many threads of the pool: it is no part of what is timed, but takes time."""
    blocks = len(array) // len(_BLOCK)
    whole = array[: blocks * len(_BLOCK)].reshape(blocks, len(_BLOCK))
    rest = array[blocks * len(_BLOCK) :]
    rest[:] = _BLOCK[: len(rest)]
    bounds = [blocks * place // threads for place in range(threads + 1)]
    done = [pool.submit(np.copyto, whole[first:last], _BLOCK) for first, last in pairwise(bounds)]
    for each in done:
        each.result()


def initial_sum(count: int) -> float:
    """What so many elements add up to; all sums of them are whole numbers that a double holds exactly."""
    periods, rest = divmod(count, _PERIOD)
    return float(periods * (_PERIOD * (_PERIOD - 1) // 2) + rest * (rest - 1) // 2)
