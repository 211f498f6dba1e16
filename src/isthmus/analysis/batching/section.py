"""The section on many small pieces: what all pieces show, and the batch call's cliff and other layouts next to it."""

from collections.abc import Sequence

from isthmus.analysis.frame import section_of
from isthmus.analysis.labels import run_label
from isthmus.analysis.pieces.cell import BATCHING
from isthmus.analysis.pieces.figures import rate_cell
from isthmus.analysis.pieces.map import Source, corner, count_words, fastest_cell, fastest_grid, main_sources
from isthmus.analysis.pieces.model import Surface, piece_surfaces
from isthmus.analysis.pieces.tables import pieces_parts
from isthmus.analysis.pieces.thresholds import batch_curve
from isthmus.analysis.pieces.words import layout_words, method_name, way_words
from isthmus.document.grid import Cell, Column, Grid, Group, Row, excerpt, spread
from isthmus.document.section import Glance, Part, Section
from isthmus.language import say
from isthmus.record import KIB, Direction, Run, format_bytes

# The place of a run, the host's memory and the direction.
_Way = tuple[int, str, Direction]
# What most pairs of layouts have: the second one those that are looked at in passing.
_COMPARED = ((4 * KIB, 4096), (4 * KIB, 256))
_MOST = 5
_MOST_COUNTS = 4


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of small pieces; None where that is nothing but skips."""
    sources = [(index, surface) for index, run in enumerate(runs) for surface in piece_surfaces(run, BATCHING)]
    own = _cliffs(runs, main_sources(sources)), _layouts(runs, sources)
    return section_of("batching", pieces_parts(runs, BATCHING, *own), ("prepared", "threads"))


def _column(runs: Sequence[Run], index: int, surface: Surface) -> Column:
    name = way_words(surface)
    return Column(name.replace(" ", "\n"), name, run_label(runs, index))


def _cliffs(runs: Sequence[Run], sources: Sequence[Source]) -> Part | None:
    """What the batch call moves at the number of pieces at which it was looked at most closely."""
    looked = [(index, surface, *batch_curve(surface)) for index, surface in sources]
    grids = []
    for count in dict.fromkeys(count for _, _, count, curve in looked if len(curve) > 2):
        chosen = [(index, surface, curve) for index, surface, each, curve in looked if each == count and curve]
        rows = tuple(
            Row(format_bytes(size), tuple(rate_cell(curve.get(size)) for _, _, curve in chosen))
            for size in sorted({size for _, _, curve in chosen for size in curve})
        )
        columns = tuple(_column(runs, index, surface) for index, surface, _ in chosen)
        title = say("pieces_report.cliff_grid", pieces=count_words(BATCHING, count))
        grids.append(Grid(title, columns, (Group("GB/s", rows),), corner=corner(BATCHING)))
    return Part(say("pieces_report.cliff_title"), grids=tuple(grids)) if grids else None


def _layouts(runs: Sequence[Run], sources: Sequence[Source]) -> Part | None:
    """The fastest method for every pair of layouts, at sizes and numbers that several of them have."""
    grids = []
    for key in _COMPARED:
        known = [(index, surface) for index, surface in sources if key in surface.measured]
        layout_pairs = {(index, surface.host_memory, surface.direction): surface for index, surface in reversed(known)}
        ordered = list(dict.fromkeys(_way(*source) for source in known))
        rows: dict[str, dict[_Way, Cell]] = {}
        for index, surface in known:
            row = rows.setdefault(layout_words(*surface.layouts), {})
            row[_way(index, surface)] = fastest_cell(surface.measured[key])
        if len(rows) < 2:
            continue
        shown = tuple(
            Row(layouts, tuple(cells.get(layout_pair) or fastest_cell(None) for layout_pair in ordered))
            for layouts, cells in rows.items()
        )
        columns = tuple(_column(runs, layout_pair[0], layout_pairs[layout_pair]) for layout_pair in ordered)
        pieces = say("pieces.shape_pieces", count=key[1], size=format_bytes(key[0]))
        title = say("pieces_report.layouts_grid", pieces=pieces)
        grids.append(Grid(title, columns, (Group("", shown),), corner=say("pieces_report.corner_layout")))
    if not grids:
        return None
    return Part(say("pieces_report.layouts_title"), grids=tuple(grids))


def _way(index: int, surface: Surface) -> _Way:
    return index, surface.host_memory, surface.direction


def glance(run: Run) -> Glance | None:
    """The first surface that a report shows; None where no pieces were measured."""
    sources = main_sources([(0, surface) for surface in piece_surfaces(run, BATCHING) if surface.measured])
    if not sources:
        return None
    grid = fastest_grid([run], *sources[0])
    title = say("pieces_report.glance_batching", surface=grid.title, incumbent=method_name(BATCHING.incumbent))
    return Glance((excerpt(grid, _MOST, columns=spread(len(grid.columns), _MOST_COUNTS), title=title),))
