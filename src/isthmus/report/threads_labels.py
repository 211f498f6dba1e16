"""Names and looks of the ways to divide a transfer among threads, wherever a report shows them."""

from dataclasses import replace

from isthmus.model import ThreadCurve
from isthmus.report.palette import Look, numbered_look

__all__ = ["DIRECTION_WORDS", "mode_heading", "mode_look", "mode_name", "threads_label"]

DIRECTION_WORDS = {"h2d": "H2D", "d2h": "D2H", "both": "both", "peer": "device to device"}

_MODES = (("slices", "shared"), ("slices", "own"), ("chunks", "shared"), ("chunks", "own"))
_CREATED_DASH = (5, 4)


def mode_name(curve: ThreadCurve) -> str:
    """``chunks, own streams, threads created``: how threads share the work, in a legend or a heading of the page."""
    streams = "own streams" if curve.streams == "own" else "shared stream"
    created = ", threads created" if curve.method == "spawn" else ""
    return f"{curve.slicing}, {streams}{created}"


def mode_heading(curve: ThreadCurve) -> str:
    """The same in short lines."""
    streams = "own\nstreams" if curve.streams == "own" else "shared\nstream"
    created = "created\n" if curve.method == "spawn" else ""
    return f"{created}{curve.slicing}\n{streams}"


def mode_look(curve: ThreadCurve) -> Look:
    """Colour and shape tell how the work is shared; a dashed line, that threads are created for each transfer."""
    look = numbered_look(_MODES.index((curve.slicing, curve.streams)))
    return replace(look, dash=_CREATED_DASH if curve.method == "spawn" else ())


def threads_label(direction: str, count: int) -> str:
    """``16``, or ``16 + 16`` where both directions have as many."""
    return f"{count} + {count}" if direction == "both" else str(count)
