"""The part of a report that one experiment fills, as plain data: every format draws the same charts and tables."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from isthmus.document.chart import Look, Spec, Tiles, Timeline
from isthmus.document.grid import Grid
from isthmus.language import say


@dataclass(frozen=True)
class Chart:
    """One chart with the words that name it; `label` says to those who cannot see it where its figures are.

    `name` is what the command line calls it, made by `chart_name`; it is the same in every language.
    """

    title: str
    label: str
    spec: Spec | Timeline | Tiles
    name: str = ""

    @property
    def is_low(self) -> bool:
        """Whether it needs less height than curves do."""
        return isinstance(self.spec, Timeline)


def chart_name(*parts: str) -> str:
    """``bandwidth-rate-h2d`` of what tells a chart from all others: experiment, quantity, case, letter of the run."""
    words = "-".join(part for part in parts if part)
    return re.sub(r"[^a-z0-9.]+", "-", words.lower()).strip("-")


@dataclass(frozen=True)
class LegendEntry:
    """A curve's name next to the line and the point that it is drawn with."""

    name: str
    look: Look


@dataclass(frozen=True)
class Part:
    """Charts or tables that belong together under one heading.

    `note` says in plain text how to read them. Charts and their legend appear on the page alone, tables in every
    format but CSV, which has the samples; those of a part that is `page_only` are too many for a terminal.
    """

    title: str
    note: str = ""
    charts: tuple[Chart, ...] = ()
    legend: tuple[LegendEntry, ...] = ()
    grids: tuple[Grid, ...] = ()
    page_only: bool = False


@dataclass(frozen=True)
class Section:
    """All that a report shows of one experiment; `name` is the page's anchor, `intro` says what was measured.

    `question` is what the experiment answers, in one sentence; `caveats` are what its figures cannot say.
    """

    name: str
    title: str
    intro: str
    parts: tuple[Part, ...]
    question: str = ""
    caveats: tuple[str, ...] = ()

    @property
    def has_charts(self) -> bool:
        """Whether a page needs the drawing script for it."""
        return any(part.charts for part in self.parts)

    @property
    def has_grids(self) -> bool:
        """Whether a format without charts has anything to show of it."""
        return any(part.grids and not part.page_only for part in self.parts)


@dataclass(frozen=True)
class Glance:
    """The few figures of one run that answer the question of an experiment, for the first screen."""

    grids: tuple[Grid, ...]


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


def section_of(
    experiment: str, parts: Iterable[Part | None], caveats: Iterable[str] = (), intro: str = ""
) -> Section | None:
    """A section of the parts that show something; None where none does. `caveats` are the names of those texts."""
    shown = tuple(part for part in parts if part and (part.charts or part.grids))
    if not shown:
        return None
    texts = f"{experiment}_report"
    return Section(
        experiment,
        say(f"{texts}.title"),
        intro or say(f"{texts}.intro"),
        shown,
        say(f"{texts}.question"),
        tuple(say(f"{texts}.caveat_{caveat}") for caveat in caveats),
    )
