"""The tables of allocation: times by size, the cheapest pinned memory, small blocks, first calls."""

from collections.abc import Sequence
from dataclasses import dataclass

from isthmus.analysis.allocation.model import (
    EXISTING,
    NEW_WAYS,
    PHASES,
    AllocationCosts,
    CostPoint,
    Phase,
    pinned_choices,
)
from isthmus.analysis.labels import kind_heading, kind_label
from isthmus.document.grid import Cell, Column, Grid, Group, Row, missing, skipped, time_cell
from isthmus.language import enumerated, say
from isthmus.record import Case, Run, format_bytes, format_seconds, kind_rank

# Half of an interval that is as large as the figure leaves the upper end as all that is known.
_LOST = 0.95


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


def phase_grid(measured: Sequence[Measured], phase: Phase, *, per_byte: bool = False) -> Grid | None:
    """Times of one phase, sizes down and kinds across, or those over the size; None where no run measured it."""
    sources = [
        (curve, _skipped(each.run, curve.kind), each.label)
        for each in measured
        for curve in each.costs.curves
        if curve.phase == phase
    ]
    if not sources:
        return None
    sources.sort(key=lambda source: kind_rank(source[0].kind))
    cell = _per_byte if per_byte else _time
    sizes = sorted({size for curve, _, _ in sources for size in curve.sizes})
    rows = tuple(
        Row(format_bytes(size), tuple(cell(curve.at(size), skipped.get(size)) for curve, skipped, _ in sources))
        for size in sizes
    )
    columns = tuple(Column(kind_heading(curve.kind), kind_label(curve.kind), label) for curve, _, label in sources)
    title = say(f"allocation_report.part_{phase}")
    if per_byte:
        return Grid(say("allocation_report.per_byte", phase=title), columns, (Group("ns", rows),))
    return Grid(title, columns, (Group("", rows),))


def beside_grid(measured: Sequence[Measured]) -> Grid | None:
    """Small blocks alone and while another one of their kind is held; None where no run measured that."""
    sources = [
        (kind, when, held, each)
        for each in measured
        for kind in dict.fromkeys(curve.kind for curve in each.costs.held)
        for when, held in ((say("allocation_report.alone"), False), (say("allocation_report.held_beside"), True))
    ]
    groups = []
    for phase in PHASES:
        curves = [each.costs.find(kind, phase, held=held) for kind, _, held, each in sources]
        sizes = sorted({size for curve in curves if curve and curve.held for size in curve.sizes})
        rows = [
            Row(format_bytes(size), tuple(_time(curve.at(size) if curve else None, None) for curve in curves))
            for size in sizes
        ]
        groups.append(Group(say(f"allocation_report.part_{phase}"), tuple(rows)))
    columns = tuple(
        Column(f"{kind_heading(kind)}\n{when}", say("common.comma").join([kind_label(kind), when]), each.label)
        for kind, when, _, each in sources
    )
    filled = tuple(group for group in groups if group.rows)
    return Grid(say("allocation_report.beside_grid"), columns, filled) if filled else None


def cheapest_pinned_grid(measured: Measured) -> Grid | None:
    """The kinds of pinned memory and the cheapest of them by size; None where there was no choice."""
    choices = pinned_choices(measured.costs)
    if not choices:
        return None
    kinds = [kind for kind in (*NEW_WAYS, EXISTING) if any(kind in choice.costs for choice in choices)]
    rows = []
    for choice in choices:
        names = enumerated([kind_label(kind) for kind in choice.cheapest], "or")
        best = say("allocation_report.tied", kinds=names) if len(choice.cheapest) > 1 else names
        cells = [time_cell(choice.costs[kind]) if kind in choice.costs else missing() for kind in kinds]
        rows.append(Row(format_bytes(choice.bytes), (*cells, Cell(best))))
    columns = [Column(kind_heading(kind), kind_label(kind)) for kind in kinds]
    columns.append(Column(say("allocation_report.cheapest_new"), say("allocation_report.cheapest_new"), prose=True))
    title = measured.titled(say("allocation_report.cheapest"))
    return Grid(title, tuple(columns), (Group("", tuple(rows)),))


def first_call_grid(measured: Measured) -> Grid | None:
    """First calls of the process next to later ones of the same size; None where none was timed."""
    first = measured.costs.first
    if not first:
        return None
    phases = [phase for phase in PHASES if any(phase == each for _, each in first)]
    columns = tuple(
        Column(f"{name}\n{when}", say("common.comma").join([name, when]))
        for name in (say(f"allocation_report.part_{phase}") for phase in phases)
        for when in (say("allocation_report.first"), say("allocation_report.later"))
    )
    kinds = [kind for kind in measured.costs.kinds if any(kind == each for each, _ in first)]
    rows = tuple(
        Row(kind_label(kind), tuple(cell for phase in phases for cell in _first_cells(measured, kind, phase)))
        for kind in dict.fromkeys([*kinds, *(kind for kind, _ in first)])
    )
    sizes = say("common.comma").join(format_bytes(size) for size in sorted({size for size, _ in first.values()}))
    title = measured.titled(say("allocation_report.first_call_grid", sizes=sizes))
    return Grid(title, columns, (Group("", rows),), corner=say("allocation_report.memory"))


def _first_cells(measured: Measured, kind: str, phase: Phase) -> tuple[Cell, Cell]:
    if (kind, phase) not in measured.costs.first:
        return missing(), missing()
    size, seconds = measured.costs.first[kind, phase]
    curve = measured.costs.find(kind, phase)
    point = curve.at(size) if curve else None
    later = time_cell(point.seconds, wide=not point.converged, detail=_detail(point)) if point else missing()
    return Cell(format_seconds(seconds)), later


def _skipped(run: Run, kind: str) -> dict[int, str]:
    def is_of(case: Case) -> bool:
        return (case.experiment, case.host_memory, case.method) == ("allocation", kind, "allocate")

    return {case.bytes: case.note for case in run.cases if case.skipped and is_of(case)}


def _time(point: CostPoint | None, reason: str | None) -> Cell:
    if point is None:
        return missing() if reason is None else skipped(reason)
    if point.seconds.relative_half_width >= _LOST:
        return Cell(f"<{format_seconds(point.seconds.high)}", state="wide", detail=_detail(point))
    return time_cell(point.seconds, wide=not point.converged, detail=_detail(point))


def _per_byte(point: CostPoint | None, reason: str | None) -> Cell:
    if point is None:
        return _time(point, reason)
    return Cell(f"{point.ns_per_byte.median:.2g}", state="ok" if point.converged else "wide", detail=_detail(point))


def _detail(point: CostPoint) -> str:
    low, high = format_seconds(point.seconds.low), format_seconds(point.seconds.high)
    return say("allocation_report.time_detail", low=low, high=high, count=len(point.samples))
