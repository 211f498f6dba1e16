"""Ways to give a device an array that it touches in part, from the managed experiment and between its shares."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from isthmus.analysis.managed.model import MANAGED_WAYS, ManagedPoint, ManagedWay, Movement, Pattern, movements
from isthmus.errors import UsageError
from isthmus.language import say
from isthmus.plan.answer import Plan, Step, Way
from isthmus.plan.ways import by_time
from isthmus.record import Interval, ManagedNeed, Run, format_bytes

_NONE = Interval(0.0, 0.0, 0.0)
# An array so many times as large or as small as any that was measured still takes its share of time: all is by page.
_MOST_TIMES = 32
# Move all of the array, so that it says nothing how much of it is touched, and in which pattern.
_WHOLE = ("explicit_whole", "prefetch_whole")
# Share of the host's reading below which nothing else can be measured beside it.
_TRIFLE = 1e-3
_Points = Mapping[int, ManagedPoint]


class _Least(NamedTuple):
    """The least that any way took: to start the device, and for the host to read all of the array, in seconds."""

    launch: float
    reading: float


def managed_ways(run: Run, need: ManagedNeed) -> Plan:
    """Every way that the managed experiment measured, the fastest first.

    The time is that of one pass: the array lies on the host, the device adds to what it touches, and the host then
    reads all of the array. Times are in proportion to the bytes of the array where another size was measured: pages,
    copies and both sides' work are; what a launch costs is added to the interval of smaller ones.

    Raises UsageError for a need with neither or both of a fraction and a stride, or with one that cannot be.
    """
    share = _share(need)
    pattern: Pattern = "percent" if need.fraction is not None else "stride"
    found = [each for each in movements(run) if each.curves]
    alike = [each for each in found if each.pattern == pattern]
    sizes = [each.bytes for each in alike]
    if not alike or not min(sizes) / _MOST_TIMES <= need.bytes <= _MOST_TIMES * max(sizes):
        # A launch and a fault weigh more on less, and more may not fit.
        held = say("common.range", low=format_bytes(min(sizes)), high=format_bytes(max(sizes))) if alike else ""
        why = say("plan.beyond", step=say("plan.step_in"), held=held) if alike else say("plan.no_time")
        return Plan(need, (), unpriced=dict.fromkeys(map(managed_name, MANAGED_WAYS), why))
    nearest = min(alike, key=lambda each: abs(math.log(each.bytes / need.bytes)))
    twin = next((each for each in found if each.bytes == nearest.bytes and each is not nearest), None)
    curves = {way: _points(way, nearest, twin) for way in MANAGED_WAYS}
    every = [point for points in curves.values() for point in points.values()]
    least = _Least(min(point.into.median for point in every), min(point.out.median for point in every))
    factor = need.bytes / nearest.bytes
    ways, unpriced = [], {}
    for way, points in curves.items():
        if not points:
            continue
        shares = _shares(points, pattern)
        if way.method not in _WHOLE and not min(shares) <= share <= max(shares):
            unpriced[managed_name(way)] = say("plan_pieces.too_far")
            continue
        into, out = (_of_whole if way.method in _WHOLE else _of_part)(points, share, pattern, least)
        into, out = _scaled(into, factor, least.launch if factor < 1 else 0.0), _scaled(out, factor)
        seconds = Interval(*(one + other for one, other in zip(into, out, strict=True)))
        ways.append(Way(managed_name(way), seconds, (Step("in", 1, into), Step("out", 1, out))))
    return Plan(need, by_time(ways), _unknown(nearest, [*ways, *(Way(name, _NONE) for name in unpriced)]), unpriced)


def managed_name(way: ManagedWay) -> str:
    """``explicit_whole_pinned``, ``prefetch_touched``: the memory is named where a method has several."""
    several = sum(each.method == way.method for each in MANAGED_WAYS) > 1
    return f"{way.method}_{way.memory}" if several else way.method


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


def _points(way: ManagedWay, movement: Movement, twin: Movement | None) -> _Points:
    points = movement.curves.get(way, {})
    if points or way.method not in _WHOLE or twin is None:
        return points
    return twin.curves.get(way, {})


def _of_whole(points: _Points, _share: float, pattern: Pattern, _least: _Least) -> tuple[Interval, Interval]:
    """The point where most is touched: all of them should be alike."""
    point = points[max(points) if pattern == "percent" else min(points)]
    return point.into, point.out


def _of_part(points: _Points, share: float, pattern: Pattern, least: _Least) -> tuple[Interval, Interval]:
    """What the host's reading takes does not depend on the share, so that only what exceeds it is interpolated."""
    by_share = dict(zip(_shares(points, pattern), points.values(), strict=True))
    levels = pattern == "stride"
    into = at_share({each: point.into for each, point in by_share.items()}, share, levels=levels)
    trifle = least.reading * _TRIFLE
    extra = {
        each: Interval(*(max(end - least.reading, trifle) for end in point.out)) for each, point in by_share.items()
    }
    out = at_share(extra, share, levels=levels)
    return into, Interval(*(least.reading + end for end in out))


