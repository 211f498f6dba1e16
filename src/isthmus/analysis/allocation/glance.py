"""Allocation at a glance: what pinned memory costs by size, by kind; else what each kind costs to get."""

from isthmus.analysis.allocation.model import PHASES, allocation_costs
from isthmus.analysis.allocation.tables import Measured, cheapest_pinned_grid, phase_grid
from isthmus.document.grid import excerpt
from isthmus.document.section import Glance
from isthmus.record import Run

_MOST = 5


def glance(run: Run) -> Glance | None:
    """The kinds of pinned memory; None where the run measured no allocation."""
    costs = allocation_costs(run)
    if costs is None:
        return None
    measured = Measured(run, costs, "", "")
    grid = cheapest_pinned_grid(measured)
    if grid:
        return Glance((excerpt(grid, _MOST, columns=range(len(grid.columns) - 1)),))
    grid = next((grid for phase in PHASES if (grid := phase_grid([measured], phase))), None)
    return Glance((excerpt(grid, _MOST),)) if grid else None
