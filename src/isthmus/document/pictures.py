"""Pictures that a page draws by scripts of its own: lanes of a trace over time, and the map of a fleet."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Lane:
    """One line of a timeline, with records by when they began; times in nanoseconds from the first record.

    `colour` is a variable of the page, `told` are places in the texts of `Lanes`; `bytes` is empty where nothing moves.
    `busy` says what share of each of equal parts of the time is busy, from 0 to 255; it is empty where records are few.
    """

    name: str
    colour: str
    records: int
    start: list[int]
    lasted: list[int]
    told: list[int]
    bytes: list[int]
    busy: list[int]


@dataclass
class Lanes:
    """All lanes of a trace over its span in nanoseconds, and how many more there was no room for."""

    span: int
    left_out: int = 0
    lanes: list[Lane] = field(default_factory=list)
    texts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class MapView:
    """One kind of transfer: what each line's devices lose alone and together, in whole per cent; -128 not measured."""

    name: str
    alone: list[list[int]]
    together: list[list[int]]


@dataclass(frozen=True)
class FleetMap:
    """Lines with their names, columns with theirs, and views to choose from."""

    lines: list[str]
    columns: list[str]
    views: list[MapView]
