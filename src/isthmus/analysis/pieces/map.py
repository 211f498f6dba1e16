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
    runs = dict.fromkeys(index for index, _ in sources)
    return [
        (index, surface)
        for index in runs
        for surface in main_surfaces([surface for each, surface in sources if each == index])
    ]


def map_parts(runs: Sequence[Run], sources: Sequence[Source]) -> list[Part]:
    """The maps to look at first, then, on the page alone, others of several sizes and numbers."""
    several = [(index, surface) for index, surface in sources if len(surface.methods) > 1]
    main = main_sources(several)
    others = [
        source for source in several if source not in main and len(source[1].sizes) > 1 and len(source[1].counts) > 1
    ]
    parts = []
    if main:
        kind = main[0][1].kind
        note = say(f"pieces_report.map_note_{kind.experiment}", incumbent=method_name(kind.incumbent))
        parts.append(_part(runs, say("pieces_report.map_title"), note, main))
    if others:
        parts.append(_part(runs, say("pieces_report.map_other_title"), "", others))
    return parts


def methods_legend(kind: Kind, methods: Sequence[str]) -> tuple[LegendEntry, ...]:
    """Each name once: a kernel has the same whichever memory it reaches."""
    looks = {method_name(method): method_look(kind, method) for method in methods}
    return tuple(LegendEntry(name, look) for name, look in looks.items())


def fastest_cell(cell: Cell | None) -> Shown:
    """``kernel 50.4 x33``: the fastest method, its rate in GB/s where rates are shown, its lead; others on hovering."""
    if cell is None or not cell.ranking:
        return missing()
    rate = cell.best.rate.median / 1e9
    figure = f" {rate:.{decimals(rate)}f}" if cell.kind.shows == "rate" else ""
    text = f"{'≈' if cell.as_fast else ''}{method_name(cell.fastest)}{figure}{_times(cell.lead)}"
    told = {method_name(method): figure_words(cell.kind, cell.points[method]) for method in cell.ranking}
    return Shown(text, detail=in_one_text(told), state="ok" if cell.best.converged else "wide")


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
    rows = tuple(
        Row(format_bytes(size), tuple(fastest_cell(surface.measured.get((size, count))) for count in surface.counts))
        for size in surface.sizes
    )
    columns = tuple(
        Column(count_words(surface.kind, count).replace(" ", "\n"), count_words(surface.kind, count))
        for count in surface.counts
    )
    return Grid(surface_title(runs, index, surface), columns, (Group("", rows),), corner=corner(surface.kind))


def _chart(runs: Sequence[Run], index: int, surface: Surface) -> Chart:
    tiles: dict[str, list[chart.Row]] = {}
    for (size, count), cell in surface.measured.items():
        name, figure = method_name(cell.fastest), figure_words(surface.kind, cell.best)
        told = {say("labels.told_method"): fastest_cell(cell).text, say(f"labels.told_{surface.kind.shows}"): figure}
        rate = cell.best.rate.median / 1e9
        text = f"{rate:.{decimals(rate)}f}" if surface.kind.shows == "rate" else figure
        tiles.setdefault(cell.fastest, []).append(tile(name, str(count), format_bytes(size), text, **told))
    drawn = [
        Drawn(method_name(method), method_look(surface.kind, method), tuple(rows)) for method, rows in tiles.items()
    ]
    title = surface_title(runs, index, surface)
    across, down = tuple(map(str, surface.counts)), tuple(map(format_bytes, surface.sizes))
    named = say(f"pieces_report.axis_{surface.kind.experiment}"), corner(surface.kind)
    return Chart(title, title, Tiles(tuple(drawn), across, down, *named))
