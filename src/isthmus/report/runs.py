"""The document of one or several runs: their answers, a section for each experiment, skips, machines and method."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

import msgspec

from isthmus.analysis.conclusions import Conclusions, conclude
from isthmus.analysis.labels import run_label, run_title
from isthmus.analysis.machine import facts, origin_line
from isthmus.analysis.sections import glances, sections
from isthmus.analysis.skips import skip_groups, skip_item
from isthmus.analysis.summary import Entry, summarise
from isthmus.document.document import (
    Answer,
    Block,
    Bullets,
    Charts,
    Data,
    Document,
    Findings,
    Heading,
    Item,
    Machine,
    Machines,
    Prose,
    Records,
    Table,
    Where,
)
from isthmus.document.finding import Finding
from isthmus.document.section import Part, Section
from isthmus.language import say, sentences
from isthmus.record import COLUMN_TYPES, Run, rows
from isthmus.report.screen import verdict_blocks


class _Concluded(NamedTuple):
    """A run with its names and what it shows; `anchor` is where a page has its findings."""

    run: Run
    letter: str
    title: str
    anchor: str
    conclusions: Conclusions


def runs_document(runs: Sequence[Run]) -> Document:
    """What several runs hold of an experiment is shown side by side on the same scale."""
    every = [
        _Concluded(run, run_label(runs, index), run_title(runs, index), f"finding-{index}", conclude(run))
        for index, run in enumerate(runs)
    ]
    return Document(
        "runs",
        "\n".join(each.title for each in every),
        tuple(_blocks(every, sections(runs))),
        subject=runs,
        records=Records(tuple(COLUMN_TYPES), lambda: rows(runs)),
        data=Data(lambda: _data(every), ("rows", lambda: map(_known, rows(runs)))),
    )


def _data(every: Sequence[_Concluded]) -> dict[str, Any]:
    """What is concluded of each run; a row a case and metric follows it, as in CSV but numbers are numbers."""
    return {
        "format": "isthmus.report",
        "runs": [
            {
                "run": each.run.run,
                "device": msgspec.to_builtins(each.run.fingerprint.device),
                "findings": list(map(_finding, each.conclusions.findings)),
            }
            for each in every
        ],
    }


def _finding(finding: Finding) -> dict[str, str]:
    """By the names that scripts know since the first version."""
    names = ("severity", "topic", "sentence", "cause", "fix")
    texts = (finding.level, finding.topic, finding.text, finding.cause, finding.cure)
    return dict(zip(names, texts, strict=True))


def _known(row: Mapping[str, str]) -> dict[str, Any]:
    """What is there of a row, numbers as such."""
    filled = {name: value for name, value in row.items() if value}
    return {name: value if COLUMN_TYPES[name] is str else msgspec.json.decode(value) for name, value in filled.items()}


def _blocks(every: Sequence[_Concluded], shown: Sequence[Section]) -> Iterator[Block]:
    titles = {section.name: section.title for section in shown}
    several = len(every) > 1
    for each in every:
        if several:
            yield Heading(each.title, 3, where="text")
        yield Prose(origin_line(each.run), "small", where="page")
        yield from verdict_blocks(each.run, each.conclusions)
    if not several and shown:
        first = shown[0]
        grids = dict(glances(every[0].run, first.name)).get(first.name)
        if grids:
            yield Table(grids.grids, narrow=True, where="page")
        if charted := next((part for part in first.parts if part.charts), None):
            yield Charts(charted.charts[:1], charted.legend, still=True)
    yield from (_answer(each, titles, each.title if several else "") for each in every)
    for each in every:
        if each.conclusions.findings:
            yield Heading(_of(each, say("page.findings"), several), where="terminal")
            yield Findings(tuple(each.conclusions.findings), each.anchor, where="terminal")
    for section in shown:
        yield from _section(section, every)
    for each in every:
        if groups := skip_groups(each.run):
            yield Heading(_of(each, say("page.skipped"), several), anchor=f"skipped{each.letter}")
            yield Bullets(tuple(map(skip_item, groups)))
    yield Heading(say("page.machine"), anchor="machine", where="long")
    machines = tuple(
        Machine(each.title if several else "", facts(each.run), each.conclusions.whole.findings, each.anchor)
        for each in every
    )
    yield Machines(machines, where="long")
    yield from _method(every, with_transfers="bandwidth" in titles)


def _of(each: _Concluded, title: str, several: bool) -> str:
    return say("labels.of_run", title=title, run=each.title) if several else title


def _answer(each: _Concluded, titles: Mapping[str, str], title: str) -> Answer:
    conclusions, summary = each.conclusions, summarise(each.conclusions)
    texts = (
        "" if conclusions.complete else say("page.incomplete"),
        "" if conclusions.reliable else say("page.unreliable"),
        conclusions.nothing,
    )
    lists = [
        Bullets(tuple(_entry(entry, titles) for entry in entries), heading)
        for heading, entries in ((say("page.does"), summary.does), (say("page.advice"), summary.advice))
        if entries
    ]
    return Answer(tuple(filter(None, texts)), title, tuple(lists), failed=not conclusions.reliable)


def _entry(entry: Entry, titles: Mapping[str, str]) -> Item:
    """The text, with a link to the section of its experiment."""
    title = titles.get(entry.experiment, "")
    return Item(entry.text, "", entry.experiment if title else "", title)


def _section(section: Section, every: Sequence[_Concluded]) -> Iterator[Block]:
    """The question, what each run answers, charts and tables, findings, and what they cannot say."""
    several = len(every) > 1
    # A terminal draws nothing, and has no use for a section that has nothing else.
    where: Where = "everywhere" if section.has_grids else "long"
    yield Heading(section.title, anchor=section.name, where=where)
    if section.question:
        yield Prose(section.question, "question", where=where)
    for each in every:
        if answer := each.conclusions.of(section.name).takeaway:
            yield Prose(_of_text(each, answer.text, several), "answer", where="long")
    if section.has_grids:
        yield Prose(section.intro, where=where)
        yield Prose(say("page.marks"), "small", where="text")
    else:
        yield Prose(section.intro, where="page")
    if section.has_charts:
        yield Prose(sentences([say("page.curves"), say("page.marks")]), "small", where="page")
    for part in section.parts:
        yield from _part(part, several)
    for each in every:
        if known := each.conclusions.of(section.name).findings:
            yield Heading(_of(each, say("page.findings"), several), 3, where="long")
            yield Findings(known, each.anchor, where="long")
    if section.caveats:
        yield Heading(say("page.caveats"), 3, where=where)
        yield Bullets(tuple(map(Item, section.caveats)), where=where)


def _of_text(each: _Concluded, text: str, several: bool) -> str:
    return say("labels.of_run", title=each.title, run=text) if several else text


def _part(part: Part, several: bool) -> Iterator[Block]:
    yield Heading(part.title, 3, where="page")
    if part.note:
        yield Prose(part.note, "small", where="page")
    if part.charts:
        yield Charts(part.charts, part.legend, pairs=several or len(part.charts) != 3)
    if part.grids:
        # Folded where charts show the same; those of a part for the page alone are too many for a terminal.
        folded = say("page.tables", title=part.title) if part.charts else ""
        where: Where = "page" if part.page_only else "everywhere"
        yield Table(part.grids, folded, where=where)
        if part.note and not part.page_only:
            yield Prose(part.note, "small", where="text")


def _method(every: Sequence[_Concluded], *, with_transfers: bool) -> Iterator[Block]:
    yield Heading(say("page.method"), anchor="method", where="page")
    if with_transfers:
        yield Prose(say("page.method_bandwidth"), where="page")
    yield Prose(say("page.method_every"), where="page")
    for each in every:
        aim = each.run.settings
        text = say(
            "page.aim_long" if aim.long_seconds else "page.aim",
            percent=100 * aim.target_relative_half_width,
            count=aim.minimum_samples,
            long_count=aim.minimum_long_samples,
            milliseconds=1000 * aim.long_seconds,
            mode=aim.mode,
            seed=aim.seed,
        )
        # The command as someone else would type it: without the folder of the program.
        words = aim.command
        command = shlex.join([PurePath(words[0]).name, *words[1:]]) if words else ""
        text = _of_text(each, text, len(every) > 1)
        yield Prose(f"{text} {say('page.again')}" if command else text, quoted=command, where="page")
