"""Time of every method against the number of rows, for a few widths, and the tables of all times."""

from collections.abc import Iterator, Sequence

from isthmus.analysis.pointing import in_one_text, samples_of
from isthmus.analysis.statistics.curve import Point
from isthmus.analysis.strided.grid import StridedGrid
from isthmus.analysis.strided.labels import grid_title, method_heading, method_label, method_look, state_cell
from isthmus.analysis.strided.map import Source, main_sources
from isthmus.analysis.strided.model import StridedCell
from isthmus.document import chart
from isthmus.document.chart import Axis, Drawn, curves_chart
from isthmus.document.grid import Cell, Column, Grid, Group, Row, time_cell
from isthmus.document.section import Chart, LegendEntry, Part
from isthmus.language import say
from isthmus.record import Run, format_bytes, format_rate, format_seconds

__all__ = ["curves_part", "figures_part"]

_LEAST_COUNTS = 2


def curves_part(runs: Sequence[Run], found: Sequence[Source]) -> Part | None:
    """A chart for the narrowest, the middle and the widest rows of each grid to look at first."""
    main = main_sources(found)
    charts = tuple(drawn for source in main for drawn in _charts(runs, *source))
    if not charts:
        return None
    methods = dict.fromkeys(method for _, grid in main for method in grid.methods)
    looks = {method_label(method): method_look(method) for method in methods}
    return Part(
        say("strided_report.curves_title"),
        charts=charts,
        legend=tuple(LegendEntry(name, look) for name, look in looks.items()),
    )


def figures_part(runs: Sequence[Run], found: Sequence[Source]) -> Part | None:
    """Every time of every method."""
    if not found:
        return None
    title, note = say("strided_report.figures_title"), say("strided_report.figures_note")
    return Part(title, note, grids=tuple(_grid(runs, *source) for source in found), page_only=True)


def _charts(runs: Sequence[Run], index: int, grid: StridedGrid) -> Iterator[Chart]:
    widths = [width for width in grid.widths if sum(each == width for each, _ in grid.measured) >= _LEAST_COUNTS]
    for width in dict.fromkeys([*widths[:1], *widths[len(widths) // 2 :][:1], *widths[-1:]]):
        title = say("strided_report.curves_chart", width=format_bytes(width), grid=grid_title(runs, index, grid))
        label = say("strided_report.curves_label", title=title)
        drawn = [_drawn(grid, width, method) for method in grid.methods if grid.along_rows(width, method)]
        x, y = Axis(say("strided_report.axis_rows")), Axis(say("strided_report.axis_time"), labels="seconds")
        yield Chart(title, label, curves_chart(drawn, x, y))


def _drawn(grid: StridedGrid, width: int, method: str) -> Drawn:
    name = method_label(method)
    rows = tuple(
        chart.row(
            name,
            count,
            point.seconds.median,
            point.seconds.low,
            point.seconds.high,
            **{say("labels.told_method"): name, say("strided_report.told_rows"): str(count)},
            **_told(point),
        )
        for count, point in grid.along_rows(width, method).items()
    )
    return Drawn(name, method_look(method), rows)


def _told(point: Point) -> dict[str, str]:
    low, high = format_seconds(point.seconds.low), format_seconds(point.seconds.high)
    return {
        say("labels.told_time"): format_seconds(point.seconds.median),
        say("labels.told_interval"): say("common.range", low=low, high=high),
        say("labels.told_rate"): format_rate(point.rate.median),
        **samples_of(point),
    }


def _grid(runs: Sequence[Run], index: int, grid: StridedGrid) -> Grid:
    """Numbers of rows down, methods across, a group for each width."""
    columns = tuple(Column(method_heading(method), method_label(method)) for method in grid.methods)
    groups = [
        Group(
            say("strided_report.rows_of", width=format_bytes(width)),
            tuple(
                Row(str(count), tuple(_cell(cell, method) for method in grid.methods))
                for (each, count), cell in grid.cells.items()
                if each == width
            ),
        )
        for width in grid.widths
    ]
    return Grid(grid_title(runs, index, grid), columns, tuple(groups), corner=say("strided_report.corner_rows"))


def _cell(cell: StridedCell, method: str) -> Cell:
    point = cell.points.get(method)
    if point is None:
        return state_cell(cell, method)
    told = {say("labels.told_rate"): format_rate(point.rate.median), **samples_of(point)}
    return time_cell(point.seconds, wide=not point.converged, detail=in_one_text(told))
