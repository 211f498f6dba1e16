"""What the host does by itself around a copy: pages that come from a file before it, a second copy after it."""

from collections.abc import Callable

import numpy as np

from isthmus.advice.rates import Range, Rates, Seconds, priced
from isthmus.advice.records import Mask
from isthmus.advice.rule import Draft, Rule, Summary, Words
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import (
    FASTEST_HOST_COPY,
    LEAST_WAITS,
    LONGEST_START_SECONDS,
    SLOWEST_HOST_COPY,
    TRACED_BYTES,
    least_gain,
)
from isthmus.language import say
from isthmus.record import decimal_bytes, format_seconds
from isthmus.trace import Integers


def _pages(scene: Scene, rates: Rates) -> Draft | None:
    """Calls that copy pageable memory to the device and take long before it begins, though nothing was ahead of them.

    The first call loads the driver's modules, and counts as none. What remains of the others is the host's: the memory
    they read is mapped from a file, or was not touched yet.
    """
    rows = _large(scene, scene.of("h2d", "pageable"))
    rows = rows[scene.blocking(rows)][1:]
    if not rows.size:
        return None
    begin, _ = scene.occupied(rows)
    began = scene.device_begin(rows)
    before = np.maximum(scene.idle_before(begin, began) - LONGEST_START_SECONDS, 0.0)
    staged = priced(rates.library, "h2d", scene.trace.copies.bytes[rows], fresh=False)
    if staged is None:
        staged = rates.memcpy(scene.trace.copies.bytes[rows])
    # Threads that read ahead take no less than the copy within the host.
    gains = np.maximum(before[:, np.newaxis] - staged[:, [0, 2, 1]], 0.0)
    return _draft(scene, rows, gains, before, "pages")


def _again(scene: Scene, rates: Rates) -> Draft | None:
    """What XLA fetched and copies once more within the host: its traces show the time in which nothing runs."""
    del rates
    if scene.trace.maker != "xla":
        return None
    rows = _large(scene, scene.of("d2h"))
    ended = scene.device_end(rows)
    until = np.append(scene.device_begin(rows)[1:], scene.span_seconds)
    idle = scene.idle_before(ended, until)
    sizes = scene.trace.copies.bytes[rows]
    like_a_copy = (idle >= sizes / FASTEST_HOST_COPY) & (idle <= sizes / SLOWEST_HOST_COPY)
    gains = np.repeat(np.where(like_a_copy, idle, 0.0)[:, np.newaxis], 3, axis=1)
    return _draft(scene, rows, gains, idle, "again")


def _large(scene: Scene, rows: Integers) -> Integers:
    return rows[scene.trace.copies.bytes[rows] >= TRACED_BYTES]


def _draft(scene: Scene, rows: Integers, gains: Range, spent: Seconds, what: str) -> Draft | None:
    useful: Mask = gains[:, 0] > 0
    total = float(gains[useful, 0].sum())
    if useful.sum() < LEAST_WAITS or total < least_gain(scene.span_seconds):
        return None
    # What the host does there is not recorded, and may be something else.
    gains[:, 1] = 0.0
    facts = {"what": what, "spent": float(spent[useful].sum()), "span": scene.span_seconds}
    return Draft("copies", rows[useful], gains[useful], bound=total, facts=facts)


def _words(summary: Summary) -> Words:
    facts = summary.facts
    size, spent, span = decimal_bytes(summary.bytes), format_seconds(facts["spent"]), format_seconds(facts["span"])
    if facts["what"] == "pages":
        return Words(
            say("advice.pages_title", count=summary.calls, size=size),
            say("advice.pages_cause", time=spent, span=span),
            say("advice.pages_change"),
            say("advice.pages_pricing"),
            lines="mapped-pages",
        )
    return Words(
        say("advice.again_title", count=summary.calls, size=size),
        say("advice.again_cause", time=spent, span=span),
        say("advice.again_change"),
        say("advice.again_pricing"),
        lines="fetched-again",
    )


def _rule(name: str, find: Callable[[Scene, Rates], Draft | None]) -> Rule:
    # Beyond the copies themselves, whose rules price those.
    return Rule(name, (), find, _words, beyond=frozenset({"pageable", "no-overlap", "slow-copies", "synchronous"}))


PAGES = _rule("mapped-pages", _pages)
AGAIN = _rule("fetched-again", _again)
