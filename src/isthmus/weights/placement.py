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
    """Runs in the order of the file, where each tensor that has bytes begins in the block, and how large that is."""

    runs: tuple[Run, ...]
    places: dict[str, int]
    size: int


def place(tensors: Iterable[Tensor]) -> Placement:
    """Lay tensors, in the order of their bytes, as the file has them, with a gap only where one were not aligned."""
    runs: list[Run] = []
    places: dict[str, int] = {}
    size = 0
    for tensor in tensors:
        length = tensor.end - tensor.begin
        if length == 0:
            continue
        last = runs[-1] if runs else None
        within = tensor.begin - last.begin if last else 0
        if last is None or within != last.size or within % ALIGNMENT:
            size = -(-size // _RUN_ALIGNMENT) * _RUN_ALIGNMENT
            runs.append(Run(tensor.begin, size, length))
        else:
            runs[-1] = Run(last.begin, last.place, last.size + length)
        places[tensor.name] = size
        size += length
    return Placement(tuple(runs), places, size)
