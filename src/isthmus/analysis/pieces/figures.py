"""The rate of every method against the bytes of a piece, for a few numbers of pieces, and the tables of all figures."""

from collections.abc import Iterator, Mapping, Sequence

from isthmus.analysis.labels import details, in_one_text
from isthmus.analysis.phrases import link_rate
from isthmus.analysis.pieces.cell import STRIDED, Cell, Kind
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
    if cell.kind.shows == "rate":
        return rate_cell(point)
    return time_cell(point.seconds, wide=not point.converged, detail=in_one_text(details(point)))


def rate_cell(point: Point | None) -> Shown:
    """The rate in GB/s with its interval; what it took on hovering."""
    if point is None:
        return missing()
    return interval_cell(point.rate, scale=1e-9, wide=not point.converged, detail=in_one_text(details(point)))


def _charts(runs: Sequence[Run], index: int, surface: Surface) -> Iterator[Chart]:
    sizes = {count: [size for size, each in surface.measured if each == count] for count in surface.counts if count > 1}
    least = max(2, max(map(len, sizes.values()), default=0) / 2)
    for count in sorted(count for count in sizes if len(sizes[count]) >= least)[-_DRAWN_COUNTS:]:
        title = say("common.comma").join([count_words(surface.kind, count), surface_title(runs, index, surface)])
        yield Chart(title, title, _chart(runs[index], surface, count))


def _chart(run: Run, surface: Surface, count: int) -> chart.Spec:
    limit = link_rate(run)
    curves = ((method, surface.along_sizes(count, method)) for method in surface.methods)
    return curves_chart(
        [_drawn(surface.kind, method, points) for method, points in curves if points],
        Axis(corner(surface.kind), labels="bytes"),
        Axis("GB/s"),
        rules=[(limit / 1e9, say("labels.link_rate", rate=format_rate(limit)))] if limit else [],
    )


def _drawn(kind: Kind, method: str, points: Mapping[int, Point]) -> Drawn:
    name, rows = method_name(method), []
    for size, point in points.items():
        named = {say("labels.told_method"): name, corner(kind): format_bytes(size)}
        rows.append(chart.row(name, size, point.rate.scaled(1e-9), **named, **details(point)))
    return Drawn(name, method_look(kind, method), tuple(rows))


def _grid(runs: Sequence[Run], index: int, surface: Surface) -> Grid:
    """Sizes down, methods across, a group for each number of pieces."""
    groups: dict[int, list[Row]] = {}
    for (size, count), cell in surface.cells.items():
        row = Row(format_bytes(size), tuple(method_cell(cell, method) for method in surface.methods))
        groups.setdefault(count, []).append(row)
    shown = tuple(Group(count_words(surface.kind, count), tuple(groups[count])) for count in sorted(groups))
    title = surface_title(runs, index, surface)
    return Grid(title, method_columns(surface.methods), shown, corner=corner(surface.kind))
