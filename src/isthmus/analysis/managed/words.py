"""Names and looks of the ways to move an array, and words about where one of them beats another."""

import math
from collections.abc import Mapping

from isthmus.analysis.labels import kind_label
from isthmus.analysis.managed.model import ManagedWay, Pattern
from isthmus.analysis.phrases import about_bytes
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.document.palette import Look, look, numbered_look
from isthmus.language import say
from isthmus.record import Interval, format_bytes, format_seconds

# Kinds of memory keep their look where one way stands for them.
_LOOKS: Mapping[ManagedWay, Look] = {
    ManagedWay("explicit_whole", "pageable"): look("pageable"),
    ManagedWay("explicit_whole", "pinned"): look("pinned"),
    ManagedWay("explicit_touched", "pageable"): look("pageable_huge"),
    ManagedWay("explicit_touched", "pinned"): look("write_combined"),
    ManagedWay("managed", "managed"): look("managed"),
    ManagedWay("prefetch_whole", "managed"): look("managed_prefetch"),
    ManagedWay("prefetch_touched", "managed"): look("registered"),
    ManagedWay("read_mostly", "managed"): look("device"),
    ManagedWay("prefer_device", "managed"): numbered_look(8),
    ManagedWay("accessed_by", "managed"): numbered_look(7),
    ManagedWay("mapped", "mapped"): look("mapped"),
    ManagedWay("system", "pageable"): look("malloc"),
}


def way_label(way: ManagedWay) -> str:
    """``copy all, pinned``; without the memory where the way says it: ``on demand``."""
    return say(f"managed_report.label_{way.method}", memory=kind_label(way.memory))


def way_look(way: ManagedWay) -> Look:
    """The way's curve."""
    return _LOOKS[way]


def place_label(pattern: Pattern, place: int) -> str:
    """``10 %``, ``128 KiB``."""
    return f"{place} %" if pattern == "percent" else format_bytes(place)


def touched_words(pattern: Pattern, place: int) -> str:
    """``10 % touched``, ``one double every 128 KiB touched``."""
    return say(f"managed.touched_{pattern}", place=place if pattern == "percent" else format_bytes(place))


def managed_answer(pattern: Pattern, threshold: Threshold) -> str:
    """``up to 38 % touched (35 % to 41 %)``, ``from strides of 190 KiB on``, ``nowhere from 1 % to 100 %``."""
    if threshold.state in {"from", "up_to"}:
        answer = say(f"managed.answer_{threshold.state}_{pattern}", value=_number(pattern, threshold.value))
        return _within(pattern, threshold, answer)
    if threshold.state == "cannot_tell":
        return say(f"managed.unclear_{pattern}")
    first, last = _number(pattern, threshold.first), _number(pattern, threshold.last)
    key = f"managed.answer_{threshold.state}"
    return say(key if threshold.certain else f"{key}_perhaps", first=first, last=last)


def _within(pattern: Pattern, threshold: Threshold, answer: str) -> str:
    """The answer with the interval that it lies in, where both ends do not read the same."""
    low = None if threshold.low <= 0 else _number(pattern, threshold.low)
    high = None if math.isinf(threshold.high) else _number(pattern, threshold.high)
    if low is None and high is None:
        return say("managed.within_any", answer=answer)
    if high is None:
        return say("managed.within_from", answer=answer, low=low)
    if low is None:
        return say("managed.within_up_to", answer=answer, high=high)
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
