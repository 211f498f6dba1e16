"""What `managed` measures of one array: ways to move it, and how much of it the device touches."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from isthmus.experiment.engine.options import ModeName
from isthmus.record import KIB, MIB

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


class ArrayPoint(NamedTuple):
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


def points_of(size: int, sweep: Sweep, kinds: Collection[str]) -> Iterator[ArrayPoint]:
    """Every point of an array of so many bytes, in memory of these kinds."""
    for method, memories in WAYS.items():
        for memory in memories:
            if memory in kinds:
                reach = sweep[method]
                yield from (ArrayPoint(method, memory, size, percent, None) for percent in reach.percents)
                yield from (ArrayPoint(method, memory, size, None, stride) for stride in reach.strides)


# The strides of the paper, 4 to 396 KiB, thinned out where its curves are straight, and on to 4 MiB.
_PAPER_KIB = (4, 16, 32, 64, 76, 96, 120, 124, 128, 160, 256, 396, 512)
_ALL_STRIDES = [*(each * KIB for each in _PAPER_KIB), MIB, 2 * MIB, 4 * MIB]
_ALL_PERCENTS = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
# A prefetch is a call for each page: at denser strides there are so many that nobody would make them.
_SPARSE = [each for each in _ALL_STRIDES if each >= 128 * KIB]

_QUICK: Sweep = {
    "explicit_whole": Reach([100], [256 * KIB]),
    "explicit_touched": Reach([25], [256 * KIB]),
    "managed": Reach([1, 25, 100], [64 * KIB, 256 * KIB, MIB]),
    "prefetch_whole": Reach([100], []),
    "prefetch_touched": Reach([25], [256 * KIB]),
    "read_mostly": Reach([1], []),
    "prefer_device": Reach([100], []),
    "accessed_by": Reach([100], [256 * KIB]),
    "mapped": Reach([100], [256 * KIB]),
    "system": Reach([100], [256 * KIB]),
}
_DEFAULT: Sweep = {
    "explicit_whole": Reach([100], [128 * KIB]),
    "explicit_touched": Reach([1, 10, 50], [256 * KIB]),
    "managed": Reach([1, 10, 25, 50, 100], [4 * KIB, 128 * KIB, 256 * KIB, 512 * KIB, 4 * MIB]),
    "prefetch_whole": Reach([100], []),
    "prefetch_touched": Reach([1, 10, 50], [256 * KIB, 4 * MIB]),
    "read_mostly": Reach([1], [256 * KIB]),
    "prefer_device": Reach([100], [256 * KIB]),
    "accessed_by": Reach([100], [256 * KIB]),
    "mapped": Reach([10, 100], [256 * KIB]),
    "system": Reach([10, 100], [256 * KIB]),
}
_SOME_PERCENTS = (1, 10, 30, 60, 100)
_SOME_STRIDES = [4 * KIB, 64 * KIB, 128 * KIB, 256 * KIB, MIB, 4 * MIB]
_FULL: Sweep = {
    "explicit_whole": Reach([1, 60, 100], [4 * KIB, 128 * KIB, 4 * MIB]),
    "explicit_touched": Reach(_SOME_PERCENTS, _SOME_STRIDES),
    "managed": Reach(_ALL_PERCENTS, _ALL_STRIDES),
    "prefetch_whole": Reach(_SOME_PERCENTS, [128 * KIB, 4 * MIB]),
    "prefetch_touched": Reach(_SOME_PERCENTS, _SPARSE),
    "read_mostly": Reach([1, 5], [128 * KIB, MIB]),
    "prefer_device": Reach([10, 100], [128 * KIB, MIB]),
    "accessed_by": Reach([10, 100], [128 * KIB, MIB]),
    "mapped": Reach([10, 100], [128 * KIB, MIB]),
    "system": Reach([10, 100], [128 * KIB, MIB]),
}
SWEEPS: Mapping[ModeName, Sweep] = {"quick": _QUICK, "default": _DEFAULT, "full": _FULL}
