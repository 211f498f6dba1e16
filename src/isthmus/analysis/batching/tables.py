"""From how many pieces on a method beats the loop of copies, the batch call's cliff, and other layouts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from isthmus.analysis.batching.curves import point_cell
from isthmus.analysis.batching.labels import method_heading, method_label, setting_title, way_column
from isthmus.analysis.batching.map import Source, fastest_cell
from isthmus.analysis.batching.model import TYPICAL_PIECES, BatchingSurface
from isthmus.analysis.batching.thresholds import CliffLook, batch_cliff, batching_thresholds
from isthmus.analysis.breakeven.words import about_uses
from isthmus.analysis.pieces.words import cell_words, count_words, layout_words, within_words
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.document.grid import Cell, Column, Grid, Group, Row
from isthmus.document.section import Part
from isthmus.document.states import missing
from isthmus.language import say
from isthmus.record import Run, format_bytes, format_seconds

__all__ = ["breakeven_part", "cliff_part", "layouts_part"]

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
    if not grids:
        return None
    return Part(say("batching_report.breakeven_title"), say("batching_report.breakeven_note"), grids=tuple(grids))


def _thresholds(setting: str, answers: Mapping[tuple[int, str], Threshold]) -> Grid:
    sizes = sorted({size for size, _ in answers})
    methods = list(dict.fromkeys(method for _, method in answers))
    rows = tuple(
        Row(format_bytes(size), tuple(_threshold_cell(answers.get((size, method))) for method in methods))
        for size in sizes
    )
    columns = tuple(Column(method_heading(method), method_label(method)) for method in methods)
    title = say("batching_report.breakeven_grid", setting=setting)
    return Grid(title, columns, (Group("", rows),), corner=say("batching_report.corner_piece"))


def _threshold_cell(threshold: Threshold | None) -> Cell:
    if threshold is None:
        return missing()
    words = count_words(threshold)
    match threshold.state:
        case "always" if threshold.first > 1:
            text = f"≤ {threshold.first:.0f}"
        case "always":
            text = say("batching_report.cell_always")
        case "never":
            text = say("batching_report.cell_never")
        case "from":
            return Cell(f"{about_uses(threshold.value)}{within_words(threshold)}", detail=words)
        case _:
            return Cell(words, detail=words)
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
        last = Row(say("batching_report.cliff_row"), tuple(_cliff_cell(look) for _, _, look in chosen))
        columns = tuple(way_column(runs, index, surface) for index, surface, _ in chosen)
        title, corner = say("batching_report.cliff_grid", count=count), say("batching_report.corner_piece")
        grids.append(Grid(title, columns, (Group("GB/s", (*rows, last)),), corner=corner))
    return Part(say("batching_report.cliff_title"), say("batching_report.cliff_note"), grids=tuple(grids))


def _cliff_cell(look: CliffLook) -> Cell:
    if look.cliff:
        return Cell(say("common.range", low=format_bytes(look.cliff.below), high=format_bytes(look.cliff.above)))
    if look.close:
        first, last = map(format_bytes, look.close)
        detail = say("batching_report.cliff_none_detail", first=first, last=last)
        return Cell(say("batching_report.cliff_none"), detail=detail)
    return Cell("?", state="missing", detail=say("batching_report.cliff_unknown"))


def _batch_cell(surface: BatchingSurface, size: int, count: int) -> Cell:
    point = surface.along_sizes(count, "batch").get(size)
    cell = point_cell(point)
    if point is None:
        return cell
    each = say("batching_report.each_piece", time=format_seconds(point.seconds.median / count))
    return replace(cell, detail=say("common.comma").join([cell.detail, each]))


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
        columns = tuple(way_column(runs, way[0], ways[way]) for way in ordered)
        title, corner = (
            say("batching_report.layouts_grid", pieces=cell_words(key)),
            say("batching_report.corner_layout"),
        )
        grids.append(Grid(title, columns, (Group("", tuple(rows)),), corner=corner))
    if not grids:
        return None
    return Part(say("batching_report.layouts_title"), say("batching_report.layouts_note"), grids=tuple(grids))


def _way(index: int, surface: BatchingSurface) -> tuple[int, str, str]:
    return index, surface.host_memory, surface.direction


def _layouts(surface: BatchingSurface) -> tuple[str, str]:
    return surface.host_layout, surface.device_layout
