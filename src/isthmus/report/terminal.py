"""The report for a terminal or a pipe: tables no wider than the place they go to, skips, findings, verdict."""

import re
import shutil
from collections.abc import Iterator, Sequence
from typing import Literal, TextIO

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from isthmus.analysis.conclusions import conclude
from isthmus.analysis.labels import run_label, run_title
from isthmus.analysis.sections import sections
from isthmus.analysis.skips import skip_groups, skip_line
from isthmus.analysis.summary import Summary, summarise
from isthmus.document.finding import Finding
from isthmus.document.grid import Cell, Column, Grid
from isthmus.document.section import Section
from isthmus.language import say, sentences
from isthmus.record import Run

_STYLES = {"ok": "", "wide": "yellow", "failed": "bold red", "skipped": "dim", "missing": "dim"}
_SEVERITY_STYLES = {"error": "bold red", "warning": "yellow", "info": "cyan"}
_PIPE_WIDTH = 10_000
_PROSE_WIDTH = 100
_GAP = 1
# What a terminal takes for a command, but for colours, which rich writes; names in a file may be anybody's.
_COMMANDS = re.compile(r"\x1b(?!\[[0-9;]*m)|[\x00-\x09\x0b-\x1a\x1c-\x1f\x7f-\x9f]")
# Words in a table wrap rather than get narrower than this.
_LEAST_PROSE = 28


def write(runs: Sequence[Run], out: TextIO, *, width: int | None = None) -> None:
    """Write the tables, skipped cases and findings of the runs to `out`.

    Tables that do not fit `width` columns (the terminal's, when `out` is one) are split by columns; a pipe gets whole
    tables, no colour and nothing cut off.
    """
    columns = width or (shutil.get_terminal_size().columns if out.isatty() else _PIPE_WIDTH)
    console = Console(file=out, width=columns, highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        for part in _parts(runs, columns):
            console.print(part, width=columns if isinstance(part, Table) else min(columns, _PROSE_WIDTH))
    # Tables are padded to their full width, which a pipe or a copied table should not be.
    out.writelines(f"{line.rstrip()}\n" for line in _COMMANDS.sub(" ", captured.get()).splitlines())


def _parts(runs: Sequence[Run], columns: int) -> Iterator[RenderableType]:
    concluded = [conclude(run) for run in runs]
    for index in range(len(runs)):
        yield Text(run_title(runs, index), style="bold")
    for section in sections(runs):
        yield from _section(section, columns)
    for index, run in enumerate(runs):
        letter = run_label(runs, index)
        yield from _skipped(run, letter)
        yield from _findings(concluded[index].findings, letter)
    for index, found in enumerate(concluded):
        yield from _summary(summarise(found), run_title(runs, index))


def _section(section: Section, columns: int) -> Iterator[RenderableType]:
    if not section.has_grids:
        return
    yield Text(f"\n{section.title}", style="bold underline")
    if section.question:
        yield Text(section.question, style="bold")
    yield Text(sentences([section.intro, say("page.marks")]), style="dim")
    for part in (part for part in section.parts if not part.page_only):
        for grid in part.grids:
            yield from _tables(grid, columns)
        if part.grids and part.note:
            yield Text(part.note, style="dim")
    for caveat in section.caveats:
        yield Text(caveat, style="dim")


def _tables(grid: Grid, width: int) -> Iterator[RenderableType]:
    """The grid as one table, or as several whose columns fit, each under its title."""
    everything = range(len(grid.columns))
    stub = max(cell_len(row.heading) for group in grid.groups for row in group.rows)
    stub = max(stub, cell_len(grid.corner))
    widths = [_column_width(grid, index, compact=False) for index in everything]
    compact = stub + sum(_GAP + _least(grid, index, widths) for index in everything) > width
    if compact:
        widths = [_column_width(grid, index, compact=True) for index in everything]
    start = 0
    while start < len(widths):
        end, used = start + 1, stub + _GAP + _least(grid, start, widths)
        while end < len(widths) and used + _GAP + _least(grid, end, widths) <= width:
            used += _GAP + _least(grid, end, widths)
            end += 1
        chosen = _widened(grid, range(start, end), widths, width - used)
        title = grid.title
        if (start, end) != (0, len(widths)):
            title = say("terminal.columns", title=title, first=start + 1, last=end, all=len(widths))
        columns = [(chosen[index], grid.columns[index].prose) for index in range(start, end)]
        yield Text(f"\n{title}", style="bold")
        heads = [_head(grid.columns[index]) for index in range(start, end)]
        yield _table([(grid.corner, heads)], stub, columns, vertical="bottom")
        for group in grid.groups:
            if group.title:
                yield Text(group.title, style="italic")
            rows = [
                (row.heading, [_styled(cell, compact=compact) for cell in row.cells[start:end]]) for row in group.rows
            ]
            yield _table(rows, stub, columns)
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
    rows: Sequence[tuple[str, Sequence[str | Text]]],
    stub: int,
    columns: Sequence[tuple[int, bool]],
    *,
    vertical: Literal["top", "bottom"] = "top",
) -> Table:
    """Rows without frame or heading, so that several tables line up; a column is its width and whether it is words."""
    table = Table(box=None, show_header=False, padding=(0, _GAP, 0, 0), pad_edge=False)
    table.add_column(justify="right", no_wrap=True, width=stub, vertical=vertical)
    for width, prose in columns:
        table.add_column(justify="left" if prose else "right", no_wrap=not prose, width=width, vertical=vertical)
    for name, cells in rows:
        table.add_row(name, *cells)
    return table


