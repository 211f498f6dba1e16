"""The charts of a page as Vega-Lite specifications; colours are the page's CSS variables, so they follow its theme."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import altair as alt

from isthmus.model import LARGE_BYTES, Curve, Point, link_rate
from isthmus.record import KIB, Run, format_bytes, format_rate, format_seconds
from isthmus.report.labels import curve_name, kind_rank
from isthmus.report.palette import look

__all__ = ["Spec", "rate_chart", "samples_chart", "time_chart"]

Spec = dict[str, Any]

_HEIGHT = 340
_MOST_TICKS = 8
# More points of one size only hide each other.
_MOST_SAMPLES = 40
_SIZE_LABEL = (
    "datum.value >= 1073741824 ? datum.value / 1073741824 + ' GiB' : "
    "datum.value >= 1048576 ? datum.value / 1048576 + ' MiB' : "
    "datum.value >= 1024 ? datum.value / 1024 + ' KiB' : datum.value + ' B'"
)
# All of a row, out of which the page picks what to show: with a list of fields, pointing near a point, and not at it,
# shows "undefined" (vega/vega-lite#9707).
_TOOLTIP = {"content": "data"}


def rate_chart(run: Run, curves: Sequence[Curve], domain: tuple[float, float]) -> Spec:
    """Rate against size, both logarithmic: a line, an interval band and points for each curve, and the link's rate.

    All curves have one direction; `domain` is the range of rates to show, in GB/s, so that charts can be compared.
    """
    both = curves[0].direction == "both"
    limit = link_rate(run, both=both)
    rule = limit and (limit / 1e9, f"{'both links' if both else 'link'} {format_rate(limit)}")
    axis = partial(_log_axis, title="GB/s, sum of both directions" if both else "GB/s", domain=domain)
    return _chart(curves, _rate_row, axis, rule or None)


def time_chart(curves: Sequence[Curve]) -> Spec | None:
    """Time against size for transfers below 64 KiB, where a rate says little; None without any."""
    small = [_part(curve, lambda point: point.bytes < 64 * KIB) for curve in curves]
    small = [curve for curve in small if curve.points]
    if not small:
        return None
    times = [point.seconds for curve in small for point in (*curve.points, *curve.failed)]
    low, high = min(seconds.low for seconds in times), max(seconds.high for seconds in times)
    axis = partial(_log_axis, title="microseconds", domain=(low * 0.8e6, high * 1.25e6))
    return _chart(small, _time_row, axis, None)


def samples_chart(curves: Sequence[Curve]) -> Spec | None:
    """The raw samples of transfers from 1 MiB on as points, rate against size; None without any."""
    large = [_part(curve, lambda point: point.bytes >= LARGE_BYTES) for curve in curves]
    large = sorted((curve for curve in large if curve.points), key=lambda curve: kind_rank(curve.host_memory))
    if not large:
        return None
    sizes = sorted({point.bytes for curve in large for point in curve.points})
    step = min((b / a for a, b in pairwise(sizes)), default=2.0)
    rows = [
        {
            "kind": curve_name(curve),
            # Side by side at each size, within a third of the distance to the next.
            "x": point.bytes * step ** ((index - (len(large) - 1) / 2) / (3 * len(large))),
            "y": round(point.bytes_moved / time / 1e9, 4),
            "size": format_bytes(point.bytes),
            "rate": format_rate(point.bytes_moved / time),
            "time": format_seconds(time),
        }
        for index, curve in enumerate(large)
        for point in curve.points
        for time in _spread_out(point.samples)
    ]
    chart = (
        alt.Chart(alt.NamedData("points"), height=_HEIGHT, width="container")
        .mark_point(filled=True, size=16, opacity=0.55, tooltip=_TOOLTIP)
        .encode(
            x=_size_axis(sizes),
            y=alt.Y("y:Q", title="GB/s", scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=6)),
            color=alt.Color("kind:N", scale=_scale(large, "color"), legend=None),
            shape=alt.Shape("kind:N", scale=_scale(large, "shape"), legend=None),
        )
    )
    return _finished(chart, {"points": rows})


def _chart(
    curves: Sequence[Curve],
    row: Callable[[Curve, Point], dict[str, Any]],
    y: Callable[[str], alt.Y],
    rule: tuple[float, str] | None,
) -> Spec:
    data = {
        "points": [row(curve, point) for curve in curves for point in curve.points],
        "failed": [row(curve, point) for curve in curves for point in curve.failed],
        "rule": [{"y": rule[0], "text": rule[1]}] if rule else [],
    }
    sizes = [point.bytes for curve in curves for point in (*curve.points, *curve.failed)]
    color = alt.Color("kind:N", scale=_scale(curves, "color"), legend=None)
    base = alt.Chart(alt.NamedData("points")).encode(x=_size_axis(sizes), color=color)
    hover = alt.selection_point(on="pointerover", nearest=True, fields=["kind", "x"], empty=False, clear="pointerout")
    layers: list[Any] = [
        base.mark_area(opacity=0.18, line=False).encode(y=y("low:Q"), y2="high:Q"),
        base.mark_line(strokeWidth=1.8).encode(
            y=y("y:Q"), strokeDash=alt.StrokeDash("kind:N", scale=_scale(curves, "dash"), legend=None)
        ),
        base.mark_point(filled=True, opacity=1, tooltip=_TOOLTIP)
        .encode(
            y=y("y:Q"),
            shape=alt.Shape("kind:N", scale=_scale(curves, "shape"), legend=None),
            size=alt.condition(hover, alt.value(130), alt.value(22)),
        )
        .add_params(hover),
    ]
    if data["failed"]:
        layers.append(
            alt.Chart(alt.NamedData("failed"))
            .mark_point(shape="M-1,-1L1,1M1,-1L-1,1", size=90, strokeWidth=2.5, color="var(--error)", tooltip=_TOOLTIP)
            .encode(x=_size_axis(sizes), y=y("y:Q"))
        )
    if rule:
        line = alt.Chart(alt.NamedData("rule")).encode(y=y("y:Q"))
        layers.append(line.mark_rule(strokeDash=[6, 4], strokeWidth=1.2, color="var(--ink)"))
        layers.append(
            line.mark_text(align="left", baseline="bottom", dx=4, dy=-3, color="var(--ink)").encode(
                x=alt.value(0), text="text:N"
            )
        )
    return _finished(alt.layer(*layers, height=_HEIGHT, width="container"), data)


def _finished(chart: Any, data: dict[str, list[dict[str, Any]]]) -> Spec:
    chart = (
        chart.configure(
            background="transparent",
            font="inherit",
            aria=False,
            padding={"left": 2, "right": 12, "top": 6, "bottom": 2},
        )
        .configure_view(stroke=None)
        .configure_axis(
            labelColor="var(--soft)",
            titleColor="var(--soft)",
            gridColor="var(--grid)",
            domainColor="var(--grid)",
            tickColor="var(--grid)",
            labelFontSize=11,
            titleFontSize=11,
            titleFontWeight="normal",
        )
    )
    spec: Spec = chart.to_dict(validate=False)
    # The page says which library draws it; a schema's address would be the only one in it.
    del spec["$schema"]
    # Added as it is: altair takes a third of a second to look through the values of one chart.
    spec["datasets"] = data
    return spec


def _rate_row(curve: Curve, point: Point) -> dict[str, Any]:
    low, high = point.rate.low, point.rate.high
    return _row(curve, point, point.rate.median / 1e9, low / 1e9, high / 1e9)


def _time_row(curve: Curve, point: Point) -> dict[str, Any]:
    seconds = point.seconds
    return _row(curve, point, seconds.median * 1e6, seconds.low * 1e6, seconds.high * 1e6)


def _row(curve: Curve, point: Point, y: float, low: float, high: float) -> dict[str, Any]:
    return {
        "kind": curve_name(curve),
        "x": point.bytes,
        "y": _rounded(y),
        "low": _rounded(low),
        "high": _rounded(high),
        "size": format_bytes(point.bytes),
        "rate": format_rate(point.rate.median),
        "interval": f"{format_rate(point.rate.low)} to {format_rate(point.rate.high)}",
        "time": format_seconds(point.seconds.median),
        "samples": str(len(point.samples)),
        "verified": point.verified,
    }


def _rounded(value: float) -> float:
    return float(f"{value:.5g}")


def _log_axis(field: str, title: str, domain: tuple[float, float]) -> alt.Y:
    """A logarithmic axis with ticks at powers of ten, and at 2 and 5 between them where there are few."""
    powers = range(math.floor(math.log10(domain[0])), math.ceil(math.log10(domain[1])) + 1)
    digits = (1, 2, 5) if len(powers) <= 4 else (1,)
    ticks = [digit * 10.0**power for power in powers for digit in digits]
    return alt.Y(
        field,
        title=title,
        scale=alt.Scale(type="log", domain=list(domain), nice=False),
        axis=alt.Axis(values=[tick for tick in ticks if domain[0] <= tick <= domain[1]], format="~g"),
    )


def _size_axis(sizes: Iterable[int]) -> alt.X:
    low, high = min(sizes), max(sizes)
    powers = range((low - 1).bit_length(), high.bit_length())
    stride = next(stride for stride in (1, 2, 5, 10, 20, 40) if len(powers) <= _MOST_TICKS * stride)
    # Multiples of the stride put 1 KiB, 1 MiB and 1 GiB on the axis whenever they are in reach.
    ticks = [1 << power for power in powers if power % stride == 0]
    margin = 1.0 if low < high else 2.0
    return alt.X(
        "x:Q",
        title="transfer size",
        scale=alt.Scale(type="log", base=2, domain=[low / margin, high * margin], nice=False, padding=8),
        axis=alt.Axis(values=ticks, labelExpr=_SIZE_LABEL, grid=False),
    )


def _scale(curves: Sequence[Curve], channel: str) -> alt.Scale:
    looks = {curve_name(curve): curve.host_memory for curve in curves}
    ranges: dict[str, list[Any]] = {
        "color": [f"var({look(kind).variable})" for kind in looks.values()],
        "shape": [look(kind).shape for kind in looks.values()],
        "dash": [list(look(kind).dash) or [1, 0] for kind in looks.values()],
    }
    return alt.Scale(domain=list(looks), range=ranges[channel])


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
