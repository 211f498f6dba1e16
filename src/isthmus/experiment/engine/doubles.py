"""Arrays of 64-bit floats in buffers, as NumPy sees them, and what the paper's programs fill them with."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from isthmus import _native

Doubles = npt.NDArray[np.float64]

# As in the paper: element i is i % 3343.
RAMP_PERIOD = 3343
# So many periods stay in a core's cache, from which they are copied over and over.
_PERIODS = 32
_BLOCK = np.tile(np.arange(RAMP_PERIOD, dtype=np.float64), _PERIODS)


def doubles(buffer: _native.Buffer) -> Doubles:
    """A buffer's memory; to be used between the beginning and the end of an access by the host."""
    return buffer.host_array().view(np.float64)


def initialise(array: Doubles, pool: ThreadPoolExecutor, threads: int) -> None:
    """Set every element, by so many threads of the pool: it is no part of what is timed, but takes time."""
    blocks = len(array) // len(_BLOCK)
    whole = array[: blocks * len(_BLOCK)].reshape(blocks, len(_BLOCK))
    rest = array[blocks * len(_BLOCK) :]
    rest[:] = _BLOCK[: len(rest)]
    done = [pool.submit(np.copyto, part, _BLOCK) for part in _parts(whole, threads)]
    for each in done:
        each.result()


def subtract(array: Doubles, value: float, pool: ThreadPoolExecutor, threads: int) -> None:
    """Take the value from every element, by so many threads of the pool."""
    done = [pool.submit(np.subtract, part, value, out=part) for part in _parts(array, threads)]
    for each in done:
        each.result()


def _parts(array: Doubles, count: int) -> list[Doubles]:
    bounds = [len(array) * place // count for place in range(count + 1)]
    return [array[first:last] for first, last in pairwise(bounds)]


def initial_sum(count: int) -> float:
    """What so many elements add up to; all sums of them are whole numbers that a double holds exactly."""
    periods, rest = divmod(count, RAMP_PERIOD)
    return float(periods * (RAMP_PERIOD * (RAMP_PERIOD - 1) // 2) + rest * (rest - 1) // 2)
