"""A comparison for a terminal or a pipe: the verdict last, where one looks first when a command has ended."""

import shutil
from collections.abc import Iterator
from typing import TextIO

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from isthmus.report.comparison_document import Document
from isthmus.report.grid import Grid

__all__ = ["write"]

_PIPE_WIDTH = 10_000
_PROSE_WIDTH = 100
_STYLES = {"ok": "", "wide": "yellow", "failed": "bold red", "skipped": "dim", "missing": "dim"}


def write(shown: Document, out: TextIO, *, width: int | None = None) -> None:
    """Write tables, causes, gates and verdict to `out`, in `width` columns (the terminal's, when `out` is one)."""
    columns = width or (shutil.get_terminal_size().columns if out.isatty() else _PIPE_WIDTH)
    console = Console(file=out, width=columns, highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        for part in _parts(shown):
            console.print(part, width=columns if isinstance(part, Table) else min(columns, _PROSE_WIDTH))
    out.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def _parts(shown: Document) -> Iterator[RenderableType]:
    for line in shown.runs:
        yield Text(line, style="bold")
    for grid, note in shown.tables:
        yield Text(f"\n{grid.title}", style="bold underline")
        yield Text(note, style="dim")
        yield _table(grid)
    for title, lines in shown.lists:
        yield Text(f"\n{title}", style="bold")
        yield from (Padding(Text(line), (0, 0, 0, 2)) for line in lines)
    for sentence in shown.verdict:
        yield Text(f"\n{sentence}", style="bold red" if shown.failed else "bold")


def _table(grid: Grid) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column(grid.corner, overflow="fold")
    for column in grid.columns:
        table.add_column(column.heading, justify="right", no_wrap=True)
    for row in grid.groups[0].rows:
        table.add_row(row.heading, *(Text(cell.text, _STYLES[cell.state]) for cell in row.cells))
    return table
