"""Charts of curves as Vega-Lite specifications; colours are the page's CSS variables, so they follow its theme."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt

from isthmus.report.palette import Look

__all__ = [
    "CHART_HEIGHT",
    "TOOLTIP",
    "Axis",
    "Drawn",
    "Row",
    "Spec",
    "curves_chart",
    "finished",
    "row",
    "scale",
    "x_axis",
]

Spec = dict[str, Any]
Row = dict[str, Any]

CHART_HEIGHT = 340
# All of a row, out of which the page picks what to show: with a list of fields, pointing near a point, and not at it,
# shows "undefined" (vega/vega-lite#9707).
TOOLTIP = {"content": "data"}
_MOST_TICKS = 8
_LABELS = {
    "bytes": (
        "datum.value >= 1073741824 ? datum.value / 1073741824 + ' GiB' : "
        "datum.value >= 1048576 ? datum.value / 1048576 + ' MiB' : "
        "datum.value >= 1024 ? datum.value / 1024 + ' KiB' : datum.value + ' B'"
    ),
    # Ticks are round decimals, which their division by a power of ten blurs in the last digit.
    "seconds": (
        "datum.value >= 0.999 ? format(datum.value, '.3~g') + ' s' : "
        "datum.value >= 0.999e-3 ? format(datum.value * 1e3, '.3~g') + ' ms' : "
        "datum.value >= 0.999e-6 ? format(datum.value * 1e6, '.3~g') + ' us' : "
        "format(datum.value * 1e9, '.3~g') + ' ns'"
    ),
}


@dataclass(frozen=True)
class Axis:
    """One axis: its title, its range (that of the data where None), its scale and how its ticks are written."""

    title: str
    domain: tuple[float, float] | None = None
    scale: Literal["log", "linear"] = "log"
    labels: Literal["number", "bytes", "seconds"] = "number"


@dataclass(frozen=True)
class Drawn:
    """One curve to draw: rows made by `row`, in order of x; those in `failed` are crosses that no line joins."""

    name: str
    look: Look
    rows: tuple[Row, ...]
    failed: tuple[Row, ...] = ()


def row(name: str, x: float, y: float, low: float, high: float, **told: str) -> Row:
    """One point of the curve `name` with the ends of its interval; `told` is what pointing at it shows, in order."""
    return {"kind": name, "x": x, "y": _rounded(y), "low": _rounded(low), "high": _rounded(high), **told}


def curves_chart(
    curves: Sequence[Drawn],
    x: Axis,
    y: Axis,
    *,
    rules: Sequence[tuple[float, str]] = (),
    verticals: Sequence[tuple[float, str]] = (),
) -> Spec:
    """A line, an interval band and points for each curve.

    `rules` are horizontal lines at a y, `verticals` vertical ones at an x, each with its text. The curves must have at
    least one row between them, and positive values where an axis is logarithmic.
    """
    points = [each for curve in curves for each in curve.rows]
    data: dict[str, list[Row]] = {
        "points": points,
        "failed": [each for curve in curves for each in curve.failed],
        "rule": [{"y": value, "text": text} for value, text in rules],
    }
    everything = [*points, *data["failed"]]
    across = x_axis(x, [each["x"] for each in everything] + [value for value, _ in verticals])
    ends = [each[name] for each in everything for name in ("low", "high")] + [value for value, _ in rules]
    domain = y.domain or _with_room(y, ends)
    color = alt.Color("kind:N", scale=scale(curves, "color"), legend=None)
    base = alt.Chart(alt.NamedData("points")).encode(x=across, color=color)
    hover = alt.selection_point(on="pointerover", nearest=True, fields=["kind", "x"], empty=False, clear="pointerout")
    layers: list[Any] = [
        base.mark_area(opacity=0.18, line=False).encode(y=_y_axis("low:Q", y, domain), y2="high:Q"),
        base.mark_line(strokeWidth=1.8).encode(
            y=_y_axis("y:Q", y, domain),
            strokeDash=alt.StrokeDash("kind:N", scale=scale(curves, "dash"), legend=None),
        ),
        base.mark_point(filled=True, opacity=1, tooltip=TOOLTIP)
        .encode(
            y=_y_axis("y:Q", y, domain),
            shape=alt.Shape("kind:N", scale=scale(curves, "shape"), legend=None),
            size=alt.condition(hover, alt.value(130), alt.value(22)),
        )
        .add_params(hover),
    ]
    if data["failed"]:
        layers.append(
            alt.Chart(alt.NamedData("failed"))
            .mark_point(shape="M-1,-1L1,1M1,-1L-1,1", size=90, strokeWidth=2.5, color="var(--error)", tooltip=TOOLTIP)
            .encode(x=across, y=_y_axis("y:Q", y, domain))
        )
    if rules:
        line = alt.Chart(alt.NamedData("rule")).encode(y=_y_axis("y:Q", y, domain))
        layers.append(line.mark_rule(strokeDash=[6, 4], strokeWidth=1.2, color="var(--ink)"))
        layers.append(
            line.mark_text(align="left", baseline="bottom", dx=4, dy=-3, color="var(--ink)").encode(
                x=alt.value(0), text="text:N"
            )
        )
    if verticals:
        data["vertical"] = [{"x": value, "text": text} for value, text in verticals]
        mark = alt.Chart(alt.NamedData("vertical")).encode(x=across)
        layers.append(mark.mark_rule(strokeDash=[2, 3], strokeWidth=1.2, color="var(--ink)"))
        layers.append(
            mark.mark_text(align="left", baseline="top", dx=4, dy=3, color="var(--ink)").encode(
                y=alt.value(0), text="text:N"
            )
        )
    return finished(alt.layer(*layers, height=CHART_HEIGHT, width="container"), data)


def finished(chart: Any, data: dict[str, list[Row]]) -> Spec:
    """The specification of an altair chart over named data, in the page's colours and with the data in it."""
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


