"""From how many pieces on a method beats the incumbent, and what each further piece costs that one."""

from collections.abc import Mapping, Sequence

from isthmus.analysis.breakeven.words import about_uses
from isthmus.analysis.labels import kind_label, run_label
from isthmus.analysis.phrases import way_name
from isthmus.analysis.pieces.cell import Kind
from isthmus.analysis.pieces.figures import method_columns
from isthmus.analysis.pieces.map import Source, corner
from isthmus.analysis.pieces.thresholds import count_thresholds, piece_cost
from isthmus.analysis.pieces.words import count_words, layout_words, surface_title, within_words
from isthmus.analysis.statistics.curve import ONE_WAY
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.document.grid import Cell, Column, Grid, Group, Row, missing, time_cell
from isthmus.document.section import Part
from isthmus.language import say
from isthmus.record import LayoutName, Run, format_bytes


def pays_part(runs: Sequence[Run], sources: Sequence[Source]) -> Part | None:
    """A table for each surface: bytes of a piece down, methods across."""
    grids = []
    for index, surface in sources:
        found = count_thresholds(surface, runs[index].settings.target_relative_half_width)
        if found:
            grids.append(_pays(surface_title(runs, index, surface), surface.kind, found))
    if not grids:
        return None
    incumbent = say(f"pieces.incumbent_{sources[0][1].kind.experiment}")
    title = say("pieces_report.pays_title", incumbent=incumbent)
    return Part(title, say("pieces_report.pays_note", incumbent=incumbent), grids=tuple(grids))


def _pays(setting: str, kind: Kind, found: Mapping[tuple[int, str], Threshold]) -> Grid:
    methods = list(dict.fromkeys(method for _, method in found))
    rows = tuple(
        Row(format_bytes(size), tuple(_pays_cell(found.get((size, method))) for method in methods))
        for size in sorted({size for size, _ in found})
    )
    title = say(f"pieces_report.pays_grid_{kind.experiment}", setting=setting)
    return Grid(title, method_columns(methods), (Group("", rows),), corner=corner(kind))


def _pays_cell(threshold: Threshold | None) -> Cell:
    if threshold is None:
        return missing()
    words = count_words(threshold)
    match threshold.state:
        case "always" if threshold.first > 1:
            text = f"≤ {threshold.first:.0f}"
        case "always":
            text = say("pieces_report.cell_always")
        case "never":
            text = say("pieces_report.cell_never")
        case "from":
            return Cell(f"{about_uses(threshold.value)}{within_words(threshold)}", detail=words)
        case "up_to":
            return Cell(words, detail=words)
        case _:
            return Cell("?", state="missing", detail=words)
    doubt = "" if threshold.certain else "?"
    return Cell(f"{text}{doubt}", state="wide" if doubt else "ok", detail=words)


def cost_part(runs: Sequence[Run], sources: Sequence[Source]) -> Part | None:
    """What each further narrow piece adds to the incumbent, by memory and layouts."""
    rows: dict[tuple[int, str, tuple[LayoutName, LayoutName]], dict[str, Cell]] = {}
    for index, surface in sources:
        cost = piece_cost(surface, runs[index].settings.target_relative_half_width)
        if cost and cost.seconds.low > 0 and surface.pitch_bytes is None:
            size = format_bytes(cost.each_bytes)
            detail = say("pieces_report.cost_detail", size=size, first=cost.first, last=cost.last)
            key = index, surface.host_memory, surface.layouts
            rows.setdefault(key, {})[surface.direction] = time_cell(cost.seconds, detail=detail)
    if not rows:
        return None
    shown = tuple(
        Row(_cost_heading(runs, *key), tuple(cells.get(way, missing()) for way in ONE_WAY))
        for key, cells in rows.items()
    )
    columns = tuple(Column(name, name) for name in map(way_name, ONE_WAY))
    kind = sources[0][1].kind
    incumbent, narrow = say(f"pieces.incumbent_{kind.experiment}"), format_bytes(kind.narrow_bytes)
    grid = Grid(say("pieces_report.cost_grid"), columns, (Group("", shown),), corner=say("pieces_report.corner_memory"))
    note = say("pieces_report.cost_note", incumbent=incumbent, size=narrow)
    return Part(say("pieces_report.cost_title"), note=note, grids=(grid,))


def _cost_heading(runs: Sequence[Run], index: int, memory: str, layouts: tuple[LayoutName, LayoutName]) -> str:
    text = say("pieces_report.memory_layouts", memory=kind_label(memory), layouts=layout_words(*layouts))
    return f"{text} {run_label(runs, index)}".rstrip()
