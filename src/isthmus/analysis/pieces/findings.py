"""Findings on pieces whatever they are: what moves them fastest, why, and what to use."""

from collections.abc import Sequence

from isthmus.analysis.phrases import direction_name, factor_words, link_rate, memory_label
from isthmus.analysis.pieces.cell import Cell, Kind
from isthmus.analysis.pieces.words import figure_words, layout_words, method_name, shape_words, way_words
from isthmus.document.finding import Finding
from isthmus.language import can_say, capitalised, say, sentences
from isthmus.record import Run, format_bytes, format_seconds


def gain_finding(run: Run, topic: str, cells: Sequence[Cell]) -> Finding | None:
    """What beats the incumbent for pieces of one shape, by direction and memory, or that nothing does."""
    compared = [cell for cell in cells if cell.gain]
    if not compared:
        return None
    gaining = [cell for cell in compared if cell.gains]
    cause = _cause(run, max(gaining, key=times_of)) if gaining else ""
    return Finding("note", topic, _about(compared), cause, (_advice(compared),))


def takeaway_of(cells: Sequence[Cell]) -> Finding:
    """The fastest method of each cell, of one shape and pair of layouts, and what to do about it."""
    return Finding("note", "pieces", _about(cells), do=(_advice(cells),))


def nothing_compared(kind: Kind) -> Finding:
    """That no cell has the incumbent and another method."""
    return Finding("note", "pieces", say("pieces.no_comparison", incumbent=method_name(kind.incumbent)))


def times_of(cell: Cell) -> float:
    """How many times as fast as the incumbent the fastest is; 0 where that was not measured."""
    return cell.gain.median if cell.gain else 0.0


def _about(cells: Sequence[Cell]) -> str:
    """The methods with a gain, which is what to act on; without one, what the incumbent takes by direction."""
    kind, gaining = cells[0].kind, [cell for cell in cells if cell.gains]
    rates = map(_gain, gaining) if gaining else (_told(cell, kind.incumbent) for cell in cells)
    return say(
        "pieces.faster" if gaining else "pieces.no_gain",
        shape=capitalised(shape_words(cells[0])),
        layouts=layout_words(*cells[0].layouts),
        incumbent=method_name(kind.incumbent),
        rates=say("common.between_statements").join(rates),
    )


def _gain(cell: Cell) -> str:
    """``H2D pinned 47.8 GB/s (kernel), 31 times as fast as the copy loop (1.55 GB/s)``."""
    assert cell.gain
    incumbent = cell.kind.incumbent
    return say(
        "pieces.gain",
        direction=direction_name(cell.direction),
        memory=memory_label(cell.host_memory),
        method=method_name(cell.fastest, cell.threads),
        figure=figure_words(cell.kind, cell.best),
        times=factor_words(cell.gain),
        incumbent=method_name(incumbent),
        slower=figure_words(cell.kind, cell.points[incumbent]),
    )


def _told(cell: Cell, method: str) -> str:
    return say("labels.named_value", name=way_words(cell), value=figure_words(cell.kind, cell.points[method]))


def _cause(run: Run, cell: Cell) -> str:
    """What the incumbent spends on a piece against what its bytes need, where that is far less."""
    each = cell.points[cell.kind.incumbent].seconds.median / cell.pieces
    link, size = link_rate(run), cell.shape.width_bytes
    if not link or size / link > each / 2:
        return ""
    named = {"incumbent": method_name(cell.kind.incumbent), "size": format_bytes(size)}
    return capitalised(say("pieces.cause", **named, time=format_seconds(each), needed=format_seconds(size / link)))


def _advice(cells: Sequence[Cell]) -> str:
    """What to do in each direction, as the methods differ in it."""
    advised: dict[str, list[str]] = {}
    for cell in cells:
        key = f"pieces.advice_{cell.fastest if cell.gains else cell.kind.incumbent}"
        if can_say(key):
            advised.setdefault(say(key), []).append(way_words(cell))
    if len(advised) == 1:
        return capitalised(next(iter(advised)))
    between = say("common.between_clauses")
    return sentences(
        say("pieces.advice_for", direction=between.join(dict.fromkeys(where)), advice=advice)
        for advice, where in advised.items()
    )
