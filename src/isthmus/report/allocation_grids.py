"""The tables of allocation by size: times of each phase, and how they compare with malloc and with pages in use."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from isthmus.model import (
    EXISTING,
    NEW_WAYS,
    AllocationCosts,
    CostPoint,
    CostRatio,
    Phase,
    PinnedChoice,
    cost_ratio,
    pinned_choices,
    pinned_crossovers,
    size_words,
)
from isthmus.record import Case, Run, format_bytes, format_seconds
from isthmus.report.grid import Cell, Column, Grid, Group, Row, interval_cell, time_cell
from isthmus.report.labels import kind_heading, kind_label, kind_rank

__all__ = [
    "NOT_MEASURED",
    "Measured",
    "beside_grid",
    "cheapest_pinned_grid",
    "crossover_grid",
    "phase_grid",
    "ratio_grids",
    "time_detail",
]

_BESIDE_PHASES: tuple[Phase, ...] = ("allocate", "free")
NOT_MEASURED = Cell("-", state="missing", detail="not measured")


@dataclass(frozen=True)
class Measured:
    """A run that measured allocation; `label` is the letter for it where there are several, and `title` its name."""

    run: Run
    costs: AllocationCosts
    label: str
    title: str

    def titled(self, words: str) -> str:
        """The title of a table of this run alone."""
        return f"{words}: {self.title}" if self.label else words


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
        for when, beside in (("alone", False), ("beside", True))
    ]
    groups = []
    for phase in _BESIDE_PHASES:
        curves = [each.costs.find(kind, phase, beside=beside) for kind, _, beside, each in sources]
        sizes = sorted({size for curve in curves if curve and curve.beside for size in curve.sizes})
        rows = [
            Row(format_bytes(size), tuple(_time(curve.at(size) if curve else None, None) for curve in curves))
            for size in sizes
        ]
        groups.append(Group(phase, tuple(rows)))
    columns = tuple(
        Column(f"{kind_heading(kind)}\n{when}", f"{kind_label(kind)}, {when}", each.label)
        for kind, when, _, each in sources
    )
    found = tuple(group for group in groups if group.rows)
    return Grid("Small blocks, alone and beside another of their kind", columns, found) if found else None


def time_detail(point: CostPoint) -> str:
    """What a time is made of, for those who point at it."""
    low, high = format_seconds(point.seconds.low), format_seconds(point.seconds.high)
    return f"95 % interval {low} to {high}, {len(point.samples)} samples"


def ratio_grids(measured: Sequence[Measured]) -> list[Grid]:
    """How many times as much as malloc each kind takes to allocate, and as fresh pages that are touched as a whole."""
    made = [
        _ratio_grid(
            "Allocating, as a multiple of malloc",
            measured,
            lambda costs, kind: cost_ratio(costs.phase(kind, "allocate"), costs.phase("malloc", "allocate")),
        ),
        _ratio_grid(
            "From allocation to release, as a multiple of fresh pageable memory that is touched",
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
        cells = [time_cell(choice.costs[way]) if way in choice.costs else NOT_MEASURED for way in ways]
        rows.append(Row(format_bytes(choice.bytes), (*cells, Cell(_cheapest(choice)))))
    columns = [_column(way, "") for way in ways]
    columns.append(Column("cheapest\nfor new memory", "cheapest for new memory", prose=True))
    title = measured.titled("Page-locked memory from allocation to release")
    return Grid(title, tuple(columns), (Group("", tuple(rows)),))


def _cheapest(choice: PinnedChoice) -> str:
    names = [kind_label(way) for way in choice.cheapest]
    return names[0] if len(names) == 1 else f"cannot tell: {' or '.join(names)}"


def crossover_grid(measured: Measured) -> Grid | None:
    """From which size one way to page-locked memory costs less than another; None where no two were measured."""
    rows = [
        Row(
            f"{kind_label(each.challenger)} instead of {kind_label(each.incumbent)}",
            (Cell(size_words(each.threshold), state="ok" if each.threshold.certain else "wide"),),
        )
        for each in pinned_crossovers(measured.costs)
    ]
    columns = (Column("costs less", "costs less", prose=True),)
    title = measured.titled("Where one way costs less than another")
    return Grid(title, columns, (Group("", tuple(rows)),), corner="Way") if rows else None


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
            tuple(interval_cell(ratio.at(size)) if size in ratio.sizes else NOT_MEASURED for _, ratio, _ in sources),
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


def _time(point: CostPoint | None, skipped: str | None) -> Cell:
    if point and point.seconds.relative_half_width >= _LOST:
        return Cell(f"<{format_seconds(point.seconds.high)}", state="wide", detail=time_detail(point))
    if point:
        return time_cell(point.seconds, wide=not point.converged, detail=time_detail(point))
    return NOT_MEASURED if skipped is None else Cell("skipped", state="skipped", detail=skipped)


def _column(kind: str, label: str) -> Column:
    return Column(kind_heading(kind), kind_label(kind), label)
