"""The fastest method for so many pieces of so many bytes: a map and its table for each surface."""

from collections.abc import Iterable, Sequence

from isthmus.analysis.figures import legend_of
from isthmus.analysis.labels import Source, in_one_text
from isthmus.analysis.pieces.cell import Cell, Kind
from isthmus.analysis.pieces.model import Surface, main_surfaces
from isthmus.analysis.pieces.words import figure_words, method_look, method_name, surface_title
from isthmus.document import chart
from isthmus.document.chart import Drawn, Tiles, tile
from isthmus.document.grid import Cell as Shown
from isthmus.document.grid import Grid, Group, decimals, missing
from isthmus.document.pivot import rows_of, word_column
from isthmus.document.section import Chart, LegendEntry, Part
from isthmus.grouping import grouped
from isthmus.language import say
from isthmus.record import Interval, format_bytes

Surfaces = Sequence[Source[Surface]]


def main_sources(surfaces: Surfaces) -> list[Source[Surface]]:
    """The surfaces of each run to look at first."""
    by_run = grouped(surfaces, lambda each: each.index)
    chosen = {index: main_surfaces(each.value for each in of_run) for index, of_run in by_run.items()}
    return [each for each in surfaces if any(each.value is surface for surface in chosen[each.index])]


def map_parts(surfaces: Surfaces) -> list[Part]:
    """The maps to look at first, then, on the page alone, others of several sizes and numbers."""
    several = [each for each in surfaces if len(each.value.methods) > 1]
    main = main_sources(several)
    others = [each for each in several if each not in main and min(len(each.value.sizes), len(each.value.counts)) > 1]
    parts = []
    if main:
        kind = main[0].value.kind
        note = say(f"pieces_report.map_note_{kind.experiment}", incumbent=method_name(kind.incumbent))
        parts.append(_part(say("pieces_report.map_title"), note, main))
    if others:
        parts.append(_part(say("pieces_report.map_other_title"), "", others))
    return parts


def methods_legend(kind: Kind, methods: Iterable[str]) -> tuple[LegendEntry, ...]:
    """The methods with their colours, each once."""
    return legend_of({method_name(method): method_look(kind, method) for method in methods})


def fastest_cell(cell: Cell | None) -> Shown:
    """``kernel 50.4 x33``: the fastest method, its rate in GB/s where rates are shown, its lead; others on hovering."""
    if cell is None or not cell.ranking:
        return missing()
    rate = cell.best.rate.median / 1e9
    figure = f" {rate:.{decimals(rate)}f}" if cell.kind.shows == "rate" else ""
    text = f"{'≈' if cell.as_fast else ''}{method_name(cell.fastest)}{figure}{_times(cell.lead)}"
    values = {method_name(method): figure_words(cell.kind, cell.points[method]) for method in cell.ranking}
    return Shown(text, detail=in_one_text(values), state="ok" if cell.best.converged else "wide")


def _times(factor: Interval | None) -> str:
    return f" x{factor.median:.{0 if factor.median >= 9.95 else 1}f}" if factor else ""


def count_words(kind: Kind, count: int) -> str:
    """``4096 pieces`` or ``4096 rows``."""
    return say(f"pieces_report.count_{kind.experiment}", count=count)


def corner(kind: Kind) -> str:
    """What the rows of a table are: bytes of a piece, or the width of a row."""
    return say(f"pieces_report.corner_{kind.experiment}")


def _part(title: str, note: str, surfaces: Surfaces) -> Part:
    winners = {cell.fastest for each in surfaces for cell in each.value.measured.values()}
    methods = (method for each in surfaces for method in each.value.methods if method in winners)
    return Part(
        title,
        note=note,
        charts=tuple(map(_chart, surfaces)),
        legend=methods_legend(surfaces[0].value.kind, methods),
        grids=tuple(map(fastest_grid, surfaces)),
        page_only=not note,
    )


def fastest_grid(source: Source[Surface]) -> Grid:
    """The fastest method by size and number."""
    surface = source.value
    rows = rows_of(
        surface.sizes,
        format_bytes,
        surface.counts,
        lambda count, size: fastest_cell(surface.measured.get((size, count))),
    )
    columns = tuple(word_column(count_words(surface.kind, count)) for count in surface.counts)
    return Grid(surface_title(source), columns, (Group("", rows),), corner=corner(surface.kind))


def _chart(source: Source[Surface]) -> Chart:
    surface, kind, title = source.value, source.value.kind, surface_title(source)
    tiles: dict[str, list[chart.Row]] = {}
    for (size, count), cell in surface.measured.items():
        name, figure, rate = method_name(cell.fastest), figure_words(kind, cell.best), cell.best.rate.median / 1e9
        text = f"{rate:.{decimals(rate)}f}" if kind.shows == "rate" else figure
        values = {say("labels.told_method"): fastest_cell(cell).text, say(f"labels.told_{kind.shows}"): figure}
        tiles.setdefault(cell.fastest, []).append(tile(name, str(count), format_bytes(size), text, **values))
    drawn = tuple(Drawn(method_name(each), method_look(kind, each), tuple(rows)) for each, rows in tiles.items())
    across, down = tuple(map(str, surface.counts)), tuple(map(format_bytes, surface.sizes))
    return Chart(title, title, Tiles(drawn, across, down, say(f"pieces_report.axis_{kind.experiment}"), corner(kind)))
