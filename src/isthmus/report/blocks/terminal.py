"""Blocks of a report for a terminal or a pipe."""

import shutil
from collections.abc import Iterable, Iterator
from textwrap import indent
from typing import TextIO

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from isthmus.document.grid import Grid
from isthmus.record import printable
from isthmus.report.blocks.blocks import Block, Bullets, Code, Heading, HeatMap, Picture, Prose, Table

_PIPE_WIDTH = 10_000
_PROSE_WIDTH = 100
_STYLES = {"ok": "", "wide": "yellow", "failed": "bold red", "skipped": "dim", "missing": "dim"}
_HEADINGS = {1: "bold underline", 2: "bold underline", 3: "bold"}
_TONES = {"answer": "bold", "warning": "yellow", "plain": "", "small": "dim"}


def write(blocks: Iterable[Block], out: TextIO, *, width: int | None = None) -> None:
    """Write the blocks to `out`, in `width` columns (the terminal's, when `out` is one)."""
    print_parts((part for block in blocks for part in _parts(block)), out, width)


def print_parts(parts: Iterable[RenderableType], out: TextIO, width: int | None) -> None:
    """Write what rich can draw, texts no wider than is good to read; a pipe gets nothing cut off and no colour."""
    columns = width or (shutil.get_terminal_size().columns if out.isatty() else _PIPE_WIDTH)
    console = Console(file=out, width=columns, highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        for part in parts:
            if isinstance(part, Text) and part.no_wrap:
                console.print(part, soft_wrap=True)  # To be pasted: neither wrapped nor cut off.
            else:
                console.print(part, width=columns if isinstance(part, RichTable) else min(columns, _PROSE_WIDTH))
    # Tables are padded to their full width, which a pipe or a copied table should not be.
    out.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def grid_table(grid: Grid) -> RichTable:
    """A grid of one group; figures to the right, words to the left."""
    table = RichTable(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column(grid.corner, overflow="fold")
    for column in grid.columns:
        if column.prose:
            table.add_column(column.heading, overflow="fold")
        else:
            table.add_column(column.heading, justify="right", no_wrap=True)
    for row in grid.groups[0].rows:
        table.add_row(_text(row.heading), *(_text(cell.text, _STYLES[cell.state]) for cell in row.cells))
    return table


def _parts(block: Block) -> Iterator[RenderableType]:
    match block:
        case Picture() | HeatMap():
            pass
        case Heading(text, level):
            if level > 1:
                yield Text("")
            yield _text(text, _HEADINGS[level])
        case Prose(text, tone):
            yield _text(text, _TONES[tone])
        case Bullets(lines):
            yield from (Padding(_text(line), (0, 0, 0, 2)) for line in lines)
        case Table(grid):
            yield Text("")
            if grid.title:
                yield _text(grid.title, "bold")
            yield grid_table(grid)
        case Code(title, text):
            yield _text(title, _TONES["small"])
            yield Text(indent(text, "    "), style="cyan", no_wrap=True)


def _text(words: str, style: str = "") -> Text:
    """Words that may come from a trace, and that no terminal shall take for a command."""
    return Text(printable(words), style)
