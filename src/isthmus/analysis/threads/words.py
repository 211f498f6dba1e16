"""Words that conclusions about threads share: numbers of threads, ways to divide a transfer, shares of the link."""

from collections.abc import Iterable

from isthmus.analysis.phrases import link_rate
from isthmus.analysis.threads.model import ThreadCurve
from isthmus.language import say
from isthmus.record import Run


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
