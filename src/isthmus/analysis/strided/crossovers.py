"""Where something beats the driver's 2-D copy, in number and in width of rows, and what a row costs that copy."""

from collections.abc import Callable, Sequence

from isthmus.analysis.breakeven.words import about_uses
from isthmus.analysis.labels import kind_label
from isthmus.analysis.phrases import about_bytes, way_name
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.analysis.strided.grid import StridedGrid
from isthmus.analysis.strided.grid_findings import STRIDED_CHALLENGERS
from isthmus.analysis.strided.labels import grid_title, labelled, method_label
from isthmus.analysis.strided.map import Source, main_sources
from isthmus.analysis.strided.thresholds import RowCost, StridedThreshold, row_cost, row_thresholds, width_thresholds
from isthmus.analysis.strided.words import rows_words, sides_words, width_words
from isthmus.document.grid import Cell, Column, Grid, Group, Row, time_cell
from isthmus.document.section import Part
from isthmus.document.states import missing
from isthmus.language import say
from isthmus.record import Direction, Run, format_bytes

__all__ = ["crossovers_part", "row_cost_part"]

_DIRECTIONS: tuple[Direction, ...] = ("h2d", "d2h")


def crossovers_part(runs: Sequence[Run], found: Sequence[Source]) -> Part | None:
    """Two tables for each of the grids to look at first."""
    grids = [grid for index, each in main_sources(found) for grid in _grids(runs, index, each)]
    if not grids:
        return None
    return Part(say("strided_report.crossovers_title"), say("strided_report.crossovers_note"), grids=tuple(grids))


def _grids(runs: Sequence[Run], index: int, grid: StridedGrid) -> list[Grid]:
    known_within = runs[index].settings.target_relative_half_width
    title = grid_title(runs, index, grid)
    tables = (
        ("strided_report.crossovers_rows", row_thresholds(grid, known_within), _width_column, _rows_cell),
        ("strided_report.crossovers_width", width_thresholds(grid, known_within), _rows_column, _width_cell),
    )
    return [
        _grid(say(key, grid=title), thresholds, column, cell)
        for key, thresholds, column, cell in tables
        if any(each.method in STRIDED_CHALLENGERS for each in thresholds)
    ]


def _grid(
    title: str,
    thresholds: Sequence[StridedThreshold],
    column: Callable[[int], Column],
    cell: Callable[[Threshold], Cell],
) -> Grid:
    answers = {(each.method, each.at): each.threshold for each in thresholds}
    places = sorted({each.at for each in thresholds})
    methods = [method for method in STRIDED_CHALLENGERS if any(method == each for each, _ in answers)]
    rows = tuple(
        Row(
            method_label(method),
            tuple(cell(found) if (found := answers.get((method, place))) else missing() for place in places),
        )
        for method in methods
    )
    corner = say("strided_report.corner_method")
    return Grid(title, tuple(map(column, places)), (Group("", rows),), corner=corner)


def _width_column(width: int) -> Column:
    name = format_bytes(width)
    return Column(name.replace(" ", "\n"), name)


def _rows_column(count: int) -> Column:
    return Column(say("strided_report.rows_heading", count=count), say("strided_report.rows", count=count))


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
        case "always":
            text = say("strided_report.cell_always")
        case _:
            text = say("strided_report.cell_never")
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
        heading = say("strided_report.memory_and_sides", memory=kind_label(memory), sides=sides_words(host, device))
        cells = []
        for direction in _DIRECTIONS:
            each = costs.get((index, memory, host, device, direction))
            cells.append(time_cell(each.seconds, detail=_between(each)) if each else missing())
        rows.append(Row(labelled(heading, runs, index), tuple(cells)))
    columns = tuple(Column(name, name) for name in map(way_name, _DIRECTIONS))
    title, corner = say("strided_report.cost_grid"), say("strided_report.corner_memory")
    return Part(
        say("strided_report.cost_title"),
        note=say("strided_report.cost_note"),
        grids=(Grid(title, columns, (Group("", tuple(rows)),), corner=corner),),
    )


def _between(cost: RowCost) -> str:
    width = format_bytes(cost.width_bytes)
    return say("strided_report.cost_detail", width=width, first=cost.first_rows, last=cost.last_rows)
