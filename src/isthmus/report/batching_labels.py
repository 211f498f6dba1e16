"""Names and looks of the methods that move pieces, and of what a surface is about, wherever a report shows them."""

from collections.abc import Sequence

from isthmus.model import PIECE_METHODS, BatchingSurface, layout_words
from isthmus.record import Run
from isthmus.report.labels import kind_label, run_title
from isthmus.report.palette import Look, numbered_look

__all__ = ["method_heading", "method_label", "method_look", "setting_title", "ways_heading"]

_LABELS = {
    "waited_copies": "waited",
    "copies": "loop",
    "device_pack": "device pack",
    "pack_threads": "threads",
    "pack_kernel": "threads + kernel",
    "mapped_kernel": "kernel",
}
_HEADINGS = {
    "waited_copies": "loop,\nwaited",
    "device_pack": "device\npack",
    "pack_threads": "pack,\nthreads",
    "pack_kernel": "threads,\nkernel",
}
_WAYS = {"h2d": "H2D", "d2h": "D2H"}


def method_label(method: str) -> str:
    """The method in a cell of a table or a legend: one or two words."""
    return _LABELS.get(method, method.replace("_", " "))


def method_heading(method: str) -> str:
    """The method as a column heading of short lines."""
    return _HEADINGS.get(method, method_label(method).replace(" ", "\n", 1))


def method_look(method: str) -> Look:
    """Its colour and shape; a kernel looks the same whichever memory it reaches."""
    name = "kernel" if method == "mapped_kernel" else method
    return numbered_look(PIECE_METHODS.index(name) if name in PIECE_METHODS else len(PIECE_METHODS))


def setting_title(runs: Sequence[Run], index: int, surface: BatchingSurface) -> str:
    """``H2D, pinned, scattered on both sides``, with the run where there are several."""
    layouts = layout_words(surface.host_layout, surface.device_layout)
    title = f"{_WAYS[surface.direction]}, {kind_label(surface.host_memory)}, {layouts}"
    return title if len(runs) == 1 else f"{title}: {run_title(runs, index)}"


def ways_heading(surface: BatchingSurface) -> str:
    """``H2D, pinned`` in two lines."""
    return f"{_WAYS[surface.direction]},\n{kind_label(surface.host_memory)}"
