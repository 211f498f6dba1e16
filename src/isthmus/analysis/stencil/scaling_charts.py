"""How a stencil scales: time of an iteration, parallel efficiency and exchange, by method and number of ranks."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from isthmus.analysis.labels import run_label
from isthmus.analysis.stencil.model import STENCIL_METHODS, Stencil, StencilWay
from isthmus.analysis.stencil.scaling import StencilCurve, curve_title, stencil_curves
from isthmus.analysis.stencil.words import setting_words, way_title
from isthmus.document import chart
from isthmus.document.chart import Axis, Drawn, curves_chart
from isthmus.document.grid import Cell, Column, Grid, Group, Row, failed, interval_cell, missing, skipped, time_cell
from isthmus.document.palette import Look, look, numbered_look
from isthmus.document.section import Chart, LegendEntry, Part
from isthmus.language import say
from isthmus.record import LEAST_SAMPLES, Run, format_seconds


def scaling_part(runs: Sequence[Run]) -> Part | None:
    """A table and a chart for each curve; None where no run was to have one."""
    curves = [
        (_title(runs, index, curve), run, curve) for index, run in enumerate(runs) for curve in stencil_curves(run)
    ]
    if not curves:
        return None
    methods = list(dict.fromkeys(method for _, _, curve in curves for method in curve.methods))
    looks = {method: _look(method) for method in methods}
    charts = tuple(drawn for title, _, curve in curves if (drawn := _chart(title, curve, looks)))
    return Part(
        say("stencil_report.scaling_title"),
        say("stencil_report.scaling_note"),
        charts,
        tuple(LegendEntry(way_title(method), each) for method, each in looks.items()) if charts else (),
        tuple(_grid(*each) for each in curves),
    )


def _look(way: StencilWay) -> Look:
    """The colour tells the memory, as everywhere; dash and shape how halos are packed."""
    method, memory = way
    packing = numbered_look(STENCIL_METHODS.index(method) if method in STENCIL_METHODS else len(STENCIL_METHODS))
    return replace(look(memory), dash=packing.dash, shape=packing.shape)


def _title(runs: Sequence[Run], index: int, curve: StencilCurve) -> str:
    label, text = run_label(runs, index), curve_title(curve)
    return f"{label}: {text}" if label else text


def _grid(title: str, run: Run, curve: StencilCurve) -> Grid:
    """Ranks across, methods down, a group for each quantity."""
    columns = []
    for each in curve.stencils:
        cut = f"{each.down} x {each.across}"
        columns.append(Column(f"{each.ranks}\n{cut}", f"{each.ranks} ({cut})"))
    target = run.settings.target_relative_half_width
    quantities: dict[str, Callable[[Stencil, StencilWay], Cell]] = {
        "iteration": lambda each, method: _iteration(each, method, target),
        "efficiency": lambda each, method: _efficiency(curve, each, method, target),
        "exchange": _exchange,
    }
    groups = tuple(
        Group(
            say(f"stencil_report.quantity_{name}"),
            tuple(
                Row(
                    way_title(method), tuple(_unmeasured(each, method) or cell(each, method) for each in curve.stencils)
                )
                for method in curve.methods
            ),
        )
        for name, cell in quantities.items()
    )
    return Grid(title, tuple(columns), groups, corner=say("stencil_report.ranks_axis"))


def _unmeasured(stencil: Stencil, method: StencilWay) -> Cell | None:
    if method in stencil.failed:
        return failed(say("stencil_report.wrong"))
    if method in stencil.skipped:
        return skipped(stencil.skipped[method])
    return None if method in stencil.points else missing()


def _iteration(stencil: Stencil, method: StencilWay, target: float) -> Cell:
    point = stencil.points[method]
    if point.iteration is None:
        return missing()
    is_wide = point.samples < LEAST_SAMPLES or point.iteration.relative_half_width > target
    return time_cell(point.iteration, wide=is_wide, detail=say("stencil_report.samples", count=point.samples))


def _efficiency(curve: StencilCurve, stencil: Stencil, method: StencilWay, target: float) -> Cell:
    efficiency = curve.efficiency(stencil, method)
    if efficiency is None:
        return missing()
    if stencil.ranks == 1:
        return Cell("100")
    # Two times went into it.
    return interval_cell(efficiency, scale=100, wide=efficiency.relative_half_width > 2 * target)


def _exchange(stencil: Stencil, method: StencilWay) -> Cell:
    share = stencil.points[method].exchange_share
    return missing() if share is None else Cell(f"{100 * share:.0f}")


def _chart(title: str, curve: StencilCurve, looks: dict[StencilWay, Look]) -> Chart | None:
    drawn = [
        Drawn(way_title(method), looks[method], rows)
        for method in curve.methods
        if (rows := tuple(_rows(curve, method)))
    ]
    if not drawn:
        return None
    counts = [each.ranks for each in curve.stencils]
    most = max(row["high"] for each in drawn for row in each.rows)
    spec = curves_chart(
        drawn,
        Axis(say("stencil_report.ranks_axis"), (min(counts), max(counts))),
        Axis(say("stencil_report.quantity_efficiency"), (0, 1.05 * max(most, 100)), scale="linear"),
    )
    return Chart(title, say("stencil_report.scaling_label", title=title), spec)


def _rows(curve: StencilCurve, method: StencilWay) -> Iterator[chart.Row]:
    for each in curve.stencils:
        efficiency = curve.efficiency(each, method)
        if efficiency is None:
            continue
        point = each.points[method]
        values = {say("stencil_report.ranks_axis"): setting_words(each)}
        if point.iteration is not None:
            values[say("stencil_report.quantity_iteration")] = format_seconds(point.iteration.median)
        if point.exchange_share is not None:
            values[say("stencil_report.quantity_exchange")] = f"{100 * point.exchange_share:.0f}"
        yield chart.row(way_title(method), each.ranks, efficiency.scaled(100), **values)
