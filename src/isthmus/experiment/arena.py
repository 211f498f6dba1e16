"""Buffers that many cases share: as large as the largest of them, allocated once, filled once."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from isthmus import _native
from isthmus.errors import OutOfMemory, Unsupported

__all__ = ["PAGE_BYTES", "Arena", "allocate_largest"]

PAGE_BYTES = 4096


class Arena(NamedTuple):
    """A buffer, and the sizes of transfers that it is too small for, each with the reason; all sizes are bytes."""

    buffer: _native.Buffer | None
    too_large: Mapping[int, str]

    def usable(self, offset: int) -> int:
        """Bytes from `offset` on."""
        return 0 if self.buffer is None else self.buffer.bytes - offset


def allocate_largest(device: _native.Device, kind: str, sizes: Iterable[int], offset: int = 0) -> Arena:
    """A buffer for the largest of `sizes` that can be had, with room for `offset`.

    A size that memory does not suffice for is noted with the reason, and the next smaller one is tried.
    """
    too_large: dict[int, str] = {}
    for size in sorted(set(sizes), reverse=True):
        room = -(-(size + offset) // PAGE_BYTES) * PAGE_BYTES
        try:
            return Arena(device.allocate(kind, room), too_large)
        except (OutOfMemory, Unsupported) as error:
            too_large[size] = str(error)
    return Arena(None, too_large)
