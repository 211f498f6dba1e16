"""A chart as SVG for readers whose page runs no script, drawn here: starting Vega for one takes most of a second."""

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, NamedTuple

from isthmus.document.chart import Axis, Drawn, Spec, Tiles, Timeline
from isthmus.record import format_bytes
from isthmus.report.drawing import draw

# About what the first chart has next to its table; the page scales it to what there is.
_WIDTH = 600
_LETTER = 6.0
_LINE = 16
# Half of the side of a point, as in the chart that a script draws.
_SYMBOL = 2.35


class _Scale(NamedTuple):
    """Values from `low` to `high` as positions from `begin` to `end`."""

    low: float
    high: float
    begin: float
    end: float
    is_log: bool

    def place(self, value: float) -> float:
        """Where a value is; those beyond an end are at that end."""
        low, high, each = (math.log(end) if self.is_log else end for end in (self.low, self.high, self._within(value)))
        return self.begin + (each - low) / (high - low) * (self.end - self.begin)

    def _within(self, value: float) -> float:
        return min(max(value, self.low), self.high)


def still(spec: Spec | Timeline | Tiles) -> str:
    """The chart of curves, or the map; empty for timelines and clouds of points, with which no page begins."""
    if isinstance(spec, Tiles):
        height = draw(spec)["height"] // len(spec.down)
        width = _WIDTH / len(spec.across)
        parts = [f'<text x="{_WIDTH / 2}" y="{-_LINE - 10}" text-anchor="middle">{escape(spec.x_title)}</text>']
        for place, name in enumerate(spec.across):
            parts.append(f'<text x="{(place + 0.5) * width:.1f}" y="-8" text-anchor="middle">{escape(name)}</text>')
        for place, name in enumerate(spec.down):
            parts.append(f'<text x="-6" y="{(place + 0.5) * height + 4}" text-anchor="end">{escape(name)}</text>')
        for kind in spec.kinds:
            for row in kind.rows:
                left, top = spec.across.index(row["x"]) * width, spec.down.index(row["y"]) * height
                parts.append(
                    f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{height}" stroke="var(--card)" '
                    f'stroke-width="1.5" fill="var({kind.look.variable})"/><text x="{left + width / 2:.1f}" '
                    f'y="{top + height / 2 + 4}" text-anchor="middle" fill="var(--card)">{escape(row["text"])}</text>'
                )
        return _picture(parts, spec.y_title, spec.down, top=3 * _LINE, height=height * len(spec.down), bottom=4)
    return _curves(spec) if isinstance(spec, Spec) and spec.joined else ""


def _curves(spec: Spec) -> str:
    drawn = draw(spec)
    height: int = drawn["height"]
    encoding = drawn["layer"][1]["encoding"]
    x = _scale(encoding["x"], 8, _WIDTH - 8)
    y = _scale(encoding["y"], height, 0)
    labels = {value: _label(spec.y, value) for value in _ticks(encoding["y"], y)}
    parts = [
        *_across(spec.x, {value: _label(spec.x, value) for value in _ticks(encoding["x"], x)}, x, height),
        *(
            f'<path d="M0,{_at(y, value)}h{_WIDTH}" stroke="var(--grid)"/>'
            f'<text x="-6" y="{_at(y, value, 4)}" text-anchor="end">{escape(label)}</text>'
            for value, label in labels.items()
        ),
    ]
    for curve in spec.curves:
        parts += _curve(curve, x, y)
    for value, text in spec.rules:
        parts.append(
            f'<path d="M0,{_at(y, value)}h{_WIDTH}" stroke="var(--ink)" stroke-width="1.2" stroke-dasharray="6,4"/>'
            f'<text x="4" y="{_at(y, value, -3)}" fill="var(--ink)">{escape(text)}</text>'
        )
    return _picture(parts, spec.y.title, labels.values(), top=6, height=height, bottom=3 * _LINE)


