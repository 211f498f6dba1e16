"""Words for break-even answers: sizes and numbers of uses, cases and ways."""

import math

from isthmus.analysis.phrases import about_bytes
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.language import can_say, say
from isthmus.record import format_bytes

# The cases that reports show; data that is produced in place makes curves of the same shape.
PLAIN_CASES = ("round_trip", "reduction")

# Where the ends of an interval are further apart, the estimate within it says nothing.
_VAGUE = 3.0


def case_words(case: str) -> str:
    """The case in running text; one that this version does not know keeps its field name."""
    key = f"breakeven.case_{case}"
    return say(key) if can_say(key) else case.replace("_", " ")


def size_words(threshold: Threshold) -> str:
    """Where the challenger wins: ``from 720 KiB (700 KiB to 740 KiB) on``, ``at no size from 4 KiB to 128 MiB``."""
    if not threshold.known:
        return say("breakeven.size_unclear")
    if threshold.state in {"from", "up_to"}:
        return say(f"breakeven.size_{threshold.state}", size=_size(threshold))
    first, last = format_bytes(int(threshold.first)), format_bytes(int(threshold.last))
    answer = say(f"breakeven.size_{threshold.state}", first=first, last=last)
    return answer if threshold.certain else say("breakeven.perhaps", answer=answer)


def _size(threshold: Threshold) -> str:
    """What is known of a size: itself and its interval, or the end of the interval that the run reaches."""
    low = about_bytes(threshold.low)
    if math.isinf(threshold.high):
        return say("breakeven.at_least", size=low)
    high = about_bytes(threshold.high)
    if threshold.low <= 0.0:
        return say("breakeven.at_most", size=high)
    if min(threshold.high, threshold.last) > _VAGUE * max(threshold.low, threshold.first):
        return say("common.range", low=low, high=high)
    size = about_bytes(threshold.value)
    return size if high == low else say("breakeven.within", size=size, low=low, high=high)


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
