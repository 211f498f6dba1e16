"""What `managed` measures of one array: ways to move it, and how much of it the device touches."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

DOUBLE_BYTES = 8

# Ways to move an array, with the kinds of memory that it is in.
WAYS: Mapping[str, Sequence[str]] = {
    "explicit_whole": ("pageable", "pinned"),
    "explicit_touched": ("pageable", "pinned"),
    "managed": ("managed",),
    "prefetch_whole": ("managed",),
    "prefetch_touched": ("managed",),
    "read_mostly": ("managed",),
    "prefer_device": ("managed",),
    "accessed_by": ("managed",),
    "mapped": ("mapped",),
    "system": ("pageable",),
}


class Point(NamedTuple):
    """One case: the device adds to the leading `percent` of an array, or to one double every `stride_bytes`."""

    method: str
    memory: str
    bytes: int
    percent: int | None
    stride_bytes: int | None

    @property
    def touched(self) -> int:
        """Doubles that the device adds to; one at least."""
        doubles = self.bytes // DOUBLE_BYTES
        if self.stride_bytes is None:
            return max(doubles * (self.percent or 0) // 100, 1)
        return -(-doubles * DOUBLE_BYTES // self.stride_bytes)

    @property
    def step_bytes(self) -> int:
        """From one of these doubles to the next."""
        return DOUBLE_BYTES if self.stride_bytes is None else self.stride_bytes


class Reach(NamedTuple):
    """How much of the array is touched: leading percents, and strides in bytes."""

    percents: Sequence[int]
    strides: Sequence[int]


# By way what a mode measures of it.
Sweep = Mapping[str, Reach]


def points_of(size: int, sweep: Sweep, kinds: Collection[str]) -> Iterator[Point]:
    """Every point of an array of so many bytes, in memory of these kinds."""
    for method, memories in WAYS.items():
        for memory in memories:
            if memory in kinds:
                reach = sweep[method]
                yield from (Point(method, memory, size, percent, None) for percent in reach.percents)
                yield from (Point(method, memory, size, None, stride) for stride in reach.strides)
