"""Blocks of a report as Markdown, for issues, pull requests and the summaries of build servers."""

from collections.abc import Iterable, Iterator
from typing import TextIO

from isthmus.document.grid import Grid
from isthmus.report.blocks.blocks import Block, Bullets, Code, Heading, HeatMap, Picture, Prose, Table
from isthmus.report.markdown_text import escaped, fenced


def write(blocks: Iterable[Block], out: TextIO) -> None:
    """Write the blocks to `out`."""
    for place, block in enumerate(block for block in blocks if not isinstance(block, Picture | HeatMap)):
        # What belongs together is one paragraph or list in Markdown, with an empty line before each.
        out.writelines(f"{line}\n" for line in [*([""] if place else []), *_lines(block)])


def _lines(block: Block) -> Iterator[str]:
    match block:
        case Heading(text, level):
            yield f"{'#' * level} {escaped(text)}"
        case Prose(text, tone):
            yield f"**{escaped(text)}**" if tone in ("answer", "warning") else escaped(text)
        case Bullets(lines):
            yield from (f"- {escaped(line)}" for line in lines)
        case Table(grid):
            if grid.title:
                yield from (f"### {escaped(grid.title)}", "")
            yield from _table(grid)
        case Code(title, text):
            yield from (escaped(title), "", fenced(text))


def _table(grid: Grid) -> Iterator[str]:
    yield f"| {escaped(grid.corner)} | {' | '.join(escaped(column.name) for column in grid.columns)} |"
    yield f"|---|{''.join('---|' if column.prose else '---:|' for column in grid.columns)}"
    for row in grid.groups[0].rows:
        cells = (f"**{escaped(cell.text)}**" if cell.state == "failed" else escaped(cell.text) for cell in row.cells)
        yield f"| {escaped(row.heading)} | {' | '.join(cells)} |"
