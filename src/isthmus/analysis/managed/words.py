"""Words about ways to move an array, and about where one of them beats another."""

import math

from isthmus.analysis.managed.model import ManagedWay, Pattern
from isthmus.analysis.phrases import about_bytes
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.language import say
from isthmus.record import Interval, format_bytes, format_seconds

__all__ = ["managed_answer", "managed_way_name", "phases_words", "times_words", "touched_words"]


def managed_way_name(way: ManagedWay) -> str:
    """``copying all of a pageable array``, ``managed memory on demand``."""
    return say(f"managed.way_{way.method}_{way.memory}")


def touched_words(pattern: Pattern, place: int) -> str:
    """``10 % touched``, ``one double every 128 KiB touched``."""
    return say(f"managed.touched_{pattern}", place=place if pattern == "percent" else format_bytes(place))


def managed_answer(pattern: Pattern, threshold: Threshold) -> str:
    """``up to 38 % touched (35 % to 41 %)``, ``from strides of 190 KiB on``, ``nowhere from 1 % to 100 %``."""
    first, last = _number(pattern, threshold.first), _number(pattern, threshold.last)
    match threshold.state:
        case "from" | "up_to":
            value = _number(pattern, threshold.value)
            return _within(pattern, threshold, say(f"managed.answer_{threshold.state}_{pattern}", value=value))
        case "always":
            key = "managed.always" if threshold.certain else "managed.always_perhaps"
            return say(key, first=first, last=last)
        case "never":
            key = "managed.never" if threshold.certain else "managed.never_perhaps"
            return say(key, first=first, last=last)
        case _:
            return say(f"managed.unknown_{pattern}", first=first, last=last)


def _within(pattern: Pattern, threshold: Threshold, answer: str) -> str:
    """The answer with the interval that it lies in, where both ends do not read the same."""
    is_open_below, is_open_above = threshold.low <= 0, math.isinf(threshold.high)
    if is_open_below and is_open_above:
        return say("managed.within_any", answer=answer)
    if is_open_above:
        return say("managed.within_from", answer=answer, low=_number(pattern, threshold.low))
    high = _number(pattern, threshold.high)
    if is_open_below:
        return say("managed.within_up_to", answer=answer, high=high)
    low = _number(pattern, threshold.low)
    return answer if low == high else say("managed.within", answer=answer, low=low, high=high)


def _number(pattern: Pattern, value: float) -> str:
    return f"{float(f'{value:.2g}'):g} %" if pattern == "percent" else about_bytes(value)


def times_words(value: Interval) -> str:
    """``1.80 times (1.75 to 1.85)``, without the range where it reads the same."""
    median, low, high = (f"{each:.2f}" if each < 9.995 else f"{each:.1f}" for each in value)
    if low == high:
        return say("common.times", factor=median)
    return say("common.times_within", factor=median, low=low, high=high)


def phases_words(into: Interval, out: Interval) -> str:
    """``134 ms in and 170 ms out``."""
    return say("managed.phases", into=format_seconds(into.median), out=format_seconds(out.median))
