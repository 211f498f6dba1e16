"""OpenACC at a glance: all of an array by each mode, else parts of it, else a stencil."""

from isthmus.analysis.openacc.section import section
from isthmus.document.grid import excerpt
from isthmus.document.section import Glance
from isthmus.record import Run

_MOST = 6


def glance(run: Run) -> Glance | None:
    """The first table of its section; None where the run has none."""
    shown = section([run])
    return Glance((excerpt(shown.parts[0].grids[0], _MOST),)) if shown else None
