"""Break-even answers as cells of tables: a size or a number of uses, or one of the words that say why there is none."""

import math
from collections.abc import Callable
from dataclasses import replace

from isthmus.model import Threshold, about_bytes, size_words, uses_words
from isthmus.record import GIB, KIB, MIB
from isthmus.report.grid import Cell, decimals

__all__ = ["LEGEND", "size_cell", "uses_cell", "uses_heading"]

LEGEND = (
    "always, never: over the whole range that was measured, with ? by the medians only; to: only up to there; a range: "
    "the interval itself, where its ends are far apart; <= and >=: the interval reaches beyond the range; not slower, "
    "not faster: for certain at some sizes, while elsewhere this run cannot tell; ?: it can tell nothing; *: the lead "
    "changes hands more than once, and the last change is given; -: not measured."
)

_ABSENT = Cell("-", state="missing", detail="not measured")


def size_cell(threshold: Threshold | None) -> Cell:
    """From which size on a way wins, with half of its interval."""
    if threshold is None:
        return _ABSENT
    return _cell(threshold, f"wins {size_words(threshold)}", about_bytes, _size)


def uses_cell(threshold: Threshold | None) -> Cell:
    """From how many uses on a way wins, with half of its interval."""
    if threshold is None:
        return _ABSENT
    if threshold.state == "always" and threshold.certain:
        return Cell("1", detail=f"wins {uses_words(threshold)}")
    return _cell(threshold, f"wins {uses_words(threshold)}", _count, _uses)


def uses_heading(uses: int) -> str:
    """A number of uses as a column heading."""
    return "1 use" if uses == 1 else f"{uses} uses"


def _cell(
    threshold: Threshold, words: str, written: Callable[[float], str], figures: Callable[[float, float], Cell]
) -> Cell:
    """`written` gives a bound in words, `figures` a value and half of its interval as a cell."""
    if threshold.state == "cannot_tell":
        return Cell(_untold(threshold), state="missing", detail=words)
    if threshold.state in {"always", "never"}:
        if threshold.certain:
            return Cell(threshold.state, detail=words)
        end = f"at most {written(threshold.high)}" if threshold.low <= 0.0 else f"at least {written(threshold.low)}"
        return Cell(f"{threshold.state}?", state="wide", detail=f"{words} by the medians; {end} by the interval")
    prefix = "to " if threshold.state == "up_to" else ""
    mark = "*" if threshold.crossings > 1 else ""
    if threshold.certain and threshold.high <= _WIDE * threshold.low:
        cell = figures(threshold.value, (threshold.high - threshold.low) / 2)
        return replace(cell, text=f"{prefix}{cell.text}{mark}", detail=words)
    if threshold.low <= 0.0:
        text = f"<= {written(threshold.high)}"
    elif math.isinf(threshold.high):
        text = f">= {written(threshold.low)}"
    else:
        text = _range(written(threshold.low), written(threshold.high))
    return Cell(f"{prefix}{text}{mark}", state="wide", detail=words)


def _untold(threshold: Threshold) -> str:
    """What is certain at some sizes, and contradicted at none, where no threshold is."""
    if threshold.faster and not threshold.slower:
        return "not slower"
    return "not faster" if threshold.slower and not threshold.faster else "?"


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
