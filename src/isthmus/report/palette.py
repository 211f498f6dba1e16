"""How each memory kind looks wherever it is drawn: a colour for light and dark pages, a dash and a shape.

The colours follow Okabe and Ito's set for all kinds of colour vision, darker on light pages and lighter on dark ones;
dash and shape tell the kinds apart without any colour.
"""

from dataclasses import dataclass

__all__ = ["Look", "all_looks", "look"]

_CIRCLE = "M1,0A1,1,0,1,1,-1,0A1,1,0,1,1,1,0Z"
_SQUARE = "M-.9,-.9H.9V.9H-.9Z"
_DIAMOND = "M0,-1.2L1.2,0L0,1.2L-1.2,0Z"
_UP = "M0,-1.1L1.1,.9H-1.1Z"
_DOWN = "M0,1.1L1.1,-.9H-1.1Z"
_PLUS = "M-.4,-1.1H.4V-.4H1.1V.4H.4V1.1H-.4V.4H-1.1V-.4H-.4Z"
_BAR = "M-.5,-1.2H.5V1.2H-.5Z"


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


_LOOKS = {
    "pageable": Look("--kind-pageable", "#c44e00", "#f58a4b", (), _SQUARE),
    "pageable_huge": Look("--kind-pageable-huge", "#9a7400", "#e8b830", (7, 2), _DIAMOND),
    "pinned": Look("--kind-pinned", "#0067a5", "#4ea9ea", (), _CIRCLE),
    "write_combined": Look("--kind-write-combined", "#0a8fb3", "#86d6ef", (4, 3), _UP),
    "registered": Look("--kind-registered", "#00795a", "#2fcb9c", (2, 2), _PLUS),
    "mapped": Look("--kind-mapped", "#a83d7f", "#ec9bc9", (), _DOWN),
    "managed": Look("--kind-managed", "#50565e", "#c3c9d1", (9, 2, 2, 2), _BAR),
}
_UNKNOWN = Look("--kind-unknown", "#6b4fbb", "#b9a3ff", (1, 3), _CIRCLE)


def all_looks() -> list[Look]:
    """Every look there is."""
    return [*_LOOKS.values(), _UNKNOWN]


def look(kind: str) -> Look:
    """The look of a kind; those that this version does not know share one."""
    return _LOOKS.get(kind, _UNKNOWN)
