"""Break-even answers as cells of tables: a size or a number of uses, or one of the words that say why there is none."""

import math
from collections.abc import Callable
from dataclasses import replace

from isthmus.analysis.breakeven.words import plain_size_words, uses_words
from isthmus.analysis.phrases import about_bytes
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.document.grid import Cell, decimals
from isthmus.document.states import missing
from isthmus.language import say
from isthmus.record import GIB, KIB, MIB

__all__ = ["size_cell", "uses_cell"]


def size_cell(threshold: Threshold | None) -> Cell:
    """From which size on a way wins, with half of its interval."""
    if threshold is None:
        return missing()
    return _cell(threshold, say("breakeven_report.wins", where=plain_size_words(threshold)), about_bytes, _size)


def uses_cell(threshold: Threshold | None) -> Cell:
    """From how many uses on a way wins, with half of its interval."""
    if threshold is None:
        return missing()
    words = say("breakeven_report.wins_after", uses=uses_words(threshold))
    if threshold.state == "always" and threshold.certain:
        return Cell("1", detail=words)
    return _cell(threshold, words, _count, _uses)


def _cell(
    threshold: Threshold, words: str, written: Callable[[float], str], figures: Callable[[float, float], Cell]
) -> Cell:
    """`written` gives a bound in words, `figures` a value and half of its interval as a cell."""
    if threshold.state == "cannot_tell":
        return Cell(_untold(threshold), state="missing", detail=words)
    if threshold.state in {"always", "never"}:
        text = say("breakeven_report.always" if threshold.state == "always" else "breakeven_report.never")
        if threshold.certain:
            return Cell(text, detail=words)
        told = (
            say("breakeven_report.by_medians_at_most", words=words, end=written(threshold.high))
            if threshold.low <= 0.0
            else say("breakeven_report.by_medians_at_least", words=words, end=written(threshold.low))
        )
        return Cell(f"{text}?", state="wide", detail=told)
    if threshold.certain and threshold.high <= _WIDE * threshold.low:
        cell = figures(threshold.value, (threshold.high - threshold.low) / 2)
        return replace(cell, text=_marked(threshold, cell.text), detail=words)
    if threshold.low <= 0.0:
        text = f"<= {written(threshold.high)}"
    elif math.isinf(threshold.high):
        text = f">= {written(threshold.low)}"
    else:
        text = _range(written(threshold.low), written(threshold.high))
    return Cell(_marked(threshold, text), state="wide", detail=words)


def _marked(threshold: Threshold, text: str) -> str:
    text += "*" if threshold.crossings > 1 else ""
    return say("breakeven_report.to", place=text) if threshold.state == "up_to" else text


def _untold(threshold: Threshold) -> str:
    """What is certain at some sizes, and contradicted at none, where no threshold is."""
    if threshold.faster and not threshold.slower:
        return say("breakeven_report.not_slower")
    return say("breakeven_report.not_faster") if threshold.slower and not threshold.faster else "?"


def _range(low: str, high: str) -> str:
    """``3.6-8.7 MiB``, or both units where they differ."""
    shared = low.partition(" ")[2] == high.partition(" ")[2]
    return f"{low.partition(' ')[0] if shared else low}-{high}"


# Where the ends of an interval differ by more, they are the answer.
_WIDE = 1.5


def _size(value: float, half: float) -> Cell:
    factor, unit = next(pair for pair in _UNITS if value >= pair[0])
    digits = decimals(value / factor)
    return Cell(f"{value / factor:.{digits}f}", f"{half / factor:.{digits}f}", unit=unit)


_UNITS = ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"), (1, "B"))


def _uses(value: float, half: float) -> Cell:
    return Cell(_count(value), _count(math.ceil(half)) if half else "")


def _count(value: float) -> str:
    return f"{value:.0f}"
