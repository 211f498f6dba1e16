"""The rate of every method against the bytes of a piece, for a few numbers of pieces, and the tables of all figures."""

from collections.abc import Iterator, Sequence

from isthmus.analysis.labels import in_one_text, told
from isthmus.analysis.phrases import link_rate
from isthmus.analysis.pieces.cell import STRIDED, Cell
from isthmus.analysis.pieces.map import Source, corner, count_words, methods_legend
from isthmus.analysis.pieces.model import Surface
from isthmus.analysis.pieces.words import method_look, method_name, surface_title
from isthmus.analysis.statistics.curve import Point
from isthmus.document import chart
from isthmus.document.chart import Axis, Drawn, curves_chart
from isthmus.document.grid import Cell as Shown
from isthmus.document.grid import Column, Grid, Group, Row, failed, interval_cell, missing, skipped, time_cell
from isthmus.document.section import Chart, Part
from isthmus.language import say
from isthmus.record import Run, format_bytes, format_rate

_DRAWN_COUNTS = 2


def curves_part(runs: Sequence[Run], sources: Sequence[Source]) -> Part | None:
    """For each surface charts of the largest numbers of pieces of which half of the sizes, or more, were measured."""
    charts = tuple(drawn for index, surface in sources for drawn in _charts(runs, index, surface))
    if not charts:
        return None
    methods = [method for _, surface in sources for method in surface.methods]
    legend = methods_legend(sources[0][1].kind, methods)
    return Part(say("pieces_report.curves_title"), charts=charts, legend=legend)


def figures_part(runs: Sequence[Run], sources: Sequence[Source]) -> Part | None:
    """Every point of every method."""
    if not sources:
        return None
    title = say(f"pieces_report.figures_title_{sources[0][1].kind.shows}")
    grids = tuple(_grid(runs, *source) for source in sources)
    return Part(title, grids=grids, page_only=True)


def method_columns(methods: Sequence[str]) -> tuple[Column, ...]:
    """A column for each method, with a line for each word."""
    names = map(method_name, methods)
    return tuple(Column(name.replace(" + ", "+").replace(" ", "\n").replace("+", " +\n"), name) for name in names)


def method_cell(cell: Cell, method: str) -> Shown:
    """The method's rate in GB/s, or its time, or why there is none."""
    if method in cell.failed:
        return failed()
    # Where kernels reach mapped memory alone, they reach no pageable memory either.
    reason = cell.skipped.get(method) or cell.skipped.get(method.removeprefix("mapped_"))
    if method not in cell.points:
        nothing = say("pieces_report.nothing_to_do") if cell.kind is STRIDED else ""
        return skipped(reason) if reason else missing(nothing)
    point = cell.points[method]
    return rate_cell(point) if cell.kind.shows == "rate" else _time_cell(point)


def rate_cell(point: Point | None) -> Shown:
    """The rate in GB/s with its interval; what it took on hovering."""
    if point is None:
        return missing()
    return interval_cell(point.rate, scale=1e-9, wide=not point.converged, detail=in_one_text(told(point)))


def _time_cell(point: Point) -> Shown:
    return time_cell(point.seconds, wide=not point.converged, detail=in_one_text(told(point)))


def _charts(runs: Sequence[Run], index: int, surface: Surface) -> Iterator[Chart]:
    sizes = {count: [size for size, each in surface.measured if each == count] for count in surface.counts if count > 1}
    least = max(2, max(map(len, sizes.values()), default=0) / 2)
    for count in sorted(count for count in sizes if len(sizes[count]) >= least)[-_DRAWN_COUNTS:]:
        title = say("common.comma").join([count_words(surface.kind, count), surface_title(runs, index, surface)])
        yield Chart(title, title, _chart(runs[index], surface, count))


def _chart(run: Run, surface: Surface, count: int) -> chart.Spec:
    limit = link_rate(run)
    return curves_chart(
        [_drawn(surface, count, method) for method in surface.methods if surface.along_sizes(count, method)],
        Axis(corner(surface.kind), labels="bytes"),
        Axis("GB/s"),
        rules=[(limit / 1e9, say("labels.link_rate", rate=format_rate(limit)))] if limit else [],
    )


def _drawn(surface: Surface, count: int, method: str) -> Drawn:
    name = method_name(method)
    rows = tuple(
        chart.row(
            name,
            size,
            point.rate.median / 1e9,
            point.rate.low / 1e9,
            point.rate.high / 1e9,
            **{say("labels.told_method"): name, corner(surface.kind): format_bytes(size)},
            **told(point),
        )
        for size, point in surface.along_sizes(count, method).items()
    )
    return Drawn(name, method_look(surface.kind, method), rows)


def _grid(runs: Sequence[Run], index: int, surface: Surface) -> Grid:
    """Sizes down, methods across, a group for each number of pieces."""
    groups = []
    for count in sorted({count for _, count in surface.cells}):
        rows = tuple(
            Row(format_bytes(size), tuple(method_cell(cell, method) for method in surface.methods))
            for (size, each), cell in surface.cells.items()
            if each == count
        )
        groups.append(Group(count_words(surface.kind, count), rows))
    title = surface_title(runs, index, surface)
    return Grid(title, method_columns(surface.methods), tuple(groups), corner=corner(surface.kind))
