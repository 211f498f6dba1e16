"""Names and looks of the methods to divide a transfer among threads, in tables, charts and sentences."""

from dataclasses import replace

from isthmus.analysis.threads.model import ThreadCurve
from isthmus.document.grid import Cell
from isthmus.document.palette import Look, numbered_look
from isthmus.language import say

# Where a row has nothing to say about a column.
BLANK = Cell("", state="missing")

_MODES = (("slices", "shared"), ("slices", "own"), ("chunks", "shared"), ("chunks", "own"))
_CREATED_DASH = (5, 4)


def mode_name(curve: ThreadCurve) -> str:
    """``chunks, own streams, threads created``: how threads share the work, in a legend or a heading."""
    named = [say(f"threads_report.slicing_{curve.slicing}"), say(f"threads_report.streams_{curve.streams}")]
    if curve.method == "spawn":
        named.append(say("threads_report.created"))
    return say("common.comma").join(named)


def mode_look(curve: ThreadCurve) -> Look:
    """Colour and shape tell how the work is shared; a dashed line, that threads are created for each transfer."""
    look = numbered_look(_MODES.index((curve.slicing, curve.streams)))
    return replace(look, dash=_CREATED_DASH if curve.method == "spawn" else ())


def threads_label(direction: str, count: int) -> str:
    """``16``, or ``16 + 16`` where both directions have as many."""
    return f"{count} + {count}" if direction == "both" else str(count)


def threads_of(direction: str, count: int) -> str:
    """``one thread``, ``16 threads``; for both directions ``16 + 16 threads``."""
    return say("threads.of_both" if direction == "both" else "threads.of", count=count)