def _styled(cell: Cell, *, compact: bool) -> Text:
    return Text(_figure(cell, compact=compact), _STYLES[cell.state])


def _head(column: Column) -> str:
    return f"{column.heading}\n{column.run}" if column.run else column.heading


def _figure(cell: Cell, *, compact: bool) -> str:
    unit = f" {cell.unit}" if cell.unit else ""
    if not cell.half_width:
        return f"{cell.text}{unit}"
    half = cell.half_width
    if compact and "." in half:
        half = f"{float(half):.1f}" if float(half) >= 1 else half.removeprefix("0")
    return f"{cell.text} {'~' if cell.state == 'wide' else '±'}{half}{unit}"


def _skipped(run: Run, letter: str) -> Iterator[RenderableType]:
    groups = skip_groups(run)
    if groups:
        yield _heading(say("terminal.skipped_in", letter=letter) if letter else say("page.skipped"))
    for group in groups:
        yield _indented(Text(skip_line(group)))


def _findings(found: Sequence[Finding], letter: str) -> Iterator[RenderableType]:
    if found:
        yield _heading(say("terminal.findings_on", letter=letter) if letter else say("page.findings"))
    for finding in found:
        severity = say("terminal.labelled", label=say(f"page.severity_{finding.severity}"), text="")
        yield Text.assemble((severity, _SEVERITY_STYLES[finding.severity]), finding.sentence)
        if finding.cause:
            yield _indented(Text(say("terminal.labelled", label=say("page.why"), text=finding.cause)))
        if finding.fix:
            yield _indented(Text(say("terminal.labelled", label=say("page.do"), text=finding.fix)))


def _summary(summary: Summary, title: str) -> Iterator[RenderableType]:
    """What to take away, last, where a terminal ends."""
    yield _heading(title)
    for text, told in ((say("page.incomplete"), not summary.complete), (say("page.unreliable"), not summary.reliable)):
        if told:
            yield Text(text, style="bold")
    if summary.nothing:
        yield Text(summary.nothing)
    for heading, entries in (
        (say("page.does"), summary.does),
        (say("page.advice"), summary.advice),
        (say("page.wrong"), (*summary.troubles, *summary.more)),
    ):
        if entries:
            yield Text(heading, style="bold")
        for entry in entries:
            yield _indented(Text(f"- {entry.text}", style=_SEVERITY_STYLES[entry.severity] if entry.topic else ""))


def _heading(text: str) -> Text:
    return Text(f"\n{text}", style="bold")


def _indented(text: Text) -> Padding:
    return Padding(text, (0, 0, 0, 2))
