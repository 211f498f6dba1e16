"""The section on allocation: what each kind of memory costs to get, to touch first and to give back."""

from collections.abc import Iterator, Sequence

from isthmus.analysis.allocation.model import PHASES, AllocationCosts, CostCurve, Phase, allocation_costs, ns_per_byte
from isthmus.analysis.allocation.tables import Measured, beside_grid, cheapest_pinned_grid, first_call_grid, phase_grid
from isthmus.analysis.charts import legend_of
from isthmus.analysis.frame import section_of
from isthmus.analysis.labels import kind_label, sources
from isthmus.analysis.published.table import published_parts
from isthmus.analysis.statistics.curve import Point
from isthmus.document.chart import Axis, Drawn, Row, curves_chart, row
from isthmus.document.grid import excerpt
from isthmus.document.palette import look
from isthmus.document.section import Chart, Glance, Part, Section
from isthmus.language import say
from isthmus.record import Interval, Run, format_bytes, format_seconds, kind_rank

_DEVICE_SIDE = ("managed", "device", "device_pitched", "device_array", "device_pool", "device_pool_cold")
# Rows of a first screen.
_MOST = 5


def section(runs: Sequence[Run]) -> Section | None:
    """Charts and tables of all runs that measured allocation; None where none did."""
    measured = sources(runs, _costs)
    tables = (
        (
            say("allocation_report.cheapest"),
            say("allocation_report.cheapest_note"),
            map(cheapest_pinned_grid, measured),
        ),
        (say("allocation_report.beside_grid"), "", [beside_grid(measured)]),
        (say("allocation_report.first_calls"), "", map(first_call_grid, measured)),
    )
    parts = [_phase_part(measured, phase, per_byte=each) for phase in PHASES for each in (False, True)]
    parts += [Part(title, note, grids=tuple(filter(None, grids))) for title, note, grids in tables]
    return section_of("allocation", [*parts, *published_parts(runs, "allocation")] if measured else ())


def glance(run: Run) -> Glance | None:
    """What kinds of pinned memory cost, else what each kind costs to get; None where no allocation was measured."""
    for measured in sources([run], _costs):
        if grid := cheapest_pinned_grid(measured):
            return Glance((excerpt(grid, _MOST, columns=range(len(grid.columns) - 1)),))
        if grid := next(filter(None, (phase_grid([measured], phase) for phase in PHASES)), None):
            return Glance((excerpt(grid, _MOST),))
    return None


def _costs(run: Run) -> list[AllocationCosts]:
    costs = allocation_costs(run)
    return [costs] if costs else []


def _phase_part(measured: Sequence[Measured], phase: Phase, *, per_byte: bool) -> Part | None:
    """Times of a phase; with `per_byte` over the size, on pages alone: the same figures once more."""
    grid = phase_grid(measured, phase, per_byte=per_byte)
    if grid is None:
        return None
    kinds = {curve.kind for each in measured for curve in each.value.curves if curve.phase == phase}
    return Part(
        grid.title,
        charts=tuple(_charts(measured, phase, per_byte)),
        legend=legend_of({kind_label(kind): look(kind) for kind in sorted(kinds, key=kind_rank)}),
        grids=(grid,),
        page_only=per_byte,
    )


def _charts(measured: Sequence[Measured], phase: Phase, per_byte: bool) -> Iterator[Chart]:
    """Host memory of each run, then managed memory and that of the device, on one scale."""
    heading = say(f"allocation_report.part_{phase}")
    times = [
        _shown(point, per_byte)
        for each in measured
        for curve in each.value.curves
        if curve.phase == phase
        for point in curve.points
    ]
    domain = min(each.low for each in times) * 0.8, max(each.high for each in times) * 1.25
    y = Axis(say("allocation_report.axis_call"), domain, labels="seconds")
    if per_byte:
        heading = say("allocation_report.per_byte", phase=heading)
        y = Axis(say("allocation_report.axis_byte"), domain)
    for on_device, side in ((False, "host"), (True, "device")):
        for each in measured:
            curves = [curve for curve in each.value.curves if curve.phase == phase and _belongs(curve.kind, on_device)]
            # With nothing but malloc to show, the chart of the host has it already.
            if all(curve.kind == "malloc" for curve in curves) and (on_device or not curves):
                continue
            title = each.titled(say(f"allocation_report.chart_{side}"))
            label = say("allocation_report.chart_label", phase=heading, chart=title)
            drawn = [_drawn(curve, per_byte) for curve in curves]
            yield Chart(title, label, curves_chart(drawn, Axis(say("page.size"), labels="bytes"), y))


def _belongs(kind: str, on_device: bool) -> bool:
    """Which chart a kind is drawn in: malloc in both, because everything is compared with it."""
    return kind == "malloc" or (kind in _DEVICE_SIDE) == on_device


def _shown(point: Point, per_byte: bool) -> Interval:
    """Seconds of a call, or nanoseconds of a byte."""
    return ns_per_byte(point) if per_byte else point.seconds


def _drawn(curve: CostCurve, per_byte: bool) -> Drawn:
    name = kind_label(curve.kind)
    return Drawn(name, look(curve.kind), tuple(_row(name, point, per_byte) for point in curve.points))


def _row(name: str, point: Point, per_byte: bool) -> Row:
    seconds = point.seconds
    return row(
        name,
        point.bytes,
        _shown(point, per_byte),
        size=format_bytes(point.bytes),
        time=format_seconds(seconds.median),
        interval=say("common.range", low=format_seconds(seconds.low), high=format_seconds(seconds.high)),
        samples=str(len(point.samples)),
    )
