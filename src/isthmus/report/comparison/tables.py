"""The tables of a comparison: experiments as a whole, groups, the largest differences, and every case."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

from isthmus.compare import VERDICTS, CaseResult, Comparison, GroupResult, Verdict, WholeResult
from isthmus.document.chart import Axis, Drawn, Look, numbered_look, points_chart, row
from isthmus.document.document import Block, Heading, Prose, Table
from isthmus.document.grid import Cell, Grid, text_grid
from isthmus.document.section import Chart, LegendEntry
from isthmus.language import say
from isthmus.record import Interval, format_seconds
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
# The numbered looks whose colours and shapes are farthest apart; grey for what is the same.
_LOOKS: dict[Verdict, int] = {"slower": 1, "faster": 0, "same": 5, "cannot_tell": 3}
# Ratios beyond are drawn at the edge; pointing at them tells the figure.
_LOWEST, _HIGHEST = 0.4, 2.5


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
        comma = say("common.comma")
        rows: list[tuple[str, list[str], WholeResult]] = [
            (comma.join([whole.experiment, size_name(whole.size)]), [], whole) for whole in comparison.judgement.wholes
        ]
        yield from headed(_grid("compare.wholes", [], rows))
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


def legend(comparison: Comparison) -> tuple[LegendEntry, ...]:
    """The verdicts that occur, as they are drawn."""
    return tuple(LegendEntry(verdict_name(each), _look(each)) for each in VERDICTS if comparison.counts[each])


def ratio_charts(comparison: Comparison) -> tuple[Chart, ...]:
    """A chart for each experiment, those without sizes left out."""
    experiments = dict.fromkeys(case.pair.base.experiment for case in comparison.judgement.cases)
    charts = [_chart(comparison, experiment) for experiment in experiments]
    return tuple(chart for chart in charts if chart)


def _chart(comparison: Comparison, experiment: str) -> Chart | None:
    cases = [
        case for case in comparison.judgement.cases if case.pair.base.experiment == experiment and case.pair.base.bytes
    ]
    if not cases:
        return None
    clouds = [
        Drawn(verdict_name(verdict), _look(verdict), tuple(_dot(case) for case in cases if case.verdict == verdict))
        # What is the same first, so that what differs is drawn over it.
        for verdict in reversed(VERDICTS)
    ]
    ratios = [min(max(case.ratio.median, _LOWEST), _HIGHEST) for case in cases]
    y = Axis(say("compare.axis_ratio"), (min(0.9, *ratios), max(1.1, *ratios)), scale="linear")
    x = Axis(say("page.size"), labels="bytes")
    return Chart(
        title=experiment,
        label=say("terminal.labelled", label=experiment, text=say("compare.axis_ratio")),
        spec=points_chart([cloud for cloud in clouds if cloud.rows], x, y),
    )


def _dot(case: CaseResult) -> dict[str, object]:
    ratio, shown = min(max(case.ratio.median, _LOWEST), _HIGHEST), ratio_cell(case.ratio)
    return row(
        verdict_name(case.verdict),
        case.pair.base.bytes,
        Interval(ratio, case.ratio.low, case.ratio.high),
        **{
            say("compare.column_case"): case_name(case.pair.base),
            say("compare.column_base"): format_seconds(case.base_seconds.median),
            say("compare.column_new"): format_seconds(case.new_seconds.median),
            say("compare.column_ratio"): f"{shown.text} ±{shown.half_width}",
        },
    )


def _look(verdict: Verdict) -> Look:
    return numbered_look(_LOOKS[verdict])
