"""The section on many small pieces: what all pieces show, and the batch call's cliff and other layouts beside it."""

from collections.abc import Sequence
from dataclasses import replace

from isthmus.analysis.labels import kind_label, run_label
from isthmus.analysis.phrases import way_name
from isthmus.analysis.pieces.cell import BATCHING
from isthmus.analysis.pieces.figures import rate_cell
from isthmus.analysis.pieces.frame import pieces_section
from isthmus.analysis.pieces.map import Source, corner, fastest_cell, main_sources
from isthmus.analysis.pieces.model import Surface, piece_surfaces
from isthmus.analysis.pieces.thresholds import CliffLook, batch_cliff
from isthmus.analysis.pieces.words import layout_words
from isthmus.document.grid import Cell, Column, Grid, Group, Row
from isthmus.document.section import Part, Section
from isthmus.language import say
from isthmus.record import KIB, Direction, Run, format_bytes, format_seconds

# The place of a run, the host's memory and the direction.
_Way = tuple[int, str, Direction]
# What most pairs of layouts have: the second one those that are looked at in passing.
_COMPARED = ((4 * KIB, 4096), (4 * KIB, 256))


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of small pieces; None where that is nothing but skips."""
    sources = [(index, surface) for index, run in enumerate(runs) for surface in piece_surfaces(run, BATCHING)]
    own = [_cliffs(runs, main_sources(sources)), _layouts(runs, sources)]
    return pieces_section(runs, BATCHING, [], own)


def _column(runs: Sequence[Run], index: int, surface: Surface) -> Column:
    named = {"way": way_name(surface.direction), "memory": kind_label(surface.host_memory)}
    heading, name = say("pieces_report.way_heading", **named), say("pieces_report.way", **named)
    return Column(heading, name, run_label(runs, index))


def _cliffs(runs: Sequence[Run], sources: Sequence[Source]) -> Part | None:
    """What the batch call moves at the number of pieces at which it was looked at most closely."""
    looked = [(index, surface, found) for index, surface in sources if (found := batch_cliff(surface))]
    if not looked:
        return None
    grids = []
    for count in dict.fromkeys(look.pieces for _, _, look in looked):
        chosen = [source for source in looked if source[2].pieces == count]
        sizes = sorted({size for _, surface, _ in chosen for size in surface.along_sizes(count, "batch")})
        rows = [
            Row(format_bytes(size), tuple(_batch_cell(surface, size, count) for _, surface, _ in chosen))
            for size in sizes
        ]
        last = Row(say("pieces_report.cliff_row"), tuple(_cliff_cell(look) for _, _, look in chosen))
        columns = tuple(_column(runs, index, surface) for index, surface, _ in chosen)
        title = say("pieces_report.cliff_grid", count=count)
        grids.append(Grid(title, columns, (Group("GB/s", (*rows, last)),), corner=corner(BATCHING)))
    return Part(say("pieces_report.cliff_title"), say("pieces_report.cliff_note"), grids=tuple(grids))


def _cliff_cell(look: CliffLook) -> Cell:
    if look.cliff:
        return Cell(say("common.range", low=format_bytes(look.cliff.below), high=format_bytes(look.cliff.above)))
    if look.close:
        first, last = map(format_bytes, look.close)
        detail = say("pieces_report.cliff_none_detail", first=first, last=last)
        return Cell(say("pieces_report.cliff_none"), detail=detail)
    return Cell("?", state="missing", detail=say("pieces_report.cliff_unknown"))


def _batch_cell(surface: Surface, size: int, count: int) -> Cell:
    point = surface.along_sizes(count, "batch").get(size)
    cell = rate_cell(point)
    if point is None:
        return cell
    each = say("pieces_report.each_piece", time=format_seconds(point.seconds.median / count))
    return replace(cell, detail=say("common.comma").join([cell.detail, each]))


def _layouts(runs: Sequence[Run], sources: Sequence[Source]) -> Part | None:
    """The fastest method for every pair of layouts, at sizes and numbers that several of them have."""
    grids = []
    for key in _COMPARED:
        known = [(index, surface) for index, surface in sources if key in surface.measured]
        ways = {(index, surface.host_memory, surface.direction): surface for index, surface in reversed(known)}
        ordered = list(dict.fromkeys(_way(*source) for source in known))
        rows: dict[str, dict[_Way, Cell]] = {}
        for index, surface in known:
            row = rows.setdefault(layout_words(*surface.layouts), {})
            row[_way(index, surface)] = fastest_cell(surface.measured[key])
        if len(rows) < 2:
            continue
        shown = tuple(
            Row(layouts, tuple(cells.get(way) or fastest_cell(None) for way in ordered))
            for layouts, cells in rows.items()
        )
        columns = tuple(_column(runs, way[0], ways[way]) for way in ordered)
        title = say("pieces_report.layouts_grid", count=key[1], size=format_bytes(key[0]))
        grids.append(Grid(title, columns, (Group("", shown),), corner=say("pieces_report.corner_layout")))
    if not grids:
        return None
    return Part(say("pieces_report.layouts_title"), grids=tuple(grids))


def _way(index: int, surface: Surface) -> _Way:
    return index, surface.host_memory, surface.direction
