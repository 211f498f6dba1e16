"""Words about ways to move an array, and about where one of them beats another."""

import math

from isthmus.model.managed import ManagedWay, Pattern
from isthmus.model.phrases import about_bytes
from isthmus.model.threshold import Threshold
from isthmus.record import Interval, format_bytes, format_seconds

__all__ = ["managed_answer", "managed_way_name", "phases_words", "times_words", "touched_words"]

_NAMES = {
    "managed": "managed memory on demand",
    "prefetch_whole": "managed memory that is prefetched whole",
    "prefetch_touched": "managed memory of which what is touched is prefetched",
    "read_mostly": "managed memory advised as read-mostly",
    "prefer_device": "managed memory that prefers the device",
    "accessed_by": "managed memory mapped for the device",
    "mapped": "mapped pinned memory",
    "system": "ordinary memory that kernels reach",
}


def managed_way_name(way: ManagedWay) -> str:
    """``copying all of a pageable array``, ``managed memory on demand``."""
    match way.method:
        case "explicit_whole":
            return f"copying all of a {way.memory} array"
        case "explicit_touched":
            return f"copying what is touched of a {way.memory} array"
        case _:
            return _NAMES[way.method]


def touched_words(pattern: Pattern, place: int) -> str:
    """``10 % touched``, ``one double every 128 KiB touched``."""
    return f"{place} % touched" if pattern == "percent" else f"one double every {format_bytes(place)} touched"


def managed_answer(pattern: Pattern, threshold: Threshold) -> str:
    """``up to 38 % touched (35 to 41 %)``, ``from strides of 190 KiB on``, ``at none of 1 to 100 % touched``."""
    doubt = "" if threshold.certain else ", not for certain"
    first, last = _number(pattern, threshold.first), _number(pattern, threshold.last)
    match threshold.state:
        case "from" | "up_to":
            where = "up to" if threshold.state == "up_to" else "from"
            on = "" if threshold.state == "up_to" else " on"
            value = _number(pattern, threshold.value)
            text = f"{where} {value} touched{on}" if pattern == "percent" else f"{where} strides of {value}{on}"
            return f"{text}{_span(pattern, threshold)}"
        case "always":
            return f"everywhere from {first} to {last}{doubt}"
        case "never":
            return f"nowhere from {first} to {last}{doubt}"
        case _:
            what = "shares" if pattern == "percent" else "strides"
            return f"at {what} between {first} and {last} that this run cannot tell"


def _span(pattern: Pattern, threshold: Threshold) -> str:
    low = "less" if threshold.low <= 0 else _number(pattern, threshold.low)
    high = "more" if math.isinf(threshold.high) else _number(pattern, threshold.high)
    return "" if low == high else f" ({low} to {high})"


def _number(pattern: Pattern, value: float) -> str:
    return f"{float(f'{value:.2g}'):g} %" if pattern == "percent" else about_bytes(value)


def times_words(value: Interval) -> str:
    """``1.80 times (1.75 to 1.85)``, without the range where it reads the same."""
    median, low, high = (f"{each:.2f}" if each < 9.995 else f"{each:.1f}" for each in value)
    return f"{median} times" if low == high else f"{median} times ({low} to {high})"


def phases_words(into: Interval, out: Interval) -> str:
    """``134 ms in and 170 ms out``."""
    return f"{format_seconds(into.median)} in and {format_seconds(out.median)} out"
