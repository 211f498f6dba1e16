"""Which charts a page shows of bandwidth: those of several runs side by side on the same scale."""

from collections.abc import Sequence

from isthmus.analysis.bandwidth.figures import rate_chart, samples_chart, time_chart
from isthmus.analysis.labels import DIRECTIONS, curve_name, direction_title, of_run, run_label
from isthmus.analysis.phrases import link_rate
from isthmus.analysis.statistics.curve import ONE_WAY, Curve, bandwidth_curves
from isthmus.document.palette import look
from isthmus.document.section import Chart, LegendEntry, chart_name
from isthmus.language import say
from isthmus.record import Run, kind_rank

_COMPARED = ("pageable", "pinned")


def legend(runs: Sequence[Run]) -> tuple[LegendEntry, ...]:
    """The curves of all runs, which the charts share."""
    names = {curve.host_memory: curve_name(curve) for run in runs for curve in _presentable(run)}
    return tuple(LegendEntry(names[kind], look(kind)) for kind in sorted(names, key=kind_rank))


def rate_charts(runs: Sequence[Run]) -> list[Chart]:
    """Rate against size; one for each direction and run."""
    charts = []
    for direction in DIRECTIONS:
        groups = [_along(run, direction) for run in runs]
        domain = _domain(runs, groups)
        label = _label("rates", direction)
        for index, group in enumerate(groups):
            if group and (spec := rate_chart(runs[index], group, domain)):
                title, name = _title(direction, runs, index), _name("rate", direction, runs, index)
                charts.append(Chart(title, label, spec, name))
    return charts


def time_charts(runs: Sequence[Run]) -> list[Chart]:
    """Time against size; one for each direction and run."""
    return [
        Chart(_title(direction, runs, index), _label("small", direction), spec, _name("time", direction, runs, index))
        for direction in ONE_WAY
        for index, run in enumerate(runs)
        if (spec := time_chart(_along(run, direction)))
    ]


def samples_charts(runs: Sequence[Run]) -> list[Chart]:
    """Single transfers of pageable and pinned memory; one for each direction and run."""
    return [
        Chart(
            _title(direction, runs, index), _label("steady", direction), spec, _name("samples", direction, runs, index)
        )
        for direction in ONE_WAY
        for index, run in enumerate(runs)
        if (spec := samples_chart([curve for curve in _along(run, direction) if curve.host_memory in _COMPARED]))
    ]


def _presentable(run: Run) -> list[Curve]:
    """The curves on the host's clock in the order of the legend."""
    curves = [curve for curve in bandwidth_curves(run) if curve.metric == "host_seconds"]
    return sorted(curves, key=lambda curve: kind_rank(curve.host_memory))


def _along(run: Run, direction: str) -> list[Curve]:
    return [curve for curve in _presentable(run) if curve.direction == direction]


def _domain(runs: Sequence[Run], groups: Sequence[Sequence[Curve]]) -> tuple[float, float]:
    """Range of rates in GB/s from zero on over all runs, the link's rate included, with some room."""
    rates = [point.rate.median for group in groups for curve in group for point in (*curve.points, *curve.failed)]
    limits = [
        limit
        for run, group in zip(runs, groups, strict=True)
        if group and (limit := link_rate(run, both=group[0].direction == "both"))
    ]
    return (0.0, max([*rates, *limits], default=1e9) * 1.08e-9)


def _label(what: str, direction: str) -> str:
    return say("common.comma").join([say(f"bandwidth_report.{what}"), direction_title(direction)])


def _title(direction: str, runs: Sequence[Run], index: int) -> str:
    return of_run(direction_title(direction), runs, index)


def _name(what: str, direction: str, runs: Sequence[Run], index: int) -> str:
    return chart_name("bandwidth", what, direction, run_label(runs, index))
