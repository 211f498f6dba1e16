"""The rate of every method against the bytes of a piece, for a few numbers of pieces, and the tables of all figures."""

from collections.abc import Iterator, Mapping, Sequence

from isthmus.analysis.charts import link_rules, rate_rows
from isthmus.analysis.figures import rate_cell
from isthmus.analysis.labels import Source, details, in_one_text
from isthmus.analysis.pieces.cell import STRIDED, Cell, Kind
from isthmus.analysis.pieces.map import Surfaces, corner, count_words, methods_legend
from isthmus.analysis.pieces.model import Surface
from isthmus.analysis.pieces.words import method_look, method_name, surface_title
from isthmus.analysis.statistics.curve import Point
from isthmus.document.chart import Axis, Drawn, curves_chart
from isthmus.document.grid import Cell as Shown
from isthmus.document.grid import Column, Grid, Row, failed, missing, skipped, time_cell
from isthmus.document.pivot import groups_of
from isthmus.document.section import Chart, Part
from isthmus.language import say
from isthmus.record import format_bytes

_DRAWN_COUNTS = 2


def curves_part(surfaces: Surfaces) -> Part:
    """For each surface charts of the largest numbers of pieces of which half of the sizes, or more, were measured."""
    charts = tuple(drawn for each in surfaces for drawn in _charts(each))
    methods = (method for each in surfaces for method in each.value.methods)
    legend = methods_legend(surfaces[0].value.kind, methods) if surfaces else ()
    return Part(say("pieces_report.curves_title"), charts=charts, legend=legend)


def figures_part(kind: Kind, surfaces: Surfaces) -> Part:
    """Every point of every method."""
    title = say(f"pieces_report.figures_title_{kind.shows}")
    return Part(title, grids=tuple(map(_grid, surfaces)), page_only=True)


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


def _charts(source: Source[Surface]) -> Iterator[Chart]:
    surface = source.value
    sizes = {count: [size for size, each in surface.measured if each == count] for count in surface.counts if count > 1}
    least = max(2, max(map(len, sizes.values()), default=0) / 2)
    for count in sorted(count for count in sizes if len(sizes[count]) >= least)[-_DRAWN_COUNTS:]:
        title = say("common.comma").join([count_words(surface.kind, count), surface_title(source)])
        curves = ((method, surface.along_sizes(count, method)) for method in surface.methods)
        drawn = [_drawn(surface.kind, method, points) for method, points in curves if points]
        axes = Axis(corner(surface.kind), labels="bytes"), Axis("GB/s")
        yield Chart(title, title, curves_chart(drawn, *axes, rules=link_rules(source.run)))


def _drawn(kind: Kind, method: str, points: Mapping[int, Point]) -> Drawn:
    name = method_name(method)
    rows = rate_rows(name, points, lambda size: {say("labels.told_method"): name, corner(kind): format_bytes(size)})
    return Drawn(name, method_look(kind, method), rows)


def _grid(source: Source[Surface]) -> Grid:
    """Sizes down, methods across, a group for each number of pieces."""
    surface = source.value
    rows = (
        (
            count_words(surface.kind, count),
            Row(format_bytes(size), tuple(method_cell(cell, method) for method in surface.methods)),
        )
        for (size, count), cell in sorted(surface.cells.items(), key=lambda each: (each[0][1], each[0][0]))
    )
    return Grid(surface_title(source), method_columns(surface.methods), groups_of(rows), corner(surface.kind))
