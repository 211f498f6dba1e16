"""Words that conclusions about threads share: directions, numbers of threads, ways to divide a transfer, lists."""

from collections.abc import Iterable, Sequence

from isthmus.model.phrases import link_rate
from isthmus.model.threads import ThreadCurve
from isthmus.record import Run

__all__ = ["count_span", "divided", "joined", "link_share", "threads_of", "way_name"]

_WAYS = {"h2d": "H2D", "d2h": "D2H", "both": "both ways in sum"}


def way_name(direction: str) -> str:
    """The direction in running text; for both ways it says that the rate is a sum."""
    return _WAYS.get(direction, direction)


def threads_of(direction: str, count: int) -> str:
    """``one thread``, ``16 threads``; for both ways ``16 + 16 threads``."""
    if direction == "both":
        return f"{count} + {count} threads"
    return "one thread" if count == 1 else f"{count} threads"


def count_span(counts: Iterable[int]) -> str:
    """``1 to 32 threads`` for the numbers of threads of a direction."""
    found = sorted(counts)
    return threads_of("", found[0]) if found[0] == found[-1] else f"{found[0]} to {found[-1]} threads"


def divided(curve: ThreadCurve) -> str:
    """How the curve's threads share the work, after their number; empty for the plainest way, slices of one stream."""
    ways = [
        "a stream each" if curve.streams == "own" else "",
        "chunks" if curve.slicing == "chunks" else "",
    ]
    told = " and ".join(filter(None, ways))
    return f" with {told}" if told else ""


def joined(parts: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def link_share(run: Run, rate: float, direction: str) -> str:
    """`` (88 % of the link)``; of twice the link for both ways; nothing where no link is known."""
    limit = link_rate(run, both=direction == "both")
    return f" ({100 * rate / limit:.0f} % of the link{' both ways' if direction == 'both' else ''})" if limit else ""
