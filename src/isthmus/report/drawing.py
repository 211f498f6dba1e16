"""Charts as Vega-Lite specifications; colours are the page's CSS variables, so they follow its theme."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import altair as alt
from altair.utils.schemapi import debug_mode

from isthmus.document.chart import Axis, Drawn, Row, Spec, Tiles, Timeline

VegaLite = dict[str, Any]

_HEIGHT = 340
_LANE_HEIGHT = 44
_TILE_HEIGHT = 34
_MOST_TICKS = 8
# All of a row, out of which the page picks what to show: with a list of fields, pointing near a point, and not at it,
# shows "undefined" (vega/vega-lite#9707).
_TOOLTIP = {"content": "data"}
_LABELS = {
    "bytes": (
        "datum.value >= 1073741824 ? datum.value / 1073741824 + ' GiB' : "
        "datum.value >= 1048576 ? datum.value / 1048576 + ' MiB' : "
        "datum.value >= 1024 ? datum.value / 1024 + ' KiB' : datum.value + ' B'"
    ),
    # Ticks are round decimals, which their division by a power of ten blurs in the last digit.
    "seconds": (
        "datum.value == 0 ? '0' : "
        "datum.value >= 0.999 ? format(datum.value, '.3~g') + ' s' : "
        "datum.value >= 0.999e-3 ? format(datum.value * 1e3, '.3~g') + ' ms' : "
        "datum.value >= 0.999e-6 ? format(datum.value * 1e6, '.3~g') + ' us' : "
        "format(datum.value * 1e9, '.3~g') + ' ns'"
    ),
}


def draw(spec: Spec | Timeline | Tiles) -> VegaLite:
    """The specification with its data sets, as lists of rows."""
    # altair would check every part of every chart as it is made, which takes most of its time; a test checks each kind.
    with debug_mode(False):
        if isinstance(spec, Tiles):
            return _tiles(spec)
        if isinstance(spec, Timeline):
            return _timeline(spec)
        return _curves(spec) if spec.joined else _points(spec)


def packed(spec: Spec | Timeline | Tiles) -> VegaLite:
    """The drawing with each data set as names and rows of values, half the size; page.js unpacks it."""
    drawn = draw(spec)
    datasets = {
        name: {"names": list(rows[0]) if rows else [], "rows": [list(row.values()) for row in rows]}
        for name, rows in drawn["datasets"].items()
    }
    return drawn | {"datasets": datasets}


def _points(spec: Spec) -> VegaLite:
    points = [each for cloud in spec.curves for each in cloud.rows]
    from_zero = alt.Y("y:Q", title=spec.y.title, scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=6))
    chart = (
        alt.Chart(alt.NamedData("points"), height=_HEIGHT, width="container")
        .mark_point(filled=True, size=16, opacity=0.55, tooltip=_TOOLTIP)
        .encode(
            x=_x_axis(spec.x, [each["x"] for each in points]),
            y=_y_axis("y:Q", spec.y, spec.y.domain) if spec.y.domain else from_zero,
            color=alt.Color("kind:N", scale=_scale(spec.curves, "color"), legend=None),
            shape=alt.Shape("kind:N", scale=_scale(spec.curves, "shape"), legend=None),
        )
    )
    return _finished(chart, {"points": points})


def _timeline(spec: Timeline) -> VegaLite:
    """Lanes from the first begin on, whose bars shine through where they overlap."""
    rows = [each for lane in spec.lanes for each in lane.rows]
    low, high = spec.x.domain or (min(each["x"] for each in rows), max(each["x2"] for each in rows))
    written: dict[str, Any] = {"labelExpr": _LABELS[spec.x.labels]} if spec.x.labels in _LABELS else {}
    axis = alt.Axis(grid=False, tickCount=_MOST_TICKS, **written)
    names = [lane.name for lane in spec.lanes]
    chart = (
        alt.Chart(alt.NamedData("bars"), height=_LANE_HEIGHT * len(names), width="container")
        # The edges keep bars apart that follow each other without a gap.
        .mark_bar(tooltip=_TOOLTIP, stroke="var(--card)", strokeWidth=0.6, opacity=0.7)
        .encode(
            x=alt.X("x:Q", title=spec.x.title, scale=alt.Scale(domain=[low, high], nice=False), axis=axis),
            x2=alt.X2("x2"),
            y=alt.Y("kind:N", title=None, sort=names, axis=alt.Axis(ticks=False, labelLimit=220)),
            color=alt.Color("kind:N", scale=_scale(spec.lanes, "color"), legend=None),
        )
    )
    return _finished(chart, {"bars": rows})


def _tiles(spec: Tiles) -> VegaLite:
    base = alt.Chart(alt.NamedData("tiles")).encode(
        x=alt.X("x:N", title=spec.x_title, sort=spec.across, axis=alt.Axis(labelAngle=0, ticks=False, orient="top")),
        y=alt.Y("y:N", title=spec.y_title, sort=spec.down, axis=alt.Axis(ticks=False)),
    )
    # The edges keep tiles of one kind apart.
    tiles = base.mark_rect(stroke="var(--card)", strokeWidth=1.5, tooltip=_TOOLTIP).encode(
        color=alt.Color("kind:N", scale=_scale(spec.kinds, "color"), legend=None)
    )
    words = base.mark_text(color="var(--card)", fontSize=11, tooltip=_TOOLTIP).encode(text=alt.Text("text:N"))
    rows = [each for kind in spec.kinds for each in kind.rows]
    return _finished(alt.layer(tiles, words, height=_TILE_HEIGHT * len(spec.down), width="container"), {"tiles": rows})


def _curves(spec: Spec) -> VegaLite:
    points = [each for curve in spec.curves for each in curve.rows]
    data: dict[str, list[Row]] = {
        "points": points,
        "failed": [each for curve in spec.curves for each in curve.failed],
        "rule": [{"y": value, "text": text} for value, text in spec.rules],
    }
    everything = [*points, *data["failed"]]
    x = _x_axis(spec.x, [each["x"] for each in everything])
    ends = [each[name] for each in everything for name in ("low", "high")] + [value for value, _ in spec.rules]
    domain = spec.y.domain or _with_room(spec.y, ends)
    color = alt.Color("kind:N", scale=_scale(spec.curves, "color"), legend=None)
    base = alt.Chart(alt.NamedData("points")).encode(x=x, color=color)
    hover = alt.selection_point(on="pointerover", nearest=True, fields=["kind", "x"], empty=False, clear="pointerout")
    y = _y_axis("y:Q", spec.y, domain)
    layers: list[Any] = [
        base.mark_area(opacity=0.18, line=False).encode(y=_y_axis("low:Q", spec.y, domain), y2=alt.Y2("high")),
        base.mark_line(strokeWidth=1.8).encode(
            y=y, strokeDash=alt.StrokeDash("kind:N", scale=_scale(spec.curves, "dash"), legend=None)
        ),
        base.mark_point(filled=True, opacity=1, tooltip=_TOOLTIP)
        .encode(
            y=y,
            shape=alt.Shape("kind:N", scale=_scale(spec.curves, "shape"), legend=None),
            size=alt.condition(hover, alt.value(130), alt.value(22)),
        )
        .add_params(hover),
    ]
    if data["failed"]:
        layers.append(
            alt.Chart(alt.NamedData("failed"))
            .mark_point(shape="M-1,-1L1,1M1,-1L-1,1", size=90, strokeWidth=2.5, color="var(--error)", tooltip=_TOOLTIP)
            .encode(x=x, y=y)
        )
    if spec.rules:
        line = alt.Chart(alt.NamedData("rule")).encode(y=y)
        layers.append(line.mark_rule(strokeDash=[6, 4], strokeWidth=1.2, color="var(--ink)"))
        layers.append(
            line.mark_text(align="left", baseline="bottom", dx=4, dy=-3, color="var(--ink)").encode(
                x=alt.value(0), text=alt.Text("text:N")
            )
        )
    return _finished(alt.layer(*layers, height=_HEIGHT, width="container"), data)


def _finished(chart: Any, data: dict[str, list[Row]]) -> VegaLite:
    """The specification of an altair chart over named data, in the page's colours and with the data in it."""
    spec: VegaLite = chart.to_dict(validate=False)
    # The page says which library draws it; a schema's address would be the only one in it.
    del spec["$schema"]
    # Here rather than by altair's methods, each of which copies the whole chart.
    spec["config"] = {
        "background": "transparent",
        "aria": False,
        "padding": {"left": 2, "right": 12, "top": 6, "bottom": 2},
        "view": {"stroke": None},
        "axis": {
            "labelColor": "var(--soft)",
            "titleColor": "var(--soft)",
            "gridColor": "var(--grid)",
            "domainColor": "var(--grid)",
            "tickColor": "var(--grid)",
            "labelFontSize": 11,
            "titleFontSize": 11,
            "titleFontWeight": "normal",
            "titlePadding": 10,
        },
    }
    # Added as it is: altair takes a third of a second to look through the values of one chart.
    spec["datasets"] = data
    return spec


def _x_axis(axis: Axis, values: Iterable[float]) -> alt.X:
    """The horizontal axis over those values: powers of two where it is logarithmic, without a grid."""
    positions = list(values)
    low, high = axis.domain or (min(positions), max(positions))
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


def _scale(curves: Sequence[Drawn], channel: Literal["color", "shape", "dash"]) -> alt.Scale:
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
        return alt.Y(field, title=axis.title, scale=plain, axis=alt.Axis(tickCount=6, format="~r"))
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
