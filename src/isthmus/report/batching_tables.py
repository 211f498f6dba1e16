"""From how many pieces on a method beats the loop of copies, the batch call's cliff, and other layouts."""

from collections.abc import Mapping, Sequence

from isthmus.model import (
    TYPICAL_PIECES,
    BatchingSurface,
    CliffLook,
    Threshold,
    batch_cliff,
    batching_thresholds,
    cell_words,
    count_words,
    layout_words,
)
from isthmus.record import Run, format_bytes, format_seconds
from isthmus.report.batching_curves import point_cell
from isthmus.report.batching_labels import method_heading, method_label, setting_title, ways_heading
from isthmus.report.batching_map import MISSING, Source, fastest_cell
from isthmus.report.grid import Cell, Column, Grid, Group, Row
from isthmus.report.labels import run_label
from isthmus.report.section import Part

__all__ = ["breakeven_part", "cliff_part", "layouts_part"]

_BREAKEVEN_NOTE = (
    "The number of pieces from which on, up to the largest measured, a method takes less time than a loop of copies, "
    "with its 95 % interval. ≤ 16: from the smallest number measured, 16, on, and perhaps from fewer. "
    "With ?: by the medians only."
)
# Cells that most pairs of layouts have: the second one those that are looked at in passing.
_COMPARED = (TYPICAL_PIECES, (TYPICAL_PIECES[0], 256))


def breakeven_part(runs: Sequence[Run], sources: Sequence[Source]) -> Part | None:
    """A table for each surface: bytes of a piece down, methods across."""
    grids = []
    for index, surface in sources:
        found = batching_thresholds(surface, runs[index].settings.target_relative_half_width)
        if found:
            answers = {(each.piece_bytes, each.method): each.threshold for each in found}
            grids.append(_thresholds(setting_title(runs, index, surface), answers))
    return Part("When a loop of copies is worth replacing", _BREAKEVEN_NOTE, grids=tuple(grids)) if grids else None


def _thresholds(title: str, answers: Mapping[tuple[int, str], Threshold]) -> Grid:
    sizes = sorted({size for size, _ in answers})
    methods = list(dict.fromkeys(method for _, method in answers))
    rows = tuple(
        Row(format_bytes(size), tuple(_threshold_cell(answers.get((size, method))) for method in methods))
        for size in sizes
    )
    columns = tuple(Column(method_heading(method), method_label(method)) for method in methods)
    return Grid(f"{title}: pieces", columns, (Group("", rows),), corner="Piece")


def _threshold_cell(threshold: Threshold | None) -> Cell:
    if threshold is None:
        return MISSING
    words = count_words(threshold)
    match threshold.state:
        case "always" if threshold.first > 1:
            text = f"≤ {threshold.first:.0f}"
        case "always" | "never":
            text = threshold.state
        case _:
            return Cell(words.removeprefix("from ").replace(" on", "", 1), detail=words)
    doubt = "" if threshold.certain else "?"
    return Cell(f"{text}{doubt}", state="wide" if doubt else "ok", detail=words)


def cliff_part(runs: Sequence[Run], sources: Sequence[Source]) -> Part | None:
    """What the batch call moves at the number of pieces at which it was looked at most closely."""
    looked = [(index, surface, found) for index, surface in sources if (found := batch_cliff(surface))]
    if not looked:
        return None
    grids = []
    for count in dict.fromkeys(look.pieces for _, _, look in looked):
        chosen = [source for source in looked if source[2].pieces == count]
        sizes = sorted({size for _, surface, _ in chosen for size in surface.along_sizes(count, "batch")})
        rows = tuple(
            Row(
                format_bytes(size),
                tuple(_batch_cell(surface, size, count) for _, surface, _ in chosen),
            )
            for size in sizes
        )
        last = Row(
            "cliff",
            tuple(_cliff_cell(look) for _, _, look in chosen),
        )
        columns = tuple(_ways_column(runs, index, surface) for index, surface, _ in chosen)
        groups = (Group("GB/s", (*rows, last)),)
        grids.append(Grid(f"The driver's batch call, {count} pieces", columns, groups, corner="Piece"))
    note = (
        "cliff: between these sizes the call takes less time for larger pieces, by the largest factor. None: nowhere "
        "among sizes that lie at most twice apart. ?: the sizes lie too far apart to tell."
    )
    return Part("The cliff of the batch call", note, grids=tuple(grids))


def _cliff_cell(look: CliffLook) -> Cell:
    if look.cliff:
        return Cell(f"{format_bytes(look.cliff.below)} to {format_bytes(look.cliff.above)}")
    if look.close:
        first, last = map(format_bytes, look.close)
        return Cell("none", detail=f"none from {first} to {last}")
    return Cell("?", state="missing", detail="the sizes lie too far apart to tell")


def _batch_cell(surface: BatchingSurface, size: int, count: int) -> Cell:
    point = surface.along_sizes(count, "batch").get(size)
    cell = point_cell(point)
    if point is None:
        return cell
    each = format_seconds(point.seconds.median / count)
    return Cell(cell.text, cell.half_width, cell.state, f"{cell.detail}, {each} a piece")


def layouts_part(runs: Sequence[Run], sources: Sequence[Source]) -> Part | None:
    """The fastest method for every pair of layouts, at cells that several of them have."""
    grids = []
    for key in _COMPARED:
        known = [(index, surface) for index, surface in sources if key in surface.measured]
        pairs = dict.fromkeys((surface.host_layout, surface.device_layout) for _, surface in known)
        if len(pairs) < 2:
            continue
        ways = {(index, surface.host_memory, surface.direction): surface for index, surface in reversed(known)}
        ordered = [way for way in dict.fromkeys(_way(*source) for source in known) if way in ways]
        rows = []
        for pair in pairs:
            cells = {_way(*source): source[1].measured[key] for source in known if _layouts(source[1]) == pair}
            rows.append(Row(layout_words(*pair), tuple(fastest_cell(cells.get(way)) for way in ordered)))
        columns = tuple(_ways_column(runs, way[0], ways[way]) for way in ordered)
        grids.append(Grid(f"The fastest for {cell_words(key)}", columns, (Group("", tuple(rows)),), corner="Layout"))
    note = "Method, rate in GB/s, and how many times the rate of a loop of copies that is, as above."
    return Part("How the pieces lie", note, grids=tuple(grids)) if grids else None


def _way(index: int, surface: BatchingSurface) -> tuple[int, str, str]:
    return index, surface.host_memory, surface.direction


def _layouts(surface: BatchingSurface) -> tuple[str, str]:
    return surface.host_layout, surface.device_layout


def _ways_column(runs: Sequence[Run], index: int, surface: BatchingSurface) -> Column:
    heading = ways_heading(surface)
    return Column(heading, heading.replace("\n", " "), run_label(runs, index))
