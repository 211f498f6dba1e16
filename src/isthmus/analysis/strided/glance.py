"""Sections of arrays at a glance: the driver's copy and the fastest method, for sections that programs know."""

from collections.abc import Sequence

from isthmus.analysis.pieces.cell import STRIDED, Cell
from isthmus.analysis.pieces.figures import method_cell
from isthmus.analysis.pieces.map import fastest_cell
from isthmus.analysis.pieces.model import piece_cells
from isthmus.analysis.pieces.words import method_name, shape_words, way_words
from isthmus.analysis.strided.section import main_known
from isthmus.document.grid import Column, Grid, Group, Row, brief, spread
from isthmus.document.section import Glance
from isthmus.language import say
from isthmus.record import Run

_MOST = 7


def glance(run: Run) -> Glance | None:
    """A row for each section and way, known ones first; None where none was measured."""
    cells = [cell for cell in piece_cells(run, STRIDED) if cell.ranking]
    # The layout that comes first counts for all of a section.
    firsts: dict[tuple[str, str, str], Cell] = {}
    for cell in main_known(cells) or cells:
        firsts.setdefault((shape_words(cell), cell.direction, cell.host_memory), cell)
    chosen = list(firsts.values())
    if not chosen:
        return None
    return Glance((_grid([chosen[at] for at in spread(len(chosen), _MOST)]),))


def _grid(cells: Sequence[Cell]) -> Grid:
    names = [say("pieces_report.fastest"), say("labels.told_time"), method_name(STRIDED.incumbent)]
    rows = tuple(
        Row(
            say("labels.named_value", name=shape_words(cell), value=way_words(cell)),
            (fastest_cell(cell), brief(method_cell(cell, cell.fastest)), brief(method_cell(cell, STRIDED.incumbent))),
        )
        for cell in cells
    )
    columns = tuple(Column(name, name) for name in names)
    return Grid(say("pieces_report.known_title"), columns, (Group("", rows),), say("pieces_report.corner_way"))
