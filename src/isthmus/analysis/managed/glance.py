"""Managed memory at a glance: each method against copying, all of an array touched; else how much moves at a time."""

from isthmus.analysis.managed.granularity_tables import granularity_parts
from isthmus.analysis.managed.model import movements
from isthmus.analysis.managed.tables import times_part, whole_part
from isthmus.document.grid import excerpt
from isthmus.document.section import Glance
from isthmus.record import Run

_MOST = 7


def glance(run: Run) -> Glance | None:
    """The first of its tables that the run can fill; None where it has nothing of managed memory."""
    sources = [(0, movement) for movement in movements(run)]
    parts = (whole_part([run], sources), times_part([run], sources), *granularity_parts([run]))
    grids = [grid for part in parts if part and not part.page_only for grid in part.grids]
    return Glance((excerpt(grids[0], _MOST),)) if grids else None
