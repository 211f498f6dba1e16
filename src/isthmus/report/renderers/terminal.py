"""A document for a terminal or a pipe: tables no wider than the place they go to, and nothing cut off."""

import shutil
import sys
from collections.abc import Iterator, Sequence
from textwrap import indent, wrap
from typing import Literal, TextIO

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from isthmus.document.document import (
    Answer,
    Block,
    Bullets,
    Code,
    Document,
    Findings,
    Heading,
    Machine,
    Machines,
    Prose,
    Table,
)
from isthmus.document.finding import Finding
from isthmus.document.grid import Cell, Column, Grid
from isthmus.language import say
from isthmus.messages import plain, printable

_STATES = {"ok": "", "wide": "yellow", "failed": "bold red", "skipped": "dim", "missing": "dim"}
_SEVERITIES = {"error": "bold red", "warning": "yellow", "info": "cyan"}
_HEADINGS = {2: "bold underline", 3: "bold"}
_TONES = {"plain": "", "question": "bold", "answer": "bold", "warning": "yellow", "small": "dim"}
_PIPE_WIDTH = 10_000
_PROSE_WIDTH = 100
# Words in a table, and names of rows, wrap rather than get narrower than this.
_LEAST_PROSE = 28
_LABEL = 14


def write(document: Document, out: TextIO, *, width: int | None = None) -> None:
    """Write the document to `out`, in `width` columns (the terminal's, when `out` is one).

    Tables that do not fit are split by columns; a pipe gets whole tables and no colour.
    """
    columns = width or (shutil.get_terminal_size().columns if out.isatty() else _PIPE_WIDTH)
    # What FORCE_COLOR asks for is for who looks, and no part of a file.
    plain_file = None if out in (sys.stdout, sys.stderr) or out.isatty() else False
    console = Console(file=out, width=columns, force_terminal=plain_file, highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        for line in document.title.splitlines():
            console.print(_text(line, "bold"), width=min(columns, _PROSE_WIDTH))
        for block in document.shown_to("terminal"):
            for part in _parts(block, columns):
                if isinstance(part, Text) and part.no_wrap:
                    console.print(part, soft_wrap=True)  # To be pasted: neither wrapped nor cut off.
                else:
                    console.print(part, width=columns if isinstance(part, RichTable) else min(columns, _PROSE_WIDTH))
    # Tables are padded to their full width, which a pipe or a copied table should not be.
    out.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def _parts(block: Block, width: int) -> Iterator[RenderableType]:
    match block:
        case Heading(text, level):
            yield from (Text(""), _text(text, _HEADINGS[level]))
        case Prose(text, tone, quoted):
            yield _text(f"{text} {quoted}".rstrip(), _TONES[tone])
        case Bullets(items):
            yield from (_indented(_text(item.words)) for item in items)
        case Answer():
            yield from _answer(block)
        case Findings(found):
            for finding in found:
                yield from _finding(finding)
        case Table(grids):
            for grid in grids:
                yield from _tables(grid, width)
        case Code(title, text, alone):
            yield from (Text(""), _text(title, "bold"), Text("")) if alone else (_text(title, "dim"),)
            yield Text(plain(text) if alone else indent(plain(text), "    "), style="cyan", no_wrap=True)
        case Machines(machines):
            for machine in machines:
                yield from _machine(machine, min(width, _PROSE_WIDTH))


def _answer(answer: Answer) -> Iterator[RenderableType]:
    if answer.title:
        yield from (Text(""), _text(answer.title, "bold"))
    style = "bold red" if answer.failed else "bold"
    yield from (_text(sentence, style) for sentence in answer.sentences)
    for each in answer.lists:
        yield _text(each.title, "bold")
        for item in each.items:
            yield _indented(_text(f"- {item.words}", _SEVERITIES[item.severity] if item.severity else ""))


def _finding(finding: Finding) -> Iterator[RenderableType]:
    severity = say("terminal.labelled", label=say(f"page.severity_{finding.severity}"), text="")
    yield Text.assemble((severity, _SEVERITIES[finding.severity]), _text(finding.sentence))
    for label, text in ((say("page.why"), finding.cause), (say("page.do"), finding.fix)):
        if text:
            yield _indented(_text(say("terminal.labelled", label=label, text=text)))


def _machine(machine: Machine, width: int) -> Iterator[RenderableType]:
    """Rows with their names to the left; commands on lines of their own, to be copied."""
    if machine.title:
        yield from (Text(""), _text(machine.title, "bold"))
    for fact in machine.facts:
        mark = "! " if fact.is_remark else ""
        margin = " " * (2 + _LABEL + len(mark))
        first = f"  {fact.name:{_LABEL - 1}} {mark}"
        style = "yellow" if fact.is_remark else ""
        for line in wrap(
            printable(fact.value),
            width,
            initial_indent=first,
            subsequent_indent=margin,
            break_long_words=False,
            break_on_hyphens=False,
        ):
            yield Text(line, style, no_wrap=True)
        # Under the remark if there is room, else as far left as it takes to keep the longest command whole.
        room = width - max(map(len, fact.commands), default=0)
        for command in fact.commands:
            yield Text(" " * min(len(margin), max(room, 4)) + printable(command), style="cyan", no_wrap=True)
    for finding in machine.findings:
        yield from _finding(finding)


def _tables(grid: Grid, width: int) -> Iterator[RenderableType]:
    """The grid as one table, or as several whose columns fit, each under its title."""
    everything = range(len(grid.columns))
    # Sizes and other short names of rows stand to the right, beside the figures; words stand to the left and may wrap.
    stub = max([cell_len(grid.corner), *(cell_len(row.heading) for group in grid.groups for row in group.rows)])
    least_stub = min(stub, _LEAST_PROSE)
    widths = [_column_width(grid, index, compact=False) for index in everything]
    compact = least_stub + sum(2 + _least(grid, index, widths) for index in everything) > width
    gap = 1 if compact else 2
    if compact:
        widths = [_column_width(grid, index, compact=True) for index in everything]
    start = 0
    while start < len(widths):
        end, used = start + 1, least_stub + gap + _least(grid, start, widths)
        while end < len(widths) and used + gap + _least(grid, end, widths) <= width:
            used += gap + _least(grid, end, widths)
            end += 1
        spare = max(width - used, 0)
        first = min(stub, least_stub + spare)
        chosen = _widened(grid, range(start, end), widths, spare - (first - least_stub))
        title = grid.title
        if (start, end) != (0, len(widths)):
            title = say("terminal.columns", title=title, first=start + 1, last=end, all=len(widths))
        columns = [(first, bool(grid.corner)), *((chosen[at], grid.columns[at].prose) for at in range(start, end))]
        yield Text("")
        if title:
            yield _text(title, "bold")
        heads = [Text(_head(grid.columns[index])) for index in range(start, end)]
        if grid.corner or any(heads):
            yield _table([[_text(grid.corner), *heads]], columns, gap, vertical="bottom")
        for group in grid.groups:
            if group.title:
                yield _text(group.title, "italic")
            rows = [
                [_text(row.heading), *(_text(_figure(cell, compact=compact), _STATES[cell.state]) for cell in cells)]
                for row in group.rows
                if (cells := row.cells[start:end])
            ]
            yield _table(rows, columns, gap)
        start = end


def _column_width(grid: Grid, index: int, *, compact: bool) -> int:
    texts = [_figure(row.cells[index], compact=compact) for group in grid.groups for row in group.rows]
    return max(map(cell_len, [*texts, *_head(grid.columns[index]).split("\n")]))


def _least(grid: Grid, index: int, widths: Sequence[int]) -> int:
    return min(widths[index], _LEAST_PROSE) if grid.columns[index].prose else widths[index]


def _widened(grid: Grid, indices: range, widths: Sequence[int], spare: int) -> dict[int, int]:
    """The widths of these columns, words given what the figures leave."""
    found = {}
    for index in indices:
        found[index] = min(widths[index], _least(grid, index, widths) + spare)
        spare -= found[index] - _least(grid, index, widths)
    return found


def _table(
    rows: Sequence[Sequence[Text]],
    columns: Sequence[tuple[int, bool]],
    gap: int,
    *,
    vertical: Literal["top", "bottom"] = "top",
) -> RichTable:
    """Rows without frame or heading, so that several tables line up; a column is its width and whether it is words."""
    table = RichTable(box=None, show_header=False, padding=(0, gap, 0, 0), pad_edge=False)
    for width, words in columns:
        justify: Literal["left", "right"] = "left" if words else "right"
        table.add_column(justify=justify, no_wrap=not words, width=width, vertical=vertical, overflow="fold")
    for cells in rows:
        table.add_row(*cells)
    return table


def _head(column: Column) -> str:
    return "\n".join(printable(line) for line in f"{column.heading}\n{column.run}".strip().split("\n"))


def _figure(cell: Cell, *, compact: bool) -> str:
    unit = f" {cell.unit}" if cell.unit else ""
    if not cell.half_width:
        return f"{cell.text}{unit}"
    half = cell.half_width
    if compact and "." in half:
        half = f"{float(half):.1f}" if float(half) >= 1 else half.removeprefix("0")
    return f"{cell.text} {'~' if cell.state == 'wide' else '±'}{half}{unit}"


def _indented(text: Text) -> Padding:
    return Padding(text, (0, 0, 0, 2))


def _text(words: str, style: str = "") -> Text:
    """Words that may come from a file, and that no terminal shall take for a command."""
    return Text(printable(words), style)
