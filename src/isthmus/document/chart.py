"""Charts of curves, timelines and maps as plain data: what to draw, for whichever format draws."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from isthmus.document.palette import Look
from isthmus.record import Interval

Row = dict[str, Any]


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


def row(name: str, x: float, y: Interval, **shown: str) -> Row:
    """One point of the curve `name` with its interval; `shown` is what pointing at it shows, in order."""
    return {"kind": name, "x": x, "y": _rounded(y.median), "low": _rounded(y.low), "high": _rounded(y.high), **shown}


@dataclass(frozen=True)
class Spec:
    """One chart: what `curves_chart` or, with `joined` false, `points_chart` describes."""

    curves: tuple[Drawn, ...]
    x: Axis
    y: Axis
    rules: tuple[tuple[float, str], ...] = ()
    joined: bool = True


@dataclass(frozen=True)
class Timeline:
    """Lanes from top to bottom with bars, made by `bar`, over a common time; a lane is drawn in its own colour."""

    lanes: tuple[Drawn, ...]
    x: Axis


def bar(lane: str, begin: float, end: float, **shown: str) -> Row:
    """What occupies the lane of this name from `begin` to `end`; `shown` is what pointing at it shows, in order."""
    return {"kind": lane, "x": _rounded(begin), "x2": _rounded(end), **shown}


@dataclass(frozen=True)
class Tiles:
    """A map: at most one tile, made by `tile`, for each of the `across` and the `down` values, which are words."""

    kinds: tuple[Drawn, ...]
    across: tuple[str, ...]
    down: tuple[str, ...]
    x_title: str
    y_title: str


def tile(kind: str, across: str, down: str, text: str, **shown: str) -> Row:
    """A tile in the colour of its kind with a short text; `shown` is what pointing at it shows, in order."""
    return {"kind": kind, "x": across, "y": down, "text": text, **shown}


def curves_chart(curves: Sequence[Drawn], x: Axis, y: Axis, *, rules: Sequence[tuple[float, str]] = ()) -> Spec:
    """A line, an interval band and points for each curve.

    `rules` are horizontal lines at a y, each with its text. The curves must have at least one row between them, and
    positive values where an axis is logarithmic.
    """
    return Spec(tuple(curves), x, y, tuple(rules))


def points_chart(clouds: Sequence[Drawn], x: Axis, y: Axis) -> Spec:
    """Small points alone, for many of them; their rows need x and y and what pointing at them shows."""
    return Spec(tuple(clouds), x, y, joined=False)


def _rounded(value: float) -> float:
    return float(f"{value:.5g}")
