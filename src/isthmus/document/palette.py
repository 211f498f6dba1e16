"""How memory kinds and other curves look wherever drawn: a colour for light and dark pages, a dash and a shape.

The colours follow Okabe and Ito's set for all kinds of colour vision, darker on light pages and lighter on dark ones;
dash and shape tell the kinds apart without any colour.
"""

from dataclasses import dataclass

from isthmus.record import MEMORY_KINDS, MemoryKind, memory_kind

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
