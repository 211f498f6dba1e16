"""The section on allocation: what each kind of memory costs to get, to touch first and to give back."""

from collections.abc import Sequence

from isthmus.analysis.allocation.model import PHASES, CostCurve, CostPoint, Phase, allocation_costs
from isthmus.analysis.allocation.tables import Measured, beside_grid, cheapest_pinned_grid, first_call_grid, phase_grid
from isthmus.analysis.frame import section_of
from isthmus.analysis.labels import kind_label, run_label, run_title
from isthmus.analysis.published.table import published_parts
from isthmus.document.chart import Axis, Drawn, Row, Spec, curves_chart, row
from isthmus.document.grid import excerpt
from isthmus.document.palette import look
from isthmus.document.section import Chart, Glance, LegendEntry, Part, Section
from isthmus.language import say
from isthmus.record import Interval, Run, format_bytes, format_seconds, kind_rank

_DEVICE_SIDE = ("managed", "device", "device_pitched", "device_array", "device_pool", "device_pool_cold")
_MOST = 5


def section(runs: Sequence[Run]) -> Section | None:
    """Charts and tables of all runs that measured allocation; None where none did."""
    measured = [
        Measured(run, costs, run_label(runs, index), run_title(runs, index))
        for index, run in enumerate(runs)
        if (costs := allocation_costs(run))
    ]
    if not measured:
        return None
    tables = (
        (
            say("allocation_report.cheapest"),
            say("allocation_report.cheapest_note"),
            map(cheapest_pinned_grid, measured),
        ),
        (say("allocation_report.beside_grid"), "", [beside_grid(measured)]),
        (say("allocation_report.first_calls"), "", map(first_call_grid, measured)),
    )
    parts = [
        part for phase in PHASES for each in (False, True) if (part := _phase_part(measured, phase, per_byte=each))
    ]
    parts += [Part(title, note, grids=tuple(grid for grid in grids if grid)) for title, note, grids in tables]
    return section_of("allocation", [*parts, *published_parts(runs, "allocation")])


def _phase_part(measured: Sequence[Measured], phase: Phase, *, per_byte: bool) -> Part | None:
    """Times of a phase; with `per_byte` over the size, on pages alone: the same figures once more."""
    grid = phase_grid(measured, phase, per_byte=per_byte)
    if grid is None:
        return None
    return Part(
        grid.title,
        charts=tuple(_charts(measured, phase, per_byte=per_byte)),
        legend=tuple(_legend(measured, phase)),
        grids=(grid,),
        page_only=per_byte,
    )


def _charts(measured: Sequence[Measured], phase: Phase, *, per_byte: bool) -> list[Chart]:
    """Host memory of each run, then managed memory and that of the device."""
    charts = []
    title_of_phase = say(f"allocation_report.part_{phase}")
    if per_byte:
        title_of_phase = say("allocation_report.per_byte", phase=title_of_phase)
    for on_device, side in ((False, "host"), (True, "device")):
        for each in measured:
            curves = [curve for curve in each.costs.curves if curve.phase == phase and _belongs(curve.kind, on_device)]
            # With nothing but malloc to show, the chart of the host has it already.
            if all(curve.kind == "malloc" for curve in curves) and (on_device or not curves):
                continue
            title = each.titled(say(f"allocation_report.chart_{side}"))
            label = say("allocation_report.chart_label", phase=title_of_phase, chart=title)
            charts.append(Chart(title, label, _spec(curves, _domain(measured, phase, per_byte), per_byte)))
    return charts


def _belongs(kind: str, on_device: bool) -> bool:
    """Which chart a kind is drawn in: malloc in both, because everything is compared with it."""
    return kind == "malloc" or (kind in _DEVICE_SIDE) == on_device


def _domain(measured: Sequence[Measured], phase: Phase, per_byte: bool) -> tuple[float, float]:
    """One scale for all charts of a phase."""
    curves = [curve for each in measured for curve in each.costs.curves if curve.phase == phase]
    times = [_shown(point, per_byte) for curve in curves for point in curve.points]
    return min(seconds.low for seconds in times) * 0.8, max(seconds.high for seconds in times) * 1.25


def _shown(point: CostPoint, per_byte: bool) -> Interval:
    """Seconds of a call, or nanoseconds of a byte."""
    return point.ns_per_byte if per_byte else point.seconds


def _spec(curves: Sequence[CostCurve], domain: tuple[float, float], per_byte: bool) -> Spec:
    drawn = [
        Drawn(
            kind_label(curve.kind),
            look(curve.kind),
            tuple(_row(kind_label(curve.kind), point, per_byte) for point in curve.points),
        )
        for curve in curves
    ]
    time = Axis(say("allocation_report.axis_call"), domain, labels="seconds")
    if per_byte:
        time = Axis(say("allocation_report.axis_byte"), domain)
    return curves_chart(drawn, Axis(say("page.size"), labels="bytes"), time)


def _row(name: str, point: CostPoint, per_byte: bool) -> Row:
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


def _legend(measured: Sequence[Measured], phase: Phase) -> list[LegendEntry]:
    kinds = [curve.kind for each in measured for curve in each.costs.curves if curve.phase == phase]
    return [LegendEntry(kind_label(kind), look(kind)) for kind in sorted(dict.fromkeys(kinds), key=kind_rank)]


def glance(run: Run) -> Glance | None:
    """The kinds of pinned memory; None where the run measured no allocation."""
    costs = allocation_costs(run)
    if costs is None:
        return None
    measured = Measured(run, costs, "", "")
    grid = cheapest_pinned_grid(measured)
    if grid:
        return Glance((excerpt(grid, _MOST, columns=range(len(grid.columns) - 1)),))
    grid = next((grid for phase in PHASES if (grid := phase_grid([measured], phase))), None)
    return Glance((excerpt(grid, _MOST),)) if grid else None
