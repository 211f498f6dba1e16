"""A document as Markdown, for issues, wikis, pull requests and the summaries of build servers."""

import re
from collections.abc import Iterator
from typing import TextIO

from isthmus.document.document import (
    Answer,
    Block,
    Bullets,
    Code,
    Document,
    Findings,
    Heading,
    Item,
    Labelled,
    Machine,
    Machines,
    Prose,
    Strip,
    Table,
)
from isthmus.document.finding import Finding, level_word
from isthmus.document.grid import Cell, Grid
from isthmus.language import say
from isthmus.messages import plain, printable


def write(document: Document, out: TextIO) -> None:
    """Write what the document says and its tables; pictures have their figures in the tables."""
    title = "; ".join(document.title.splitlines())
    out.write(f"# {_escaped(title)}\n")
    for block in document.shown_to("text"):
        # What belongs together is one paragraph, list or table in Markdown, with an empty line before each.
        out.writelines(f"{line}\n" for line in _lines(block))


def _lines(block: Block) -> Iterator[str]:
    match block:
        case Heading(text, level):
            yield from ("", f"{'#' * level} {_escaped(text)}")
        case Prose(text, tone, quoted):
            mark = {"warning": "**", "question": "*"}.get(tone, "")
            yield from ("", f"{mark}{_escaped(f'{text} {quoted}')}{mark}")
        case Strip(text, origin):
            yield from ("", _escaped(text))
            yield from ("", _escaped(origin)) if origin else ()
        case Labelled(label, lines):
            yield from ("", f"**{_escaped(label)}** {' '.join(map(_escaped, lines))}")
        case Bullets(items):
            yield from ("", *map(_item, items))
        case Answer(sentences, title, lists):
            yield from ("", f"## {_escaped(title)}") if title else ()
            for sentence in sentences:
                yield from ("", f"**{_escaped(sentence)}**")
            for each in lists:
                yield from ("", f"### {_escaped(each.title)}", "", *map(_item, each.items))
        case Findings(found):
            yield from ("", *map(_finding, found))
        case Table(grids):
            yield from (line for grid in grids for line in _table(grid))
        case Code(title, text):
            # Code as it is, between fences that it does not contain.
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
            yield from ("", _escaped(title), "", f"{fence}\n{plain(text).rstrip()}\n{fence}")
        case Machines(machines):
            yield from (line for machine in machines for line in _machine(machine))


def _item(item: Item) -> str:
    return f"- {_escaped(item.words)}"


def _finding(finding: Finding) -> str:
    parts = [f"**{level_word(finding.level)}**: {_escaped(finding.text)}"]
    parts += [f"*{say('page.why')}:* {_escaped(finding.cause)}"] if finding.cause else []
    parts += [f"*{say('page.do')}:* {_escaped(finding.cure)}"] if finding.cure else []
    return f"- {' '.join(parts)}"


def _machine(machine: Machine) -> Iterator[str]:
    yield from ("", f"### {_escaped(machine.title)}") if machine.title else ()
    yield from ("", *map(_finding, machine.findings)) if machine.findings else ()
    yield from ("", "| | |", "|---|---|")
    for fact in machine.facts:
        commands = "".join(f" `{printable(command)}`" for command in fact.commands)
        yield f"| {_escaped(fact.name)} | {_escaped(fact.value)}{commands} |"


def _table(grid: Grid) -> Iterator[str]:
    side = "---" if grid.corner else "---:"
    title = grid.title
    for group in grid.groups:
        level, words = ("###", [title, group.title]) if group is grid.groups[0] else ("####", [group.title])
        if any(words):
            yield from ("", f"{level} {': '.join(_escaped(each) for each in words if each)}")
        heads = (_escaped(f"{column.name} {column.run}") for column in grid.columns)
        corner = f"{_escaped(grid.corner)} " if grid.corner else ""
        yield from ("", f"| {corner}| {' | '.join(heads)} |")
        yield f"|{side}|{''.join('---|' if column.prose else '---:|' for column in grid.columns)}"
        for row in group.rows:
            yield f"| {_escaped(row.heading)} | {' | '.join(map(_figure, row.cells))} |"


def _figure(cell: Cell) -> str:
    text = _escaped(cell.text)
    if cell.half_width:
        text += f" {cell.sign}{cell.half_width}"
    text += f" {cell.unit}" if cell.unit else ""
    return f"**{text}**" if cell.state == "failed" else text


def _escaped(words: str) -> str:
    """The words with everything escaped that Markdown or the HTML inside it would take for markup."""
    for mark in "\\`*_[]<>|#":
        words = words.replace(mark, f"\\{mark}")
    # What is shown in a terminal, too, may not command it.
    return " ".join(printable(words).split())
