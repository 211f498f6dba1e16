"""The charts of bandwidth: rate against size, time of small transfers, and single transfers as points."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from isthmus.analysis.labels import curve_name, details
from isthmus.analysis.phrases import link_rate
from isthmus.analysis.statistics.curve import Curve, Point
from isthmus.analysis.statistics.shape import LARGE_BYTES
from isthmus.document.chart import Axis, Drawn, Row, Spec, curves_chart, points_chart, row
from isthmus.document.palette import look
from isthmus.language import say
from isthmus.record import KIB, Interval, Run, format_bytes, format_rate, format_seconds, kind_rank

# Below, all kinds of memory are within a hair of zero; their times are in a chart of their own.
_RATES_FROM = 4 * KIB
# More points of one size only hide each other.
_MOST_SAMPLES = 40


def rate_chart(run: Run, curves: Sequence[Curve], domain: tuple[float, float]) -> Spec | None:
    """Rate against size from 4 KiB on: a line, an interval band and points for each curve, and the link's rate.

    All curves have one direction; `domain` is the range of rates to show, in GB/s, so that charts can be compared.
    None where all copies are smaller.
    """
    large = [_part(curve, lambda point: point.bytes >= _RATES_FROM) for curve in curves]
    drawn = [_drawn(curve, _rate_row) for curve in large if curve.points or curve.failed]
    if not drawn:
        return None
    limit = link_rate(run, both=curves[0].direction == "both")
    rules = []
    if limit:
        rules.append((limit / 1e9, say("labels.link_rate", rate=format_rate(limit))))
    return curves_chart(drawn, _sizes(), Axis("GB/s", domain, scale="linear"), rules=rules)


def time_chart(curves: Sequence[Curve]) -> Spec | None:
    """Time against size; None where there is no transfer below 64 KiB, whose rate says little."""
    shown = [curve for curve in curves if curve.points]
    if not any(point.bytes < 64 * KIB for curve in shown for point in curve.points):
        return None
    return curves_chart([_drawn(curve, _time_row) for curve in shown], _sizes(), Axis("us"))


def samples_chart(curves: Sequence[Curve]) -> Spec | None:
    """The raw samples of transfers from 1 MiB on as points, rate against size; None without any."""
    large = [_part(curve, lambda point: point.bytes >= LARGE_BYTES) for curve in curves]
    large = sorted((curve for curve in large if curve.points), key=lambda curve: kind_rank(curve.host_memory))
    if not large:
        return None
    sizes = sorted({point.bytes for curve in large for point in curve.points})
    step = min((b / a for a, b in pairwise(sizes)), default=2.0)
    # Side by side at each size, within a third of the distance to the next.
    offsets = [step ** ((index - (len(large) - 1) / 2) / (3 * len(large))) for index in range(len(large))]
    clouds = [
        Drawn(curve_name(curve), look(curve.host_memory), tuple(_single_transfers(curve, offset)))
        for curve, offset in zip(large, offsets, strict=True)
    ]
    return points_chart(clouds, replace(_sizes(), domain=(sizes[0], sizes[-1])), Axis("GB/s", scale="linear"))


def _sizes() -> Axis:
    return Axis(say("page.size"), labels="bytes")


def _single_transfers(curve: Curve, offset: float) -> Iterator[Row]:
    for point in curve.points:
        for time in _spread_out(point.samples):
            yield {
                "kind": curve_name(curve),
                "x": point.bytes * offset,
                "y": round(point.bytes_moved / time / 1e9, 4),
                say("page.size"): format_bytes(point.bytes),
                say("labels.told_rate"): format_rate(point.bytes_moved / time),
                say("labels.told_time"): format_seconds(time),
            }


def _drawn(curve: Curve, row_of: Callable[[Curve, Point], Row]) -> Drawn:
    return Drawn(
        name=curve_name(curve),
        look=look(curve.host_memory),
        rows=tuple(row_of(curve, point) for point in curve.points),
        failed=tuple(row_of(curve, point) for point in curve.failed),
    )


def _rate_row(curve: Curve, point: Point) -> Row:
    return _point_row(curve, point, point.rate.scaled(1e-9))


def _time_row(curve: Curve, point: Point) -> Row:
    return _point_row(curve, point, point.seconds.scaled(1e6))


def _point_row(curve: Curve, point: Point, y: Interval) -> Row:
    return row(curve_name(curve), point.bytes, y, **{say("page.size"): format_bytes(point.bytes)}, **details(point))


def _part(curve: Curve, keep: Callable[[Point], bool]) -> Curve:
    return replace(
        curve,
        points=tuple(point for point in curve.points if keep(point)),
        failed=tuple(point for point in curve.failed if keep(point)),
    )


def _spread_out(samples: Sequence[float]) -> list[float]:
    """At most 40 of the samples, evenly chosen by rank, the fastest and the slowest included."""
    ordered = sorted(samples)
    if len(ordered) <= _MOST_SAMPLES:
        return ordered
    return [ordered[round(rank * (len(ordered) - 1) / (_MOST_SAMPLES - 1))] for rank in range(_MOST_SAMPLES)]
