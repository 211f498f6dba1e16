"""Words for break-even answers: sizes and numbers of uses, cases and ways."""

import math

from isthmus.analysis.breakeven.thresholds import Span
from isthmus.analysis.labels import kind_label
from isthmus.analysis.phrases import about_bytes
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.language import can_say, clauses, enumerated, say
from isthmus.record import format_bytes

# The cases that reports show; data that is produced in place makes curves of the same shape.
PLAIN_CASES = ("round_trip", "reduction")

# Where the ends of an interval are further apart, the estimate within it says nothing.
_VAGUE = 3.0
# More changes of the lead are no rule to go by.
_MOST_SPANS = 4


def case_words(case: str) -> str:
    """The case in running text; one that this version does not know keeps its field name."""
    key = f"breakeven.case_{case}"
    return say(key) if can_say(key) else case.replace("_", " ")


def size_words(threshold: Threshold) -> str:
    """Where the challenger wins: ``from 720 KiB on (700 KiB to 740 KiB)``, ``at no size from 4 KiB to 128 MiB``."""
    if threshold.state == "cannot_tell":
        return say("breakeven.size_unclear")
    if threshold.state in {"from", "up_to"}:
        return _bounds(threshold, f"breakeven.size_{threshold.state}")
    first, last = format_bytes(int(threshold.first)), format_bytes(int(threshold.last))
    key = f"breakeven.size_{threshold.state}"
    return say(key if threshold.certain else f"{key}_perhaps", first=first, last=last)


def _bounds(threshold: Threshold, key: str) -> str:
    low = about_bytes(threshold.low)
    if math.isinf(threshold.high):
        return say(f"{key}_at_least", size=low)
    high = about_bytes(threshold.high)
    if threshold.low <= 0.0:
        return say(f"{key}_at_most", size=high)
    if high == low:
        return say(key, size=low)
    if min(threshold.high, threshold.last) > _VAGUE * max(threshold.low, threshold.first):
        return say(f"{key}_between", low=low, high=high)
    return say(f"{key}_within", size=about_bytes(threshold.value), low=low, high=high)


def uses_words(threshold: Threshold) -> str:
    """How many uses it takes: ``from 6 uses on``."""
    if threshold.state in {"from", "up_to"}:
        return say(f"breakeven.uses_{threshold.state}", uses=uses_count(threshold.value))
    return say(f"breakeven.uses_{threshold.state}")


def about_uses(count: float) -> str:
    """A number of uses; large ones to two digits, since nobody counts them."""
    return f"{count:.0f}" if count < 100 else f"{float(f'{count:.2g}'):.0f}"


def uses_count(count: float) -> str:
    """``1 use``, ``12 uses``."""
    return say("breakeven.uses", count=count, number=about_uses(count))


def spans_words(spans: list[Span]) -> str:
    """Which way is the fastest where: ``mapped up to 64 KiB (tied); staging buffer from 128 KiB``."""
    if len(spans) > _MOST_SPANS:
        ways = [kind_label(way) for way in dict.fromkeys(span.way for span in spans)]
        return say("breakeven.fastest_varies", ways=enumerated(ways, "or"))
    places = [_place(span, is_first=span is spans[0], is_last=span is spans[-1]) for span in spans]
    return clauses(
        say("breakeven.tied", place=place) if span.tied else place for span, place in zip(spans, places, strict=True)
    )


def _place(span: Span, *, is_first: bool, is_last: bool) -> str:
    way, first, last = kind_label(span.way), format_bytes(span.first), format_bytes(span.last)
    if is_first and is_last:
        return way
    if is_first:
        return say("breakeven.fastest_up_to", way=way, size=last)
    if is_last:
        return say("breakeven.fastest_from", way=way, size=first)
    if first == last:
        return say("breakeven.fastest_at", way=way, size=first)
    return say("breakeven.fastest_between", way=way, first=first, last=last)
