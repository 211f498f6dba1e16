"""How a stencil's time goes with the number of ranks: curves from one rank to all, and what they say."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from isthmus.analysis.figures import cell_of, legend_of, quotient_cell
from isthmus.analysis.labels import Source, sources
from isthmus.analysis.statistics.contrast import ratio
from isthmus.analysis.statistics.curve import Point
from isthmus.analysis.stencil.model import (
    STENCIL_METHODS,
    Stencil,
    StencilWay,
    elapsed,
    exchange_share,
    iteration,
    setting_words,
    stencils,
    way_of,
    way_title,
)
from isthmus.document import chart
from isthmus.document.chart import Axis, Drawn, Look, curves_chart, look, numbered_look
from isthmus.document.grid import Cell, Column, Grid, Group, missing, time_cell
from isthmus.document.pivot import rows_of
from isthmus.document.section import Chart, Part
from isthmus.grouping import grouped
from isthmus.language import say
from isthmus.record import LEAST_SAMPLES, Interval, Run, format_seconds

# Strong: the field stays; weak: the part of it that a rank has.
Scaling = Literal["strong", "weak"]
_SCALINGS: tuple[Scaling, ...] = ("strong", "weak")
CutKind = Literal["strips", "grid"]
_CUT_KINDS: tuple[CutKind, ...] = ("strips", "grid")


@dataclass(frozen=True)
class StencilCurve:
    """One field (strong), or one part (weak) of so many points a side, on ever more ranks, ascending."""

    scaling: Scaling
    kind: CutKind
    side: int
    halo: int
    stencils: tuple[Stencil, ...]

    @property
    def last(self) -> Stencil:
        """That on the most ranks."""
        return self.stencils[-1]

    @cached_property
    def ranking(self) -> tuple[Point, ...]:
        """The methods by what elapses on the most ranks, the fastest first."""
        timed = [(each.median, point) for point in self.last.points.values() if (each := elapsed(point))]
        return tuple(point for _, point in sorted(timed, key=lambda pair: pair[0]))

    @property
    def methods(self) -> list[StencilWay]:
        """All of them, those first that were measured on the most ranks."""
        others = (method for each in self.stencils for method in each.methods)
        return list(dict.fromkeys((*map(way_of, self.ranking), *others)))

    def efficiency(self, stencil: Stencil, method: StencilWay) -> Interval | None:
        """What a rank gets done in a time, over what one rank alone does; None where one of them was not measured."""
        points = self.single(method), stencil.points.get(method)
        alone, together = (elapsed(point) if point else None for point in points)
        if alone is None or together is None or not together.low:
            return None
        if stencil.ranks == 1:
            return Interval(1, 1, 1)
        efficiency = ratio(alone, together)
        return efficiency.scaled(1 / stencil.ranks) if self.scaling == "strong" else efficiency

    def single(self, method: StencilWay) -> Point | None:
        """One rank alone."""
        first = self.stencils[0]
        return first.points.get(method) if first.ranks == 1 else None


def curve_title(curve: StencilCurve) -> str:
    """``Strong scaling, strips: 8192 x 8192 points, halos 1 wide``."""
    field = say("stencil.field", rows=curve.side, columns=curve.side, count=curve.halo)
    return say(f"stencil.scaling_{curve.scaling}", cut=say(f"stencil.cut_{curve.kind}"), field=field)


def stencil_curves(run: Run) -> list[StencilCurve]:
    """Those that the run was asked for."""
    asked = run.settings.options.get("scaling", "").split(",")
    return [
        curve for scaling in _SCALINGS if scaling in asked for kind in _CUT_KINDS for curve in _of(run, scaling, kind)
    ]


def _of(run: Run, scaling: Scaling, kind: CutKind) -> Iterator[StencilCurve]:
    fitting = (each for each in stencils(run) if each.ranks == 1 or (each.down > 1) == (kind == "grid"))
    for (side, halo), alike in sorted(grouped(fitting, lambda each: (_side(each, scaling) or 0, each.halo)).items()):
        of_square = {each.ranks: each for each in alike}
        if side and len(of_square) > 1:
            yield StencilCurve(scaling, kind, side, halo, tuple(of_square[ranks] for ranks in sorted(of_square)))


def _side(stencil: Stencil, scaling: Scaling) -> int | None:
    """Side of the square that stays; None where there is none."""
    if scaling == "strong":
        return stencil.side if stencil.is_square else None
    part = stencil.side // stencil.down
    return part if (stencil.side, stencil.columns) == (part * stencil.down, part * stencil.across) else None


def scaling_part(runs: Sequence[Run]) -> Part | None:
    """A table and a chart for each curve; None where no run was to have one."""
    curves = sources(runs, stencil_curves)
    if not curves:
        return None
    methods = dict.fromkeys(method for each in curves for method in each.value.methods)
    looks = {method: _look(method) for method in methods}
    charts = tuple(
        drawn for each in curves if (drawn := _chart(each.lettered(curve_title(each.value)), each.value, looks))
    )
    return Part(
        say("stencil_report.scaling_title"),
        say("stencil_report.scaling_note"),
        charts,
        legend_of({way_title(method): each for method, each in looks.items()}) if charts else (),
        tuple(map(_grid, curves)),
    )


def _look(way: StencilWay) -> Look:
    """The colour tells the memory, as everywhere; dash and shape how halos are packed."""
    method, memory = way
    packing = numbered_look(STENCIL_METHODS.index(method) if method in STENCIL_METHODS else len(STENCIL_METHODS))
    return replace(look(memory), dash=packing.dash, shape=packing.shape)


def _grid(source: Source[StencilCurve]) -> Grid:
    """Ranks across, methods down, a group for each quantity."""
    curve, target = source.value, source.target
    cuts = [(each.ranks, f"{each.down} x {each.across}") for each in curve.stencils]

    def efficiency(stencil: Stencil, point: Point) -> Cell:
        value = curve.efficiency(stencil, way_of(point))
        return Cell("100") if value and stencil.ranks == 1 else quotient_cell(value, target, scale=100)

    quantities: dict[str, Callable[[Stencil, Point], Cell]] = {
        "iteration": lambda _, point: _iteration(point),
        "efficiency": efficiency,
        "exchange": lambda _, point: _exchange(point),
    }

    def group(name: str) -> Group:
        def cell(stencil: Stencil, method: StencilWay) -> Cell:
            return cell_of(stencil.figures.get(method), lambda point: quantities[name](stencil, point))

        return Group(say(f"stencil_report.quantity_{name}"), rows_of(curve.methods, way_title, curve.stencils, cell))

    columns = tuple(Column(f"{ranks}\n{cut}", f"{ranks} ({cut})") for ranks, cut in cuts)
    title, corner = source.lettered(curve_title(curve)), say("stencil_report.ranks_axis")
    return Grid(title, columns, tuple(map(group, quantities)), corner)


def _iteration(point: Point) -> Cell:
    time = iteration(point)
    if time is None:
        return missing()
    is_wide = len(point.samples) < LEAST_SAMPLES or time.relative_half_width > point.target_relative_half_width
    return time_cell(time, wide=is_wide, detail=say("stencil_report.samples", count=len(point.samples)))


def _exchange(point: Point) -> Cell:
    share = exchange_share(point)
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
        if time := iteration(point):
            values[say("stencil_report.quantity_iteration")] = format_seconds(time.median)
        if (share := exchange_share(point)) is not None:
            values[say("stencil_report.quantity_exchange")] = f"{100 * share:.0f}"
        yield chart.row(way_title(method), each.ranks, efficiency.scaled(100), **values)