def _scaled(seconds: Interval, factor: float, extra: float = 0.0) -> Interval:
    return Interval(seconds.median * factor, seconds.low * factor, seconds.high * factor + extra)


def _shares(points: _Points, pattern: Pattern) -> list[float]:
    return [place / 100 if pattern == "percent" else 1 / place for place in points]


def _unknown(movement: Movement, ways: list[Way]) -> dict[str, str]:
    known = {way.name for way in ways}
    found = {managed_name(way): next(iter(reasons.values())) for way, reasons in movement.skipped.items()}
    found |= {managed_name(way): say("plan_pieces.wrong_data") for way in movement.failed}
    return {name: reason for name, reason in found.items() if name not in known}


def at_share(measured: Mapping[float, Interval], share: float, *, levels: bool) -> Interval:
    """Seconds where a share is touched, from seconds by share, within those.

    Between two shares the time is a line: so much in any case, and so much for each byte. With `levels`, it is known
    to stop growing where touches come so close that everything moves: the growth before is then followed until it
    meets the time at the next share, and is a power of the share. The interval between two shares holds what
    each measured share would have been predicted with, had it not been measured.
    """
    if share in measured:
        return measured[share]
    shares = sorted(measured)
    found = _between(measured, shares, share, levels)
    off = _held_out(measured, shares, levels)
    return Interval(found.median, found.low / (1 + off), found.high * (1 + off))


def _between(measured: Mapping[float, Interval], shares: Sequence[float], share: float, levels: bool) -> Interval:
    above = next(place for place, each in enumerate(shares) if each >= share)
    low, high = shares[above - 1], shares[above]
    if not levels:
        part = (share - low) / (high - low)
        return Interval(*((1 - part) * a + part * b for a, b in zip(measured[low], measured[high], strict=True)))
    before = _slope(measured, shares[above - 2], low) if above > 1 else None
    growth = _slope(measured, low, high)
    if before is not None and before > growth:
        # The growth before, followed on, exceeds the next time: somewhere between it has become level.
        return Interval(
            *(min(a * (share / low) ** before, max(a, b)) for a, b in zip(measured[low], measured[high], strict=True))
        )
    part = math.log(share / low) / math.log(high / low)
    return Interval(*(a ** (1 - part) * b**part for a, b in zip(measured[low], measured[high], strict=True)))


def _slope(measured: Mapping[float, Interval], low: float, high: float) -> float:
    """Slope of the logarithm of time over that of the share, between 0 and 1."""
    slope = math.log(measured[high].median / measured[low].median) / math.log(high / low)
    return min(max(slope, 0.0), 1.0)


def _held_out(measured: Mapping[float, Interval], shares: Sequence[float], levels: bool) -> float:
    """Median relative error of the shares with neighbours on both sides, each predicted without itself; else 0."""
    errors = []
    for left_out in shares[1:-1]:
        others = [each for each in shares if each != left_out]
        predicted = _between(measured, others, left_out, levels).median
        errors.append(abs(math.log(predicted / measured[left_out].median)))
    return math.expm1(sorted(errors)[len(errors) // 2]) if errors else 0.0
