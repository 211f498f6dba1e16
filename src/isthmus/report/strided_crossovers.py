"""Where something beats the driver's 2-D copy, in number and in width of rows, and what a row costs that copy."""

from collections.abc import Callable, Sequence

from isthmus.model import (
    STRIDED_CHALLENGERS,
    StridedGrid,
    StridedThreshold,
    Threshold,
    about_bytes,
    about_uses,
    row_cost,
    row_thresholds,
    rows_words,
    sides_words,
    width_thresholds,
    width_words,
)
from isthmus.record import Run, format_bytes
from isthmus.report.grid import Cell, Column, Grid, Group, Row, time_cell
from isthmus.report.labels import kind_label, run_label
from isthmus.report.section import Part
from isthmus.report.strided_labels import DIRECTIONS, MISSING, grid_title, method_label
from isthmus.report.strided_map import Source, main_sources

__all__ = ["crossovers_part", "row_cost_part"]

_NOTE = (
    "Number of rows, for each width, and width, for each number of rows, from which on (≥) or up to which (≤) a method "
    "beats the driver's 2-D copy. Never and always: in the whole range measured. ?: this run cannot tell."
)


def crossovers_part(runs: Sequence[Run], found: Sequence[Source]) -> Part | None:
    """Two tables for each of the grids to look at first."""
    grids = [grid for index, each in main_sources(found) for grid in _grids(runs, index, each)]
    return Part("Where something beats the driver's 2-D copy", _NOTE, grids=tuple(grids)) if grids else None


def _grids(runs: Sequence[Run], index: int, grid: StridedGrid) -> list[Grid]:
    known_within = runs[index].settings.target_relative_half_width
    title = grid_title(runs, index, grid)
    tables = (
        (f"Rows, {title}", row_thresholds(grid, known_within), format_bytes, _rows_cell),
        (f"Width, {title}", width_thresholds(grid, known_within), _rows_heading, _width_cell),
    )
    return [
        _grid(name, thresholds, heading, cell)
        for name, thresholds, heading, cell in tables
        if any(each.method in STRIDED_CHALLENGERS for each in thresholds)
    ]


def _grid(
    title: str,
    thresholds: Sequence[StridedThreshold],
    heading: Callable[[int], str],
    cell: Callable[[Threshold], Cell],
) -> Grid:
    answers = {(each.method, each.at): each.threshold for each in thresholds}
    places = sorted({each.at for each in thresholds})
    methods = [method for method in STRIDED_CHALLENGERS if any(method == each for each, _ in answers)]
    rows = tuple(
        Row(
            method_label(method),
            tuple(cell(found) if (found := answers.get((method, place))) else MISSING for place in places),
        )
        for method in methods
    )
    columns = tuple(Column(heading(place).replace(" ", "\n"), heading(place)) for place in places)
    return Grid(title, columns, (Group("", rows),), corner="Method")


def _rows_heading(count: int) -> str:
    return f"{count} rows"


def _rows_cell(threshold: Threshold) -> Cell:
    return _cell(threshold, about_uses, rows_words(threshold))


def _width_cell(threshold: Threshold) -> Cell:
    return _cell(threshold, about_bytes, width_words(threshold))


def _cell(threshold: Threshold, number: Callable[[float], str], words: str) -> Cell:
    match threshold.state:
        case "from" | "up_to":
            text = f"{'≥' if threshold.state == 'from' else '≤'} {number(threshold.value)}"
        case "cannot_tell":
            return Cell("?", state="missing", detail=words)
        case _:
            text = threshold.state
    return Cell(text, state="ok" if threshold.certain else "wide", detail=words)


def row_cost_part(runs: Sequence[Run], found: Sequence[Source]) -> Part | None:
    """What each further narrow row adds to the driver's copy."""
    costs = {
        (index, grid.host_memory, grid.host_layout, grid.device_layout, grid.direction): cost
        for index, grid in found
        if grid.pitch_bytes is None
        and (cost := row_cost(grid, runs[index].settings.target_relative_half_width))
        and cost.seconds.low > 0
    }
    if not costs:
        return None
    sides = dict.fromkeys(key[:4] for key in costs)
    rows = []
    for index, memory, host, device in sides:
        label = run_label(runs, index)
        heading = f"{kind_label(memory)}, {sides_words(host, device)}{' ' + label if label else ''}"
        cells = []
        for direction in DIRECTIONS:
            each = costs.get((index, memory, host, device, direction))
            detail = f"rows of {each.width_bytes} B, between {each.first_rows} and {each.last_rows}" if each else ""
            cells.append(time_cell(each.seconds, detail=detail) if each else MISSING)
        rows.append(Row(heading, tuple(cells)))
    columns = tuple(Column(name, name) for name in DIRECTIONS.values())
    return Part(
        "What a narrow row costs",
        note="What each further row of at most 8 B in every other stretch of an array adds to the driver's 2-D copy.",
        grids=(Grid("Time a row", columns, (Group("", tuple(rows)),), corner="Memory"),),
    )
