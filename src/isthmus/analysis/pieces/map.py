"""The fastest method for so many pieces of so many bytes: a map and its table for each surface."""

from collections.abc import Sequence

from isthmus.analysis.labels import in_one_text
from isthmus.analysis.pieces.cell import Cell, Kind
from isthmus.analysis.pieces.model import Surface, main_surfaces
from isthmus.analysis.pieces.words import figure_words, method_look, method_name, surface_title
from isthmus.document import chart
from isthmus.document.chart import Drawn, Tiles, tile
from isthmus.document.grid import Cell as Shown
from isthmus.document.grid import Column, Grid, Group, Row, decimals, missing
from isthmus.document.section import Chart, LegendEntry, Part
from isthmus.language import say
from isthmus.record import Interval, Run, format_bytes

# A surface with the place of its run.
Source = tuple[int, Surface]


def main_sources(sources: Sequence[Source]) -> list[Source]:
    """The surfaces of each run to look at first."""
    runs: dict[int, list[Surface]] = {}
    for index, surface in sources:
        runs.setdefault(index, []).append(surface)
    return [(index, surface) for index, surfaces in runs.items() for surface in main_surfaces(surfaces)]


def map_parts(runs: Sequence[Run], sources: Sequence[Source]) -> list[Part]:
    """The maps to look at first, then, on the page alone, others of several sizes and numbers."""
    several = [source for source in sources if len(source[1].methods) > 1]
    main = main_sources(several)
    others = [each for each in several if each not in main and min(len(each[1].sizes), len(each[1].counts)) > 1]
    parts = []
    if main:
        kind = main[0][1].kind
        note = say(f"pieces_report.map_note_{kind.experiment}", incumbent=method_name(kind.incumbent))
        parts.append(_part(runs, say("pieces_report.map_title"), note, main))
    if others:
        parts.append(_part(runs, say("pieces_report.map_other_title"), "", others))
    return parts


def methods_legend(kind: Kind, methods: Sequence[str]) -> tuple[LegendEntry, ...]:
    """The methods with their colours, each once."""
    looks = {method_name(method): method_look(kind, method) for method in methods}
    return tuple(LegendEntry(name, look) for name, look in looks.items())


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


def _part(runs: Sequence[Run], title: str, note: str, sources: Sequence[Source]) -> Part:
    winners = {cell.fastest for _, surface in sources for cell in surface.measured.values()}
    methods = [method for _, surface in sources for method in surface.methods if method in winners]
    return Part(
        title,
        note=note,
        charts=tuple(_chart(runs, *source) for source in sources),
        legend=methods_legend(sources[0][1].kind, methods),
        grids=tuple(fastest_grid(runs, *source) for source in sources),
        page_only=not note,
    )


def fastest_grid(runs: Sequence[Run], index: int, surface: Surface) -> Grid:
    """The fastest method by size and number."""
    kind, counts = surface.kind, surface.counts
    rows = tuple(
        Row(format_bytes(size), tuple(fastest_cell(surface.measured.get((size, count))) for count in counts))
        for size in surface.sizes
    )
    names = [count_words(kind, count) for count in counts]
    columns = tuple(Column(name.replace(" ", "\n"), name) for name in names)
    return Grid(surface_title(runs, index, surface), columns, (Group("", rows),), corner=corner(kind))


def _chart(runs: Sequence[Run], index: int, surface: Surface) -> Chart:
    kind, title = surface.kind, surface_title(runs, index, surface)
    tiles: dict[str, list[chart.Row]] = {}
    for (size, count), cell in surface.measured.items():
        name, figure, rate = method_name(cell.fastest), figure_words(kind, cell.best), cell.best.rate.median / 1e9
        text = f"{rate:.{decimals(rate)}f}" if kind.shows == "rate" else figure
        values = {say("labels.told_method"): fastest_cell(cell).text, say(f"labels.told_{kind.shows}"): figure}
        tiles.setdefault(cell.fastest, []).append(tile(name, str(count), format_bytes(size), text, **values))
    drawn = tuple(Drawn(method_name(each), method_look(kind, each), tuple(rows)) for each, rows in tiles.items())
    across, down = tuple(map(str, surface.counts)), tuple(map(format_bytes, surface.sizes))
    return Chart(title, title, Tiles(drawn, across, down, say(f"pieces_report.axis_{kind.experiment}"), corner(kind)))
