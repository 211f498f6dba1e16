"""New memory of results: that of earlier ones which are gone, whose pages the kernel need not clear again."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from isthmus import _native
from isthmus.errors import UsageError
from isthmus.record import parse_bytes

_LEAST_BYTES = 1 << 20  # malloc caches smaller ones itself


class ResultMemory(NamedTuple):
    """Bytes that are kept for later results, and the most that may be."""

    unused: int
    budget: int


def result_memory(budget: str | int | None = None, *, trim: bool = False) -> ResultMemory:
    """Memory that is kept for later results of `to_host`, `isthmus.torch` and `isthmus.jax`, from 1 MiB each on.

    A result that dies leaves its memory to later ones of about its size, which takes the kernel no time: the second
    result arrives at the rate of the link. The kernel takes what is unused when it runs short. `budget` (bytes, or a
    text such as ``2GiB``) bounds it from now on for the process; 0 keeps none. At first it is an eighth of what host,
    limits and control group allow, or 0 where the kernel takes nothing back or memory may not be overcommitted. `trim`
    gives back all that is unused.

    Raises UsageError for a budget that makes no sense.
    """
    if budget is not None:
        most = parse_bytes(budget) if isinstance(budget, str) else budget
        if not isinstance(most, int) or isinstance(most, bool) or not 0 <= most < 1 << 63:
            raise UsageError(f"budget is {budget!r}; expected bytes as an int, or a text such as '2GiB'")
        budget = most
    return ResultMemory(*_native.result_memory(budget, trim))


def new_array(shape: Sequence[int], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """As ``numpy.empty``, in memory of earlier results."""
    if math.prod(shape) * dtype.itemsize < _LEAST_BYTES:
        return np.empty(shape, dtype)
    made: npt.NDArray[Any] = _native.in_result_memory(np.empty, shape, dtype)
    return made


def new_bytes(size: int) -> Any:
    """The same for libraries that take a capsule of DLPack; None where so much is not kept."""
    return _native.result_bytes(size)
