"""What memory allows a stencil: arrays on the device, which ranks may share, and the host's part of each way."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from isthmus.experiment.engine.blocks import most_managed_bytes, over_budget, over_half
from isthmus.experiment.stencil.points import Cut, HaloPoint, Tile
from isthmus.experiment.stencil.rank import Room
from isthmus.record import MIB, format_bytes

_ARRAYS = 2
_MIRRORED = ("cpu_whole", "cpu_columns", "cpu_rows")
# Contexts, kernels and the driver's own buffers need some.
_USABLE = 0.9


class Share(NamedTuple):
    """What one rank may take: of its device's free memory, which `sharers` divide, and of the host's."""

    free_bytes: int
    sharers: int
    host_bytes: int
    shares_host_memory: bool

    @property
    def reference_bytes(self) -> int:
        """What a rank may take to compute what results are compared with, while there is nothing else."""
        return self.free_bytes // (2 * self.sharers)

    @classmethod
    def of(cls, rooms: Sequence[Room], host_bytes: int, shares_host_memory: bool) -> "Share":
        """That of the rank that has least."""
        places = [(room.host, room.device) for room in rooms]
        least = min(range(len(rooms)), key=lambda rank: rooms[rank].free_bytes // places.count(places[rank]))
        sharers = places.count(places[least])
        return cls(rooms[least].free_bytes, sharers, host_bytes, shares_host_memory)


@dataclass(frozen=True)
class Limits:
    """Those of one cut; rank 0's tile is the largest."""

    share: Share
    cut: Cut

    @property
    def tile(self) -> Tile:
        """The largest."""
        return self.cut.tile(0)

    @property
    def moved_bytes(self) -> int:
        """What copies of whole arrays there and back amount to in a sample; for the time that a case may need."""
        return 2 * self.cut.iterations * self.tile.bytes

    def why_not(self, point: HaloPoint) -> str | None:
        """Why a case is left out even if nothing else is in memory."""
        share, arrays = self.share, _ARRAYS * self.tile.bytes
        if point.memory == "managed":
            limit = most_managed_bytes(share.free_bytes)
            if share.sharers * arrays > limit:
                return f"{_all_arrays(share.sharers, arrays)}, {over_half(limit)}"
        elif share.sharers * arrays > _USABLE * share.free_bytes:
            free = _whole(share.free_bytes)
            return f"{_all_arrays(share.sharers, arrays)}, exceeds the device's free {free}"
        return over_budget(share.host_bytes) if self.host_bytes([point]) > share.host_bytes else None

    def host_bytes(self, points: Sequence[HaloPoint]) -> int:
        """What one rank needs of the host for all of these, with the device's part where that is the host's memory."""
        memories = {point.memory for point in points}
        mirrors = {point.memory for point in points if point.method in _MIRRORED and point.memory != "managed"}
        # One array of managed memory is on the host while it is packed there.
        total = (len(mirrors) + ("managed" in memories)) * self.tile.bytes
        if self.share.shares_host_memory:
            total += _ARRAYS * len({memory == "managed" for memory in memories}) * self.tile.bytes
        return total

    def fits(self, points: Sequence[HaloPoint]) -> bool:
        """Whether all of these can be in memory at the same time."""
        share, arrays = self.share, _ARRAYS * self.tile.bytes * self.share.sharers
        explicit = arrays if any(point.memory != "managed" for point in points) else 0
        managed = arrays if any(point.memory == "managed" for point in points) else 0
        in_device = explicit <= _USABLE * share.free_bytes and managed <= most_managed_bytes(share.free_bytes, explicit)
        return in_device and self.host_bytes(points) <= share.host_bytes


def _all_arrays(sharers: int, arrays: int) -> str:
    """``2 arrays for each of 2 ranks on the device, 30.0 GiB in all``."""
    each = f" for each of {sharers} ranks on the device" if sharers > 1 else ""
    return f"two arrays{each}, {_whole(sharers * arrays)} in all"


def _whole(count: int) -> str:
    """A size without the bytes that nobody counts in."""
    return format_bytes(count >> 20 << 20 if count >= MIB else count)
