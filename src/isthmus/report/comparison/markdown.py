"""A comparison as Markdown, for pull requests and the summaries of build servers."""

from collections.abc import Iterator
from typing import TextIO

from isthmus.document.grid import Grid
from isthmus.language import say
from isthmus.report.comparison.document import Document
from isthmus.report.markdown_text import escaped


def write(shown: Document, out: TextIO) -> None:
    """Write the document to `out`; what is `page_only` the page and JSON have."""
    out.writelines(f"{line}\n" for line in _lines(shown))


def _lines(shown: Document) -> Iterator[str]:
    yield f"# {shown.title}"
    for sentence in shown.verdict:
        yield from ("", f"**{escaped(sentence)}**")
    yield from ("", *(f"- {escaped(line)}" for line in shown.runs))
    for title, lines in shown.lists:
        yield from ("", f"## {title}", "", *(f"- {escaped(line)}" for line in lines))
    for grid, note in shown.tables:
        yield from (*_table(grid), "", escaped(note))
    yield from ("", f"## {say('compare.method_title')}", "", escaped(shown.method))


def _table(grid: Grid) -> Iterator[str]:
    yield from ("", f"## {grid.title}", "")
    yield f"| {grid.corner} | {' | '.join(column.name for column in grid.columns)} |"
    yield f"|---|{'---:|' * len(grid.columns)}"
    for row in grid.groups[0].rows:
        cells = (f"**{cell.text}**" if cell.state == "failed" else cell.text for cell in row.cells)
        yield f"| {escaped(row.heading)} | {' | '.join(cells)} |"
