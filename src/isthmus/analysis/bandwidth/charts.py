"""The charts of bandwidth, those of several runs side by side: rates, times of small transfers, single transfers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from isthmus.analysis.figures import legend_of, link_rules
from isthmus.analysis.labels import DIRECTIONS, curve_name, details, direction_title, of_run, run_label
from isthmus.analysis.phrases import link_rate
from isthmus.analysis.statistics.curve import ONE_WAY, Curve, Point, bandwidth_curves
from isthmus.analysis.statistics.shape import LARGE_BYTES
from isthmus.document.chart import Axis, Drawn, Row, Spec, curves_chart, look, points_chart, row
from isthmus.document.grid import spread
from isthmus.document.section import Chart, LegendEntry, chart_name
from isthmus.language import say
from isthmus.record import KIB, Interval, Run, format_bytes, format_rate, format_seconds, kind_rank

# Below, all kinds of memory are within a hair of zero; their times are in a chart of their own.
_RATES_FROM = 4 * KIB
# The rate of smaller transfers says little, which the chart of times is for.
_SMALL_BYTES = 64 * KIB
# More points of one size only hide each other.
_MOST_SAMPLES = 40
_COMPARED = ("pageable", "pinned")


def legend(runs: Sequence[Run]) -> tuple[LegendEntry, ...]:
    """The curves of all runs, which the charts share."""
    names = {curve.host_memory: curve_name(curve) for run in runs for curve in _presentable(run)}
    return legend_of({names[kind]: look(kind) for kind in sorted(names, key=kind_rank)})


def rate_charts(runs: Sequence[Run]) -> tuple[Chart, ...]:
    """Rate against size; one for each direction and run."""
    return tuple(_charts(runs, DIRECTIONS, "rate", "rates", lambda run, curves: _rates(runs, run, curves)))


def time_charts(runs: Sequence[Run]) -> tuple[Chart, ...]:
    """Time against size; one for each direction and run."""
    return tuple(_charts(runs, ONE_WAY, "time", "small", lambda _, curves: _times(curves)))


def samples_charts(runs: Sequence[Run]) -> tuple[Chart, ...]:
    """Single transfers of pageable and pinned memory; one for each direction and run."""
    return tuple(_charts(runs, ONE_WAY, "samples", "steady", lambda _, curves: _samples(curves)))


def _charts(
    runs: Sequence[Run],
    directions: Sequence[str],
    name: str,
    what: str,
    spec_of: Callable[[Run, Sequence[Curve]], Spec | None],
) -> Iterator[Chart]:
    """A chart for each direction and run of which `spec_of` makes one."""
    for direction in directions:
        title = direction_title(direction)
        label = say("common.comma").join([say(f"bandwidth_report.{what}"), title])
        for index, run in enumerate(runs):
            curves = _along(run, direction)
            if curves and (spec := spec_of(run, curves)):
                called = chart_name("bandwidth", name, direction, run_label(runs, index))
                yield Chart(of_run(title, runs, index), label, spec, called)


def _presentable(run: Run) -> list[Curve]:
    """The curves on the host's clock in the order of the legend."""
    curves = [curve for curve in bandwidth_curves(run) if curve.metric == "host_seconds"]
    return sorted(curves, key=lambda curve: kind_rank(curve.host_memory))


def _along(run: Run, direction: str) -> list[Curve]:
    return [curve for curve in _presentable(run) if curve.direction == direction]


def _rates(runs: Sequence[Run], run: Run, curves: Sequence[Curve]) -> Spec | None:
    """Rates of one direction from 4 KiB on, and the link's, on one scale for all runs; None where all are smaller."""
    direction = curves[0].direction
    large = [_part(curve, lambda point: point.bytes >= _RATES_FROM) for curve in curves]
    drawn = [_drawn(curve, _rate_row) for curve in large if curve.points or curve.failed]
    if not drawn:
        return None
    along = [(each, _along(each, direction)) for each in runs]
    rates = [point.rate.median for _, of in along for curve in of for point in (*curve.points, *curve.failed)]
    limits = [limit for each, of in along if of and (limit := link_rate(each, both=direction == "both"))]
    y = Axis("GB/s", (0.0, max([*rates, *limits], default=1e9) * 1.08e-9), scale="linear")
    return curves_chart(drawn, _sizes(), y, rules=link_rules(run, both=direction == "both"))


def _times(curves: Sequence[Curve]) -> Spec | None:
    """None where there is no small transfer."""
    shown = [curve for curve in curves if curve.points]
    if not any(point.bytes < _SMALL_BYTES for curve in shown for point in curve.points):
        return None
    return curves_chart(
        [_drawn(curve, _time_row) for curve in shown], _sizes(), Axis(say("labels.told_time"), labels="seconds")
    )


def _samples(curves: Sequence[Curve]) -> Spec | None:
    """The raw samples of transfers from 1 MiB on, rate against size; None without any."""
    large = [_part(curve, lambda point: point.bytes >= LARGE_BYTES) for curve in curves]
    large = [curve for curve in large if curve.points and curve.host_memory in _COMPARED]
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
    """At most 40 of each size, evenly chosen by rank, the fastest and the slowest among them."""
    for point in curve.points:
        ordered = sorted(point.samples)
        for time in (ordered[at] for at in spread(len(ordered), _MOST_SAMPLES)):
            yield {
                "kind": curve_name(curve),
                "x": point.bytes * offset,
                "y": round(point.bytes_moved / time / 1e9, 4),
                say("page.size"): format_bytes(point.bytes),
                say("labels.told_rate"): format_rate(point.bytes_moved / time),
                say("labels.told_time"): format_seconds(time),
            }


def _drawn(curve: Curve, row_of: Callable[[Curve, Point], Row]) -> Drawn:
    rows, failed = (tuple(row_of(curve, point) for point in points) for points in (curve.points, curve.failed))
    return Drawn(curve_name(curve), look(curve.host_memory), rows, failed)


def _rate_row(curve: Curve, point: Point) -> Row:
    return _row(curve, point, point.rate.scaled(1e-9))


def _time_row(curve: Curve, point: Point) -> Row:
    return _row(curve, point, point.seconds)


def _row(curve: Curve, point: Point, y: Interval) -> Row:
    return row(curve_name(curve), point.bytes, y, **{say("page.size"): format_bytes(point.bytes)}, **details(point))


def _part(curve: Curve, keep: Callable[[Point], bool]) -> Curve:
    return replace(curve, points=tuple(filter(keep, curve.points)), failed=tuple(filter(keep, curve.failed)))
