"""The section on sections of arrays: those that programs know first, what padding costs, then what all rows show."""

from collections.abc import Iterable, Sequence

from isthmus.analysis.frame import section_of
from isthmus.analysis.labels import of_run, run_label
from isthmus.analysis.phrases import about_bytes
from isthmus.analysis.pieces.cell import STRIDED, WHOLE, Cell
from isthmus.analysis.pieces.figures import method_cell, method_columns
from isthmus.analysis.pieces.map import fastest_cell
from isthmus.analysis.pieces.model import piece_cells
from isthmus.analysis.pieces.tables import pieces_parts
from isthmus.analysis.pieces.words import layout_words, method_name, section_kind, shape_words, way_words
from isthmus.analysis.strided.padding import paddings
from isthmus.document.grid import Column, Grid, Group, Row, brief, interval_cell, missing, spread
from isthmus.document.section import Glance, Part, Section
from isthmus.language import capitalised, say
from isthmus.record import Run

_KINDS = ("column", "halo", "box", "face")
# The place of a run, and a cell of it.
_Source = tuple[int, Cell]
_MOST = 7


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of sections of arrays; None where that is nothing but skips."""
    return section_of("strided", [*_known(runs), _padding(runs), *pieces_parts(runs, STRIDED)], ("threads",))


def _known(runs: Sequence[Run]) -> list[Part]:
    """The narrowest of each kind as programs exchange them; then, on the page alone, the others."""
    cells = [(index, cell) for index, run in enumerate(runs) for cell in piece_cells(run, STRIDED)]
    known = [source for source in cells if source[1].shape.is_known]
    chosen = main_known([cell for _, cell in known])
    main = [source for source in known if source[1] in chosen]
    others = [source for source in known if source not in main]
    parts = []
    if main:
        note = say("pieces_report.known_note", incumbent=method_name(STRIDED.incumbent))
        parts.append(Part(say("pieces_report.known_title"), note, grids=(_known_grid(runs, main),)))
    if others:
        title = say("pieces_report.known_other_title")
        parts.append(Part(title, grids=(_known_grid(runs, others),), page_only=bool(main)))
    return parts


def main_known(cells: Iterable[Cell]) -> list[Cell]:
    """Known sections to look at first: the narrowest of each kind, as programs exchange them, in order."""
    known = sorted((cell for cell in cells if cell.shape.is_known), key=lambda cell: _place((0, cell)))
    narrowest: dict[str, int] = {}
    for cell in known:
        kind, width = section_kind(cell.shape), cell.shape.width_bytes
        narrowest[kind] = min(width, narrowest.get(kind, width))
    return [
        cell
        for cell in known
        if cell.shape.width_bytes == narrowest[kind := section_kind(cell.shape)]
        and (cell.layouts[0] == "contiguous" or kind == "column")
    ]


def _known_grid(runs: Sequence[Run], sources: Sequence[_Source]) -> Grid:
    known = {method for _, cell in sources for method in (*cell.points, *cell.failed)}
    methods = [method for method in STRIDED.methods if method in known]
    groups: dict[str, list[Row]] = {}
    for index, cell in sorted(sources, key=_place):
        cells = (*(method_cell(cell, method) for method in methods), fastest_cell(cell))
        groups.setdefault(_title(cell), []).append(Row(f"{way_words(cell)} {run_label(runs, index)}".rstrip(), cells))
    best = say("pieces_report.fastest")
    return Grid(
        say("pieces_report.known_title"),
        (*method_columns(methods), Column(best, best)),
        tuple(Group(title, tuple(rows)) for title, rows in groups.items()),
        corner=say("pieces_report.corner_way"),
    )


def _place(source: _Source) -> tuple[object, ...]:
    index, cell = source
    kind = section_kind(cell.shape)
    return _KINDS.index(kind) if kind in _KINDS else len(_KINDS), cell.shape, cell.layouts, index


def _title(cell: Cell) -> str:
    layouts, shape = layout_words(*cell.layouts), cell.shape
    if cell.layouts == ("strided", "strided") and shape[3:5] != shape[5:7]:
        layouts = say("pieces_report.padded", layouts=layouts, pitch=shape.device_pitch_bytes)
    named = {"section": capitalised(shape_words(cell)), "layouts": layouts}
    asked = about_bytes(shape.width_bytes * cell.pieces)
    if WHOLE not in cell.moved:
        return say("pieces_report.known_group", **named, asked=asked)
    return say("pieces_report.known_group_moved", **named, asked=asked, moved=about_bytes(cell.moved[WHOLE]))


def _padding(runs: Sequence[Run]) -> Part | None:
    """How many times as long each method takes for rows that are padded on the device."""
    measured = [(index, each) for index, run in enumerate(runs) for each in paddings(piece_cells(run, STRIDED))]
    if not measured:
        return None
    methods = [method for method in STRIDED.methods if any(method in each.slowdowns for _, each in measured)]
    groups: dict[str, list[Row]] = {}
    for index, each in measured:
        pitch, section = each.padded.shape.device_pitch_bytes, capitalised(shape_words(each.padded))
        title = of_run(say("pieces_report.padding_group", section=section, pitch=pitch), runs, index)
        target = runs[index].settings.target_relative_half_width
        cells = tuple(
            # Two figures went into each, known as well as the run aimed at.
            interval_cell(slowdown, wide=slowdown.relative_half_width > 2 * target)
            if (slowdown := each.slowdowns.get(method))
            else missing()
            for method in methods
        )
        groups.setdefault(title, []).append(Row(way_words(each.padded), cells))
    title = say("pieces_report.padding_title")
    grid = Grid(
        title,
        method_columns(methods),
        tuple(Group(title, tuple(rows)) for title, rows in groups.items()),
        corner=say("pieces_report.corner_way"),
    )
    return Part(title, grids=(grid,))


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
