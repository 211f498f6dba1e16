"""Which numbers of which pieces `batching` moves in each mode, in which layouts, and what takes too long."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

from isthmus.experiment.engine.options import ModeName, powers_of_two
from isthmus.experiment.engine.piece_buffers import Cell, Setting
from isthmus.record import KIB, MIB, LayoutName


class _Grid(NamedTuple):
    """Every size with every number of pieces, as far as the sum stays within the bound."""

    sizes: Sequence[int]
    counts: Sequence[int]
    most_bytes: int


_Pair = tuple[LayoutName, LayoutName]
LAYOUTS: tuple[LayoutName, ...] = ("contiguous", "strided", "scattered")
# Where every method has something to do, and what programs with many small pieces mostly have.
_MAIN: _Pair = ("scattered", "scattered")
# One side packed already, or a regular section: what each costs beside the main pair.
_SECOND: tuple[_Pair, ...] = (("scattered", "contiguous"), ("contiguous", "scattered"), ("strided", "strided"))
_OTHERS = tuple(pair for pair in product(LAYOUTS, LAYOUTS) if pair not in (_MAIN, *_SECOND))

SIZES: Mapping[ModeName, Sequence[int]] = {
    "quick": (256, 4 * KIB, 64 * KIB),
    "default": powers_of_two(6, 20, 2),
    "full": powers_of_two(6, 20),
}
_COUNTS = (1, 16, 64, 256, 1024, 4096, 65536)
_COARSE = _Grid((256, 4 * KIB, 64 * KIB), (16, 256, 4096), 16 * MIB)
_FEW = _Grid((256, 4 * KIB), (256,), 16 * MIB)
_GRIDS: Mapping[ModeName, tuple[_Grid, _Grid | None, _Grid | None]] = {
    "quick": (_COARSE, None, None),
    "default": (_Grid(SIZES["default"], _COUNTS, 16 * MIB), _COARSE, _FEW),
    "full": (
        _Grid(SIZES["full"], (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536), 256 * MIB),
        _Grid(SIZES["default"], (1, 16, 256, 4096, 65536), 64 * MIB),
        _COARSE,
    ),
}
# Where device memory is host memory, both are small as a rule, and one core or two do all the work.
_MOST_SHARED_BYTES: Mapping[ModeName, int] = {"quick": 4 * MIB, "default": 4 * MIB, "full": 64 * MIB}
# Where a loop that waits is shown too.
_TYPICAL = Cell(4 * KIB, 4096)
# What a page cache or a store of small values moves: there beyond the bound, for all that it takes.
_LARGE, _LARGE_SHARED = Cell(4 * KIB, 65536), Cell(4 * KIB, 4096)
# A call of the driver for each piece; the batch call takes as long. 4096 waited calls take 30 ms on an H200, 65536
# queued ones 170 ms, and a batch call for 4096 pieces in pageable memory up to 170 ms.
_PER_PIECE = ("waited_copies", "copies", "graph", "batch")
_MOST_CALLS: Mapping[ModeName, int] = {"quick": 4096, "default": 4096, "full": 65536}
_MOST_SLOW_CALLS: Mapping[ModeName, int] = {"quick": 256, "default": 256, "full": 4096}
# Between these sizes the batch call's rate jumps on the drivers that we know.
_CLIFF = [Cell(size * KIB, 256) for size in (8, 12, 20, 24, 28, 32, 48)]

# Threads pack pageable memory: they join in from some amount on, so that what all of them take shows nowhere
# below. More pieces, and more in all, than the grid has where the layouts are not the main pair.
_THREADED = (Cell(256, 65536), Cell(64 * KIB, 1024))

# Pieces of the grid, and how many bytes larger their twins are, which no larger power of two divides: elements of
# arrays. A few suffice: what alignment costs grows with the pieces and their bytes (analysis/pieces/model.py).
_ALIGNED = (Cell(256, 256), Cell(64 * KIB, 16))
_ELEMENT_BYTES = (1, 2, 4, 8)
# Every method has something to do in the main pair, but for this one, which packs what lies side by side on the host.
_PACKED_ON_DEVICE: _Pair = ("contiguous", "scattered")


def pairs(mode: ModeName) -> list[_Pair]:
    """Layouts of the host and of the device, the one with the finest grid first."""
    grids = zip(((_MAIN,), _SECOND, _OTHERS), _GRIDS[mode], strict=True)
    return [pair for group, grid in grids if grid for pair in group]


def cells(layouts: _Pair, mode: ModeName, sizes: Sequence[int], shares_host_memory: bool) -> list[Cell]:
    """The points of the grid of these layouts; `sizes`, where the user gave some, take the place of the mode's.

    A single piece is there whatever it takes, so that no size is left out without a word.
    """
    main, second, others = _GRIDS[mode]
    grid = main if layouts == _MAIN else second if layouts in _SECOND else others
    if grid is None:
        return []
    bounded = shares_host_memory and not sizes
    most = min(grid.most_bytes, _MOST_SHARED_BYTES[mode]) if bounded else grid.most_bytes
    counts = (1, *grid.counts) if sizes else grid.counts
    grid_cells = {
        cell
        for cell in map(Cell._make, product(sizes or grid.sizes, counts))
        if cell.bytes <= most or (cell.pieces == 1 and sizes)
    }
    large = _LARGE_SHARED if shares_host_memory else _LARGE
    if layouts == _MAIN and mode != "quick" and large.piece_bytes in (sizes or grid.sizes):
        grid_cells.add(large)
    return sorted(grid_cells)


def cliff_cells(layouts: _Pair, mode: ModeName, sizes: Sequence[int], shares_host_memory: bool) -> list[Cell]:
    """Further points for the batch call alone."""
    if layouts != _MAIN or mode == "quick" or sizes:
        return []
    known = cells(layouts, mode, sizes, shares_host_memory)
    return [cell for cell in _CLIFF if cell not in known]


def threaded_cells(setting: Setting, mode: ModeName, sizes: Sequence[int], shares_host_memory: bool) -> list[Cell]:
    """Further points of pageable memory, where the default grid ends before all threads have joined in.

    Nothing that one core or two do in the place of a device is worth that time.
    """
    if setting.memory != "pageable" or setting.layouts not in _SECOND or mode != "default":
        return []
    return [] if sizes or shares_host_memory else list(_THREADED)


def alignment_cells(method: str, setting: Setting, mode: ModeName, sizes: Sequence[int]) -> list[Cell]:
    """Further points that are a few bytes larger than their neighbours, as far as the mode has time for them."""
    layouts = _PACKED_ON_DEVICE if method == "device_pack" else _MAIN
    if setting.layouts != layouts or mode == "quick" or sizes:
        return []
    twins = [Cell(size + more, count) for size, count in _ALIGNED for more in _ELEMENT_BYTES]
    return [cell for cell in twins if too_many(method, setting, cell, mode) is None]


def too_many(method: str, setting: Setting, cell: Cell, mode: ModeName) -> str | None:
    """Why this mode leaves out a method that works piece by piece; None where it does not."""
    if method not in _PER_PIECE or cell.pieces <= _most_pieces(method, setting, cell, mode):
        return None
    others = (name for name in _MORE if name != mode and cell.pieces <= _most_pieces(method, setting, cell, name))
    measuring = next(others, None)
    more = f"; {_MORE[measuring]} measures it" if measuring else ""
    return f"{cell.pieces} pieces one by one would take too much of the time{more}"


# Modes that leave out less, the shortest first, and how to get them.
_MORE: Mapping[ModeName, str] = {"default": "a run without --quick", "full": "--full"}


def _most_pieces(method: str, setting: Setting, cell: Cell, mode: ModeName) -> int:
    if method == "waited_copies" and (setting.layouts, cell) == (_MAIN, _TYPICAL) and mode != "quick":
        return cell.pieces
    # Pageable memory is copied piece by piece in a graph too, and by one thread.
    slow = {"waited_copies"} | ({"graph", "batch"} if setting.memory == "pageable" else set())
    return (_MOST_SLOW_CALLS if method in slow else _MOST_CALLS)[mode]
