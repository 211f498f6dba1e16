"""What `managed` measures of one array: methods to move it, and how much of it the device touches."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from isthmus.experiment.engine.options import ModeName
from isthmus.record import KIB, MIB, Case

DOUBLE_BYTES = 8

# Methods to move an array, with the kinds of memory that it is in.
METHODS: Mapping[str, Sequence[str]] = {
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


def touched(case: Case) -> int:
    """Doubles that the device adds to: the leading fraction of the array, or one every `stride_bytes`; at least one."""
    doubles = case.bytes // DOUBLE_BYTES
    if case.stride_bytes is None:
        return max(doubles * round(100 * (case.fraction or 0)) // 100, 1)
    return -(-doubles * DOUBLE_BYTES // case.stride_bytes)


def step_bytes(case: Case) -> int:
    """From one of these doubles to the next."""
    return case.stride_bytes or DOUBLE_BYTES


class Reach(NamedTuple):
    """How much of the array is touched: leading percents, and strides in bytes."""

    percents: Sequence[int]
    strides: Sequence[int]


# By method what a mode measures of it.
Sweep = Mapping[str, Reach]


def cases_of(size: int, sweep: Sweep, kinds: Collection[str]) -> Iterator[Case]:
    """Every case of an array of so many bytes, in memory of these kinds."""
    for method, memories in METHODS.items():
        for memory in memories:
            if memory in kinds:
                case = partial(Case, experiment="managed", method=method, host_memory=memory, bytes=size)
                yield from (case(fraction=percent / 100) for percent in sweep[method].percents)
                yield from (case(stride_bytes=stride) for stride in sweep[method].strides)


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


def chosen_sweep(percents: Sequence[int], strides: Sequence[int]) -> Sweep:
    """On demand at these places, as the paper has its curves, against one whole copy, which does not depend on them."""
    whole = Reach(percents[-1:], [] if percents else strides[:1])
    return dict.fromkeys(METHODS, Reach([], [])) | {"managed": Reach(percents, strides), "explicit_whole": whole}
