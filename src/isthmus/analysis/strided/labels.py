"""Names and looks of the methods that move sections of arrays, and of what a table is about."""

from collections.abc import Sequence

from isthmus.analysis.labels import kind_label, of_run, run_label
from isthmus.analysis.phrases import way_name
from isthmus.analysis.strided.grid import StridedGrid
from isthmus.analysis.strided.model import STRIDED_METHODS, StridedCell
from isthmus.analysis.strided.words import grid_words
from isthmus.document.grid import Cell
from isthmus.document.palette import Look, numbered_look
from isthmus.document.states import failed, missing, skipped
from isthmus.language import can_say, say
from isthmus.record import Run

__all__ = ["grid_title", "labelled", "method_heading", "method_label", "method_look", "state_cell", "way_heading"]


def method_label(method: str) -> str:
    """The method in a cell of a table or a legend: one or two words."""
    key = f"strided_report.label_{method}"
    return say(key) if can_say(key) else method.replace("_", " ")


def method_heading(method: str) -> str:
    """The method as a column heading of short lines."""
    key = f"strided_report.heading_{method}"
    return say(key) if can_say(key) else method.replace("_", "\n", 1)


def method_look(method: str) -> Look:
    """Its colour and shape; a kernel looks the same whichever memory it reaches."""
    known = [each for each in STRIDED_METHODS if each != "mapped_kernel"]
    name = "kernel" if method == "mapped_kernel" else method
    return numbered_look(known.index(name) if name in known else len(known))


def grid_title(runs: Sequence[Run], index: int, grid: StridedGrid) -> str:
    """``D2H, pinned, strided on the device alone, a row every 32 KiB``, with the run where there are several."""
    title = say(
        "strided_report.grid",
        way=way_name(grid.direction),
        memory=kind_label(grid.host_memory),
        layouts=grid_words(grid),
    )
    return of_run(title, runs, index)


def way_heading(cell: StridedCell) -> str:
    """``D2H, pinned``."""
    return say("strided_report.way", way=way_name(cell.direction), memory=kind_label(cell.host_memory))


def labelled(heading: str, runs: Sequence[Run], index: int) -> str:
    """The heading of a row, with the letter of its run where there are several."""
    return f"{heading} {run_label(runs, index)}".rstrip()


def state_cell(cell: StridedCell, method: str) -> Cell:
    """Why there is no figure of a method."""
    if method in cell.failed:
        return failed()
    # Where kernels reach mapped memory alone, they reach no pageable memory either.
    reason = cell.skipped.get(method) or cell.skipped.get(method.removeprefix("mapped_"))
    if reason:
        return skipped(reason)
    return missing(say("strided_report.nothing_to_do"))
