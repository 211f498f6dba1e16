"""The tables that set derived thresholds beside the measured ones."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from isthmus.analysis.breakeven.cells import size_cell
from isthmus.analysis.breakeven.comparison import AgreementShare, ThresholdComparison, share_of
from isthmus.analysis.breakeven.derived import missing_words
from isthmus.analysis.breakeven.grids import Labelled
from isthmus.analysis.breakeven.measured import BREAKEVEN_USES
from isthmus.analysis.breakeven.thresholds import Contest
from isthmus.analysis.breakeven.words import case_words, uses_count
from isthmus.analysis.labels import kind_label
from isthmus.analysis.phrases import about_bytes, memory_name
from isthmus.document.grid import Cell, Column, Grid, Group, Row
from isthmus.language import clauses, say
from isthmus.record import format_seconds


def agreement_grid(found: Sequence[Labelled]) -> Grid | None:
    """How many pairs of ways agree by their medians out of those that can be compared, by case and number of uses."""
    if not any(share_of(analysis.comparisons).comparable for _, analysis in found):
        return None
    cases = list(dict.fromkeys(case for _, analysis in found for case in analysis.measured.cases()))
    rows = [Row(case_words(case), _shares(found, [case])) for case in cases]
    in_all = say("breakeven_report.in_all")
    rows.append(Row(in_all, _shares(found, cases)))
    columns = tuple(
        Column(heading.replace(" ", "\n"), heading, label)
        for heading in [*map(uses_count, BREAKEVEN_USES), in_all]
        for label, _ in found
    )
    title = say("breakeven_report.agreement_grid")
    return Grid(title, columns, (Group("", tuple(rows)),), say("breakeven_report.case"))


def _shares(found: Sequence[Labelled], cases: Sequence[str]) -> tuple[Cell, ...]:
    return tuple(
        _share_cell(
            share_of(
                [each for each in analysis.comparisons if each.contest.case in cases and each.contest.uses in counts]
            )
        )
        for counts in [*((uses,) for uses in BREAKEVEN_USES), BREAKEVEN_USES]
        for _, analysis in found
    )


def _share_cell(share: AgreementShare) -> Cell:
    if not share.comparable:
        return Cell("-", state="missing", detail=say("breakeven_report.nothing_to_compare"))
    text = say("breakeven_report.share", agreeing=share.agreeing, comparable=share.comparable)
    return Cell(text, detail=say("breakeven_report.more_by_intervals", number=share.near))


def pairs_grids(found: Sequence[Labelled]) -> tuple[Grid, ...]:
    """Every pair of ways in every case, measured and derived beside each other."""
    grids = []
    for label, analysis in found:
        by_contest = {each.contest: each for each in analysis.comparisons}
        for case in analysis.measured.cases():
            pairs = dict.fromkeys(
                (contest.incumbent, contest.challenger) for contest in by_contest if contest.case == case
            )
            groups: dict[str, list[Row]] = {}
            for incumbent, challenger in pairs:
                each = [by_contest.get(Contest(case, uses, incumbent, challenger)) for uses in BREAKEVEN_USES]
                groups.setdefault(incumbent, []).append(Row(kind_label(challenger), tuple(_both_cells(each))))
            columns = tuple(
                Column(name, name, label)
                for uses in BREAKEVEN_USES
                for name in (uses_count(uses), say("breakeven_report.derived_column", uses=uses_count(uses)))
            )
            titled = tuple(
                Group(say("breakeven_report.against", memory=memory_name(way)), tuple(rows))
                for way, rows in groups.items()
            )
            title = say("breakeven_report.wins_from_size", case=case_words(case))
            title = say("labels.of_run", title=title, run=label) if label else title
            grids.append(Grid(title, columns, titled, say("breakeven_report.way")))
    return tuple(grids)


def _both_cells(comparisons: Iterable[ThresholdComparison | None]) -> Iterable[Cell]:
    for each in comparisons:
        if each is None:
            yield from (size_cell(None), size_cell(None))
            continue
        yield size_cell(each.measured)
        if each.derived is None:
            reasons = clauses(map(missing_words, each.missing))
            yield Cell("-", state="missing", detail=say("breakeven_report.not_derived", reasons=reasons))
            continue
        cell = size_cell(each.derived)
        words = say(f"breakeven_report.outcome_{each.outcome}", derived=cell.detail)
        # Its interval would make the table wider than a page, and is in its words.
        state = "failed" if each.outcome == "differs" else cell.state
        yield replace(cell, half_width="", state=state, detail=words)


def differing_grid(found: Sequence[Labelled]) -> Grid | None:
    """The pairs whose derived answer is another, and the cost that explains it."""
    groups = []
    for label, analysis in found:
        for case in analysis.measured.cases():
            rows = tuple(
                Row(
                    say(
                        "breakeven_report.pair",
                        challenger=kind_label(each.contest.challenger),
                        incumbent=kind_label(each.contest.incumbent),
                    ),
                    (
                        Cell(uses_count(each.contest.uses)),
                        size_cell(each.measured),
                        size_cell(each.derived),
                        Cell("-" if math.isnan(each.gap) else f"{100 * each.gap:.0f} %"),
                        Cell(_why(each)),
                    ),
                )
                for each in analysis.comparisons
                if each.contest.case == case and each.outcome == "differs"
            )
            title = say("breakeven_report.case_of_run", case=case_words(case), run=label) if label else case_words(case)
            groups += [Group(title, rows)] if rows else []
    columns = (*map(_column, ("uses", "measured", "derived", "gap")), _column("why", prose=True))
    title = say("breakeven_report.differing_grid")
    return Grid(title, columns, tuple(groups), say("breakeven_report.pair_corner")) if groups else None


def _column(name: str, *, prose: bool = False) -> Column:
    return Column(say(f"breakeven_report.heading_{name}"), say(f"breakeven_report.column_{name}"), prose=prose)


def _why(comparison: ThresholdComparison) -> str:
    blame = comparison.blame
    if blame is None:
        return say("breakeven_report.why_unknown")
    return say(
        f"breakeven_report.why_{blame.part}_{'longer' if blame.seconds > 0 else 'less'}",
        memory=memory_name(blame.way),
        time=format_seconds(abs(blame.seconds)),
        size=about_bytes(blame.bytes),
    )
