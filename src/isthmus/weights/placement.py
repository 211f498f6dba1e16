"""Where the tensors of a file go in one block of memory, so that few reads fill it and each tensor is aligned."""

from collections.abc import Iterable
from dataclasses import dataclass

from isthmus.weights.header import Tensor

# What kernels load at a time, and matrix products ask for. A file aligns its tensors to their own types alone.
ALIGNMENT = 16
# Where a new run begins: a line of the device's caches, of which allocations begin at a multiple, too.
_RUN_ALIGNMENT = 256


@dataclass(frozen=True)
class Run:
    """Bytes that follow one another in the file and in the block; `begin` is counted as those of tensors are."""

    begin: int
    place: int
    size: int


@dataclass(frozen=True)
class Placement:
    """Runs in the order of the file, where each tensor begins in the block (0 without bytes), and how large that is."""

    runs: tuple[Run, ...]
    places: list[int]
    size: int


def whole_file(data_bytes: int) -> tuple[Run, ...]:
    """The runs of a file all of whose tensors are loaded, and aligned as they are."""
    return (Run(0, 0, data_bytes),) if data_bytes else ()


def place(tensors: Iterable[Tensor]) -> Placement:
    """Lay tensors, in the order of their bytes, as the file has them, with a gap only where one were not aligned."""
    runs: list[Run] = []
    places: list[int] = []
    size = begin = end = start = 0  # of the block, and of the last run: in the file, and where it is in the block
    for tensor in tensors:
        if tensor.begin == tensor.end:
            places.append(0)
            continue
        if tensor.begin != end or (end - begin) % ALIGNMENT:
            if end != begin:
                runs.append(Run(begin, start, end - begin))
            size = start = -(-size // _RUN_ALIGNMENT) * _RUN_ALIGNMENT
            begin = tensor.begin
        places.append(size)
        end = tensor.end
        size = start + end - begin
    if end != begin:
        runs.append(Run(begin, start, end - begin))
    return Placement(tuple(runs), places, size)
