"""Sections of arrays: what is fastest for those that programs know, then what all rows show."""

from collections.abc import Iterable, Sequence

from isthmus.analysis.labels import Source, sources
from isthmus.analysis.phrases import about_bytes
from isthmus.analysis.pieces.cell import STRIDED, WHOLE, Cell
from isthmus.analysis.pieces.findings import gain_finding, nothing_compared, takeaway_of, times_of
from isthmus.analysis.pieces.map import fastest_cell
from isthmus.analysis.pieces.model import piece_cells, piece_surfaces
from isthmus.analysis.pieces.tables import method_cell, method_columns, pieces_parts
from isthmus.analysis.pieces.words import layout_words, method_name, section_kind, shape_words, way_words
from isthmus.document.finding import Finding, known
from isthmus.document.grid import Grid, Row, brief, spread, text_grid
from isthmus.document.pivot import columns_of, groups_of
from isthmus.document.section import Glance, Part, Section, section_of
from isthmus.language import capitalised, say
from isthmus.record import Run

# Rows of a first screen.
_MOST = 7
_KINDS = ("column", "halo", "box", "face")


def findings(run: Run) -> list[Finding]:
    """The findings about sections that programs know."""
    cells = piece_cells(run, STRIDED)
    return known(*(gain_finding(run, f"strided_{kind}", _typical(cells, kind)) for kind in _KINDS))


def takeaway(run: Run) -> Finding | None:
    """What to take away; None where no sections were measured."""
    cells = piece_cells(run, STRIDED)
    for kind in _KINDS:
        # One direction and memory are enough for a verdict: those that the driver's copy is slowest at.
        chosen = [cell for cell in _typical(cells, kind) if STRIDED.incumbent in cell.points]
        if chosen:
            return takeaway_of([max(chosen, key=lambda each: (each.host_memory == "pinned", times_of(each)))])
    grids = [surface.typical for surface in piece_surfaces(run, STRIDED) if surface.typical]
    if grids:
        return takeaway_of(grids[:1])
    return nothing_compared(STRIDED) if cells else None


def _typical(cells: Iterable[Cell], kind: str) -> list[Cell]:
    """The narrowest known sections of a kind whose rows lie apart on the device alone; on both sides where none do."""
    of_kind = [cell for cell in cells if section_kind(cell.shape) == kind and len(cell.ranking) > 1]
    narrowest = min((cell.shape.width_bytes for cell in of_kind), default=0)
    of_kind = [cell for cell in of_kind if cell.shape.width_bytes == narrowest]
    return [cell for cell in of_kind if cell.layouts == ("contiguous", "strided")] or [
        cell for cell in of_kind if cell.layouts[0] == "strided"
    ]


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of sections of arrays; None where that is nothing but skips."""
    # The narrowest of each kind as programs exchange them; then, on the page alone, the others.
    known = [each for each in sources(runs, lambda run: piece_cells(run, STRIDED)) if each.value.shape.is_known]
    chosen = main_known([each.value for each in known])
    main = [each for each in known if each.value in chosen]
    others = [each for each in known if each not in main]
    parts = []
    if main:
        note = say("pieces_report.known_note", incumbent=method_name(STRIDED.incumbent))
        parts.append(Part(say("pieces_report.known_title"), note, grids=(_known_grid(main),)))
    if others:
        title = say("pieces_report.known_other_title")
        parts.append(Part(title, grids=(_known_grid(others),), page_only=bool(main)))
    return section_of("strided", [*parts, *pieces_parts(runs, STRIDED)], ("threads",))


def main_known(cells: Iterable[Cell]) -> list[Cell]:
    """Known sections to look at first: the narrowest of each kind, as programs exchange them, in order."""
    known = sorted((cell for cell in cells if cell.shape.is_known), key=_place)
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


def _known_grid(cells: Sequence[Source[Cell]]) -> Grid:
    known = {method for each in cells for method in (*each.value.points, *each.value.failed)}
    methods = [method for method in STRIDED.methods if method in known]
    rows = (
        (
            _title(each.value),
            Row(
                f"{way_words(each.value)} {each.label}".rstrip(),
                (*(method_cell(each.value, method) for method in methods), fastest_cell(each.value)),
            ),
        )
        for each in sorted(cells, key=lambda each: (_place(each.value), each.index))
    )
    columns = (*method_columns(methods), *columns_of([say("pieces_report.fastest")]))
    return Grid(say("pieces_report.known_title"), columns, groups_of(rows), say("pieces_report.corner_way"))


def _place(cell: Cell) -> tuple[object, ...]:
    kind = section_kind(cell.shape)
    return _KINDS.index(kind) if kind in _KINDS else len(_KINDS), cell.shape, cell.layouts


def _title(cell: Cell) -> str:
    layouts, shape = layout_words(*cell.layouts), cell.shape
    if cell.layouts == ("strided", "strided") and shape[3:5] != shape[5:7]:
        layouts = say("pieces_report.padded", layouts=layouts, pitch=shape.device_pitch_bytes)
    named = {"section": capitalised(shape_words(cell)), "layouts": layouts}
    asked = about_bytes(shape.width_bytes * cell.pieces)
    if WHOLE not in cell.moved:
        return say("pieces_report.known_group", **named, asked=asked)
    return say("pieces_report.known_group_moved", **named, asked=asked, moved=about_bytes(cell.moved[WHOLE]))


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
    names = [say("pieces_report.fastest"), say("labels.told_time"), method_name(STRIDED.incumbent)]
    rows = (
        (
            say("labels.named_value", name=shape_words(cell), value=way_words(cell)),
            (fastest_cell(cell), brief(method_cell(cell, cell.fastest)), brief(method_cell(cell, STRIDED.incumbent))),
        )
        for cell in [chosen[at] for at in spread(len(chosen), _MOST)]
    )
    return Glance((text_grid(say("pieces_report.known_title"), say("pieces_report.corner_way"), names, rows),))
