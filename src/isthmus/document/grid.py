"""The tables of a report as plain data: every format draws the same."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from isthmus.language import say
from isthmus.record import Interval

# In place of half of an interval, where there are too few samples for one.
UNKNOWN = "?"

CellState = Literal["ok", "wide", "failed", "skipped", "missing", "bar"]


@dataclass(frozen=True)
class Cell:
    """One figure: its text, half of its 95 % interval in the same decimals, what is to be marked, more on hovering.

    The half is a question mark where there are too few samples for an interval. `unit` follows the figure where those
    of one table differ too much to share one.
    """

    text: str
    half_width: str = ""
    state: CellState = "ok"
    detail: str = ""
    unit: str = ""

    @property
    def sign(self) -> str:
        """What goes between the figure and half of its interval."""
        return "~" if self.state == "wide" else "±"


@dataclass(frozen=True)
class Column:
    """A curve of one run, or another quantity: `heading` in short lines for narrow tables, `name` in full.

    `prose` marks words in place of figures: they stand to the left and may wrap. `minor` ones are left out of a place
    too narrow for all.
    """

    heading: str
    name: str
    run: str = ""
    prose: bool = False
    minor: bool = False


@dataclass(frozen=True)
class Row:
    """A size, a summary of the whole column or whatever else a table counts by, with one cell for each column."""

    heading: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Group:
    """Rows that share a unit, which their title names; an empty title where every column names its own."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Grid:
    """One table; `corner` says what the row headings are, and is empty for sizes, which say so themselves."""

    title: str
    columns: tuple[Column, ...]
    groups: tuple[Group, ...]
    corner: str = ""

    def titled(self, title: str) -> "Grid":
        """The same table under another title."""
        return replace(self, title=title)


def text_grid(
    title: str,
    corner: str,
    headings: Iterable[str],
    rows: Iterable[tuple[str, Iterable[str | Cell]]],
    *,
    words: int = 0,
    minor: Collection[str] = (),
) -> Grid:
    """A table of one group, whose columns have one heading each; the last `words` of them are prose.

    A row is its heading and its cells, which are texts unless there is more to say of them.
    """
    names = list(headings)
    columns = tuple(
        Column(name, name, prose=at >= len(names) - words, minor=name in minor) for at, name in enumerate(names)
    )
    shown = tuple(
        Row(head, tuple(Cell(each) if isinstance(each, str) else each for each in cells)) for head, cells in rows
    )
    return Grid(title, columns, (Group("", shown),), corner)


def interval_cell(interval: Interval | None, *, scale: float = 1.0, wide: bool = False, detail: str = "") -> Cell:
    """A median times `scale` with half of its interval; `wide` marks one that the run knows less well than it meant.

    A dash where there is none.
    """
    if interval is None:
        return missing()
    median, half = interval.median * scale, (interval.high - interval.low) / 2 * scale
    digits = decimals(median)
    if not interval.is_known:
        detail = ", ".join(filter(None, (detail, say("labels.no_interval"))))
        return Cell(f"{median:.{digits}f}", UNKNOWN, detail=detail)
    return Cell(f"{median:.{digits}f}", f"{half:.{digits}f}", state="wide" if wide else "ok", detail=detail)


def time_cell(seconds: Interval | None, *, wide: bool = False, detail: str = "") -> Cell:
    """A time in the unit that suits it, from ns to s; a dash where there is none."""
    if seconds is None:
        return missing()
    scale, unit = next((scale, unit) for least, scale, unit in _UNITS if seconds.median >= least)
    return replace(interval_cell(seconds, scale=scale, wide=wide, detail=detail), unit=unit)


# The least that three digits of the next smaller unit would round up to.
_UNITS = ((0.9995, 1.0, "s"), (0.9995e-3, 1e3, "ms"), (0.9995e-6, 1e6, "us"), (0.0, 1e9, "ns"))


def decimals(value: float) -> int:
    """How many to show: three digits in all from 0.1 on, and never so few that a slow rate reads as zero."""
    if value >= 99.95:
        return 0
    if value >= 9.995:
        return 1
    return 2 if value >= 0.0995 else 4


def cells_of(grid: Grid) -> Iterator[Cell]:
    """All cells, row by row."""
    return (cell for group in grid.groups for row in group.rows for cell in row.cells)


def part_of(grid: Grid, kept: Sequence[int]) -> Grid:
    """The grid with these columns alone."""
    groups = tuple(
        replace(group, rows=tuple(replace(row, cells=tuple(row.cells[at] for at in kept)) for row in group.rows))
        for group in grid.groups
    )
    return replace(grid, columns=tuple(grid.columns[at] for at in kept), groups=groups)


def brief(cell: Cell) -> Cell:
    """The figure without its interval; behind it a mark where that is wide or unknown."""
    unit = f" {cell.unit}" if cell.unit else ""
    mark = UNKNOWN if cell.half_width == UNKNOWN else "~" if cell.state == "wide" and cell.half_width else ""
    return replace(cell, text=f"{cell.text}{unit}{mark}", half_width="", unit="")


def excerpt(grid: Grid, most: int, *, columns: Sequence[int] | None = None, title: str | None = None) -> Grid:
    """At most so many rows, evenly chosen, the first and the last among them, of these columns; without intervals.

    Rows of several groups are distinguished by the title of theirs.
    """
    several = len(grid.groups) > 1
    rows = [
        replace(row, heading=say("labels.named_value", name=group.title, value=row.heading)) if several else row
        for group in grid.groups
        for row in group.rows
    ]
    kept = range(len(grid.columns)) if columns is None else columns
    shown = (
        replace(rows[at], cells=tuple(brief(rows[at].cells[column]) for column in kept))
        for at in spread(len(rows), most)
    )
    group = Group("" if several else grid.groups[0].title, tuple(shown))
    return Grid(grid.title if title is None else title, tuple(grid.columns[at] for at in kept), (group,), grid.corner)


def spread(count: int, most: int) -> list[int]:
    """At most so many places of so many, evenly chosen, the first and the last among them."""
    if count <= most:
        return list(range(count))
    return [round(place * (count - 1) / (most - 1)) for place in range(most)]


def missing(reason: str = "") -> Cell:
    """A dash; pointing at it shows the reason, which is that it was not measured unless another is given."""
    return Cell("-", state="missing", detail=reason or say("labels.not_measured"))


def skipped(reason: str) -> Cell:
    """What was left out when it was measured, with the reason in the words of the run file."""
    return Cell(say("labels.cell_skipped"), state="skipped", detail=reason)


def failed(reason: str = "") -> Cell:
    """Data that was wrong, on arrival unless another reason is given: a figure would be one of something else."""
    return Cell(say("labels.cell_failed"), state="failed", detail=reason or say("labels.wrong_data"))
