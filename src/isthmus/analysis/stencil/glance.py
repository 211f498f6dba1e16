"""Stencils at a glance: the fastest methods of exchanging halos on the largest square, and the slowest."""

from isthmus.analysis.stencil.model import stencils
from isthmus.analysis.stencil.times import cells_of, columns_of
from isthmus.analysis.stencil.words import stencil_words, way_title
from isthmus.document.grid import Grid, Group, Row, brief
from isthmus.document.section import Glance
from isthmus.language import say
from isthmus.record import Run

_FASTEST = 5


def glance(run: Run) -> Glance | None:
    """Totals with their phases, the fastest first; None where no stencil was measured."""
    measured = [each for each in stencils(run) if each.points]
    if not measured:
        return None
    main = max(measured, key=lambda each: (each.ranks, each.side * each.columns, -each.halo))
    methods = [point.method for point in main.ranking]
    rows = [
        Row(way_title(method), tuple(map(brief, cells_of(run, main, method))))
        for method in dict.fromkeys((*methods[:_FASTEST], methods[-1]))
    ]
    grid = Grid(stencil_words(main), tuple(columns_of()), (Group("", tuple(rows)),), say("stencil_report.memory"))
    return Glance((grid,))
