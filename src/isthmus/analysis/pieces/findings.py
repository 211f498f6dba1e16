"""What is said of pieces whatever they are: what moves them fastest, why, from how many on it pays, what to use."""

from collections.abc import Iterable, Sequence

from isthmus.analysis.phrases import factor_digits, factor_words, link_rate
from isthmus.analysis.pieces.cell import Cell
from isthmus.analysis.pieces.model import Surface
from isthmus.analysis.pieces.thresholds import count_thresholds
from isthmus.analysis.pieces.words import (
    count_words,
    figure_words,
    layout_words,
    method_words,
    shape_words,
    surface_words,
    tied_words,
    where_words,
)
from isthmus.document.finding import Finding, Takeaway
from isthmus.language import can_say, capitalised, enumerated, say, sentences
from isthmus.record import Run, format_bytes, format_seconds


def gain_finding(run: Run, topic: str, cells: Sequence[Cell], more: Sequence[str] = ()) -> Finding | None:
    """What moves pieces of one shape fastest, each way and with each memory; None without such cells.

    `more` are statements of the caller's to be added.
    """
    if not cells:
        return None
    gaining = [cell for cell in cells if cell.gains]
    return Finding(
        "note",
        topic,
        _about(cells, [*map(_fastest, cells), *more]),
        cause=_cause(run, max(gaining, key=times_of)) if gaining else "",
        fix=_advice(cells),
    )


def takeaway_of(cells: Sequence[Cell]) -> Takeaway:
    """The fastest method of each cell, of one shape and pair of layouts, and what to do about it."""
    return Takeaway(_about(cells, map(_briefly, cells)), _advice(cells))


def pays_finding(run: Run, surfaces: Sequence[Surface]) -> Finding | None:
    """From how many typical pieces on the incumbent is worth replacing; tables have it for all layouts and sizes."""
    known_within = run.settings.target_relative_half_width
    found: list[tuple[Surface, Cell, str]] = []
    for surface in surfaces:
        cell = surface.typical
        method = next((each for each in cell.ranking if each in surface.kind.challengers), None) if cell else None
        if cell and method and (cell.shape.width_bytes, method) in count_thresholds(surface, known_within):
            found.append((surface, cell, method))
    if not found:
        return None
    first, size = found[0][0], found[0][1].shape.width_bytes
    told = [
        say(
            "pieces.pays_way",
            where=where_words(surface),
            method=method_words(method, cell),
            answer=count_words(count_thresholds(surface, known_within)[size, method]),
        )
        for surface, cell, method in found
        if (surface.layouts, cell.shape.width_bytes) == (first.layouts, size)
    ]
    kind = first.kind.experiment
    pieces = say(f"pieces.each_{kind}", size=format_bytes(size))
    named = {"incumbent": say(f"pieces.incumbent_{kind}"), "layouts": surface_words(first), "pieces": pieces}
    return Finding("note", f"{kind}_pays", say("pieces.pays", **named, ways=_joined(told)))


def times_of(cell: Cell) -> float:
    """How many times as fast as the incumbent the fastest is; 0 where that was not measured."""
    return cell.gain.median if cell.gain else 0.0


def _about(cells: Sequence[Cell], told: Iterable[str]) -> str:
    shape, layouts = capitalised(shape_words(cells[0])), layout_words(*cells[0].layouts)
    return say("pieces.known", shape=shape, layouts=layouts, ways=_joined(told))


def _joined(told: Iterable[str]) -> str:
    return say("common.between_statements").join(told)


def _fastest(cell: Cell) -> str:
    """``H2D from pinned memory 47.8 GB/s by a kernel, 31 times a loop of copies (1.55 GB/s)``."""
    named = {
        "where": where_words(cell),
        "figure": figure_words(cell.kind, cell.best),
        "method": method_words(cell.fastest, cell),
        "tied": tied_words(cell.as_fast, cell),
    }
    if not cell.gains or not cell.gain:
        return say("pieces.fastest", **named)
    incumbent = cell.kind.incumbent
    other = {"incumbent": method_words(incumbent, cell), "slower": figure_words(cell.kind, cell.points[incumbent])}
    return say("pieces.fastest_gain", **named, **other, times=factor_words(cell.gain))


def _briefly(cell: Cell) -> str:
    best = _method(cell)
    named = {"where": where_words(cell), "method": method_words(best, cell)}
    figure = figure_words(cell.kind, cell.points[best])
    if not cell.gains or not cell.gain:
        return say("pieces.brief", **named, figure=figure)
    incumbent = method_words(cell.kind.incumbent, cell)
    return say("pieces.brief_gain", **named, figure=figure, times=factor_digits(cell.gain.median), incumbent=incumbent)


def _method(cell: Cell) -> str:
    """What to use: the fastest, or the incumbent where nothing significantly beats it."""
    return cell.kind.incumbent if not cell.gains and cell.kind.incumbent in cell.points else cell.fastest


def _cause(run: Run, cell: Cell) -> str:
    """What the incumbent spends on a piece against what its bytes need, where that is far less."""
    each = cell.points[cell.kind.incumbent].seconds.median / cell.pieces
    link, size = link_rate(run), cell.shape.width_bytes
    if not link or size / link > each / 2:
        return ""
    incumbent = capitalised(method_words(cell.kind.incumbent, cell))
    times = {"time": format_seconds(each), "needed": format_seconds(size / link)}
    return say("pieces.cause", incumbent=incumbent, size=format_bytes(size), **times)


def _advice(cells: Sequence[Cell]) -> str:
    """What to do each way, as the ways differ in it; without a gain anywhere there is nothing to tell apart."""
    ways: dict[str, list[str]] = {}
    for cell in cells:
        if cell.kind.incumbent in cell.points and can_say(key := f"pieces.advice_{_method(cell)}"):
            ways.setdefault(key, []).append(where_words(cell))
    if len(ways) == 1:
        return capitalised(say(next(iter(ways))))
    return sentences(
        say("pieces.advice_for", where=enumerated(list(dict.fromkeys(where))), advice=say(key))
        for key, where in ways.items()
    )
