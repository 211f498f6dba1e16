"""The tables that set derived thresholds, and those of a machine of 2008, beside the measured ones."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from isthmus.model import (
    BREAKEVEN_USES,
    PLAIN_CASES,
    SEED_ANSWERS,
    AgreementShare,
    ThresholdComparison,
    about_bytes,
    case_words,
    memory_name,
    seed_threshold,
    seed_words,
    share_of,
    size_words,
)
from isthmus.record import format_seconds
from isthmus.report.breakeven_cells import size_cell, uses_heading
from isthmus.report.breakeven_grids import Labelled
from isthmus.report.grid import Cell, Column, Grid, Group, Row
from isthmus.report.labels import kind_label

__all__ = ["agreement_grid", "differing_grid", "pairs_grids", "seed_grid"]

_OUTCOMES = {
    "agrees": "the same",
    "near": "the same by their intervals",
    "differs": "another answer",
    "undecided": "one of the two cannot tell",
}


def agreement_grid(found: Sequence[Labelled]) -> Grid | None:
    """How many pairs of ways agree by their medians out of those that can be compared, by case and number of uses."""
    if not any(share_of(analysis.comparisons).comparable for _, analysis in found):
        return None
    cases = list(dict.fromkeys(case for _, analysis in found for case in analysis.measured.cases()))
    rows = [Row(case_words(case), _shares(found, [case])) for case in cases]
    rows.append(Row("in all", _shares(found, cases)))
    columns = tuple(
        Column(heading.replace(" ", "\n"), heading, label)
        for heading in [*map(uses_heading, BREAKEVEN_USES), "in all"]
        for label, _ in found
    )
    title = "Derived thresholds that are the measured ones, of the pairs that can be compared"
    return Grid(title, columns, (Group("", tuple(rows)),), "Case")


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
        return Cell("-", state="missing", detail="nothing to compare")
    detail = f"{share.near} more by their intervals"
    return Cell(f"{share.agreeing} of {share.comparable}", detail=detail)


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
                each = [
                    by_contest.get(contest)
                    for contest in analysis.measured.contests()
                    if contest[0] == case and contest[2:] == (incumbent, challenger)
                ]
                groups.setdefault(incumbent, []).append(Row(kind_label(challenger), tuple(_both_cells(each))))
            columns = tuple(
                Column(name, name, label)
                for uses in BREAKEVEN_USES
                for name in (uses_heading(uses), f"{uses_heading(uses)}, derived")
            )
            titled = tuple(Group(f"against {memory_name(way)}", tuple(rows)) for way, rows in groups.items())
            title = f"Wins from this size on, {case_words(case)}"
            grids.append(Grid(f"{title}{f' {label}' if label else ''}", columns, titled, "Way"))
    return tuple(grids)


def _both_cells(comparisons: Iterable[ThresholdComparison | None]) -> Iterable[Cell]:
    for each in comparisons:
        if each is None:
            yield from (size_cell(None), size_cell(None))
            continue
        yield size_cell(each.measured)
        if each.derived is None:
            yield Cell("-", state="missing", detail=f"not derived: {each.missing}")
            continue
        cell = size_cell(each.derived)
        words = f"{_OUTCOMES[each.outcome]}: {cell.detail}"
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
                    f"{kind_label(each.contest.challenger)} over {kind_label(each.contest.incumbent)}",
                    (
                        Cell(uses_heading(each.contest.uses)),
                        size_cell(each.measured),
                        size_cell(each.derived),
                        Cell("-" if math.isnan(each.gap) else f"{100 * each.gap:.0f} %"),
                        Cell(_why(each)),
                    ),
                )
                for each in analysis.comparisons
                if each.contest.case == case and each.outcome == "differs"
            )
            groups += [Group(" ".join(filter(None, (label, case_words(case)))), rows)] if rows else []
    columns = (
        Column("uses", "Uses"),
        Column("measured", "Measured"),
        Column("derived", "Derived"),
        Column("gap", "Ways differ between by"),
        Column("why", "In the program, against its parts alone", prose=True),
    )
    return Grid("Derived thresholds that are not the measured ones", columns, tuple(groups), "Pair") if groups else None


def _why(comparison: ThresholdComparison) -> str:
    blame = comparison.blame
    if blame is None:
        return "not known: its parts were not measured at these sizes"
    what = "a use of" if blame.part == "use" else "getting and giving back"
    more = "longer" if blame.seconds > 0 else "less"
    return f"{what} {memory_name(blame.way)}: {format_seconds(abs(blame.seconds))} {more} at {about_bytes(blame.bytes)}"


def seed_grid(found: Sequence[Labelled]) -> Grid | None:
    """The answers of a GTX 280 on PCIe 2.0 in 2008 beside those of these runs: pinned against pageable, one use."""
    rows = []
    for case in PLAIN_CASES:
        for answer in (answer for answer in SEED_ANSWERS if answer.case == case):
            ours = [seed_threshold(analysis, case) for _, analysis in found]
            if any(ours):
                cells = [Cell(size_words(each) if each else "not measured") for each in ours]
                rows.append(Row(case_words(case), (Cell(f"{seed_words(answer)} ({answer.figure})"), *cells)))
    columns = [Column("2008", "2008", prose=True)]
    columns += [Column("here", "Here", label, prose=True) for label, _ in found]
    title = "Pinned memory beats pageable memory, one use"
    return Grid(title, tuple(columns), (Group("", tuple(rows)),), "Case") if rows else None
