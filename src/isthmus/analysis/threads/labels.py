"""Names and looks of the ways to divide a transfer among threads, in tables, charts and sentences."""

from collections.abc import Iterable
from dataclasses import replace

from isthmus.analysis.phrases import link_rate
from isthmus.analysis.threads.model import ThreadCurve
from isthmus.document.grid import Cell
from isthmus.document.palette import Look, numbered_look
from isthmus.language import say
from isthmus.record import Run

# Where a row has nothing to say about a column.
BLANK = Cell("", state="missing")

_MODES = (("slices", "shared"), ("slices", "own"), ("chunks", "shared"), ("chunks", "own"))
_CREATED_DASH = (5, 4)


def mode_name(curve: ThreadCurve) -> str:
    """``chunks, own streams, threads created``: how threads share the work, in a legend or a heading of the page."""
    named = [say(f"threads_report.slicing_{curve.slicing}"), say(f"threads_report.streams_{curve.streams}")]
    if curve.method == "spawn":
        named.append(say("threads_report.created"))
    return say("common.comma").join(named)


def mode_heading(curve: ThreadCurve) -> str:
    """The same in short lines."""
    lines = [say(f"threads_report.heading_{curve.slicing}"), say(f"threads_report.heading_streams_{curve.streams}")]
    if curve.method == "spawn":
        lines.insert(0, say("threads_report.heading_created"))
    return "\n".join(lines)


def mode_look(curve: ThreadCurve) -> Look:
    """Colour and shape tell how the work is shared; a dashed line, that threads are created for each transfer."""
    look = numbered_look(_MODES.index((curve.slicing, curve.streams)))
    return replace(look, dash=_CREATED_DASH if curve.method == "spawn" else ())


def threads_label(direction: str, count: int) -> str:
    """``16``, or ``16 + 16`` where both directions have as many."""
    return f"{count} + {count}" if direction == "both" else str(count)


def direction_word(direction: str) -> str:
    """``H2D``, ``both``: a direction beside the name of a device or a kind of memory."""
    return say(f"threads_report.way_{direction}")


def threads_of(direction: str, count: int) -> str:
    """``one thread``, ``16 threads``; for both ways ``16 + 16 threads``."""
    return say("threads.of_both" if direction == "both" else "threads.of", count=count)


def count_span(counts: Iterable[int]) -> str:
    """``1 to 32 threads`` for the numbers of threads of a direction."""
    found = sorted(counts)
    return threads_of("", found[0]) if found[0] == found[-1] else say("threads.span", first=found[0], last=found[-1])


def divided_threads(curve: ThreadCurve, count: int) -> str:
    """``16 threads with a stream each and chunks``: how many share the work, and how where that is not the plainest."""
    ways = ["own"] * (curve.streams == "own") + ["chunks"] * (curve.slicing == "chunks")
    threads = threads_of(curve.direction, count)
    return say(f"threads.divided_{'_'.join(ways)}", threads=threads) if ways else threads


def link_share(run: Run, rate: float, direction: str) -> str:
    """`` (88 % of the link)``; of twice the link for both ways; nothing where no link is known."""
    limit = link_rate(run, both=direction == "both")
    if not limit:
        return ""
    return say("threads.of_link_both" if direction == "both" else "common.of_link", percent=100 * rate / limit)
