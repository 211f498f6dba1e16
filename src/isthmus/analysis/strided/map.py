"""The fastest method for rows of every width and number: a map and its table for each direction, memory and layout."""

from collections.abc import Sequence

from isthmus.analysis.pointing import in_one_text
from isthmus.analysis.strided.grid import StridedGrid, strided_grids
from isthmus.analysis.strided.labels import grid_title, method_label, method_look
from isthmus.analysis.strided.model import StridedCell, strided_cells
from isthmus.document import chart
from isthmus.document.chart import Drawn, Tiles, tile
from isthmus.document.grid import Cell, Column, Grid, Group, Row
from isthmus.document.section import Chart, LegendEntry, Part
from isthmus.document.states import missing
from isthmus.language import enumerated, say
from isthmus.record import Run, format_bytes, format_seconds

__all__ = ["Source", "main_sources", "map_parts", "sources"]

# A grid with the place of its run.
Source = tuple[int, StridedGrid]


def sources(runs: Sequence[Run]) -> list[Source]:
    """All grids of the runs."""
    return [(index, grid) for index, run in enumerate(runs) for grid in strided_grids(strided_cells(run))]


def main_sources(found: Sequence[Source]) -> list[Source]:
    """Of each direction and pair of layouts the grid with the most points, of the kind of memory that comes first."""
    chosen: dict[tuple[object, ...], Source] = {}
    first = {index: next(grid.host_memory for each, grid in found if each == index) for index, _ in found}
    for index, grid in found:
        key = (index, grid.direction, grid.host_layout, grid.device_layout)
        best = chosen.get(key)
        if grid.host_memory == first[index] and (best is None or len(grid.measured) > len(best[1].measured)):
            chosen[key] = index, grid
    return list(chosen.values())


def map_parts(runs: Sequence[Run], found: Sequence[Source]) -> list[Part]:
    """The maps to look at first, then, on the page alone, those of other memory and pitches."""
    main = main_sources(found)
    others = [source for source in found if source not in main]
    parts = [_part(runs, say("strided_report.map_title"), main, say("strided_report.map_note"))] if main else []
    return parts + ([_part(runs, say("strided_report.map_other_title"), others)] if others else [])


def _part(runs: Sequence[Run], title: str, found: Sequence[Source], note: str = "") -> Part:
    winners = {cell.fastest for _, grid in found for cell in grid.measured.values()}
    methods = dict.fromkeys(method for _, grid in found for method in grid.methods if method in winners)
    looks = {method_label(method): method_look(method) for method in methods}
    return Part(
        title,
        note=note,
        charts=tuple(_chart(runs, *source) for source in found),
        legend=tuple(LegendEntry(name, look) for name, look in looks.items()),
        grids=tuple(_grid(runs, *source) for source in found),
        page_only=not note,
    )


def _spans(grid: StridedGrid) -> tuple[list[int], list[int]]:
    """Widths and numbers of rows at which methods can be compared."""
    return sorted({width for width, _ in grid.measured}), sorted({rows for _, rows in grid.measured})


def _grid(runs: Sequence[Run], index: int, grid: StridedGrid) -> Grid:
    widths, counts = _spans(grid)
    rows = tuple(
        Row(format_bytes(width), tuple(_cell(grid.measured.get((width, count))) for count in counts))
        for width in widths
    )
    columns = tuple(
        Column(say("strided_report.rows_heading", count=count), say("strided_report.rows", count=count))
        for count in counts
    )
    return Grid(grid_title(runs, index, grid), columns, (Group("", rows),), corner=say("strided_report.corner_width"))


def _cell(cell: StridedCell | None) -> Cell:
    if cell is None:
        return missing()
    told = {method_label(method): format_seconds(cell.points[method].seconds.median) for method in cell.ranking}
    near = "≈" if cell.as_fast else ""
    text = f"{near}{method_label(cell.fastest)} {_ahead(cell)}"
    return Cell(text, detail=in_one_text(told), state="ok" if cell.best.converged else "wide")


def _ahead(cell: StridedCell) -> str:
    gain = cell.gain(cell.fastest)
    ahead = cell.lead if gain is None or cell.fastest == "section" else gain
    return f"x{ahead.median:.{0 if ahead.median >= 9.95 else 1}f}" if ahead else ""


def _chart(runs: Sequence[Run], index: int, grid: StridedGrid) -> Chart:
    widths, counts = _spans(grid)
    tiles: dict[str, list[chart.Row]] = {}
    for (width, count), cell in grid.measured.items():
        name = method_label(cell.fastest)
        told = {say("labels.told_method"): name, say("labels.told_time"): format_seconds(cell.best.seconds.median)}
        than = say("strided_report.told_next" if cell.fastest == "section" else "strided_report.told_gain")
        told[than] = _ahead(cell)[1:]
        if cell.as_fast:
            told[say("strided_report.told_as_fast")] = enumerated([method_label(each) for each in cell.as_fast])
        made = tile(name, str(count), format_bytes(width), format_seconds(cell.best.seconds.median), **told)
        tiles.setdefault(cell.fastest, []).append(made)
    drawn = [Drawn(method_label(method), method_look(method), tuple(rows)) for method, rows in tiles.items()]
    title = grid_title(runs, index, grid)
    return Chart(
        title,
        say("strided_report.map_label", title=title),
        Tiles(
            tuple(drawn),
            across=tuple(map(str, counts)),
            down=tuple(map(format_bytes, widths)),
            x_title=say("strided_report.axis_rows"),
            y_title=say("strided_report.axis_width"),
        ),
    )
