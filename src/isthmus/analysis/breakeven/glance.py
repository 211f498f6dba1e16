"""Breakeven at a glance: from which size on each memory kind beats pageable memory, by the number of uses."""

from isthmus.analysis.breakeven.analysis import analyse_breakeven
from isthmus.analysis.breakeven.tables import threshold_grids, time_grids
from isthmus.document.grid import Grid, excerpt
from isthmus.document.section import Glance
from isthmus.record import Run

_MOST = 7


def glance(run: Run) -> Glance | None:
    """Thresholds, or times where there is nothing to compare; None where the run has neither."""
    analysis = analyse_breakeven(run)
    if analysis is None:
        return None
    sources = [("", analysis)]
    thresholds = next(threshold_grids(sources), None)
    if thresholds is not None:
        against_pageable = Grid(thresholds.title, thresholds.columns, thresholds.groups[:1], thresholds.corner)
        return Glance((excerpt(against_pageable, _MOST),))
    times = next(time_grids(sources), None)
    return Glance((excerpt(times, _MOST),)) if times else None
