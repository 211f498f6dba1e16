"""Charts of curves, timelines and maps as plain data, and how curves look: what to draw, for whichever format draws."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from isthmus.record import MEMORY_KINDS, Interval, MemoryKind, memory_kind

Row = dict[str, Any]
_SHAPES: dict[str, str] = {
    "circle": "M1,0A1,1,0,1,1,-1,0A1,1,0,1,1,1,0Z",
    "square": "M-.9,-.9H.9V.9H-.9Z",
    "diamond": "M0,-1.2L1.2,0L0,1.2L-1.2,0Z",
    "up": "M0,-1.1L1.1,.9H-1.1Z",
    "down": "M0,1.1L1.1,-.9H-1.1Z",
    "plus": "M-.4,-1.1H.4V-.4H1.1V.4H.4V1.1H-.4V.4H-1.1V-.4H-.4Z",
    "bar": "M-.5,-1.2H.5V1.2H-.5Z",
    "cross": "M-1.1,-.5L-.5,-1.1L0,-.6L.5,-1.1L1.1,-.5L.6,0L1.1,.5L.5,1.1L0,.6L-.5,1.1L-1.1,.5L-.6,0Z",
}


@dataclass(frozen=True)
class Look:
    """Colours as hex, `dash` as lengths of line and gap (empty: solid), `shape` as an SVG path around the origin.

    `variable` is the page's CSS variable that holds whichever of the two colours is in use.
    """

    variable: str
    light: str
    dark: str
    dash: tuple[int, ...]
    shape: str


# For curves that are no memory kinds, such as counts of threads or of uses.
_SERIES: tuple[tuple[str, str, tuple[int, ...], str], ...] = (
    ("#0067a5", "#4ea9ea", (), "circle"),
    ("#c44e00", "#f58a4b", (7, 2), "square"),
    ("#00795a", "#2fcb9c", (2, 2), "up"),
    ("#a83d7f", "#ec9bc9", (9, 2, 2, 2), "down"),
    ("#9a7400", "#e8b830", (4, 3), "diamond"),
    ("#50565e", "#c3c9d1", (), "plus"),
    ("#6a2fb5", "#b794f6", (7, 2), "bar"),
    ("#0a8fb3", "#86d6ef", (2, 2), "cross"),
    ("#4d7a00", "#a4d65e", (7, 2), "diamond"),
)
_NUMBERED = tuple(
    Look(f"--series-{index}", light, dark, dash, _SHAPES[shape])
    for index, (light, dark, dash, shape) in enumerate(_SERIES)
)


def all_looks() -> list[Look]:
    """Every look there is."""
    return [*map(_of_kind, MEMORY_KINDS.values()), look(""), *_NUMBERED]


def look(kind: str) -> Look:
    """The look of a kind; those that this version does not know share one."""
    return _of_kind(memory_kind(kind))


def numbered_look(index: int) -> Look:
    """The look of the curve with this number where curves are no memory kinds; nine differ, then they repeat."""
    return _NUMBERED[index % len(_NUMBERED)]


def _of_kind(kind: MemoryKind) -> Look:
    name = kind.name.replace("_", "-") if kind.name in MEMORY_KINDS else "unknown"
    return Look(f"--kind-{name}", kind.light, kind.dark, kind.dash, _SHAPES[kind.shape])


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
