"""Overlap at a glance: the best pipeline of each kind of memory next to one piece, and the bound."""

from isthmus.analysis.overlap.section import main_best_grids
from isthmus.document.grid import excerpt
from isthmus.document.section import Glance
from isthmus.record import Run

_MOST = 6
_COLUMNS = 5


def glance(run: Run) -> Glance | None:
    """Where copies take about as long as the work; None where no pipeline was measured."""
    grids = main_best_grids(run)
    return Glance((excerpt(grids[0], _MOST, columns=range(_COLUMNS)),)) if grids else None
