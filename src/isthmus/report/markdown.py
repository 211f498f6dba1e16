"""The report as Markdown, for issues, wikis and pull requests."""

from collections.abc import Iterator, Sequence
from typing import TextIO

from isthmus.model import findings, verdict
from isthmus.record import Run
from isthmus.report.bandwidth_grid import grids
from isthmus.report.facts import facts
from isthmus.report.grid import Cell, Column, Grid, Group
from isthmus.report.labels import run_title
from isthmus.report.section import Section
from isthmus.report.sections import sections
from isthmus.report.skips import skip_groups

__all__ = ["write"]


def write(runs: Sequence[Run], out: TextIO) -> None:
    """Write verdict, findings, tables, skipped cases and the machines of the runs to `out`."""
    out.writelines(f"{line}\n" for line in _lines(runs))


def _lines(runs: Sequence[Run]) -> Iterator[str]:
    yield "# Data movement between host and device"
    for sentence in verdict(runs).split("\n"):
        yield from ("", _text(sentence))
    for index, run in enumerate(runs):
        yield from ("", f"## Findings: {_text(run_title(runs, index))}", "")
        for finding in findings(run):
            parts = [f"**{finding.severity}**: {_text(finding.sentence)}"]
            parts += [f"*Why:* {_text(finding.cause)}"] if finding.cause else []
            parts += [f"*Do:* {_text(finding.fix)}"] if finding.fix else []
            yield f"- {' '.join(parts)}"
    tables = grids(runs)
    for grid in tables:
        yield from _table(grid, "##")
    if tables:
        yield from ("", f"{_MARKS} {_BANDWIDTH_LEGEND}")
    for section in sections(runs):
        yield from _section(section)
    for index, run in enumerate(runs):
        groups = skip_groups(run)
        if groups:
            yield from ("", f"## Skipped: {_text(run_title(runs, index))}", "")
        for group in groups:
            yield f"- {_text(group.what)} ({group.cases}): {_text(group.reason)}"
    for index, run in enumerate(runs):
        yield from ("", f"## Machine: {_text(run_title(runs, index))}", "", "| | |", "|---|---|")
        for name, value in facts(run):
            yield f"| {_text(name)} | {_text(value)} |"


_MARKS = "Medians ± half of their 95 % interval; `~` instead of ±: wider than the run aimed at."
_BANDWIDTH_LEGEND = "Time is until completion, on the host's clock. GB = 1e9 bytes."


def _section(section: Section) -> Iterator[str]:
    if not section.has_grids:
        return
    yield from ("", f"## {_text(section.title)}", "", _text(section.intro), "", _MARKS)
    for part in (part for part in section.parts if not part.page_only):
        for grid in part.grids:
            yield from _table(grid, "###")
        if part.grids and part.note:
            yield from ("", _text(part.note))


def _table(grid: Grid, level: str) -> Iterator[str]:
    first, *others = grid.groups
    title = ": ".join(_text(words) for words in (grid.title, first.title) if words)
    yield from ("", f"{level} {title}", "", *_rows(grid, first))
    for group in others:
        yield from ("", f"{level}# {_text(group.title)}", "", *_rows(grid, group))


def _rows(grid: Grid, group: Group) -> Iterator[str]:
    corner = "" if grid.corner == "Size" else f"{_text(grid.corner)} "
    yield f"| {corner}| {' | '.join(_head(column) for column in grid.columns)} |"
    yield f"|---:|{''.join('---|' if column.prose else '---:|' for column in grid.columns)}"
    for row in group.rows:
        yield f"| {_text(row.heading)} | {' | '.join(_figure(cell) for cell in row.cells)} |"


def _head(column: Column) -> str:
    return _text(f"{column.name} {column.run}".strip())


def _figure(cell: Cell) -> str:
    text = _text(cell.text)
    if cell.half_width:
        text += f" {'~' if cell.state == 'wide' else '±'}{cell.half_width}"
    text += f" {cell.unit}" if cell.unit else ""
    return f"**{text}**" if cell.state == "failed" else text


def _text(words: str) -> str:
    """The words with everything escaped that Markdown or the HTML inside it would take for markup."""
    for mark in "\\`*_[]<>|#":
        words = words.replace(mark, f"\\{mark}")
    return " ".join(words.split())
