"""Sections that programs know, with the time of every method side by side, and what padding on the device costs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from isthmus.model import (
    STRIDED_METHODS,
    StridedCell,
    about_bytes,
    capitalised,
    paddings,
    section_kind,
    section_words,
    sides_words,
    strided_cells,
)
from isthmus.record import Run, format_seconds
from isthmus.report.grid import Cell, Column, Grid, Group, Row, interval_cell, time_cell
from isthmus.report.labels import kind_label, run_label, run_title
from isthmus.report.section import Part
from isthmus.report.strided_labels import DIRECTIONS, MISSING, method_heading, method_label, state_cell

__all__ = ["known_parts", "padding_part"]

_NOTE = (
    "Time of each method until all rows have arrived. Best: the fastest, and how many times as fast as the driver's "
    "2-D or 3-D copy; after ≈ another one is not certainly slower. Whole span: all between the rows is copied too, "
    "which overwrites what lies there at the destination, so it is never called the best."
)
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
    parts = [Part("Sections that programs know", _NOTE, grids=(_grid(runs, main),))] if main else []
    if others:
        title = "Other widths and sides of known sections"
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
    return Grid(
        "Time of known sections",
        (*columns, Column("best", "best")),
        tuple(Group(title, tuple(rows)) for title, rows in groups.items()),
        corner="Way",
    )


def _place(source: _Source) -> tuple[object, ...]:
    cell = source.cell
    kind = section_kind(cell.shape)
    return _KINDS.index(kind) if kind in _KINDS else len(_KINDS), cell.shape, cell.layouts, source.index


def _title(cell: StridedCell) -> str:
    moved = f", {about_bytes(cell.moved['whole'])} moved by whole span" if "whole" in cell.moved else ""
    shape = cell.shape
    pitch = shape.device_pitch_bytes
    padded = f", rows padded to {pitch} B on the device" if _differs(cell) else ""
    sides = sides_words(*cell.layouts)
    return f"{capitalised(section_words(shape))}, {sides}{padded}: {about_bytes(cell.bytes)} asked for{moved}"


def _differs(cell: StridedCell) -> bool:
    """Whether rows lie apart on both sides, in different ways."""
    shape = cell.shape
    return cell.host_layout == cell.device_layout == "strided" and shape[3:5] != shape[5:7]


def _row(runs: Sequence[Run], source: _Source, methods: Sequence[str]) -> Row:
    cell = source.cell
    label = run_label(runs, source.index)
    heading = f"{DIRECTIONS[cell.direction]}, {kind_label(cell.host_memory)}{' ' + label if label else ''}"
    return Row(heading, (*(_time(cell, method) for method in methods), _best(cell)))


def _time(cell: StridedCell, method: str) -> Cell:
    point = cell.points.get(method)
    if point is None:
        return state_cell(cell, method)
    detail = f"{about_bytes(cell.moved[method])} moved, samples {len(point.samples)}, verified {point.verified}"
    return time_cell(point.seconds, wide=not point.converged, detail=detail)


def _best(cell: StridedCell) -> Cell:
    if not cell.ranking:
        return MISSING
    gain = cell.gain(cell.fastest)
    times = f" x{gain.median:.{0 if gain.median >= 9.95 else 1}f}" if gain and gain.median > 1 else ""
    ranking = ", ".join(
        f"{method_label(method)} {format_seconds(cell.points[method].seconds.median)}" for method in cell.ranking
    )
    return Cell(f"{'≈' if cell.as_fast else ''}{method_label(cell.fastest)}{times}", detail=ranking)


def padding_part(runs: Sequence[Run]) -> Part | None:
    """How many times as long each method takes for rows that are padded on the device."""
    found = [(index, each) for index, run in enumerate(runs) for each in paddings(strided_cells(run))]
    if not found:
        return None
    methods = [method for method in STRIDED_METHODS if any(method in each.slowdowns for _, each in found)]
    groups: dict[str, list[Row]] = {}
    for index, each in found:
        shape = each.padded.shape
        title = f"{capitalised(section_words(shape))}, rows padded to {shape.device_pitch_bytes} B, times as long"
        heading = f"{DIRECTIONS[each.padded.direction]}, {kind_label(each.padded.host_memory)}"
        target = runs[index].settings.target_relative_half_width
        cells = tuple(
            # Two figures went into each, known as well as the run aimed at.
            interval_cell(slowdown, wide=slowdown.relative_half_width > 2 * target)
            if (slowdown := each.slowdowns.get(method))
            else MISSING
            for method in methods
        )
        label = f": {run_title(runs, index)}" if len(runs) > 1 else ""
        groups.setdefault(title + label, []).append(Row(heading, cells))
    return Part(
        "Padded rows on the device against tight ones",
        note="An array of the section's own size on the device, whose rows are padded as pitched allocations pad them, "
        "or follow one another.",
        grids=(
            Grid(
                "Time with padding over time without",
                tuple(Column(method_heading(method), method_label(method)) for method in methods),
                tuple(Group(title, tuple(rows)) for title, rows in groups.items()),
                corner="Way",
            ),
        ),
    )
