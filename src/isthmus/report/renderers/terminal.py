"""A document for a terminal or a pipe: tables no wider than the place they go to, and nothing cut off."""

import os
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
    Labelled,
    Machine,
    Machines,
    Prose,
    Strip,
    Table,
)
from isthmus.document.finding import Finding, level_word
from isthmus.document.grid import Cell, Grid, part_of
from isthmus.language import enumerated, say
from isthmus.messages import plain, printable

_STATES = {"ok": "", "wide": "yellow", "failed": "bold red", "skipped": "dim", "missing": "dim", "bar": ""}
_LEVELS = {"FAULT": "bold red", "ATTENTION": "yellow", "OK": "bold", "note": "cyan", "none": "bold"}
_HEADINGS = {2: "bold underline", 3: "bold"}
_TONES = {"plain": "", "question": "bold", "answer": "bold", "warning": "yellow", "small": "dim"}
_PIPE_WIDTH = 10_000
_PROSE_WIDTH = 100
# Words in a table, and names of rows, wrap rather than get narrower than this.
_LEAST_PROSE = 28
_LABEL = 14


def write(document: Document, out: TextIO, *, width: int | None = None) -> None:
    """Write the document to `out`, in `width` columns (the terminal's, when `out` is one).

    Tables that do not fit lose their minor columns, then are split, each part with the names of the rows. A pipe gets
    no colour, and whole tables unless COLUMNS says how wide.
    """
    is_told = out.isatty() or (out is sys.stdout and os.environ.get("COLUMNS", "").isdecimal())
    columns = width or (shutil.get_terminal_size().columns if is_told else _PIPE_WIDTH)
    # What FORCE_COLOR asks for is for who looks, and no part of a file.
    plain_file = None if out in (sys.stdout, sys.stderr) or out.isatty() else False
    console = Console(file=out, width=columns, force_terminal=plain_file, highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        blocks = list(document.shown_to("terminal"))
        # A first line about the machine replaces the title.
        for line in () if blocks and isinstance(blocks[0], Strip | Labelled) else document.title.splitlines():
            console.print(_text(line, "bold"), width=min(columns, _PROSE_WIDTH))
        for block in blocks:
            for part in _under(block, columns) if block.under else _parts(block, columns):
                if isinstance(part, Text) and part.no_wrap:
                    console.print(part, soft_wrap=True)  # To be pasted: neither wrapped nor cut off.
                else:
                    console.print(part, width=columns if isinstance(part, RichTable) else min(columns, _PROSE_WIDTH))
    # Tables are padded to their full width, which a pipe or a copied table should not be.
    out.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def _under(block: Block, width: int) -> Iterator[Padding]:
    """The block to the right of a label, without the empty line that is above a table."""
    margin = cell_len(block.under) + 2
    for part in _parts(block, width - margin):
        if not isinstance(part, Text) or part.plain or not isinstance(block, Table):
            yield Padding(part, (0, 0, 0, margin))


def _parts(block: Block, width: int) -> Iterator[RenderableType]:
    match block:
        case Heading(text, level):
            yield from (Text(""), _text(text, _HEADINGS[level]))
        case Prose(text, tone, quoted):
            yield _text(f"{text} {quoted}".rstrip(), _TONES[tone])
        case Strip(text, origin):
            yield _text(_strip(text, width), "bold")
            if origin:
                yield _text(origin, _TONES["small"])
            yield Text("")
        case Labelled(label, lines, level):
            style = _LEVELS[level] if level else "bold"
            table = RichTable(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
            table.add_column(no_wrap=True)
            table.add_column(overflow="fold")
            for number, line in enumerate(lines):
                table.add_row(_text("" if number else label, style), _text(line))
            yield Padding(table, 0)
        case Bullets(items):
            yield from (_indented(_text(item.words)) for item in items)
        case Answer():
            yield from _answer(block)
        case Findings(findings):
            yield from (part for finding in findings for part in _finding(finding))
        case Table(grids, _, narrow):
            shown = (_fitting(grid, width) if narrow else grid for grid in grids)
            yield from (part for grid in shown for part in _tables(grid, width))
        case Code(title, text, alone):
            yield from (Text(""), _text(title, "bold"), Text("")) if alone else (_text(title, "dim"),)
            yield Text(plain(text) if alone else indent(plain(text), "    "), style="cyan", no_wrap=True)
        case Machines(machines):
            yield from (part for machine in machines for part in _machine(machine, min(width, _PROSE_WIDTH)))


def _answer(answer: Answer) -> Iterator[RenderableType]:
    if answer.title or answer.lists:
        yield Text("")
    if answer.title:
        yield _text(answer.title, "bold")
    style = "bold red" if answer.failed else "bold"
    yield from (_text(sentence, style) for sentence in answer.sentences)
    for each in answer.lists:
        yield _text(each.title, "bold")
        for item in each.items:
            yield _indented(_text(f"- {item.words}"))


def _strip(text: str, width: int) -> str:
    while cell_len(text) > width and " · " in text:
        text = text.rpartition(" · ")[0]
    return text


def _finding(finding: Finding) -> Iterator[RenderableType]:
    level = say("terminal.labelled", label=level_word(finding.level), text="")
    yield Text.assemble((level, _LEVELS[finding.level]), _text(finding.text))
    for label, text in ((say("page.why"), finding.cause), (say("page.do"), finding.cure)):
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


def _fitting(grid: Grid, width: int) -> Grid:
    """The grid with as many of its first columns as fit, one at least."""
    left, count = width - _stub(grid), 0
    while count < len(grid.columns) and (left := left - 2 - _column_width(grid, count, compact=False)) >= 0:
        count += 1
    count = max(count, 1)
    return part_of(grid, range(count))


def _tables(grid: Grid, width: int) -> Iterator[RenderableType]:
    """The grid as one table, or as several whose columns fit, each under its title and with the names of the rows."""
    # Sizes and other short names of rows stand to the right, beside the figures; words stand to the left and may wrap.
    stub = _stub(grid)
    least_stub = min(stub, _LEAST_PROSE)
    compact = not _fits(grid, width, compact=False)
    minor = [at for at, column in enumerate(grid.columns) if column.minor]
    left_out: list[str] = []
    while minor and not _fits(grid, width, compact=compact):
        left_out.insert(0, grid.columns[at := minor.pop()].heading)
        grid = part_of(grid, [each for each in range(len(grid.columns)) if each != at])
    gap = 1 if compact else 2
    widths = [_column_width(grid, index, compact=compact) for index in range(len(grid.columns))]
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
            title = say("terminal.columns", title=title, first=start + 1, last=end, all=len(widths)).strip()
        marked = {at for at in range(start, end) if _is_marked(grid, at)}
        words = [grid.columns[at].prose or at in marked for at in range(start, end)]
        columns = [(first, bool(grid.corner)), *zip((chosen[at] for at in range(start, end)), words, strict=True)]
        yield Text("")
        if title:
            yield _text(title, "bold")
        heads = [
            Text("\n".join(_beside_marks(line, widths[at]) if at in marked else line for line in _lines_of(grid, at)))
            for at in range(start, end)
        ]
        if grid.corner or any(heads):
            yield _table([[_text(grid.corner), *heads]], columns, gap, vertical="bottom")
        for group in grid.groups:
            if group.title:
                yield _text(group.title, "italic")
            rows = [
                [
                    _text(row.heading),
                    *(
                        _text(_beside_marks(figure, widths[at]) if at in marked else figure, _STATES[cell.state])
                        for at, cell in enumerate(row.cells[start:end], start)
                        for figure in [_figure(cell, compact=compact)]
                    ),
                ]
                for row in group.rows
                if row.cells[start:end]
            ]
            yield _table(rows, columns, gap)
        start = end
    if left_out:
        yield _text(say("terminal.left_out", names=enumerated(left_out)), _TONES["small"])


def _stub(grid: Grid) -> int:
    return max([cell_len(grid.corner), *(cell_len(row.heading) for group in grid.groups for row in group.rows)])


def _fits(grid: Grid, width: int, *, compact: bool) -> bool:
    """Whether all columns stand side by side, names of rows and words as narrow as they get."""
    everything = range(len(grid.columns))
    widths = [_column_width(grid, index, compact=compact) for index in everything]
    gap = 1 if compact else 2
    return min(_stub(grid), _LEAST_PROSE) + sum(gap + _least(grid, index, widths) for index in everything) <= width


def _is_marked(grid: Grid, index: int) -> bool:
    """Whether some figures of a column have a mark behind them, beside which the others stand."""
    return any(row.cells[index].text.endswith("~") for group in grid.groups for row in group.rows)


def _beside_marks(text: str, width: int) -> str:
    text = text if text.endswith("~") else f"{text} "
    return " " * (width - cell_len(text)) + text


def _column_width(grid: Grid, index: int, *, compact: bool) -> int:
    texts = [_figure(row.cells[index], compact=compact) for group in grid.groups for row in group.rows]
    return max(map(cell_len, [*texts, *_lines_of(grid, index)])) + _is_marked(grid, index)


def _least(grid: Grid, index: int, widths: Sequence[int]) -> int:
    return min(widths[index], _LEAST_PROSE) if grid.columns[index].prose else widths[index]


def _widened(grid: Grid, indices: range, widths: Sequence[int], spare: int) -> dict[int, int]:
    """The widths of these columns, words given what the figures leave."""
    wide = {}
    for index in indices:
        wide[index] = min(widths[index], _least(grid, index, widths) + spare)
        spare -= wide[index] - _least(grid, index, widths)
    return wide


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


def _lines_of(grid: Grid, index: int) -> list[str]:
    column = grid.columns[index]
    return [printable(line) for line in f"{column.heading}\n{column.run}".strip().split("\n")]


def _figure(cell: Cell, *, compact: bool) -> str:
    unit = f" {cell.unit}" if cell.unit else ""
    if not cell.half_width:
        return f"{cell.text}{unit}"
    half = cell.half_width
    if compact and "." in half:
        half = f"{float(half):.1f}" if float(half) >= 1 else half.removeprefix("0")
    return f"{cell.text} {cell.sign}{half}{unit}"


def _indented(text: Text) -> Padding:
    return Padding(text, (0, 0, 0, 2))


def _text(words: str, style: str = "") -> Text:
    """Words that may come from a file, and that no terminal shall take for a command."""
    return Text(printable(words), style)
