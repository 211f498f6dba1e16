"""A report as blocks from top to bottom, as plain data: terminal, Markdown and page draw the same."""

from dataclasses import dataclass
from typing import Literal

from isthmus.document.grid import Grid
from isthmus.report.fleet.map import FleetMap
from isthmus.trace import Trace


@dataclass(frozen=True)
class Heading:
    """What the blocks up to the next heading of this level or above are about; the title of a report has level 1."""

    text: str
    level: Literal[1, 2, 3]


@dataclass(frozen=True)
class Prose:
    """A paragraph; `tone` says how much it matters: an answer, a warning, plain, or small print."""

    text: str
    tone: Literal["answer", "warning", "plain", "small"] = "plain"


@dataclass(frozen=True)
class Bullets:
    """Sentences that stand beside one another."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A table of one group under its title, where it has one."""

    grid: Grid


@dataclass(frozen=True)
class Code:
    """Lines to be copied as they are, under what they are."""

    title: str
    text: str


@dataclass(frozen=True)
class Picture:
    """When a trace copied, computed and called; the page alone draws it."""

    trace: Trace


@dataclass(frozen=True)
class HeatMap:
    """Every device of a fleet; the page alone draws it. `label` says what it is to who does not see it."""

    drawn: FleetMap
    label: str


Block = Heading | Prose | Bullets | Table | Code | Picture | HeatMap
