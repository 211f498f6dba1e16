"""Rate of every method against the bytes of a piece, for a few numbers of pieces, and the tables of all figures."""

from collections.abc import Iterator, Sequence

from isthmus.analysis.batching.labels import method_heading, method_label, method_look, setting_title
from isthmus.analysis.batching.map import Source
from isthmus.analysis.batching.model import BatchingCell, BatchingSurface
from isthmus.analysis.phrases import link_rate
from isthmus.analysis.pointing import in_one_text, told
from isthmus.analysis.statistics.curve import Point
from isthmus.document import chart
from isthmus.document.chart import Axis, Drawn, curves_chart
from isthmus.document.grid import Cell, Column, Grid, Group, Row, interval_cell
from isthmus.document.section import Chart, LegendEntry, Part
from isthmus.document.states import failed, missing, skipped
from isthmus.language import say
from isthmus.record import Run, format_bytes, format_rate

__all__ = ["curves_part", "figures_part", "point_cell"]

_DRAWN_COUNTS = 2


def curves_part(runs: Sequence[Run], sources: Sequence[Source]) -> Part | None:
    """For each surface charts of the largest numbers of pieces of which half of the sizes, or more, were measured."""
    charts = tuple(drawn for index, surface in sources for drawn in _charts(runs, index, surface))
    if not charts:
        return None
    methods = dict.fromkeys(method for _, surface in sources for method in surface.methods)
    looks = {method_label(method): method_look(method) for method in methods}
    return Part(
        say("batching_report.curves_title"),
        charts=charts,
        legend=tuple(LegendEntry(name, look) for name, look in looks.items()),
    )


def figures_part(runs: Sequence[Run], sources: Sequence[Source]) -> Part | None:
    """Every point of every method."""
    if not sources:
        return None
    title, note = say("batching_report.figures_title"), say("batching_report.figures_note")
    return Part(title, note, grids=tuple(_grid(runs, *source) for source in sources), page_only=True)


def _charts(runs: Sequence[Run], index: int, surface: BatchingSurface) -> Iterator[Chart]:
    sizes = {count: [size for size, each in surface.measured if each == count] for count in surface.counts if count > 1}
    least = max(2, max(map(len, sizes.values()), default=0) / 2)
    for count in sorted(count for count in sizes if len(sizes[count]) >= least)[-_DRAWN_COUNTS:]:
        title = say("batching_report.curves_chart", count=count, setting=setting_title(runs, index, surface))
        yield Chart(title, say("batching_report.curves_label", title=title), _chart(runs[index], surface, count))


def _chart(run: Run, surface: BatchingSurface, count: int) -> chart.Spec:
    limit = link_rate(run)
    return curves_chart(
        [_drawn(surface, count, method) for method in surface.methods if surface.along_sizes(count, method)],
        Axis(say("batching_report.axis_bytes"), labels="bytes"),
        Axis("GB/s"),
        rules=[(limit / 1e9, say("labels.link_rate", rate=format_rate(limit)))] if limit else [],
    )


def _drawn(surface: BatchingSurface, count: int, method: str) -> Drawn:
    name = method_label(method)
    rows = tuple(
        chart.row(
            name,
            size,
            point.rate.median / 1e9,
            point.rate.low / 1e9,
            point.rate.high / 1e9,
            **{say("labels.told_method"): name, say("batching_report.told_piece"): format_bytes(size)},
            **told(point),
        )
        for size, point in surface.along_sizes(count, method).items()
    )
    return Drawn(name, method_look(method), rows)


def _grid(runs: Sequence[Run], index: int, surface: BatchingSurface) -> Grid:
    """Sizes down, methods across, a group for each number of pieces."""
    columns = tuple(Column(method_heading(method), method_label(method)) for method in surface.methods)
    groups = []
    for count in sorted({count for _, count in surface.cells}):
        sizes = [size for size, each in surface.cells if each == count]
        rows = tuple(
            Row(format_bytes(size), tuple(_cell(surface.cells[size, count], method) for method in surface.methods))
            for size in sizes
        )
        groups.append(Group(say("batching_report.figures_group", count=count), rows))
    title, corner = setting_title(runs, index, surface), say("batching_report.corner_piece")
    return Grid(title, columns, tuple(groups), corner=corner)


def _cell(cell: BatchingCell, method: str) -> Cell:
    if method in cell.failed:
        return failed()
    if method in cell.skipped:
        return skipped(cell.skipped[method])
    return point_cell(cell.points.get(method))


def point_cell(point: Point | None) -> Cell:
    """The rate in GB/s with its interval; what it took on hovering."""
    if point is None:
        return missing()
    return interval_cell(point.rate, scale=1e-9, wide=not point.converged, detail=in_one_text(told(point)))
