"""Charts as Vega-Lite specifications; colours are the page's CSS variables, so they follow its theme."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal

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
    if isinstance(spec, Tiles):
        return _tiles(spec)
    if isinstance(spec, Timeline):
        # Lanes from the first begin on, whose bars shine through where they overlap.
        rows = [each for lane in spec.lanes for each in lane.rows]
        low, high = spec.x.domain or (min(each["x"] for each in rows), max(each["x2"] for each in rows))
        names = [lane.name for lane in spec.lanes]
        axis = {"grid": False, "tickCount": _MOST_TICKS, **_labels(spec.x)}
        chart = {
            "data": {"name": "bars"},
            # The edges keep bars apart that follow each other without a gap.
            "mark": {"type": "bar", "tooltip": _TOOLTIP, "stroke": "var(--card)", "strokeWidth": 0.6, "opacity": 0.7},
            "encoding": {
                "x": _measure("x", spec.x.title, {"domain": [low, high], "nice": False}, axis),
                "x2": {"field": "x2"},
                "y": _category("kind", title=None, sort=names, axis={"ticks": False, "labelLimit": 220}),
                "color": _look(spec.lanes, "color"),
            },
        }
        return _finished(chart, _LANE_HEIGHT * len(names), {"bars": rows})
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
    from_zero = _measure("y", spec.y.title, {"zero": True}, {"tickCount": 6})
    chart = {
        "data": {"name": "points"},
        "mark": {"type": "point", "filled": True, "size": 16, "opacity": 0.55, "tooltip": _TOOLTIP},
        "encoding": {
            "x": _x_axis(spec.x, [each["x"] for each in points]),
            "y": _y_axis("y", spec.y, spec.y.domain) if spec.y.domain else from_zero,
            "color": _look(spec.curves, "color"),
            "shape": _look(spec.curves, "shape"),
        },
    }
    return _finished(chart, _HEIGHT, {"points": points})


def _tiles(spec: Tiles) -> VegaLite:
    place = {
        "x": _category(
            "x", title=spec.x_title, sort=[*spec.across], axis={"labelAngle": 0, "ticks": False, "orient": "top"}
        ),
        "y": _category("y", title=spec.y_title, sort=[*spec.down], axis={"ticks": False}),
    }
    tiles = {
        # The edges keep tiles of one kind apart.
        "mark": {"type": "rect", "stroke": "var(--card)", "strokeWidth": 1.5, "tooltip": _TOOLTIP},
        "encoding": {**place, "color": _look(spec.kinds, "color")},
    }
    words = {
        "mark": {"type": "text", "color": "var(--card)", "fontSize": 11, "tooltip": _TOOLTIP},
        "encoding": {**place, "text": _category("text")},
    }
    rows = [each for kind in spec.kinds for each in kind.rows]
    chart = {"data": {"name": "tiles"}, "layer": [tiles, words]}
    return _finished(chart, _TILE_HEIGHT * len(spec.down), {"tiles": rows})


def _curves(spec: Spec) -> VegaLite:
    points = [each for curve in spec.curves for each in curve.rows]
    data: dict[str, list[Row]] = {
        "points": points,
        "failed": [each for curve in spec.curves for each in curve.failed],
        "rule": [{"y": value, "text": text} for value, text in spec.rules],
    }
    everything = [*points, *data["failed"]]
    ends = [each[name] for each in everything for name in ("low", "high")] + [value for value, _ in spec.rules]
    domain = spec.y.domain or _with_room(spec.y, ends)
    x, y = _x_axis(spec.x, [each["x"] for each in everything]), _y_axis("y", spec.y, domain)
    low = _y_axis("low", spec.y, domain)
    kind = {"x": x, "color": _look(spec.curves, "color")}
    dash, shape = _look(spec.curves, "dash"), _look(spec.curves, "shape")
    pointed_at = {"type": "point", "on": "pointerover", "nearest": True, "fields": ["kind", "x"], "clear": "pointerout"}
    size = {"condition": {"param": "pointed_at", "empty": False, "value": 130}, "value": 22}
    layers: list[VegaLite] = [
        _layer("points", {**kind, "y": low, "y2": {"field": "high"}}, type="area", opacity=0.18, line=False),
        _layer("points", {**kind, "y": y, "strokeDash": dash}, type="line", strokeWidth=1.8),
        _layer(
            "points",
            {**kind, "y": y, "shape": shape, "size": size},
            type="point",
            filled=True,
            opacity=1,
            tooltip=_TOOLTIP,
        )
        | {"params": [{"name": "pointed_at", "select": pointed_at}]},
    ]
    if data["failed"]:
        cross: dict[str, Any] = {"shape": "M-1,-1L1,1M1,-1L-1,1", "size": 90, "strokeWidth": 2.5}
        layers.append(_layer("failed", {"x": x, "y": y}, type="point", **cross, color="var(--error)", tooltip=_TOOLTIP))
    if spec.rules:
        beside: dict[str, Any] = {"align": "left", "baseline": "bottom", "dx": 4, "dy": -3, "color": "var(--ink)"}
        text = {"x": {"value": 0}, "y": y, "text": _category("text")}
        layers.append(_layer("rule", {"y": y}, type="rule", strokeDash=[6, 4], strokeWidth=1.2, color="var(--ink)"))
        layers.append(_layer("rule", text, type="text", **beside))
    return _finished({"layer": layers}, _HEIGHT, data)


def _layer(data: str, encoding: VegaLite, **mark: Any) -> VegaLite:
    return {"data": {"name": data}, "mark": mark, "encoding": encoding}


def _finished(chart: VegaLite, height: int, data: dict[str, list[Row]]) -> VegaLite:
    """The chart as wide as its place, in the page's colours and with the data in it."""
    config = {
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
    return chart | {"height": height, "width": "container", "config": config, "datasets": data}


def _measure(field: str, title: str, scale: VegaLite, axis: VegaLite) -> VegaLite:
    return {"field": field, "type": "quantitative", "title": title, "scale": scale, "axis": axis}


def _category(field: str, **options: Any) -> VegaLite:
    return {"field": field, "type": "nominal", **options}


def _labels(axis: Axis, otherwise: str = "") -> VegaLite:
    """How the numbers at an axis are written: by its unit, or in this format."""
    if axis.labels in _LABELS:
        return {"labelExpr": _LABELS[axis.labels]}
    return {"format": otherwise} if otherwise else {}


def _x_axis(axis: Axis, values: Iterable[float]) -> VegaLite:
    """The horizontal axis over those values: powers of two where it is logarithmic, without a grid."""
    positions = list(values)
    low, high = axis.domain or (min(positions, default=1.0), max(positions, default=1.0))
    if axis.scale == "linear":
        room = 0.0 if low < high else abs(low) / 2 or 1.0
        return _measure("x", axis.title, {"domain": [low - room, high + room], "padding": 8}, {"grid": False})
    powers = range((math.ceil(low) - 1).bit_length(), int(high).bit_length())
    stride = next(stride for stride in (1, 2, 5, 10, 20, 40) if len(powers) <= _MOST_TICKS * stride)
    # Multiples of the stride put 1 KiB, 1 MiB and 1 GiB on the axis whenever they are in reach.
    ticks = [1 << power for power in powers if power % stride == 0]
    margin = 1.0 if low < high else 2.0
    scale = {"type": "log", "base": 2, "domain": [low / margin, high * margin], "nice": False, "padding": 8}
    return _measure("x", axis.title, scale, {"values": ticks, "grid": False, **_labels(axis)})


def _look(curves: Sequence[Drawn], channel: Literal["color", "shape", "dash"]) -> VegaLite:
    """What tells the curves apart in one channel."""
    looks = {curve.name: curve.look for curve in curves}
    ranges: dict[str, list[Any]] = {
        "color": [f"var({look.variable})" for look in looks.values()],
        "shape": [look.shape for look in looks.values()],
        "dash": [list(look.dash) or [1, 0] for look in looks.values()],
    }
    return _category("kind", scale={"domain": list(looks), "range": ranges[channel]}, legend=None)


def _with_room(axis: Axis, ends: Sequence[float]) -> tuple[float, float]:
    low, high = min(ends), max(ends)
    if axis.scale == "log":
        return low * 0.8, high * 1.25
    low, high = min(low, 0.0), max(high, 0.0) * 1.08
    return (low, high) if low < high else (0.0, 1.0)


def _y_axis(field: str, axis: Axis, domain: tuple[float, float]) -> VegaLite:
    """A vertical axis; a logarithmic one has ticks at powers of ten, and at 2 and 5 between them where few."""
    scale: VegaLite = {"domain": list(domain), "nice": False}
    if axis.scale == "linear":
        return _measure(field, axis.title, scale, {"tickCount": 6, "format": "~r"})
    powers = range(math.floor(math.log10(domain[0])), math.ceil(math.log10(domain[1])) + 1)
    digits = (1, 2, 5) if len(powers) <= 4 else (1,)
    ticks = [digit * 10.0**power for power in powers for digit in digits]
    within = [tick for tick in ticks if domain[0] <= tick <= domain[1]]
    return _measure(field, axis.title, {"type": "log", **scale}, {"values": within, **_labels(axis, "~g")})
