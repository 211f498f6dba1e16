"""Small pieces at a glance: the fastest method by their size and number, with its rate and its lead over a loop."""

from isthmus.analysis.pieces.cell import BATCHING
from isthmus.analysis.pieces.map import fastest_grid, main_sources
from isthmus.analysis.pieces.model import piece_surfaces
from isthmus.analysis.pieces.words import method_name
from isthmus.document.grid import excerpt, spread
from isthmus.document.section import Glance
from isthmus.language import say
from isthmus.record import Run

_MOST = 5
_MOST_COUNTS = 4


def glance(run: Run) -> Glance | None:
    """The first surface that a report shows; None where no pieces were measured."""
    sources = main_sources([(0, surface) for surface in piece_surfaces(run, BATCHING) if surface.measured])
    if not sources:
        return None
    grid = fastest_grid([run], *sources[0])
    title = say("pieces_report.glance_batching", surface=grid.title, incumbent=method_name(BATCHING.incumbent))
    return Glance((excerpt(grid, _MOST, columns=spread(len(grid.columns), _MOST_COUNTS), title=title),))
