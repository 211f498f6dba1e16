"""Latency at a glance: what one step of each kind takes."""

from isthmus.analysis.latency.section import section
from isthmus.document.grid import excerpt
from isthmus.document.section import Glance
from isthmus.record import Run

_MOST = 8


def glance(run: Run) -> Glance | None:
    """Its table; None where nothing of it was measured."""
    shown = section([run])
    return Glance((excerpt(shown.parts[0].grids[0], _MOST),)) if shown else None
