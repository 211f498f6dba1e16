"""The tables of allocation by size: times of each phase, and how they compare with malloc and with pages in use."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from isthmus.analysis.allocation.cost_ratio import CostRatio, cost_ratio
from isthmus.analysis.allocation.model import AllocationCosts, CostPoint, Phase
from isthmus.analysis.allocation.pinned_ways import EXISTING, NEW_WAYS, PinnedChoice, pinned_choices, pinned_crossovers
from isthmus.analysis.breakeven.words import size_words
from isthmus.analysis.labels import kind_heading, kind_label
from isthmus.document.grid import Cell, Column, Grid, Group, Row, interval_cell, time_cell
from isthmus.document.states import missing, skipped
from isthmus.language import enumerated, say
from isthmus.record import Case, Run, format_bytes, format_seconds, kind_rank

__all__ = [
    "Measured",
    "beside_grid",
    "cheapest_pinned_grid",
    "crossover_grid",
    "phase_grid",
    "ratio_grids",
    "time_detail",
]

_BESIDE_PHASES: tuple[Phase, ...] = ("allocate", "free")


@dataclass(frozen=True)
class Measured:
    """A run that measured allocation; `label` is the letter for it where there are several, and `title` its name."""

    run: Run
    costs: AllocationCosts
    label: str
    title: str

    def titled(self, words: str) -> str:
        """The title of a table of this run alone."""
        return say("labels.of_run", title=words, run=self.title) if self.label else words


def phase_grid(measured: Sequence[Measured], phase: Phase, title: str) -> Grid | None:
    """Times of one phase, sizes down and kinds across; None where no run measured it."""
    sources = [
        (curve, _skipped(each.run, curve.kind), each.label)
        for each in measured
        for curve in each.costs.curves
        if curve.phase == phase
    ]
    if not sources:
        return None
    sources.sort(key=lambda source: kind_rank(source[0].kind))
    sizes = sorted({size for curve, _, _ in sources for size in curve.sizes})
    rows = tuple(
        Row(format_bytes(size), tuple(_time(curve.at(size), skipped.get(size)) for curve, skipped, _ in sources))
        for size in sizes
    )
    columns = tuple(_column(curve.kind, label) for curve, _, label in sources)
    return Grid(title, columns, (Group("", rows),))


def beside_grid(measured: Sequence[Measured]) -> Grid | None:
    """Small blocks alone and while another one of their kind is held; None where no run measured that."""
    sources = [
        (kind, when, beside, each)
        for each in measured
        for kind in dict.fromkeys(curve.kind for curve in each.costs.beside)
        for when, beside in ((say("allocation_report.alone"), False), (say("allocation_report.held_beside"), True))
    ]
    groups = []
    for phase in _BESIDE_PHASES:
        curves = [each.costs.find(kind, phase, beside=beside) for kind, _, beside, each in sources]
        sizes = sorted({size for curve in curves if curve and curve.beside for size in curve.sizes})
        rows = [
            Row(format_bytes(size), tuple(_time(curve.at(size) if curve else None, None) for curve in curves))
            for size in sizes
        ]
        groups.append(Group(say(f"allocation_report.phase_{phase}"), tuple(rows)))
    columns = tuple(
        Column(f"{kind_heading(kind)}\n{when}", say("common.comma").join([kind_label(kind), when]), each.label)
        for kind, when, _, each in sources
    )
    found = tuple(group for group in groups if group.rows)
    return Grid(say("allocation_report.beside_grid"), columns, found) if found else None


def time_detail(point: CostPoint) -> str:
    """What a time is made of, for those who point at it."""
    low, high = format_seconds(point.seconds.low), format_seconds(point.seconds.high)
    return say("allocation_report.time_detail", low=low, high=high, count=len(point.samples))


def ratio_grids(measured: Sequence[Measured]) -> list[Grid]:
    """How many times as much as malloc each kind takes to allocate, and as fresh pages that are touched as a whole."""
    made = [
        _ratio_grid(
            say("allocation_report.times_malloc"),
            measured,
            lambda costs, kind: cost_ratio(costs.phase(kind, "allocate"), costs.phase("malloc", "allocate")),
        ),
        _ratio_grid(
            say("allocation_report.times_fresh"),
            measured,
            # The device's own memory stands in for none of the host's.
            lambda costs, kind: (
                None if kind.startswith("device") else cost_ratio(costs.whole(kind), costs.whole("pageable"))
            ),
        ),
    ]
    return [grid for grid in made if grid]


def cheapest_pinned_grid(measured: Measured) -> Grid | None:
    """The ways to page-locked memory and the cheapest of them by size; None where there was no choice."""
    choices = pinned_choices(measured.costs)
    ways = [way for way in (*NEW_WAYS, EXISTING) if any(way in choice.costs for choice in choices)]
    if not choices:
        return None
    rows = []
    for choice in choices:
        cells = [time_cell(choice.costs[way]) if way in choice.costs else missing() for way in ways]
        rows.append(Row(format_bytes(choice.bytes), (*cells, Cell(_cheapest(choice)))))
    columns = [_column(way, "") for way in ways]
    columns.append(Column(say("allocation_report.cheapest_heading"), say("allocation_report.cheapest_new"), prose=True))
    title = measured.titled(say("allocation_report.cheapest_grid"))
    return Grid(title, tuple(columns), (Group("", tuple(rows)),))


def _cheapest(choice: PinnedChoice) -> str:
    names = [kind_label(way) for way in choice.cheapest]
    return names[0] if len(names) == 1 else say("allocation_report.one_of", ways=enumerated(names, "or"))


def crossover_grid(measured: Measured) -> Grid | None:
    """From which size one way to page-locked memory costs less than another; None where no two were measured."""
    rows = [
        Row(
            say(
                "allocation_report.instead",
                challenger=kind_label(each.challenger),
                incumbent=kind_label(each.incumbent),
            ),
            (Cell(size_words(each.threshold), state="ok" if each.threshold.certain else "wide"),),
        )
        for each in pinned_crossovers(measured.costs)
    ]
    less = say("allocation_report.costs_less")
    title = measured.titled(say("allocation_report.crossovers"))
    corner = say("allocation_report.way")
    return Grid(title, (Column(less, less, prose=True),), (Group("", tuple(rows)),), corner) if rows else None


def _ratio_grid(
    title: str, measured: Sequence[Measured], ratio_of: Callable[[AllocationCosts, str], CostRatio | None]
) -> Grid | None:
    sources = [
        (kind, ratio, each.label)
        for each in measured
        for kind in each.costs.kinds
        if kind not in _BASES and (ratio := ratio_of(each.costs, kind))
    ]
    if not sources:
        return None
    sources.sort(key=lambda source: kind_rank(source[0]))
    sizes = sorted({size for _, ratio, _ in sources for size in ratio.sizes})
    rows = tuple(
        Row(
            format_bytes(size),
            tuple(interval_cell(ratio.at(size)) if size in ratio.sizes else missing() for _, ratio, _ in sources),
        )
        for size in sizes
    )
    return Grid(title, tuple(_column(kind, label) for kind, _, label in sources), (Group("", rows),))


# What others are compared with.
_BASES = ("malloc", "pageable")


def _skipped(run: Run, kind: str) -> dict[int, str]:
    def is_of(case: Case) -> bool:
        return (case.experiment, case.host_memory, case.method) == ("allocation", kind, "allocate")

    return {case.bytes: case.note for case in run.cases if case.skipped and is_of(case)}


# Half of an interval that is as large as the figure leaves the upper end as all that is known.
_LOST = 0.95


def _time(point: CostPoint | None, reason: str | None) -> Cell:
    if point and point.seconds.relative_half_width >= _LOST:
        return Cell(f"<{format_seconds(point.seconds.high)}", state="wide", detail=time_detail(point))
    if point:
        return time_cell(point.seconds, wide=not point.converged, detail=time_detail(point))
    return missing() if reason is None else skipped(reason)


def _column(kind: str, label: str) -> Column:
    return Column(kind_heading(kind), kind_label(kind), label)
