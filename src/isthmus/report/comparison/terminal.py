"""A comparison for a terminal or a pipe: the verdict last, where one looks first when a command has ended."""

from collections.abc import Iterator
from typing import TextIO

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from isthmus.report.blocks.terminal import grid_table, print_parts
from isthmus.report.comparison.document import Document


def write(shown: Document, out: TextIO, *, width: int | None = None) -> None:
    """Write tables, causes, gates and verdict to `out`, in `width` columns (the terminal's, when `out` is one)."""
    print_parts(_parts(shown), out, width)


def _parts(shown: Document) -> Iterator[RenderableType]:
    for line in shown.runs:
        yield Text(line, style="bold")
    for grid, note in shown.tables:
        yield Text(f"\n{grid.title}", style="bold underline")
        yield Text(note, style="dim")
        yield grid_table(grid)
    for title, lines in shown.lists:
        yield Text(f"\n{title}", style="bold")
        yield from (Padding(Text(line), (0, 0, 0, 2)) for line in lines)
    for sentence in shown.verdict:
        yield Text(f"\n{sentence}", style="bold red" if shown.failed else "bold")
