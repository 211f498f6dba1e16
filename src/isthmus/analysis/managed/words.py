"""Names and looks of the methods to move an array, and words about where one of them beats another."""

import math
from collections.abc import Mapping

from isthmus.analysis.managed.model import ManagedWay, Pattern
from isthmus.analysis.phrases import about_bytes, memory_label
from isthmus.analysis.statistics.curve import Point
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.document.chart import Look, look, numbered_look
from isthmus.language import in_brackets, say
from isthmus.record import Metric, format_bytes, format_seconds

# Kinds of memory keep their look where one method is theirs.
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


def way_label(method: ManagedWay) -> str:
    """``copy all, pinned``; without the memory where the method says it: ``on demand``."""
    return say(f"managed_report.label_{method.method}", memory=memory_label(method.memory))


def way_look(method: ManagedWay) -> Look:
    """The method's curve."""
    return _LOOKS[method]


def pattern_name(pattern: Pattern) -> str:
    """``share touched``, ``stride``."""
    return say(f"managed_report.pattern_{pattern}")


def place_label(pattern: Pattern, place: int) -> str:
    """``10 %``, ``128 KiB``."""
    return f"{place} %" if pattern == "percent" else format_bytes(place)


def touched_words(pattern: Pattern, place: int) -> str:
    """``10 % touched``, ``one double every 128 KiB touched``."""
    return say(f"managed.touched_{pattern}", place=place if pattern == "percent" else format_bytes(place))


def threshold_words(pattern: Pattern, threshold: Threshold) -> str:
    """``≤ 38 %``, ``≥ 190 KiB``, ``always``, ``never?``, ``?``: where one method beats another."""
    match threshold.state:
        case "from" | "up_to":
            return f"{'≥' if threshold.state == 'from' else '≤'} {_number(pattern, threshold.value)}"
        case "cannot_tell":
            return "?"
        case state:
            return say(f"managed_report.state_{state}") + ("" if threshold.certain else "?")


def managed_answer(pattern: Pattern, threshold: Threshold) -> str:
    """``≤ 38 % (35 % to 41 %)``: with the interval that a threshold is in, where its ends do not read the same."""
    words = threshold_words(pattern, threshold)
    if threshold.state not in {"from", "up_to"}:
        return words
    low = "" if threshold.low <= 0 else _number(pattern, threshold.low)
    high = "" if math.isinf(threshold.high) else _number(pattern, threshold.high)
    if low == high or (not low and threshold.high == threshold.value):
        return words
    if low and high:
        return words + in_brackets(say("common.range", low=low, high=high))
    return words + in_brackets(f"≥ {low}" if low else f"≤ {high}" if high else "?")


def _number(pattern: Pattern, value: float) -> str:
    if pattern == "percent":
        return f"{float(f'{value:.2g}'):g} %"
    is_measured = value % 1024 == 0  # a place between two strides is known to two digits
    return format_bytes(int(value)) if is_measured else about_bytes(value)


def phases_shown(point: Point) -> dict[str, str]:
    """The phases that were timed, and the samples, by the names that a reader sees. A reference has no phases."""
    names: dict[Metric, str] = {"in_seconds": say("managed_report.in"), "out_seconds": say("managed_report.out")}
    timed = {name: format_seconds(point.phases[phase].median) for phase, name in names.items() if phase in point.phases}
    return timed | {say("labels.told_samples"): str(len(point.samples))}
