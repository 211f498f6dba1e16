"""A report as plain data: blocks from top to bottom, for whichever format draws, and its figures for scripts."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from isthmus.document.finding import Finding, Level
from isthmus.document.grid import Grid
from isthmus.document.section import Chart, FleetMap, Lanes, LegendEntry

Kind = Literal[
    "runs",
    "check",
    "calibration",
    "comparison",
    "trace",
    "advice",
    "acceleration",
    "races",
    "fleet",
    "devices",
    "plan",
    "sources",
]
Reader = Literal["terminal", "text", "page"]
# Which readers see a block: `long` is not for terminals, `text` is what a page shows as a picture.
Where = Literal["everywhere", "terminal", "text", "long", "page"]
Tone = Literal["plain", "question", "answer", "warning", "small"]

_SEEN: Mapping[Reader, frozenset[Where]] = {
    "terminal": frozenset(("everywhere", "terminal", "text")),
    "text": frozenset(("everywhere", "text", "long")),
    "page": frozenset(("everywhere", "long", "page")),
}


@dataclass(frozen=True)
class Block:
    """What every block has: which readers it is for; and the label of a block above that a terminal shows it under."""

    where: Where = field(default="everywhere", kw_only=True)
    under: str = field(default="", kw_only=True)


class Item(NamedTuple):
    """One sentence of a list; `quoted` follows it in the words of a file, in English.

    `target` is an anchor of the page that has more; `link` names the place.
    """

    text: str
    quoted: str = ""
    target: str = ""
    link: str = ""

    @property
    def words(self) -> str:
        """Both, where nothing tells them apart."""
        return f"{self.text} {self.quoted}" if self.quoted else self.text


@dataclass(frozen=True)
class Heading(Block):
    """What the blocks up to the next heading of this level or above are about; a page links to the `anchor`."""

    text: str
    level: Literal[2, 3] = 2
    anchor: str = ""


@dataclass(frozen=True)
class Strip(Block):
    """One line on one machine, of parts between dots; a terminal leaves out the last ones where there is no room.

    `origin` says which one it is and when it was looked at, on a line of its own; a page has that elsewhere.
    """

    text: str
    origin: str = ""


@dataclass(frozen=True)
class Prose(Block):
    """A paragraph; `quoted` ends it in the words of a file."""

    text: str
    tone: Tone = "plain"
    quoted: str = ""


@dataclass(frozen=True)
class Labelled(Block):
    """Sentences behind a word that says what they are, one below the other; `level` where that word is one."""

    label: str
    lines: tuple[str, ...]
    level: Level | None = None


@dataclass(frozen=True)
class Bullets(Block):
    """Sentences beside one another; in an answer they have a title."""

    items: tuple[Item, ...]
    title: str = ""


@dataclass(frozen=True)
class Answer(Block):
    """What a reader takes away: sentences, then lists; `failed` marks one that should stop a build."""

    sentences: tuple[str, ...]
    title: str = ""
    lists: tuple[Bullets, ...] = ()
    failed: bool = False


@dataclass(frozen=True)
class Findings(Block):
    """Conclusions with causes and remedies; on a page each is at the anchor with its topic."""

    found: tuple[Finding, ...]
    anchor: str


@dataclass(frozen=True)
class Table(Block):
    """Grids one after the other; a page folds them away under the words of `folded`, if any.

    Of those that are `narrow` a terminal leaves out the last columns where they do not fit, in place of a second table.
    """

    grids: tuple[Grid, ...]
    folded: str = ""
    narrow: bool = False


@dataclass(frozen=True)
class Code(Block):
    """Lines to be copied as they are, under what they are; `alone`, they are unfolded and have no margin."""

    title: str
    text: str
    alone: bool = False


@dataclass(frozen=True)
class Charts(Block):
    """Charts side by side, larger where they are `pairs`, with what their curves are.

    Those that are `still` are there before any script draws them, in prints and photographs of a page, too.
    """

    charts: tuple[Chart, ...]
    legend: tuple[LegendEntry, ...] = ()
    pairs: bool = True
    still: bool = False
    where: Where = field(default="page", kw_only=True)


@dataclass(frozen=True)
class Picture(Block):
    """When a program copied, computed and called; drawn for pages alone, since that takes a while."""

    title: str
    draw: Callable[[], Lanes]
    where: Where = field(default="page", kw_only=True)


@dataclass(frozen=True)
class HeatMap(Block):
    """Every device of a fleet; `label` is the alternative text for screen readers."""

    label: str
    draw: Callable[[], FleetMap]
    where: Where = field(default="page", kw_only=True)


class Fact(NamedTuple):
    """A name and its value; `foreign` where a file worded it, in English.

    A remark says what the fact before it means for transfers; commands are what changes that, to be copied.
    """

    name: str
    value: str
    foreign: bool = False
    is_remark: bool = False
    commands: tuple[str, ...] = ()

    @classmethod
    def remark(cls, text: str, *commands: str) -> "Fact":
        """A remark on the fact before."""
        return cls("", text, is_remark=True, commands=commands)


@dataclass
class Machine:
    """A device or a host: what is known of it, and what speaks against it."""

    title: str
    facts: list[Fact] = field(default_factory=list)
    findings: tuple[Finding, ...] = ()
    anchor: str = ""

    def add(self, name: str, value: str) -> None:
        """Append a fact, unless there is nothing to say."""
        if value:
            self.facts.append(Fact(name, value))

    def remark(self, text: str, *commands: str) -> None:
        """Append a remark on the fact before."""
        self.facts.append(Fact.remark(text, *commands))


@dataclass(frozen=True)
class Machines(Block):
    """Machines side by side."""

    machines: tuple[Machine, ...]


class Records(NamedTuple):
    """The figures as a table for scripts: columns in an order that they rely on, and rows made as they are read."""

    columns: Sequence[str]
    rows: Callable[[], Iterable[Mapping[str, Any]]]


class Data(NamedTuple):
    """The figures for scripts: a JSON object, whose `listed` entry comes last and may have any length, or a list."""

    content: Callable[[], Any]
    listed: tuple[str, Callable[[], Iterator[Any]]] | None = None


@dataclass(frozen=True)
class Document:
    """One report; `title` may have several lines, one for each of several runs.

    `subject` is what the document was made of, for formats that fit one kind of subject only.
    """

    kind: Kind
    title: str
    blocks: tuple[Block, ...]
    subject: Any = None
    records: Records | None = None
    data: Data | None = None

    def shown_to(self, reader: Reader) -> Iterator[Block]:
        """The blocks that this reader sees."""
        return (block for block in self.blocks if block.where in _SEEN[reader])
