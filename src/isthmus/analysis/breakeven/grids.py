"""The tables of the breakeven experiment: times, thresholds by size and by uses, and the fastest way."""

from collections.abc import Callable, Iterable, Sequence

from isthmus.analysis.breakeven.cells import size_cell, uses_cell
from isthmus.analysis.breakeven.comparison import BreakevenAnalysis
from isthmus.analysis.breakeven.findings import ALLOCATED_WAYS
from isthmus.analysis.breakeven.measured import BREAKEVEN_USES, BREAKEVEN_WAYS
from isthmus.analysis.breakeven.price import reference_size
from isthmus.analysis.breakeven.thresholds import Contest
from isthmus.analysis.breakeven.words import PLAIN_CASES, case_words, spans_words, uses_count
from isthmus.analysis.labels import kind_heading, kind_label
from isthmus.analysis.phrases import memory_name
from isthmus.document.grid import Cell, Column, Grid, Group, Row, interval_cell
from isthmus.language import capitalised, say
from isthmus.record import KIB, MIB, format_bytes

__all__ = ["Labelled", "fastest_grid", "pair_groups", "threshold_grids", "time_grids", "uses_grids"]

# The letter of a run, empty for a single one, and its analysis.
Labelled = tuple[str, BreakevenAnalysis]

# What a reader may have to choose between once pageable memory is out of the question.
_CHOICES = {
    ("pinned", "registered"),
    ("pinned", "touched_registered"),
    ("pinned", "mapped"),
    ("pinned", "managed_prefetch"),
    ("registered", "touched_registered"),
}
_USES_SIZES = (64 * KIB, MIB, 16 * MIB, 64 * MIB)


def time_grids(found: Sequence[Labelled], cases: Iterable[str]) -> tuple[Grid, ...]:
    """Seconds from allocation to release of one use, sizes down and ways across, a table for each case."""
    return tuple(grid for case in cases if (grid := _time_grid(found, case)))


def _time_grid(found: Sequence[Labelled], case: str) -> Grid | None:
    curves = [
        (label, way, analysis.once[case, way])
        for way in _ways(found, case)
        for label, analysis in found
        if (case, way) in analysis.once
    ]
    sizes = sorted({size for _, _, intervals in curves for size in intervals})
    groups = []
    for unit, scale, chosen in (
        ("us", 1e6, [size for size in sizes if size < MIB]),
        ("ms", 1e3, [size for size in sizes if size >= MIB]),
    ):
        rows = tuple(
            Row(
                format_bytes(size),
                tuple(
                    interval_cell(intervals[size], scale=scale) if size in intervals else Cell("-", state="missing")
                    for _, _, intervals in curves
                ),
            )
            for size in chosen
        )
        groups += [Group(unit, rows)] if rows else []
    columns = tuple(Column(kind_heading(way), kind_label(way), label) for label, way, _ in curves)
    return Grid(say("breakeven_report.one_use", case=case_words(case)), columns, tuple(groups)) if groups else None


def threshold_grids(found: Sequence[Labelled]) -> tuple[Grid, ...]:
    """The size from which ways beat pageable memory, and from which one of the alternatives beats another."""
    grids = []
    for case in PLAIN_CASES:
        groups = pair_groups(found, case, _threshold_cell, keep=lambda pair: pair[0] == "pageable" or pair in _CHOICES)
        if groups:
            columns = tuple(
                Column(uses_count(uses).replace(" ", "\n"), uses_count(uses), label)
                for uses in BREAKEVEN_USES
                for label, _ in found
            )
            title = say("breakeven_report.wins_from_size", case=case_words(case))
            grids.append(Grid(title, columns, groups, say("breakeven_report.way")))
    return tuple(grids)


def pair_groups(
    found: Sequence[Labelled],
    case: str,
    cell: Callable[[BreakevenAnalysis, Contest], Cell],
    *,
    keep: Callable[[tuple[str, str]], bool] = lambda _: True,
) -> tuple[Group, ...]:
    """Pairs of ways down, numbers of uses and runs across; a group for each way that others are to beat."""
    ways = _ways(found, case)
    groups = []
    for index, incumbent in enumerate(ways):
        rows = tuple(
            Row(
                kind_label(challenger),
                tuple(
                    cell(analysis, Contest(case, uses, incumbent, challenger))
                    for uses in BREAKEVEN_USES
                    for _, analysis in found
                ),
            )
            for challenger in ways[index + 1 :]
            if keep((incumbent, challenger))
        )
        groups += [Group(say("breakeven_report.against", memory=memory_name(incumbent)), rows)] if rows else []
    return tuple(groups)


def uses_grids(found: Sequence[Labelled]) -> tuple[Grid, ...]:
    """The number of uses from which each way beats pageable memory, at a few sizes."""
    sizes = sorted({min(size, max(reference_size(analysis) for _, analysis in found)) for size in _USES_SIZES})
    grids = []
    for case in PLAIN_CASES:
        rows = tuple(
            Row(
                kind_label(way),
                tuple(
                    uses_cell(analysis.measured.least_uses(case, size, "pageable", way))
                    for size in sizes
                    for _, analysis in found
                ),
            )
            for way in _ways(found, case)
            if way != "pageable"
        )
        columns = tuple(Column(format_bytes(size), format_bytes(size), label) for size in sizes for label, _ in found)
        if rows:
            title = say("breakeven_report.wins_from_uses", case=case_words(case))
            grids.append(Grid(title, columns, (Group("", rows),), say("breakeven_report.way")))
    return tuple(grids)


def fastest_grid(found: Sequence[Labelled]) -> Grid | None:
    """The fastest way in words, by case and number of uses: of all, and of those that get a buffer for it."""
    groups = []
    for case in PLAIN_CASES:
        rows = tuple(
            Row(
                uses_count(uses),
                tuple(
                    Cell(spans_words(spans) if (spans := analysis.measured.fastest(case, uses, among=among)) else "-")
                    for among in (BREAKEVEN_WAYS, ALLOCATED_WAYS)
                    for _, analysis in found
                ),
            )
            for uses in BREAKEVEN_USES
        )
        groups += [Group(capitalised(case_words(case)), rows)] if _ways(found, case) else []
    columns = tuple(
        Column(name, name, label, prose=True)
        for name in (say("breakeven_report.of_all"), say("breakeven_report.of_allocated"))
        for label, _ in found
    )
    return (
        Grid(say("breakeven_report.fastest_grid"), columns, tuple(groups), say("breakeven_report.uses"))
        if groups
        else None
    )


def _threshold_cell(analysis: BreakevenAnalysis, contest: Contest) -> Cell:
    return size_cell(analysis.measured.thresholds.get(contest))


def _ways(found: Sequence[Labelled], case: str) -> list[str]:
    """The ways that any of the runs measured in this case, pageable first."""
    measured = {way for _, analysis in found for way in analysis.measured.ways(case)}
    return [way for way in BREAKEVEN_WAYS if way in measured] + sorted(measured - set(BREAKEVEN_WAYS))
