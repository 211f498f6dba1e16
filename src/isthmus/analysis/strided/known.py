"""Sections that programs know, with the time of every method side by side, and what padding on the device costs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from isthmus.analysis.labels import of_run
from isthmus.analysis.phrases import about_bytes
from isthmus.analysis.pointing import in_one_text, samples_of
from isthmus.analysis.strided.labels import labelled, method_heading, method_label, state_cell, way_heading
from isthmus.analysis.strided.model import STRIDED_METHODS, StridedCell, strided_cells
from isthmus.analysis.strided.padding import paddings
from isthmus.analysis.strided.words import section_kind, section_words, sides_words
from isthmus.document.grid import Cell, Column, Grid, Group, Row, interval_cell, time_cell
from isthmus.document.section import Part
from isthmus.document.states import missing
from isthmus.language import capitalised, say
from isthmus.record import Run, format_seconds

__all__ = ["known_parts", "padding_part"]

_KINDS = ("column", "halo", "box", "face")


@dataclass(frozen=True)
class _Source:
    """A cell with the place of its run."""

    index: int
    cell: StridedCell


def known_parts(runs: Sequence[Run]) -> list[Part]:
    """The narrowest of each kind as programs exchange them; then, on the page alone, the others."""
    known = [
        _Source(index, cell) for index, run in enumerate(runs) for cell in strided_cells(run) if cell.shape.is_known
    ]
    main = [source for source in known if _is_main(source.cell, known)]
    others = [source for source in known if source not in main]
    parts = []
    if main:
        title, note = say("strided_report.known_title"), say("strided_report.known_note")
        parts.append(Part(title, note, grids=(_grid(runs, main),)))
    if others:
        title = say("strided_report.known_other_title")
        parts.append(Part(title, grids=(_grid(runs, others),), page_only=bool(main)))
    return parts


def _is_main(cell: StridedCell, known: Iterable[_Source]) -> bool:
    kind = section_kind(cell.shape)
    narrowest = min(each.cell.shape.width_bytes for each in known if section_kind(each.cell.shape) == kind)
    return cell.shape.width_bytes == narrowest and (cell.host_layout == "contiguous" or kind == "column")


def _grid(runs: Sequence[Run], sources: Sequence[_Source]) -> Grid:
    found = {method for each in sources for method in (*each.cell.points, *each.cell.failed)}
    methods = [method for method in STRIDED_METHODS if method in found]
    groups: dict[str, list[Row]] = {}
    for source in sorted(sources, key=_place):
        groups.setdefault(_title(source.cell), []).append(_row(runs, source, methods))
    columns = [Column(method_heading(method), method_label(method)) for method in methods]
    best = say("strided_report.best")
    return Grid(
        say("strided_report.known_grid"),
        (*columns, Column(best, best)),
        tuple(Group(title, tuple(rows)) for title, rows in groups.items()),
        corner=say("strided_report.corner_way"),
    )


def _place(source: _Source) -> tuple[object, ...]:
    cell = source.cell
    kind = section_kind(cell.shape)
    return _KINDS.index(kind) if kind in _KINDS else len(_KINDS), cell.shape, cell.layouts, source.index


def _title(cell: StridedCell) -> str:
    layout = sides_words(*cell.layouts)
    if _differs(cell):
        layout = say("strided_report.padded", sides=layout, pitch=cell.shape.device_pitch_bytes)
    section, asked = capitalised(section_words(cell.shape)), about_bytes(cell.bytes)
    if "whole" not in cell.moved:
        return say("strided_report.known_group", section=section, layout=layout, asked=asked)
    moved = about_bytes(cell.moved["whole"])
    return say("strided_report.known_group_moved", section=section, layout=layout, asked=asked, moved=moved)


def _differs(cell: StridedCell) -> bool:
    """Whether rows lie apart on both sides, in different ways."""
    shape = cell.shape
    return cell.host_layout == cell.device_layout == "strided" and shape[3:5] != shape[5:7]


def _row(runs: Sequence[Run], source: _Source, methods: Sequence[str]) -> Row:
    cell = source.cell
    heading = labelled(way_heading(cell), runs, source.index)
    return Row(heading, (*(_time(cell, method) for method in methods), _best(cell)))


def _time(cell: StridedCell, method: str) -> Cell:
    point = cell.points.get(method)
    if point is None:
        return state_cell(cell, method)
    moved = say("strided_report.moved", size=about_bytes(cell.moved[method]))
    detail = say("common.comma").join([moved, in_one_text(samples_of(point))])
    return time_cell(point.seconds, wide=not point.converged, detail=detail)


def _best(cell: StridedCell) -> Cell:
    if not cell.ranking:
        return missing()
    gain = cell.gain(cell.fastest)
    times = f" x{gain.median:.{0 if gain.median >= 9.95 else 1}f}" if gain and gain.median > 1 else ""
    ranking = {method_label(method): format_seconds(cell.points[method].seconds.median) for method in cell.ranking}
    return Cell(f"{'≈' if cell.as_fast else ''}{method_label(cell.fastest)}{times}", detail=in_one_text(ranking))


def padding_part(runs: Sequence[Run]) -> Part | None:
    """How many times as long each method takes for rows that are padded on the device."""
    found = [(index, each) for index, run in enumerate(runs) for each in paddings(strided_cells(run))]
    if not found:
        return None
    methods = [method for method in STRIDED_METHODS if any(method in each.slowdowns for _, each in found)]
    groups: dict[str, list[Row]] = {}
    for index, each in found:
        shape = each.padded.shape
        section = capitalised(section_words(shape))
        padded = say("strided_report.padding_group", section=section, pitch=shape.device_pitch_bytes)
        title = of_run(padded, runs, index)
        target = runs[index].settings.target_relative_half_width
        cells = tuple(
            # Two figures went into each, known as well as the run aimed at.
            interval_cell(slowdown, wide=slowdown.relative_half_width > 2 * target)
            if (slowdown := each.slowdowns.get(method))
            else missing()
            for method in methods
        )
        groups.setdefault(title, []).append(Row(way_heading(each.padded), cells))
    return Part(
        say("strided_report.padding_title"),
        note=say("strided_report.padding_note"),
        grids=(
            Grid(
                say("strided_report.padding_grid"),
                tuple(Column(method_heading(method), method_label(method)) for method in methods),
                tuple(Group(title, tuple(rows)) for title, rows in groups.items()),
                corner=say("strided_report.corner_way"),
            ),
        ),
    )
