"""Interference at a glance: the methods that tell most, with what they cost each neighbour."""

from isthmus.analysis.interference.section import cost_grid
from isthmus.document.grid import excerpt
from isthmus.document.section import Glance
from isthmus.record import Run

_MOST = 10


def glance(run: Run) -> Glance | None:
    """Rows of its table; None where nothing of it was measured."""
    grid = cost_grid([run])
    return Glance((excerpt(grid, _MOST),)) if grid else None
