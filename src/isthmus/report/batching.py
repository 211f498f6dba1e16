"""The section on many small pieces: the fastest method everywhere, its gain, and when a loop is worth replacing."""

from collections.abc import Sequence

from isthmus.model import batching_surfaces, plainest_surfaces
from isthmus.record import Run
from isthmus.report.batching_curves import curves_part, figures_part
from isthmus.report.batching_map import map_part
from isthmus.report.batching_tables import breakeven_part, cliff_part, layouts_part
from isthmus.report.section import Section

__all__ = ["section"]

_INTRO = (
    "Many pieces of one size between host memory and the device: side by side (contiguous), in every second slot "
    "(strided), or in slots drawn at random (scattered). Each sample is the time from before the first call until all "
    "pieces lie in their places, on the host's clock; what is prepared once, such as a graph, is not in it."
)


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
        curves_part(runs, main),
        figures_part(runs, sources),
    ]
    shown = tuple(part for part in parts if part)
    return Section("batching", "Many small pieces", _INTRO, shown) if shown else None
