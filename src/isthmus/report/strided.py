"""The section on sections of arrays: known ones first, the fastest method everywhere, crossovers, all times."""

from collections.abc import Sequence

from isthmus.record import Run
from isthmus.report.section import Section
from isthmus.report.strided_crossovers import crossovers_part, row_cost_part
from isthmus.report.strided_curves import curves_part, figures_part
from isthmus.report.strided_known import known_parts, padding_part
from isthmus.report.strided_map import map_parts, sources

__all__ = ["section"]

_INTRO = (
    "Rows of an array between host memory and the device: strided where an array's other bytes lie between them, "
    "contiguous where they follow one another. Each sample is the time from before the first call until all rows have "
    "arrived, on the host's clock; rates are of the bytes asked for, whatever else crosses the link."
)


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of sections of arrays; None where that is nothing but skips."""
    found = sources(runs)
    parts = [
        *known_parts(runs),
        padding_part(runs),
        *map_parts(runs, found),
        curves_part(runs, found),
        crossovers_part(runs, found),
        row_cost_part(runs, found),
        figures_part(runs, found),
    ]
    shown = tuple(part for part in parts if part)
    return Section("strided", "Sections of arrays", _INTRO, shown) if shown else None
