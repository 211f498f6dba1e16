"""Names and looks of the methods that move sections of arrays, and of what a table is about."""

from collections.abc import Sequence

from isthmus.model import STRIDED_METHODS, StridedCell, StridedGrid, grid_words
from isthmus.record import Direction, Run
from isthmus.report.grid import Cell
from isthmus.report.labels import kind_label, run_title
from isthmus.report.palette import Look, numbered_look

__all__ = [
    "DIRECTIONS",
    "MISSING",
    "_FAILED",
    "grid_title",
    "method_heading",
    "method_label",
    "method_look",
    "state_cell",
]

DIRECTIONS: dict[Direction, str] = {"h2d": "H2D", "d2h": "D2H"}
MISSING = Cell("-", state="missing", detail="not measured")
_FAILED = Cell("failed", state="failed", detail="the data that arrived is not the data that was sent")
_LABELS = {
    "section": "driver",
    "copies": "copies",
    "device_pack": "device pack",
    "pack_threads": "threads",
    "pack_kernel": "threads + kernel",
    "mapped_kernel": "kernel",
}
_HEADINGS = {
    "section": "driver's\n2-D/3-D",
    "copies": "copy\na row",
    "whole": "whole\nspan",
    "device_pack": "device\npack",
    "mapped_kernel": "mapped\nkernel",
    "pack": "pack,\n1 thread",
    "pack_threads": "pack,\nthreads",
    "pack_kernel": "threads,\nkernel",
}


def method_label(method: str) -> str:
    """The method in a cell of a table or a legend: one or two words."""
    return _LABELS.get(method, method.replace("_", " "))


def method_heading(method: str) -> str:
    """The method as a column heading of short lines."""
    return _HEADINGS.get(method, method_label(method).replace(" ", "\n", 1))


def method_look(method: str) -> Look:
    """Its colour and shape; a kernel looks the same whichever memory it reaches."""
    known = [each for each in STRIDED_METHODS if each != "mapped_kernel"]
    name = "kernel" if method == "mapped_kernel" else method
    return numbered_look(known.index(name) if name in known else len(known))


def grid_title(runs: Sequence[Run], index: int, grid: StridedGrid) -> str:
    """``D2H, pinned, strided on the device alone, a row every 32 KiB``, with the run where there are several."""
    title = f"{DIRECTIONS[grid.direction]}, {kind_label(grid.host_memory)}, {grid_words(grid)}"
    return title if len(runs) == 1 else f"{title}: {run_title(runs, index)}"


def state_cell(cell: StridedCell, method: str) -> Cell:
    """Why there is no figure of a method."""
    if method in cell.failed:
        return _FAILED
    # Where kernels reach mapped memory alone, they reach no pageable memory either.
    reason = cell.skipped.get(method) or cell.skipped.get(method.removeprefix("mapped_"))
    if reason:
        return Cell("skipped", state="skipped", detail=reason)
    return Cell("-", state="missing", detail="its layouts leave nothing for this method to do")