def _curve(curve: Drawn, x: _Scale, y: _Scale) -> Iterator[str]:
    color = f"var({curve.look.variable})"
    places = [(_at(x, row["x"]), *(_at(y, row[name]) for name in ("y", "low", "high"))) for row in curve.rows]
    if places:
        low = " ".join(f"{across},{below}" for across, _, below, _ in places)
        high = " ".join(f"{across},{above}" for across, _, _, above in reversed(places))
        yield f'<path d="M{low} {high}Z" fill="{color}" fill-opacity="0.18"/>'
        dash = ",".join(map(str, curve.look.dash))
        line = " ".join(f"{across},{middle}" for across, middle, _, _ in places)
        yield f'<path d="M{line}" fill="none" stroke="{color}" stroke-width="1.8" stroke-dasharray="{dash}"/>'
    for across, middle, _, _ in places:
        yield _symbol(curve.look.shape, across, middle, f'fill="{color}"', _SYMBOL)
    for row in curve.failed:
        cross = 'fill="none" stroke="var(--error)" stroke-width="0.5"'
        yield _symbol("M-1,-1L1,1M1,-1L-1,1", _at(x, row["x"]), _at(y, row["y"]), cross, 2 * _SYMBOL)


def _symbol(shape: str, across: str, down: str, look: str, size: float) -> str:
    return f'<path d="{shape}" transform="translate({across},{down}) scale({size})" {look}/>'


def _scale(encoding: dict[str, Any], begin: float, end: float) -> _Scale:
    scale = encoding["scale"]
    low, high = scale["domain"]
    return _Scale(low, high, begin, end, scale.get("type") == "log")


def _ticks(encoding: dict[str, Any], scale: _Scale) -> Sequence[float]:
    """Those that the chart names, else about so many round numbers."""
    axis = encoding["axis"]
    if "values" in axis:
        return axis["values"]  # type: ignore[no-any-return]
    least = (scale.high - scale.low) / axis.get("tickCount", 10)
    power = 10.0 ** math.floor(math.log10(least))
    step = next(power * digit for digit in (1, 2, 5, 10) if least <= power * digit * math.sqrt(2))
    return [place * step for place in range(math.ceil(scale.low / step), math.floor(scale.high / step + 1e-9) + 1)]


def _label(axis: Axis, value: float) -> str:
    if axis.labels == "bytes":
        return format_bytes(round(value))
    if axis.labels == "number" or not value:
        return f"{value:.10g}"
    factor, unit = next(
        (each for each in ((1, "s"), (1e3, "ms"), (1e6, "us")) if value * each[0] >= 0.999), (1e9, "ns")
    )
    return f"{value * factor:.3g} {unit}"


def _at(scale: _Scale, value: float, beyond: float = 0) -> str:
    return f"{scale.place(value) + beyond:.1f}"


def _across(axis: Axis, labels: dict[float, str], scale: _Scale, height: int) -> Iterator[str]:
    """The horizontal axis under a chart of this height."""
    yield f'<path d="M0,{height}h{_WIDTH}" stroke="var(--grid)"/>'
    for value, label in labels.items():
        yield f'<path d="M{_at(scale, value)},{height}v5" stroke="var(--grid)"/>'
        yield f'<text x="{_at(scale, value)}" y="{height + _LINE}" text-anchor="middle">{escape(label)}</text>'
    yield f'<text x="{_WIDTH / 2}" y="{height + 37}" text-anchor="middle">{escape(axis.title)}</text>'


def _picture(parts: Sequence[str], title: str, labels: Any, *, top: int, height: int, bottom: int) -> str:
    """The whole, with room for these labels on the left and the title of their axis next to them."""
    left = max(map(len, labels), default=0) * _LETTER + 2 * _LINE
    box = f"{-left:.0f} {-top} {left + _WIDTH + 12:.0f} {top + height + bottom}"
    turned = f'<text transform="translate({_LINE - left:.0f},{height / 2}) rotate(-90)" text-anchor="middle">'
    return (
        f'<svg viewBox="{box}" font-size="11" fill="var(--soft)">{turned}{escape(title)}</text>{"".join(parts)}</svg>'
    )
