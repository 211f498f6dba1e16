"""How memory kinds and other curves look wherever drawn: a colour for light and dark pages, a dash and a shape.

The colours follow Okabe and Ito's set for all kinds of colour vision, darker on light pages and lighter on dark ones;
dash and shape tell the kinds apart without any colour.
"""

from dataclasses import dataclass

_CIRCLE = "M1,0A1,1,0,1,1,-1,0A1,1,0,1,1,1,0Z"
_SQUARE = "M-.9,-.9H.9V.9H-.9Z"
_DIAMOND = "M0,-1.2L1.2,0L0,1.2L-1.2,0Z"
_UP = "M0,-1.1L1.1,.9H-1.1Z"
_DOWN = "M0,1.1L1.1,-.9H-1.1Z"
_PLUS = "M-.4,-1.1H.4V-.4H1.1V.4H.4V1.1H-.4V.4H-1.1V-.4H-.4Z"
_BAR = "M-.5,-1.2H.5V1.2H-.5Z"
_CROSS = "M-1.1,-.5L-.5,-1.1L0,-.6L.5,-1.1L1.1,-.5L.6,0L1.1,.5L.5,1.1L0,.6L-.5,1.1L-1.1,.5L-.6,0Z"


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
    "malloc": Look("--kind-malloc", "#8c2d04", "#ffb48a", (4, 3), _SQUARE),
    "pageable": Look("--kind-pageable", "#c44e00", "#f58a4b", (), _SQUARE),
    "pageable_huge": Look("--kind-pageable-huge", "#9a7400", "#e8b830", (7, 2), _DIAMOND),
    "pinned": Look("--kind-pinned", "#0067a5", "#4ea9ea", (), _CIRCLE),
    "pinned_portable": Look("--kind-pinned-portable", "#2a4d8f", "#8fb4f5", (7, 2), _CIRCLE),
    "write_combined": Look("--kind-write-combined", "#0a8fb3", "#86d6ef", (4, 3), _UP),
    "registered": Look("--kind-registered", "#00795a", "#2fcb9c", (2, 2), _PLUS),
    "registered_huge": Look("--kind-registered-huge", "#4d7a00", "#a4d65e", (7, 2), _PLUS),
    "touched_registered": Look("--kind-touched-registered", "#00696f", "#45c6cf", (), _CROSS),
    "touched_registered_huge": Look("--kind-touched-registered-huge", "#5c6b00", "#ccdb4f", (7, 2), _CROSS),
    "staging": Look("--kind-staging", "#7a5195", "#c9a3e8", (2, 2), _DIAMOND),
    "staged": Look("--kind-staged", "#97266d", "#f0a1d4", (), _DIAMOND),
    "mapped": Look("--kind-mapped", "#a83d7f", "#ec9bc9", (), _DOWN),
    "managed": Look("--kind-managed", "#50565e", "#c3c9d1", (9, 2, 2, 2), _BAR),
    "managed_prefetch": Look("--kind-managed-prefetch", "#2f3b4c", "#93a7c4", (), _BAR),
    "device": Look("--kind-device", "#6a2fb5", "#b794f6", (), _UP),
    "device_pitched": Look("--kind-device-pitched", "#8a1f6b", "#f08fd2", (7, 2), _UP),
    "device_array": Look("--kind-device-array", "#a3123f", "#ff8fae", (9, 2, 2, 2), _DOWN),
    "device_pool": Look("--kind-device-pool", "#3b3fb8", "#9ba0ff", (2, 2), _SQUARE),
    "device_pool_cold": Look("--kind-device-pool-cold", "#5a5fd0", "#c3c6ff", (9, 2, 2, 2), _SQUARE),
}
_UNKNOWN = Look("--kind-unknown", "#6b4fbb", "#b9a3ff", (1, 3), _CIRCLE)
# For curves that are no memory kinds, such as counts of threads or of uses.
_NUMBERED = tuple(
    Look(f"--series-{index}", light, dark, dash, shape)
    for index, (light, dark, dash, shape) in enumerate(
        (
            ("#0067a5", "#4ea9ea", (), _CIRCLE),
            ("#c44e00", "#f58a4b", (7, 2), _SQUARE),
            ("#00795a", "#2fcb9c", (2, 2), _UP),
            ("#a83d7f", "#ec9bc9", (9, 2, 2, 2), _DOWN),
            ("#9a7400", "#e8b830", (4, 3), _DIAMOND),
            ("#50565e", "#c3c9d1", (), _PLUS),
            ("#6a2fb5", "#b794f6", (7, 2), _BAR),
            ("#0a8fb3", "#86d6ef", (2, 2), _CROSS),
            ("#4d7a00", "#a4d65e", (7, 2), _DIAMOND),
        )
    )
)


def all_looks() -> list[Look]:
    """Every look there is."""
    return [*_LOOKS.values(), _UNKNOWN, *_NUMBERED]


def look(kind: str) -> Look:
    """The look of a kind; those that this version does not know share one."""
    return _LOOKS.get(kind, _UNKNOWN)


def numbered_look(index: int) -> Look:
    """The look of the curve with this number where curves are no memory kinds; nine differ, then they repeat."""
    return _NUMBERED[index % len(_NUMBERED)]
