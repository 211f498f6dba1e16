"""The fastest method for so many pieces of so many bytes: a map and its table for each direction and kind of memory."""

from collections.abc import Sequence

from isthmus.analysis.batching.labels import method_label, method_look, setting_title
from isthmus.analysis.batching.model import BatchingCell, BatchingSurface
from isthmus.analysis.pointing import in_one_text
from isthmus.document import chart
from isthmus.document.chart import Drawn, Tiles, tile
from isthmus.document.grid import Cell, Column, Grid, Group, Row, decimals
from isthmus.document.section import Chart, LegendEntry, Part
from isthmus.document.states import missing
from isthmus.language import enumerated, say
from isthmus.record import Interval, Run, format_bytes, format_rate

__all__ = ["Source", "fastest_cell", "map_part"]

# A surface with the place of its run.
Source = tuple[int, BatchingSurface]


def map_part(runs: Sequence[Run], sources: Sequence[Source]) -> Part | None:
    """The maps of surfaces with more than one method."""
    shown = [(index, surface) for index, surface in sources if len(surface.methods) > 1]
    if not shown:
        return None
    winners = {cell.fastest for _, surface in shown for cell in surface.measured.values()}
    methods = [method for _, surface in shown for method in surface.methods if method in winners]
    return Part(
        say("batching_report.map_title"),
        note=say("batching_report.map_note"),
        charts=tuple(_chart(runs, *source) for source in shown),
        legend=tuple(LegendEntry(label, method_look(label_of)) for label, label_of in _named(methods).items()),
        grids=tuple(_grid(runs, *source) for source in shown),
    )


def _named(methods: Sequence[str]) -> dict[str, str]:
    return {method_label(method): method for method in methods}


def _grid(runs: Sequence[Run], index: int, surface: BatchingSurface) -> Grid:
    rows = tuple(
        Row(
            format_bytes(size),
            tuple(fastest_cell(surface.measured.get((size, count))) for count in surface.counts),
        )
        for size in surface.sizes
    )
    columns = tuple(
        Column(say("batching_report.pieces_heading", count=count), say("batching_report.pieces", count=count))
        for count in surface.counts
    )
    title, corner = setting_title(runs, index, surface), say("batching_report.corner_piece")
    return Grid(title, columns, (Group("", rows),), corner=corner)


def fastest_cell(cell: BatchingCell | None) -> Cell:
    """``kernel 50.4 x33``: the fastest method, its rate in GB/s and its gain; the others on hovering."""
    if cell is None or not cell.points:
        return missing()
    rate = cell.best.rate.median / 1e9
    near = "≈" if cell.as_fast else ""
    text = f"{near}{method_label(cell.fastest)} {rate:.{decimals(rate)}f}{_gain(cell.gain)}"
    rates = {method_label(method): format_rate(cell.points[method].rate.median) for method in cell.ranking}
    return Cell(text, detail=in_one_text(rates), state="ok" if cell.best.converged else "wide")


def _gain(gain: Interval | None) -> str:
    if gain is None or gain.median == 1:
        return ""
    return f" x{gain.median:.{0 if gain.median >= 9.95 else 1}f}"


def _chart(runs: Sequence[Run], index: int, surface: BatchingSurface) -> Chart:
    tiles: dict[str, list[chart.Row]] = {}
    for (size, count), cell in surface.measured.items():
        name = method_label(cell.fastest)
        rate = cell.best.rate.median / 1e9
        told = {say("labels.told_method"): name, say("labels.told_rate"): format_rate(cell.best.rate.median)}
        if cell.gain:
            told[say("batching_report.told_gain")] = f"{cell.gain.median:.3g}"
        if cell.as_fast:
            told[say("batching_report.told_as_fast")] = enumerated([method_label(each) for each in cell.as_fast])
        label = f"{rate:.{decimals(rate)}f}"
        tiles.setdefault(cell.fastest, []).append(tile(name, str(count), format_bytes(size), label, **told))
    drawn = [Drawn(method_label(method), method_look(method), tuple(tiles[method])) for method in tiles]
    title = setting_title(runs, index, surface)
    return Chart(
        title,
        say("batching_report.map_label", title=title),
        Tiles(
            tuple(drawn),
            across=tuple(map(str, surface.counts)),
            down=tuple(map(format_bytes, surface.sizes)),
            x_title=say("batching_report.axis_pieces"),
            y_title=say("batching_report.axis_bytes"),
        ),
    )
