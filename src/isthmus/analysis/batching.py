"""Many small pieces: what all show, the cliff of the batch call and other layouts, and from how many on it pays."""

from collections.abc import Sequence

from isthmus.analysis.figures import rate_cell
from isthmus.analysis.labels import Source, sources
from isthmus.analysis.phrases import factor_words
from isthmus.analysis.pieces.cell import BATCHING
from isthmus.analysis.pieces.findings import gain_finding, nothing_compared, takeaway_of
from isthmus.analysis.pieces.map import Surfaces, corner, count_words, fastest_cell, fastest_grid, main_sources
from isthmus.analysis.pieces.model import Surface, main_surfaces, piece_surfaces
from isthmus.analysis.pieces.tables import Cliff, batch_cliff, batch_curve, pieces_parts
from isthmus.analysis.pieces.words import layout_words, method_name, way_words
from isthmus.document.finding import Finding, known
from isthmus.document.grid import Column, Grid, Group, Row, excerpt, spread
from isthmus.document.pivot import rows_of, word_column
from isthmus.document.section import Glance, Part, Section, section_of
from isthmus.grouping import grouped
from isthmus.language import say, sentences
from isthmus.record import KIB, Direction, Run, format_bytes, format_rate

# What most pairs of layouts have: the second one those that are looked at in passing.
_COMPARED = ((4 * KIB, 4096), (4 * KIB, 256))
_MOST = 5
_MOST_COUNTS = 4


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of small pieces; None where that is nothing but skips."""
    surfaces = sources(runs, _surfaces)
    own = _cliffs(main_sources(surfaces)), _layouts(surfaces)
    return section_of("batching", pieces_parts(runs, BATCHING, *own), ("prepared", "threads"))


def glance(run: Run) -> Glance | None:
    """The fastest method by size and number of the first surface that a report shows; None where there is none."""
    surfaces = main_sources([each for each in sources([run], _surfaces) if each.value.measured])
    if not surfaces:
        return None
    grid = fastest_grid(surfaces[0])
    title = say("pieces_report.glance_batching", surface=grid.title, incumbent=method_name(BATCHING.incumbent))
    return Glance((excerpt(grid, _MOST, columns=spread(len(grid.columns), _MOST_COUNTS), title=title),))


def _surfaces(run: Run) -> Sequence[Surface]:
    return piece_surfaces(run, BATCHING)


def _column(source: Source[Surface]) -> Column:
    return word_column(way_words(source.value), source.label)


def _cliffs(surfaces: Surfaces) -> Part:
    """What the batch call moves at the number of pieces at which it was looked at most closely."""
    looked = [(each, *batch_curve(each.value)) for each in surfaces]
    grids = []
    for count in dict.fromkeys(count for _, count, curve in looked if len(curve) > 2):
        chosen = [(source, curve) for source, each, curve in looked if each == count and curve]
        sizes = sorted({size for _, curve in chosen for size in curve})
        curves = [curve for _, curve in chosen]
        rows = rows_of(sizes, format_bytes, curves, lambda curve, size: rate_cell(curve.get(size)))
        columns = tuple(_column(source) for source, _ in chosen)
        title = say("pieces_report.cliff_grid", pieces=count_words(BATCHING, count))
        grids.append(Grid(title, columns, (Group("GB/s", rows),), corner=corner(BATCHING)))
    return Part(say("pieces_report.cliff_title"), grids=tuple(grids))


def _layouts(surfaces: Surfaces) -> Part:
    """The fastest method for every pair of layouts, at sizes and numbers that several of them have."""
    grids = []
    for key in _COMPARED:
        known = [each for each in surfaces if key in each.value.measured]
        by_place = {_place(each): each for each in reversed(known)}
        ordered = {_place(each): by_place[_place(each)] for each in known}
        by_layouts = grouped(known, lambda each: layout_words(*each.value.layouts))
        if len(by_layouts) < 2:
            continue
        rows = tuple(
            Row(layouts, tuple(fastest_cell(cells.get(place)) for place in ordered))
            for layouts, alike in by_layouts.items()
            for cells in [{_place(each): each.value.measured[key] for each in alike}]
        )
        pieces = say("pieces.shape_pieces", count=key[1], size=format_bytes(key[0]))
        title = say("pieces_report.layouts_grid", pieces=pieces)
        columns = tuple(map(_column, ordered.values()))
        grids.append(Grid(title, columns, (Group("", rows),), corner=say("pieces_report.corner_layout")))
    return Part(say("pieces_report.layouts_title"), grids=tuple(grids))


def _place(source: Source[Surface]) -> tuple[int, str, Direction]:
    return source.index, source.value.host_memory, source.value.direction


def findings(run: Run) -> list[Finding]:
    """The findings about each kind of memory, and the batch call."""
    main = main_surfaces(piece_surfaces(run, BATCHING))
    typical = [surface.typical for surface in main if surface.typical]
    candidates = [
        gain_finding(run, f"batching_gain_{memory}", [cell for cell in typical if cell.host_memory == memory])
        for memory in dict.fromkeys(cell.host_memory for cell in typical)
    ]
    return known(*candidates, _cliff(main))


def takeaway(run: Run) -> Finding | None:
    """What to take away; None where pieces were not measured."""
    surfaces = piece_surfaces(run, BATCHING)
    cells = [surface.typical for surface in main_surfaces(surfaces) if surface.typical]
    # Memory of which other pieces were measured is left to the findings.
    alike = [cell for cell in cells if (cell.shape, cell.layouts) == (cells[0].shape, cells[0].layouts)]
    if alike:
        return takeaway_of(alike)
    return nothing_compared(BATCHING) if surfaces else None


def _cliff(surfaces: Sequence[Surface]) -> Finding | None:
    """The largest jump of each surface that has one."""
    jumps = [(surface, cliff) for surface in surfaces if (cliff := batch_cliff(surface))]
    if not jumps:
        return None
    size = format_bytes(max(cliff.above for _, cliff in jumps))
    sentence = sentences(_cliff_words(*jump) for jump in jumps)
    return Finding("note", "batching_cliff", sentence, do=(say("pieces.cliff_fix", size=size),))


def _cliff_words(surface: Surface, cliff: Cliff) -> str:
    return say(
        "pieces.cliff",
        method=way_words(surface),
        count=cliff.pieces,
        below=format_bytes(cliff.below),
        above=format_bytes(cliff.above),
        times=factor_words(cliff.gain),
        slow=format_rate(cliff.slow.rate.median),
        fast=format_rate(cliff.fast.rate.median),
    )
