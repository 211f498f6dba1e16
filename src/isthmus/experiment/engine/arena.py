"""Buffers that many cases share: as large as the largest of them, allocated once, filled once."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from isthmus import _native
from isthmus.errors import CallFailed, OutOfMemory, Unsupported

PAGE_BYTES = 4096


class Arena(NamedTuple):
    """A buffer, and the sizes of transfers that it is too small for, each with the reason; all sizes are bytes."""

    buffer: _native.Buffer | None
    too_large: Mapping[int, str]

    def usable(self, offset: int) -> int:
        """Bytes from `offset` on."""
        return 0 if self.buffer is None else self.buffer.bytes - offset


def allocate_largest(
    device: _native.Device, kind: str, sizes: Mapping[str, Collection[int]], offset: int = 0
) -> dict[str, Arena]:
    """By name, a buffer for the largest of its sizes that can be had for all names, with room for `offset`.

    A size that memory does not suffice for is noted with the reason, and the next smaller one is tried for all names
    at once, lest the first takes all and the others get nothing.
    """
    too_large: dict[int, str] = {}
    for limit in sorted({size for of_name in sizes.values() for size in of_name}, reverse=True):
        try:
            buffers = {name: _allocate(device, kind, of_name, limit, offset) for name, of_name in sizes.items()}
        except (OutOfMemory, Unsupported) as error:
            too_large[limit] = str(error)
            continue
        except CallFailed as error:
            if kind == "device":
                raise
            # A kind that the driver refuses, as sandboxes make it do, is no reason to give up the others.
            return {name: Arena(None, dict.fromkeys(of_name, f"failed: {error}")) for name, of_name in sizes.items()}
        return {name: Arena(buffer, too_large) for name, buffer in buffers.items()}
    return {name: Arena(None, too_large) for name in sizes}


def _allocate(
    device: _native.Device, kind: str, sizes: Collection[int], limit: int, offset: int
) -> _native.Buffer | None:
    largest = max((size for size in sizes if size <= limit), default=None)
    return None if largest is None else device.allocate(kind, -(-(largest + offset) // PAGE_BYTES) * PAGE_BYTES)
