"""The first screen after a measurement: machine, verdict, the figures that answer, what to do, and what was skipped."""

from collections.abc import Iterator
from dataclasses import replace

from isthmus.analysis.conclusions import Conclusions, conclude
from isthmus.analysis.machine import machine_strip, origin_line
from isthmus.analysis.sections import glances
from isthmus.analysis.skips import skip_counts
from isthmus.analysis.summary import Entry, things_to_do
from isthmus.compare import judge, reference_for
from isthmus.document.document import Block, Document, Labelled, Prose, Strip, Table
from isthmus.document.finding import TROUBLES, gravest_first, level_word
from isthmus.document.grid import UNKNOWN, Grid, cells_of, part_of
from isthmus.language import say, sentences
from isthmus.record import Run

_MOST_TO_DO = 4


def screen_document(run: Run) -> Document:
    """Forty lines of a terminal for one experiment, and twelve for each further one."""
    conclusions = conclude(run)
    return Document("runs", "", tuple(_blocks(run, conclusions)), subject=[run])


def _blocks(run: Run, conclusions: Conclusions) -> Iterator[Block]:
    yield from verdict_blocks(run, conclusions)
    shown = glances(run)
    for name, glance in shown:
        first, *others = map(_without_empty_columns, glance.grids)
        if len(shown) > 1:
            first = replace(first, title=" · ".join(filter(None, (say(f"{name}_report.title"), first.title))))
            # The first experiment has the room of a screen, each further one twelve lines.
            others = others if name == shown[0][0] else []
        yield Table((first, *others), narrow=True)
    cells = [cell for _, glance in shown for grid in glance.grids for cell in cells_of(grid)]
    if any(cell.state == "wide" for cell in cells):
        yield Prose(say("screen.wide", percent=100 * run.settings.target_relative_half_width), "small")
    if any(cell.text.endswith(UNKNOWN) and cell.text != UNKNOWN for cell in cells):
        yield Prose(say("screen.unknown"), "small")
    # What experiments say that were measured for a sentence alone.
    takeaways = [conclusions.of(name).takeaway for name in run.brief] if conclusions.reliable else []
    if answer := sentences(takeaway.text for takeaway in takeaways if takeaway):
        yield from (Prose(""), Prose(answer))
    if to_do := things_to_do(conclusions, _MOST_TO_DO):
        yield Prose("")
        yield Labelled(say("page.do"), tuple(_thing(each, several=len(shown) > 1) for each in to_do))
    # Where nothing was measured, what is wrong with the run says so.
    nothing = "" if shown or not any(case.series for case in run.cases) else conclusions.nothing
    for text in (nothing, _skipped(run)):
        if text:
            yield from (Prose(""), Prose(text))


def _without_empty_columns(grid: Grid) -> Grid:
    rows = [row for group in grid.groups for row in group.rows]
    kept = [at for at in range(len(grid.columns)) if any(row.cells[at].state != "missing" for row in rows)]
    return part_of(grid, kept)


def _thing(entry: Entry, *, several: bool) -> str:
    title = say(f"{entry.experiment}_report.title")
    return say("skips.with_detail", subject=title, detail=entry.text) if several else entry.text


def _skipped(run: Run) -> str:
    """What most cases were skipped for, and for how many reasons the others."""
    counts = skip_counts(run)
    if not counts:
        return ""
    (reason, most), *others = counts
    values = {"count": most, "reason": reason or say("skips.no_reason")}
    if not others:
        return say("screen.skipped", **values)
    return say("screen.skipped_more", **values, rest=sum(count for _, count in others), reasons=len(others))


def verdict_blocks(run: Run, conclusions: Conclusions) -> Iterator[Block]:
    """Machine, host and time, then what is wrong with it or with the run, the gravest first, or that nothing is.

    What two have in common to do is with the first; a fault ends with what a vendor asks for.
    """
    yield Strip(machine_strip(run), origin_line(run))
    health = judge(run, reference_for(run.fingerprint.device))
    troubles = [finding for finding in conclusions.findings if finding.level in TROUBLES]
    noise = [finding.text for finding in conclusions.whole.findings if finding.topic == "precision"]
    # Wrong data is a conclusion about both the device and the run, in the same words.
    shown: set[str] = set()
    for each in gravest_first(dict.fromkeys([*health.points, *troubles])):
        is_fault = each.level == "FAULT"
        advice = [text for text in (each.cause * is_fault, *each.do[: None if is_fault else 1]) if text not in shown]
        shown.update(advice)
        lines = (each.text, *advice, *(noise if each.level == "none" else ()))
        yield Labelled(level_word(each.level), tuple(filter(None, lines)), each.level)
