"""The tables of a comparison: experiments as a whole, groups, the largest differences, and every case."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

from isthmus.compare import CaseResult, Comparison, GroupResult, Verdict, WholeResult
from isthmus.document.document import Block, Heading, Prose, Table
from isthmus.document.grid import Cell, Grid, text_grid
from isthmus.language import say
from isthmus.record import format_seconds
from isthmus.report.comparison.words import case_name, detectable_text, group_name, ratio_cell, size_name, verdict_name

# Rows of groups and of cases, where one reads from top to bottom.
_MOST_ROWS = 12
# A page of more cases would be slow to open; those that are the same are left out first.
_MOST_CASES = 3000
_STATES: dict[Verdict, Literal["ok", "wide", "failed"]] = {
    "slower": "failed",
    "faster": "ok",
    "same": "ok",
    "cannot_tell": "wide",
}


def headed(grid: Grid) -> Iterator[Block]:
    """A table under a heading of its own."""
    yield Heading(grid.title)
    yield Table((replace(grid, title=""),))


def folded(grid: Grid) -> Block:
    """A table for a page alone, folded away: it is too long to read through."""
    words = f"{grid.title} ({len(grid.groups[0].rows)})"
    return Table((replace(grid, title=""),), words, where="page")


def short_tables(comparison: Comparison) -> Iterator[Block]:
    """Experiments as a whole, then the groups and the cases that are slower or faster and differ most."""
    if comparison.judgement.wholes:
        yield from headed(_wholes(comparison))
    groups = [group for group in comparison.judgement.groups if group.verdict in ("slower", "faster")]
    if groups:
        groups.sort(key=_group_order)
        yield from headed(_groups(groups[:_MOST_ROWS]))
        yield from more(len(groups) - _MOST_ROWS)
    cases = [case for case in comparison.judgement.cases if case.verdict in ("slower", "faster")]
    if cases:
        cases.sort(key=lambda case: -case.least_change)
        yield from headed(_cases("compare.largest", cases[:_MOST_ROWS]))
        yield from more(len(cases) - _MOST_ROWS)


def full_tables(comparison: Comparison) -> Iterator[Block]:
    """Every group by how much it differs, and every case in the order of the base run.

    Where there are more than _MOST_CASES those that are the same are left out, which the title then says.
    """
    cases = comparison.judgement.cases
    if not cases:
        return
    yield folded(_groups(sorted(comparison.judgement.groups, key=_group_order)))
    if len(cases) <= _MOST_CASES:
        yield folded(_cases("compare.all", cases))
    else:
        yield folded(_cases("compare.largest", [case for case in cases if case.verdict != "same"]))


def more(hidden: int) -> Iterator[Block]:
    """That a table has more rows elsewhere."""
    if hidden > 0:
        yield Prose(say("compare.more", count=hidden), "small")


def _wholes(comparison: Comparison) -> Grid:
    comma = say("common.comma")
    rows: list[tuple[str, list[str], WholeResult]] = [
        (comma.join([whole.experiment, size_name(whole.size)]), [], whole) for whole in comparison.judgement.wholes
    ]
    return _grid("compare.wholes", [], rows)


def _group_order(group: GroupResult) -> tuple[int, float]:
    rank = ("slower", "faster", "cannot_tell", "same").index(group.verdict)
    return rank, -abs(math.log(group.ratio.median))


def _groups(chosen: Sequence[GroupResult]) -> Grid:
    rows = [(group_name(group.key), [str(group.cases)], group) for group in chosen]
    return _grid("compare.groups", ["cases"], rows)


def _cases(title: str, chosen: Sequence[CaseResult]) -> Grid:
    rows = [
        (
            case_name(case.pair.base),
            [format_seconds(each.median) for each in (case.base_seconds, case.new_seconds)],
            case,
        )
        for case in chosen
    ]
    return _grid(title, ["base", "new"], rows)


def _grid(
    title: str, first: list[str], rows: Sequence[tuple[str, list[str], CaseResult | GroupResult | WholeResult]]
) -> Grid:
    """Names and first columns as given; ratio, what would have shown and verdict, which every table has."""
    names = ("case", *first, "ratio", "detectable", "verdict")
    head, *headings = (say(f"compare.column_{name}") for name in names)
    shown = ((name, [*cells, *_judged(result)]) for name, cells, result in rows)
    return text_grid(say(title), head, headings, shown)


def _judged(result: CaseResult | GroupResult | WholeResult) -> Iterator[str | Cell]:
    yield ratio_cell(result.ratio)
    yield detectable_text(result.detectable)
    yield Cell(verdict_name(result.verdict), state=_STATES[result.verdict])
