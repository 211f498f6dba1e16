"""Managed memory whose pages are sent from side to side and touched one by one; it knows what its words must be."""

import time

import numpy as np

from isthmus import _native
from isthmus.experiment.engine.arena import PAGE_BYTES
from isthmus.record import MIB

# Drivers keep books on 2 MiB: points so far apart cannot share anything.
BLOCK_BYTES = 4 * MIB
BLOCKS = 16
ARRAY_BYTES = BLOCKS * BLOCK_BYTES

_WORD_BYTES = 4
_PAGE_WORDS = PAGE_BYTES // _WORD_BYTES
_PAGES = ARRAY_BYTES // PAGE_BYTES
# Where in a page everything is touched that is not counted: a 64-bit zero.
_AT_REST = 16
_REST_BYTES = _AT_REST * _WORD_BYTES
_MIX = np.uint32(2654435761)


class MigrationArray:
    """Managed memory of 64 MiB that begins at a multiple of a block; offsets count from there, in bytes.

    Touches are of the first word of a page. Those of the device add 1 to it, which `wrong` looks for.
    """

    def __init__(self, device: _native.Device) -> None:
        """Allocate, and fill on the host. Raises the errors of `isthmus.errors`."""
        self._memory = device.allocate("managed", ARRAY_BYTES + BLOCK_BYTES)
        self._stream = _native.Stream(device)
        self._prefetches = device.why_no_prefetch() is None
        self._memory.begin_host_access()
        everything = self._memory.host_array()
        self.address = -(-everything.ctypes.data // BLOCK_BYTES) * BLOCK_BYTES
        self._start = self.address - everything.ctypes.data
        self._words = everything[self._start : self._start + ARRAY_BYTES].view(np.uint32)
        self._words[:] = np.arange(self._words.size, dtype=np.uint32)
        self._words *= _MIX
        by_page = self._words.reshape(_PAGES, _PAGE_WORDS)
        by_page[:, _AT_REST : _AT_REST + 2] = 0
        self._heads, self._tails = by_page[:, 0], by_page[:, -1]
        self._expected_heads, self._expected_tails = self._heads.copy(), self._tails.copy()
        self._seen = np.empty(_PAGES, np.uint32)
        self._memory.end_host_access()

    def to_device(self) -> None:
        """Bring every page to the device."""
        if self._prefetches:
            self._stream.prefetch(self._memory, self._start, ARRAY_BYTES, "device")
        else:
            self._stream.touch_in_turn(self._memory, self._start + _REST_BYTES, _PAGES, PAGE_BYTES)
        self._stream.synchronize()

    def to_host(self) -> None:
        """Bring every page to the host."""
        if self._prefetches:
            self._stream.prefetch(self._memory, self._start, ARRAY_BYTES, "host")
            self._stream.synchronize()
        else:
            self.touch_on_host(0, _PAGES, PAGE_BYTES)

    def prefetch(self, side: str, bytes: int, count: int = 1, stride: int = 0) -> None:
        """Bring `count` parts of so many bytes to ``host`` or ``device``, a stride apart."""
        self._stream.prefetch(self._memory, self._start, bytes, side, count, stride)
        self._stream.synchronize()

    def touch_on_device(self, offset: int, count: int, stride: int) -> float:
        """Touch pages one by one; returns seconds from before the launch to after the last."""
        begin = time.perf_counter()
        self._stream.touch_in_turn(self._memory, self._start + offset, count, stride)
        self._stream.synchronize()
        seconds = time.perf_counter() - begin
        self._expected_heads[self._pages(offset, count, stride)] += np.uint32(1)
        return seconds

    def sweep_on_device(self) -> None:
        """Touch every page, all at once. Raises Unsupported where kernels cannot compute on doubles."""
        self._stream.add_doubles(self._memory, self._start + _REST_BYTES, _PAGES, PAGE_BYTES, 0.0)
        self._stream.synchronize()

    def touch_on_host(self, offset: int, count: int, stride: int) -> float:
        """Read pages one by one; returns seconds. Access is asked for before and not timed."""
        pages = self._pages(offset, count, stride)
        heads, seen = self._heads[pages], self._seen[:count]
        self._memory.begin_host_access()
        begin = time.perf_counter()
        np.copyto(seen, heads)
        seconds = time.perf_counter() - begin
        self._memory.end_host_access()
        return seconds

    def wrong(self) -> str:
        """What is not as it must be after all touches; empty where all is well. Brings every page to the host."""
        # Or each page that is looked at would fault.
        self.to_host()
        self._memory.begin_host_access()
        try:
            for name, found, expected in (
                ("first", self._heads, self._expected_heads),
                ("last", self._tails, self._expected_tails),
            ):
                pages = np.flatnonzero(found != expected)
                if pages.size:
                    where = f"{pages.size} of {_PAGES} pages differ, page {pages[0]} first"
                    return f"wrong data: the {name} words of {where}"
        finally:
            self._memory.end_host_access()
        return ""

    @staticmethod
    def _pages(offset: int, count: int, stride: int) -> slice:
        """The pages of a row of touches; of several within one page there is none."""
        first, step = offset // PAGE_BYTES, stride // PAGE_BYTES
        return slice(first, first + (count - 1) * step + 1, step)
