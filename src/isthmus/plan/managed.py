"""Methods to give a device an array that it touches in part, from the managed experiment and between its shares."""

import math
from collections.abc import Mapping

from isthmus.analysis.managed.model import MANAGED_WAYS, ManagedWay, Movement, Pattern, movements
from isthmus.analysis.statistics.curve import Point
from isthmus.errors import UsageError
from isthmus.language import say
from isthmus.plan.answer import Method, Plan, Step, by_time
from isthmus.record import Interval, ManagedNeed, Run, format_bytes

# An array so many times as large or as small as any that was measured still takes its share of time: all is by page.
_MOST_TIMES = 32
# Move all of the array, so that it says nothing how much of it is touched, and in which pattern.
_WHOLE = ("explicit_whole", "prefetch_whole")
_Points = Mapping[int, Point]


def managed_ways(run: Run, need: ManagedNeed) -> Plan:
    """Every method that the managed experiment measured, the fastest first.

    The time is that of one pass: the array is on the host, the device adds to what it touches, and the host then
    reads all of the array. Times are in proportion to the bytes of the array where another size was measured: pages,
    copies and both sides' work are; what a launch costs is added to the interval of smaller ones.

    Raises UsageError for a need with neither or both of a fraction and a stride, or with one that cannot be.
    """
    share = _share(need)
    pattern: Pattern = "percent" if need.fraction is not None else "stride"
    measured = [each for each in movements(run) if each.curves]
    alike = [each for each in measured if each.pattern == pattern]
    sizes = [each.bytes for each in alike]
    if not alike or not min(sizes) / _MOST_TIMES <= need.bytes <= _MOST_TIMES * max(sizes):
        # A launch and a fault weigh more on less, and more may not fit.
        held = say("common.range", low=format_bytes(min(sizes)), high=format_bytes(max(sizes))) if alike else ""
        why = say("plan.beyond", step=say("plan.step_in"), held=held) if alike else say("plan.no_time")
        return Plan(need, (), unpriced=dict.fromkeys(map(managed_name, MANAGED_WAYS), why))
    nearest = min(alike, key=lambda each: abs(math.log(each.bytes / need.bytes)))
    twin = next((each for each in measured if each.bytes == nearest.bytes and each is not nearest), None)
    curves = {kind: _points(kind, nearest, twin) for kind in MANAGED_WAYS}
    launch = min(point.phases["in_seconds"].median for points in curves.values() for point in points.values())
    factor = need.bytes / nearest.bytes
    methods, unpriced = [], {}
    for kind, points in curves.items():
        if not points:
            continue
        shares = _shares(points, pattern)
        if kind.method not in _WHOLE and not min(shares) <= share <= max(shares):
            unpriced[managed_name(kind)] = say("plan.too_far")
            continue
        into, out = _at(points, kind, share, pattern)
        into, out = _scaled(into, factor, launch if factor < 1 else 0.0), _scaled(out, factor)
        seconds = Interval(*(one + other for one, other in zip(into, out, strict=True)))
        methods.append(Method(managed_name(kind), seconds, (Step("in", 1, into), Step("out", 1, out))))
    return Plan(need, by_time(methods), _unknown(nearest, {kind.name for kind in methods} | unpriced.keys()), unpriced)


def managed_name(kind: ManagedWay) -> str:
    """``explicit_whole_pinned``, ``prefetch_touched``: the memory is named where a method has several."""
    several = sum(each.method == kind.method for each in MANAGED_WAYS) > 1
    return f"{kind.method}_{kind.memory}" if several else kind.method


def _share(need: ManagedNeed) -> float:
    """What is touched, as a number in proportion to which touches grow: a share, or touches for each byte."""
    if (need.fraction is None) == (need.stride_bytes is None):
        raise UsageError("an array of which a part is touched needs one of --touched 30% and --stride 256KiB")
    if need.fraction is not None:
        if not 0 < need.fraction <= 1:
            raise UsageError(f"a touched part of {need.fraction} cannot be; expected more than 0 and at most 1")
        return need.fraction
    assert need.stride_bytes is not None
    if not 8 <= need.stride_bytes <= need.bytes:
        raise UsageError(
            f"a stride of {need.stride_bytes} bytes cannot be; expected at least the 8 of a double and at most the "
            f"{need.bytes} of the array"
        )
    return 1 / need.stride_bytes


def _points(kind: ManagedWay, movement: Movement, twin: Movement | None) -> _Points:
    points = movement.curves.get(kind, {})
    if points or kind.method not in _WHOLE or twin is None:
        return points
    return twin.curves.get(kind, {})


def _at(points: _Points, kind: ManagedWay, share: float, pattern: Pattern) -> tuple[Interval, Interval]:
    """In and out where a share is touched; of what moves all of the array, where most is: all should be alike."""
    by_share = dict(zip(_shares(points, pattern), points.values(), strict=True))
    into, out = (
        {each: point.phases[metric] for each, point in by_share.items()} for metric in ("in_seconds", "out_seconds")
    )
    if kind.method in _WHOLE:
        return into[max(by_share)], out[max(by_share)]
    return at_share(into, share), at_share(out, share)


def _scaled(seconds: Interval, factor: float, extra: float = 0.0) -> Interval:
    return Interval(seconds.median * factor, seconds.low * factor, seconds.high * factor + extra)


def _shares(points: _Points, pattern: Pattern) -> list[float]:
    return [place / 100 if pattern == "percent" else 1 / place for place in points]


def _unknown(movement: Movement, known: set[str]) -> dict[str, str]:
    unknown = {}
    for kind, by_place in movement.figures.items():
        reasons = [each.case.note for each in by_place.values() if each.case.skipped]
        wrong = any(each.is_wrong for each in by_place.values())
        if wrong or reasons:
            unknown[managed_name(kind)] = say("labels.wrong_data") if wrong else reasons[0]
    return {name: reason for name, reason in unknown.items() if name not in known}


def at_share(measured: Mapping[float, Interval], share: float) -> Interval:
    """Seconds where a share is touched, from seconds by share, within those: as near as can be known, between both."""
    if share in measured:
        return measured[share]
    low, high = max(each for each in measured if each < share), min(each for each in measured if each > share)
    part = (share - low) / (high - low)
    one, other = measured[low], measured[high]
    median = (1 - part) * one.median + part * other.median
    return Interval(median, min(one.low, other.low), max(one.high, other.high))
