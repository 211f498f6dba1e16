"""Names and looks of the methods that move pieces, and of what a surface is about, wherever a report shows them."""

from collections.abc import Sequence

from isthmus.analysis.batching.model import PIECE_METHODS, BatchingSurface
from isthmus.analysis.labels import kind_label, of_run, run_label
from isthmus.analysis.phrases import way_name
from isthmus.analysis.pieces.words import layout_words
from isthmus.document.grid import Column
from isthmus.document.palette import Look, numbered_look
from isthmus.language import can_say, say
from isthmus.record import Run

__all__ = ["method_heading", "method_label", "method_look", "setting_title", "way_column"]


def method_label(method: str) -> str:
    """The method in a cell of a table or a legend: one or two words."""
    key = f"batching_report.label_{method}"
    return say(key) if can_say(key) else method.replace("_", " ")


def method_heading(method: str) -> str:
    """The method as a column heading of short lines."""
    key = f"batching_report.heading_{method}"
    return say(key) if can_say(key) else method.replace("_", "\n", 1)


def method_look(method: str) -> Look:
    """Its colour and shape; a kernel looks the same whichever memory it reaches."""
    name = "kernel" if method == "mapped_kernel" else method
    return numbered_look(PIECE_METHODS.index(name) if name in PIECE_METHODS else len(PIECE_METHODS))


def setting_title(runs: Sequence[Run], index: int, surface: BatchingSurface) -> str:
    """``H2D, pinned, scattered on both sides``, with the run where there are several."""
    title = say(
        "batching_report.setting",
        way=way_name(surface.direction),
        memory=kind_label(surface.host_memory),
        layouts=layout_words(surface.host_layout, surface.device_layout),
    )
    return of_run(title, runs, index)


def way_column(runs: Sequence[Run], index: int, surface: BatchingSurface) -> Column:
    """A column for ``H2D, pinned``, in two lines."""
    named = {"way": way_name(surface.direction), "memory": kind_label(surface.host_memory)}
    heading, name = say("batching_report.way_heading", **named), say("batching_report.way", **named)
    return Column(heading, name, run_label(runs, index))
