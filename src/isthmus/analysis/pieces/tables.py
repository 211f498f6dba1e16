"""All tables of an experiment that moves pieces, among them from how many on a method beats the incumbent."""

from collections.abc import Sequence

from isthmus.analysis.breakeven.words import about_uses
from isthmus.analysis.labels import Source, sources
from isthmus.analysis.phrases import spanned
from isthmus.analysis.pieces.cell import Kind
from isthmus.analysis.pieces.figures import curves_part, figures_part, method_columns
from isthmus.analysis.pieces.map import Surfaces, corner, main_sources, map_parts
from isthmus.analysis.pieces.model import Surface, piece_surfaces
from isthmus.analysis.pieces.thresholds import count_thresholds
from isthmus.analysis.pieces.words import method_name, surface_title
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.document.grid import Cell, Grid, Group, missing
from isthmus.document.pivot import grid_of, rows_of
from isthmus.document.section import Part
from isthmus.language import in_brackets, say
from isthmus.record import Run, format_bytes


def pieces_parts(runs: Sequence[Run], kind: Kind, *own: Part | None) -> list[Part | None]:
    """The fastest method everywhere, from where it pays, parts of the experiment's own, then all figures."""
    surfaces = sources(runs, lambda run: piece_surfaces(run, kind))
    main = main_sources(surfaces)
    last = curves_part(main), figures_part(kind, surfaces)
    return [*map_parts(surfaces), _pays_part(kind, main), *own, *last]


def _pays_part(kind: Kind, surfaces: Surfaces) -> Part:
    """A table for each surface: bytes of a piece down, methods across."""
    title = say("pieces_report.pays_title", incumbent=method_name(kind.incumbent))
    return Part(title, say("pieces_report.pays_note"), grids=tuple(filter(None, map(_pays, surfaces))))


def _pays(source: Source[Surface]) -> Grid | None:
    surface = source.value
    thresholds = count_thresholds(surface, source.target)
    methods = list(dict.fromkeys(method for _, method in thresholds))
    sizes = sorted({size for size, _ in thresholds})
    rows = rows_of(sizes, format_bytes, methods, lambda method, size: _pays_cell(thresholds.get((size, method))))
    named = {"setting": surface_title(source), "incumbent": method_name(surface.kind.incumbent)}
    title = say("pieces_report.pays_grid", **named)
    return grid_of(title, method_columns(methods), [Group("", rows)], corner(surface.kind))


def _pays_cell(threshold: Threshold | None) -> Cell:
    """``7 (6 to 9)``, ``never``, ``≤ 16`` where the smallest number measured is 16; ``always?`` within noise."""
    if threshold is None:
        return missing()
    if threshold.state == "cannot_tell":
        return Cell("?", state="missing")
    if threshold.state in {"from", "up_to"}:
        text = f"{about_uses(threshold.value)}{_within(threshold)}"
        return Cell(say("pieces_report.cell_up_to", value=text) if threshold.state == "up_to" else text)
    at_least = threshold.state == "always" and threshold.first > 1
    text = f"≤ {threshold.first:.0f}" if at_least else say(f"pieces_report.cell_{threshold.state}")
    return Cell(text) if threshold.certain else Cell(f"{text}?", state="wide")


def _within(threshold: Threshold) -> str:
    """The interval in brackets; nothing where it is the number itself."""
    low, high = max(threshold.low, threshold.first), min(threshold.high, threshold.last)
    first, last = about_uses(low), about_uses(high)
    return in_brackets(spanned(first, last)) if first != last else ""
