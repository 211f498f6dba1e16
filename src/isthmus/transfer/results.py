"""New memory of the host for results, used again when they are gone: so the kernel clears its pages only once."""

import contextlib
import math
import mmap
import os
import resource
from typing import Any

import numpy as np
import numpy.typing as npt

# Smaller blocks malloc keeps by itself, as a rule.
LEAST_BYTES = 1 << 20
_HUGE_PAGE_BYTES = 2 << 20
# A block serves what is at most this part smaller.
_SPARE_PART = 8


class _Block:
    """Memory of the process, in whole huge pages, that a fork copies as it does any other."""

    def __init__(self, size: int) -> None:
        self.bytes = size
        self._map = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.array = np.frombuffer(self._map, np.uint8)
        self._advise(mmap.MADV_HUGEPAGE)

    def offer(self) -> None:
        """Let the kernel take pages while nothing uses them, once it or the control group is short of memory.

        Pages that it did not take stay. For 512 MiB of huge pages this takes 0.3 ms, and clearing them 100 or more.
        """
        self._advise(mmap.MADV_FREE)

    def _advise(self, advice: int) -> None:
        with contextlib.suppress(OSError):  # kernels without it
            self._map.madvise(advice)


class _Lent:
    """The base of an array and all its views, which returns its block when the last of them is gone."""

    __slots__ = ("_block", "_pool")

    def __init__(self, pool: "ResultPool", block: _Block) -> None:
        self._pool = pool
        self._block = block

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """The whole block, as bytes."""
        return self._block.array.__array_interface__

    def __del__(self) -> None:
        self._pool._give_back(self._block)


class ResultPool:
    """Blocks that no result uses, at most `budget_bytes` of them; the longest unused go first.

    There is no lock, which an array that is collected while this runs, or the child of a fork, could wait for in vain:
    each step is one operation on a list, which Python's own lock makes whole.
    """

    def __init__(self, budget_bytes: int | None = None) -> None:
        #: None: an eighth of the machine's memory, or of the limit of the process's addresses.
        self.budget_bytes = budget_bytes
        self._unused: list[_Block] = []

    @property
    def unused_bytes(self) -> int:
        """Bytes that are kept for later results."""
        return sum(block.bytes for block in list(self._unused))

    def empty(self, shape: int | list[int], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """As `numpy.empty`, whose errors it raises: a new array in C order, whose contents are anything."""
        element_type = np.dtype(dtype)
        size = math.prod(shape if isinstance(shape, list) else (shape,)) * element_type.itemsize
        block = None
        if LEAST_BYTES <= size < 1 << 63 and not element_type.hasobject:
            block = self._take(size) or self._new(size)
        if block is None:
            return np.empty(shape, element_type)
        made: npt.NDArray[Any] = np.ndarray(shape, element_type, np.asarray(_Lent(self, block)))
        return made

    def trim(self) -> None:
        """Give back what no result uses."""
        self._shrink_to(0)

    def _take(self, size: int) -> _Block | None:
        fitting = [block for block in list(self._unused) if size <= block.bytes <= _rounded(size + size // _SPARE_PART)]
        for block in sorted(fitting, key=lambda block: block.bytes):
            try:
                self._unused.remove(block)
            except ValueError:  # another thread has it by now
                continue
            return block
        return None

    def _new(self, size: int) -> _Block | None:
        try:
            return _Block(_rounded(size))
        except (OSError, MemoryError):
            self.trim()
            return None

    def _give_back(self, block: _Block) -> None:
        if self.budget_bytes is None:
            self.budget_bytes = _default_budget()
        if block.bytes > self.budget_bytes:
            return
        block.offer()
        self._unused.append(block)
        self._shrink_to(self.budget_bytes)

    def _shrink_to(self, most: int) -> None:
        while self.unused_bytes > most:
            try:
                del self._unused[0]
            except IndexError:  # another thread took the last
                return


def _rounded(size: int) -> int:
    return -(-size // _HUGE_PAGE_BYTES) * _HUGE_PAGE_BYTES


def _default_budget() -> int:
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    addresses, _ = resource.getrlimit(resource.RLIMIT_AS)
    return (machine if addresses == resource.RLIM_INFINITY else min(machine, addresses)) // 8


#: What `to_host` and `state_dict_to_host` take new arrays from. Settable: ``pool.budget_bytes = 0`` keeps nothing.
pool = ResultPool()