def x_axis(axis: Axis, values: Iterable[float]) -> alt.X:
    """The horizontal axis over those values: powers of two where it is logarithmic, without a grid."""
    found = list(values)
    low, high = axis.domain or (min(found), max(found))
    if axis.scale == "linear":
        return alt.X("x:Q", title=axis.title, scale=alt.Scale(domain=[low, high], padding=8), axis=alt.Axis(grid=False))
    powers = range((math.ceil(low) - 1).bit_length(), int(high).bit_length())
    stride = next(stride for stride in (1, 2, 5, 10, 20, 40) if len(powers) <= _MOST_TICKS * stride)
    # Multiples of the stride put 1 KiB, 1 MiB and 1 GiB on the axis whenever they are in reach.
    ticks = [1 << power for power in powers if power % stride == 0]
    margin = 1.0 if low < high else 2.0
    written: dict[str, Any] = {"labelExpr": _LABELS[axis.labels]} if axis.labels in _LABELS else {}
    return alt.X(
        "x:Q",
        title=axis.title,
        scale=alt.Scale(type="log", base=2, domain=[low / margin, high * margin], nice=False, padding=8),
        axis=alt.Axis(values=ticks, grid=False, **written),
    )


def scale(curves: Sequence[Drawn], channel: Literal["color", "shape", "dash"]) -> alt.Scale:
    """What tells the curves apart in one channel."""
    looks = {curve.name: curve.look for curve in curves}
    ranges: dict[str, list[Any]] = {
        "color": [f"var({look.variable})" for look in looks.values()],
        "shape": [look.shape for look in looks.values()],
        "dash": [list(look.dash) or [1, 0] for look in looks.values()],
    }
    return alt.Scale(domain=list(looks), range=ranges[channel])


def _with_room(axis: Axis, ends: Sequence[float]) -> tuple[float, float]:
    low, high = min(ends), max(ends)
    return (low * 0.8, high * 1.25) if axis.scale == "log" else (min(low, 0.0), high * 1.08)


def _y_axis(field: str, axis: Axis, domain: tuple[float, float]) -> alt.Y:
    """A vertical axis; a logarithmic one has ticks at powers of ten, and at 2 and 5 between them where few."""
    if axis.scale == "linear":
        plain = alt.Scale(domain=list(domain), nice=False)
        return alt.Y(field, title=axis.title, scale=plain, axis=alt.Axis(tickCount=6, format="~g"))
    powers = range(math.floor(math.log10(domain[0])), math.ceil(math.log10(domain[1])) + 1)
    digits = (1, 2, 5) if len(powers) <= 4 else (1,)
    ticks = [digit * 10.0**power for power in powers for digit in digits]
    written: dict[str, Any] = {"labelExpr": _LABELS[axis.labels]} if axis.labels in _LABELS else {"format": "~g"}
    return alt.Y(
        field,
        title=axis.title,
        scale=alt.Scale(type="log", domain=list(domain), nice=False),
        axis=alt.Axis(values=[tick for tick in ticks if domain[0] <= tick <= domain[1]], **written),
    )


def _rounded(value: float) -> float:
    return float(f"{value:.5g}")
