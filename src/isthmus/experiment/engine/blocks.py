"""Groups of cases whose buffers fit into memory together, so that as many as possible are measured interleaved."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

from isthmus.record import MIB, Direction, format_bytes


class TransferPoint(NamedTuple):
    """One case of transfers to be measured; by the library's own copy where `method` is ``isthmus``."""

    memory: str
    direction: Direction
    bytes: int
    method: str = ""

    @property
    def buffers(self) -> str:
        """What names the buffers that it shares; each method leaves untouched memory in a state of its own."""
        return f"{self.memory} {self.method}" if self.memory == "untouched" else self.memory

    def ways(self) -> list[Direction]:
        """The directions that run at once."""
        return ["h2d", "d2h"] if self.direction == "both" else [self.direction]


class Blocks(NamedTuple):
    """Groups to measure one after the other, and the points that fit into none."""

    groups: Sequence[Sequence[TransferPoint]]
    too_large: Sequence[TransferPoint]


def bytes_needed(points: Sequence[TransferPoint], shares_host_memory: bool) -> int:
    """Host memory for the buffers of all points; with the device's buffers where device memory is host memory."""
    total = 0
    for way in ("h2d", "d2h"):
        largest: dict[str, int] = {}
        for point in points:
            if way in point.ways():
                largest[point.buffers] = max(largest.get(point.buffers, 0), point.bytes)
        total += sum(largest.values())
        if shares_host_memory:
            total += max(largest.values(), default=0)
    return total


def split_by_memory(points: Sequence[TransferPoint], budget_bytes: int, shares_host_memory: bool) -> Blocks:
    """All points together if they fit; else the small sizes together, and the large ones kind by kind.

    A kind whose large sizes do not fit is split by direction, and what still does not fit is left out.
    """

    def fits(group: Sequence[TransferPoint]) -> bool:
        return bytes_needed(group, shares_host_memory) <= budget_bytes

    together = _largest_prefix(points, fits)
    groups: list[Sequence[TransferPoint]] = [together] if together else []
    too_large: list[TransferPoint] = []
    rest = sorted(set(points) - set(together), key=lambda point: (point.buffers, point.direction, point.bytes))
    for _, kind in groupby(rest, key=lambda point: point.buffers):
        of_kind = list(kind)
        if fits(of_kind):
            groups.append(of_kind)
            continue
        for _, way in groupby(of_kind, key=lambda point: point.direction):
            one_way = list(way)
            fitting = _largest_prefix(one_way, fits)
            groups.extend([fitting] if fitting else [])
            too_large.extend(point for point in one_way if point not in fitting)
    return Blocks(groups, too_large)


def most_managed_bytes(free_bytes: int, other_bytes: int = 0) -> int:
    """How much managed memory a device with so much free memory may have besides `other_bytes` of its own.

    Managed memory beyond the card's own makes the driver evict, which on some machines hangs the GPU.
    """
    return max(free_bytes - other_bytes, 0) // 2


def over_half(limit_bytes: int) -> str:
    """Why managed memory beyond `most_managed_bytes` is left out."""
    return f"exceeds half of the free device memory ({format_bytes(limit_bytes >> 20 << 20)})"


def over_budget(budget_bytes: int) -> str:
    """Why a case is left out whose memory exceeds the budget."""
    whole = budget_bytes >> 20 << 20 if budget_bytes >= MIB else budget_bytes
    return (
        f"its buffers exceed the {format_bytes(whole)} of host memory that this run may take; "
        "--memory-budget allows more"
    )


def _largest_prefix(
    points: Sequence[TransferPoint], fits: Callable[[Sequence[TransferPoint]], bool]
) -> list[TransferPoint]:
    """The points up to the largest size with which all of them fit."""
    for size in sorted({point.bytes for point in points}, reverse=True):
        group = [point for point in points if point.bytes <= size]
        if fits(group):
            return group
    return []
