"""The section on allocation: what each kind of memory costs to get, to touch first and to give back."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from isthmus.model import PHASES, CostCurve, CostPoint, Phase, allocation_costs
from isthmus.record import Run, format_bytes, format_seconds
from isthmus.report.allocation_grids import (
    Measured,
    beside_grid,
    cheapest_pinned_grid,
    crossover_grid,
    phase_grid,
    ratio_grids,
)
from isthmus.report.allocation_summaries import first_call_grid, fit_grid, published_grid
from isthmus.report.chart import Axis, Drawn, Row, Spec, curves_chart, row
from isthmus.report.grid import Grid
from isthmus.report.labels import kind_label, kind_rank, run_label, run_title
from isthmus.report.palette import look
from isthmus.report.section import Chart, LegendEntry, Part, Section

__all__ = ["section"]

_INTRO = (
    "Each sample is the time of one call on the host's clock; of calls too short for it, the mean over several blocks "
    "that are held at once. Registered memory was there before: allocating locks its pages, freeing unlocks them. "
    "Memory touched by threads and registered is mapped, touched and locked in one sample. The first touch writes to "
    "every page once, by one thread. What the process did for the first time stands apart; everything else is the "
    "steady state."
)
_TITLES: dict[Phase, str] = {"allocate": "Allocating", "touch": "First touch", "free": "Freeing"}
_SIZES = Axis("size", labels="bytes")


def section(runs: Sequence[Run]) -> Section | None:
    """Charts and tables of all runs that measured allocation; None where none did."""
    measured = [
        Measured(run, costs, run_label(runs, index), run_title(runs, index))
        for index, run in enumerate(runs)
        if (costs := allocation_costs(run))
    ]
    if not measured:
        return None
    parts = [part for phase in PHASES if (part := _phase_part(measured, phase))]
    found = [
        Part(
            "Which way to page-locked memory is the cheapest",
            "Ways that the intervals do not tell apart are all named. Registering needs memory that is there.",
            grids=_present(make(each) for each in measured for make in (cheapest_pinned_grid, crossover_grid)),
        ),
        Part(
            "Fixed part and part for each MiB",
            "The line of least relative deviations, or two that follow each other where one misses a median by more "
            "than a quarter and its interval; one size in ten may lie off it and is named. A dash where a part is too "
            "small to matter. Intervals come from bootstrap draws of the medians.",
            grids=_present(map(fit_grid, measured)),
        ),
        Part(
            "Against malloc and against pages in use",
            "malloc hands out recycled blocks or only reserves addresses, whose pages cost when they are touched. The "
            "second table counts that in.",
            grids=tuple(ratio_grids(measured)),
            page_only=True,
        ),
        Part(
            "Small blocks beside another one",
            "Beside: a small block of the kind is held meanwhile. Drivers carve small blocks out of larger ones.",
            grids=_present([beside_grid(measured)]),
        ),
        Part("First calls of the process", _opening(measured), grids=_present(map(first_call_grid, measured))),
        Part(
            "Beside figures published in 2008",
            "Published for a GTX 280 with PCI Express 2.0 (Keson, Pinned Memory vs. Non-Pinned Memory). Ranges hold "
            "the smallest and the largest over the sizes.",
            grids=_present(map(published_grid, measured)),
        ),
    ]
    parts += [part for part in found if part.grids]
    return Section("allocation", "Allocation", _INTRO, tuple(parts)) if parts else None


def _present(grids: Iterable[Grid | None]) -> tuple[Grid, ...]:
    return tuple(grid for grid in grids if grid)


def _opening(measured: Sequence[Measured]) -> str:
    """How long opening the device took in each run."""
    sentences = ["Each first call was timed once, so it has no interval."]
    for each in measured:
        if each.costs.open_device is not None:
            where = f" in {each.label}" if each.label else ""
            sentences.append(
                f"Opening the device (loading the driver, creating the context) took "
                f"{format_seconds(each.costs.open_device)}{where}."
            )
    return " ".join(sentences)


@dataclass(frozen=True)
class _Quantity:
    """What a chart shows of a point: seconds of a call, or nanoseconds for each of its bytes."""

    title: str
    axis: Axis
    per_byte: bool

    def factor(self, point: CostPoint) -> float:
        """What the seconds of a call are to be multiplied with."""
        return 1e9 / point.bytes if self.per_byte else 1.0


_QUANTITIES = (
    _Quantity("per call", Axis("time per call", labels="seconds"), per_byte=False),
    _Quantity("per byte", Axis("ns per byte"), per_byte=True),
)
_DEVICE_SIDE = ("managed", "device", "device_pitched", "device_array", "device_pool", "device_pool_cold")


def _phase_part(measured: Sequence[Measured], phase: Phase) -> Part | None:
    grid = phase_grid(measured, phase, f"{_TITLES[phase]}: median time of a call")
    if grid is None:
        return None
    return Part(
        _TITLES[phase],
        charts=tuple(_charts(measured, phase)),
        legend=tuple(_legend(measured, phase)),
        grids=(grid,),
    )


def _charts(measured: Sequence[Measured], phase: Phase) -> list[Chart]:
    """Per call and per byte side by side: host memory of each run, then managed memory and that of the device."""
    charts = []
    for on_device, side in ((False, "Host memory"), (True, "Managed and device memory")):
        for each in measured:
            curves = [curve for curve in each.costs.curves if curve.phase == phase and _belongs(curve.kind, on_device)]
            # With nothing but malloc to show, the chart of the host has it already.
            if all(curve.kind == "malloc" for curve in curves) and (on_device or not curves):
                continue
            for quantity in _QUANTITIES:
                title = each.titled(f"{side}, {quantity.title}")
                label = f"{_TITLES[phase]}, {title}, against size; the figures are in the table below."
                charts.append(Chart(title, label, _spec(curves, quantity, _domain(measured, phase, quantity))))
    return charts


def _belongs(kind: str, on_device: bool) -> bool:
    """Which chart a kind is drawn in: malloc in both, because everything is compared with it."""
    return kind == "malloc" or (kind in _DEVICE_SIDE) == on_device


def _domain(measured: Sequence[Measured], phase: Phase, quantity: _Quantity) -> tuple[float, float]:
    """One scale for all charts of a quantity."""
    curves = [curve for each in measured for curve in each.costs.curves if curve.phase == phase]
    points = [point for curve in curves for point in curve.points]
    low = min(point.seconds.low * quantity.factor(point) for point in points)
    high = max(point.seconds.high * quantity.factor(point) for point in points)
    return low * 0.8, high * 1.25


def _spec(curves: Sequence[CostCurve], quantity: _Quantity, domain: tuple[float, float]) -> Spec:
    drawn = [
        Drawn(
            kind_label(curve.kind),
            look(curve.kind),
            tuple(_row(kind_label(curve.kind), point, quantity) for point in curve.points),
        )
        for curve in curves
    ]
    return curves_chart(drawn, _SIZES, replace(quantity.axis, domain=domain))


def _row(name: str, point: CostPoint, quantity: _Quantity) -> Row:
    factor = quantity.factor(point)
    seconds = point.seconds
    return row(
        name,
        point.bytes,
        seconds.median * factor,
        seconds.low * factor,
        seconds.high * factor,
        size=format_bytes(point.bytes),
        time=format_seconds(seconds.median),
        interval=f"{format_seconds(seconds.low)} to {format_seconds(seconds.high)}",
        per_byte=f"{1e9 * seconds.median / point.bytes:.3g} ns",
        samples=str(len(point.samples)),
    )


def _legend(measured: Sequence[Measured], phase: Phase) -> list[LegendEntry]:
    kinds = [curve.kind for each in measured for curve in each.costs.curves if curve.phase == phase]
    return [LegendEntry(kind_label(kind), look(kind)) for kind in sorted(dict.fromkeys(kinds), key=kind_rank)]
