"""The report as Markdown, for issues, wikis and pull requests."""

from collections.abc import Iterator, Sequence
from typing import TextIO

from isthmus.analysis.conclusions import Conclusions, conclude
from isthmus.analysis.facts import facts
from isthmus.analysis.labels import run_title
from isthmus.analysis.sections import sections
from isthmus.analysis.skips import skip_groups, skip_line
from isthmus.analysis.summary import Summary, summarise
from isthmus.document.finding import Finding
from isthmus.document.grid import Cell, Column, Grid, Group
from isthmus.document.section import Section
from isthmus.language import say, sentences
from isthmus.record import Run
from isthmus.report.markdown_text import escaped


def write(runs: Sequence[Run], out: TextIO) -> None:
    """Write verdict, findings, tables, skipped cases and the machines of the runs to `out`."""
    out.writelines(f"{line}\n" for line in _lines(runs))


def _lines(runs: Sequence[Run]) -> Iterator[str]:
    yield f"# {say('page.heading')}"
    concluded = [conclude(run) for run in runs]
    titles = [escaped(run_title(runs, index)) for index in range(len(runs))]
    for title, found in zip(titles, concluded, strict=True):
        yield from _summary(summarise(found), title)
    for section in sections(runs):
        yield from _section(section, concluded, titles)
    for title, run in zip(titles, runs, strict=True):
        if groups := skip_groups(run):
            yield from ("", f"## {say('labels.of_run', title=say('page.skipped'), run=title)}", "")
        for group in groups:
            yield f"- {escaped(skip_line(group))}"
    for title, run, found in zip(titles, runs, concluded, strict=True):
        yield from ("", f"## {say('labels.of_run', title=say('page.machine'), run=title)}", "")
        yield from map(_finding, found.whole.findings)
        yield from ("", "| | |", "|---|---|")
        for fact in facts(run):
            yield f"| {escaped(fact.name)} | {escaped(fact.value)} |"


def _summary(summary: Summary, title: str) -> Iterator[str]:
    yield from ("", f"## {title}")
    for text, told in ((say("page.incomplete"), not summary.complete), (say("page.unreliable"), not summary.reliable)):
        if told:
            yield from ("", f"**{text}**")
    if summary.nothing:
        yield from ("", escaped(summary.nothing))
    for heading, entries in (
        (say("page.does"), summary.does),
        (say("page.advice"), summary.advice),
        (say("page.wrong"), (*summary.troubles, *summary.more)),
    ):
        if entries:
            yield from ("", f"### {heading}", "")
        for entry in entries:
            severity = f"**{say(f'page.severity_{entry.severity}')}**: " if entry.topic else ""
            yield f"- {severity}{escaped(entry.text)}"


def _section(section: Section, concluded: Sequence[Conclusions], titles: Sequence[str]) -> Iterator[str]:
    yield from ("", f"## {escaped(section.title)}")
    if section.question:
        yield from ("", f"*{escaped(section.question)}*")
    for title, found in zip(titles, concluded, strict=True):
        if answer := found.of(section.name).takeaway:
            text = escaped(sentences([answer.does, answer.advice]))
            yield from ("", text if len(titles) == 1 else say("labels.of_run", title=f"**{title}**", run=text))
    if section.has_grids:
        yield from ("", escaped(section.intro), "", escaped(say("page.marks")))
    for part in (part for part in section.parts if not part.page_only):
        for grid in part.grids:
            yield from _table(grid, "###")
        if part.grids and part.note:
            yield from ("", escaped(part.note))
    for title, found in zip(titles, concluded, strict=True):
        if known := found.of(section.name).findings:
            what = say("page.findings")
            yield from ("", f"### {what if len(titles) == 1 else say('labels.of_run', title=what, run=title)}", "")
            yield from map(_finding, known)
    if section.caveats:
        yield from ("", f"### {say('page.caveats')}", "", *(f"- {escaped(caveat)}" for caveat in section.caveats))


def _finding(finding: Finding) -> str:
    parts = [f"**{say(f'page.severity_{finding.severity}')}**: {escaped(finding.sentence)}"]
    parts += [f"*{say('page.why')}:* {escaped(finding.cause)}"] if finding.cause else []
    parts += [f"*{say('page.do')}:* {escaped(finding.fix)}"] if finding.fix else []
    return f"- {' '.join(parts)}"


def _table(grid: Grid, level: str) -> Iterator[str]:
    first, *others = grid.groups
    title = ": ".join(escaped(words) for words in (grid.title, first.title) if words)
    yield from ("", f"{level} {title}", "", *_rows(grid, first))
    for group in others:
        yield from ("", f"{level}# {escaped(group.title)}", "", *_rows(grid, group))


def _rows(grid: Grid, group: Group) -> Iterator[str]:
    corner = f"{escaped(grid.corner)} " if grid.corner else ""
    yield f"| {corner}| {' | '.join(_head(column) for column in grid.columns)} |"
    yield f"|---:|{''.join('---|' if column.prose else '---:|' for column in grid.columns)}"
    for row in group.rows:
        yield f"| {escaped(row.heading)} | {' | '.join(_figure(cell) for cell in row.cells)} |"


def _head(column: Column) -> str:
    return escaped(f"{column.name} {column.run}".strip())


def _figure(cell: Cell) -> str:
    text = escaped(cell.text)
    if cell.half_width:
        text += f" {'~' if cell.state == 'wide' else '±'}{cell.half_width}"
    text += f" {cell.unit}" if cell.unit else ""
    return f"**{text}**" if cell.state == "failed" else text
