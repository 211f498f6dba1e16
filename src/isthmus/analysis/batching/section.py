"""The section on many small pieces: the fastest method everywhere, its gain, and when a loop is worth replacing."""

from collections.abc import Sequence

from isthmus.analysis.batching.curves import curves_part, figures_part
from isthmus.analysis.batching.labels import method_label
from isthmus.analysis.batching.map import map_part
from isthmus.analysis.batching.model import PIECE_METHODS, batching_surfaces, plainest_surfaces
from isthmus.analysis.batching.tables import breakeven_part, cliff_part, layouts_part
from isthmus.analysis.pieces.alignment_table import alignment_part
from isthmus.document.section import Section
from isthmus.language import say
from isthmus.record import Run

__all__ = ["section"]

_CAVEATS = ("prepared", "one_size", "threads")


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of small pieces; None where that is nothing but skips."""
    found = [(index, batching_surfaces(run)) for index, run in enumerate(runs)]
    sources = [(index, surface) for index, surfaces in found for surface in surfaces]
    main = [(index, surface) for index, surfaces in found for surface in plainest_surfaces(surfaces)]
    parts = [
        map_part(runs, main),
        breakeven_part(runs, main),
        cliff_part(runs, main),
        layouts_part(runs, sources),
        alignment_part(runs, "batching", PIECE_METHODS, method_label),
        curves_part(runs, main),
        figures_part(runs, sources),
    ]
    shown = tuple(part for part in parts if part)
    if not shown:
        return None
    return Section(
        "batching",
        say("batching_report.title"),
        say("batching_report.intro"),
        shown,
        question=say("batching_report.question"),
        caveats=tuple(say(f"batching_report.caveat_{name}") for name in _CAVEATS),
    )
