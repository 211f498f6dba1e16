"""The section on allocation: what each kind of memory costs to get, to touch first and to give back."""

from collections.abc import Iterator, Sequence

from isthmus.analysis.allocation.model import (
    EXISTING,
    NEW_WAYS,
    PHASES,
    AllocationCosts,
    CostCurve,
    Phase,
    allocation_costs,
    pinned_choices,
)
from isthmus.analysis.figures import legend_of
from isthmus.analysis.labels import Source, kind_heading, one_of_each
from isthmus.analysis.phrases import memory_label
from isthmus.analysis.published.table import published_parts
from isthmus.analysis.statistics.curve import Point
from isthmus.document.chart import Axis, Drawn, curves_chart, look, row
from isthmus.document.grid import Cell, Column, Grid, Group, Row, excerpt, missing, skipped, time_cell
from isthmus.document.pivot import grid_of, rows_of
from isthmus.document.section import Chart, Glance, Part, Section, section_of
from isthmus.language import enumerated, say
from isthmus.record import Run, format_bytes, format_seconds, kind_rank

_DEVICE_SIDE = ("managed", "device", "device_pitched", "device_array", "device_pool", "device_pool_cold")
# Rows of a first screen.
_MOST = 5
# Half of an interval that is as large as the figure leaves the upper end as all that is known.
_LOST = 0.95

Measured = Source[AllocationCosts]


def phase_grid(measured: Sequence[Measured], phase: Phase) -> Grid | None:
    """Times of one phase, sizes down and kinds across; None where no run measured it."""
    curves = [(curve, each) for each in measured for curve in each.value.curves if curve.phase == phase]
    if not curves:
        return None
    curves.sort(key=lambda each: kind_rank(each[0].kind))
    skips = {(id(each), curve.kind): _skipped(each.run, curve.kind) for curve, each in curves}

    def cell(source: tuple[CostCurve, Measured], size: int) -> Cell:
        curve, each = source
        point, why = curve.at(size), skips[id(each), curve.kind].get(size)
        if point is None:
            return missing() if why is None else skipped(why)
        if point.seconds.relative_half_width >= _LOST:
            return Cell(f"<{format_seconds(point.seconds.high)}", state="wide", detail=_detail(point))
        return time_cell(point.seconds, wide=not point.converged, detail=_detail(point))

    rows = rows_of(sorted({size for curve, _ in curves for size in curve.sizes}), format_bytes, curves, cell)
    columns = tuple(Column(kind_heading(curve.kind), memory_label(curve.kind), each.label) for curve, each in curves)
    return Grid(say(f"allocation_report.part_{phase}"), columns, (Group("", rows),))


def cheapest_pinned_grid(measured: Measured) -> Grid | None:
    """The kinds of pinned memory and the cheapest of them by size; None where there was no choice."""
    choices = pinned_choices(measured.value)
    kinds = [kind for kind in (*NEW_WAYS, EXISTING) if any(kind in choice.costs for choice in choices)]
    rows = []
    for choice in choices:
        names = enumerated([memory_label(kind) for kind in choice.cheapest], "or")
        best = say("allocation_report.tied", kinds=names) if len(choice.cheapest) > 1 else names
        cells = [time_cell(choice.costs.get(kind)) for kind in kinds]
        rows.append(Row(format_bytes(choice.bytes), (*cells, Cell(best))))
    columns = [Column(kind_heading(kind), memory_label(kind)) for kind in kinds]
    columns.append(Column(say("allocation_report.cheapest_new"), say("allocation_report.cheapest_new"), prose=True))
    return grid_of(measured.titled(say("allocation_report.cheapest")), columns, [Group("", tuple(rows))])


def _skipped(run: Run, kind: str) -> dict[int, str]:
    """By size why memory of a kind was not allocated."""
    wanted = ("allocation", kind, "allocate")
    skips = (case for case in run.cases if case.skipped)
    return {case.bytes: case.note for case in skips if (case.experiment, case.host_memory, case.method) == wanted}


def _detail(point: Point) -> str:
    low, high = format_seconds(point.seconds.low), format_seconds(point.seconds.high)
    return say("allocation_report.time_detail", low=low, high=high, count=len(point.samples))


def section(runs: Sequence[Run]) -> Section | None:
    """Charts and tables of all runs that measured allocation; None where none did."""
    measured = one_of_each(runs, allocation_costs)
    tables = (
        (
            say("allocation_report.cheapest"),
            say("allocation_report.cheapest_note"),
            map(cheapest_pinned_grid, measured),
        ),
    )
    parts = [_phase_part(measured, phase) for phase in PHASES]
    parts += [Part(title, note, grids=tuple(filter(None, grids))) for title, note, grids in tables]
    return section_of("allocation", [*parts, *published_parts(runs, "allocation")] if measured else ())


def glance(run: Run) -> Glance | None:
    """What kinds of pinned memory cost, else what each kind costs to get; None where no allocation was measured."""
    for measured in one_of_each([run], allocation_costs):
        if grid := cheapest_pinned_grid(measured):
            return Glance((excerpt(grid, _MOST, columns=range(len(grid.columns) - 1)),))
        if grid := next(filter(None, (phase_grid([measured], phase) for phase in PHASES)), None):
            return Glance((excerpt(grid, _MOST),))
    return None


def _phase_part(measured: Sequence[Measured], phase: Phase) -> Part | None:
    grid = phase_grid(measured, phase)
    if grid is None:
        return None
    kinds = {curve.kind for each in measured for curve in each.value.curves if curve.phase == phase}
    return Part(
        grid.title,
        charts=tuple(_charts(measured, phase)),
        legend=legend_of({memory_label(kind): look(kind) for kind in sorted(kinds, key=kind_rank)}),
        grids=(grid,),
    )


def _charts(measured: Sequence[Measured], phase: Phase) -> Iterator[Chart]:
    """Host memory of each run, then managed memory and that of the device, on one scale."""
    heading = say(f"allocation_report.part_{phase}")
    curves = [curve for each in measured for curve in each.value.curves if curve.phase == phase]
    times = [point.seconds for curve in curves for point in curve.points]
    domain = min(each.low for each in times) * 0.8, max(each.high for each in times) * 1.25
    y = Axis(say("allocation_report.axis_call"), domain, labels="seconds")
    for on_device, side in ((False, "host"), (True, "device")):
        for each in measured:
            curves = [curve for curve in each.value.curves if curve.phase == phase and _belongs(curve.kind, on_device)]
            # With nothing but malloc to show, the chart of the host has it already.
            if all(curve.kind == "malloc" for curve in curves) and (on_device or not curves):
                continue
            title = each.titled(say(f"allocation_report.chart_{side}"))
            label = say("allocation_report.chart_label", phase=heading, chart=title)
            drawn = [_drawn(curve) for curve in curves]
            yield Chart(title, label, curves_chart(drawn, Axis(say("page.size"), labels="bytes"), y))


def _belongs(kind: str, on_device: bool) -> bool:
    """Which chart a kind is drawn in: malloc in both, because everything is compared with it."""
    return kind == "malloc" or (kind in _DEVICE_SIDE) == on_device


def _drawn(curve: CostCurve) -> Drawn:
    name = memory_label(curve.kind)
    rows = tuple(
        row(
            name,
            point.bytes,
            point.seconds,
            size=format_bytes(point.bytes),
            time=format_seconds(point.seconds.median),
            interval=say(
                "common.range", low=format_seconds(point.seconds.low), high=format_seconds(point.seconds.high)
            ),
            samples=str(len(point.samples)),
        )
        for point in curve.points
    )
    return Drawn(name, look(curve.kind), rows)
