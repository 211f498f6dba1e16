"""Which charts a page shows of bandwidth: those of several runs side by side on the same scale."""

from collections.abc import Sequence
from dataclasses import dataclass

from isthmus.model import ONE_WAY, Curve, bandwidth_curves, link_rate
from isthmus.record import Run
from isthmus.report.bandwidth_figures import rate_chart, samples_chart, time_chart
from isthmus.report.labels import DIRECTIONS, curve_name, direction_title, kind_rank, run_title
from isthmus.report.palette import look
from isthmus.report.section import Chart, LegendEntry

__all__ = ["BandwidthCharts", "bandwidth_charts"]


@dataclass(frozen=True)
class BandwidthCharts:
    """The charts in the three groups of the page, and the legend that they share."""

    legend: list[LegendEntry]
    rate: list[Chart]
    time: list[Chart]
    samples: list[Chart]


def bandwidth_charts(runs: Sequence[Run]) -> BandwidthCharts:
    """The charts of all runs; empty where none measured bandwidth."""
    curves = [_presentable(run) for run in runs]
    titles = [run_title(runs, index) for index in range(len(runs))]
    names = {curve.host_memory: curve_name(curve) for each in curves for curve in each}
    return BandwidthCharts(
        legend=[LegendEntry(names[kind], look(kind)) for kind in sorted(names, key=kind_rank)],
        rate=_rate_charts(runs, curves, titles),
        time=_time_charts(curves, titles),
        samples=_samples_charts(curves, titles),
    )


def _presentable(run: Run) -> list[Curve]:
    """The curves on the host's clock in the order of the legend."""
    curves = [curve for curve in bandwidth_curves(run) if curve.metric == "host_seconds"]
    return sorted(curves, key=lambda curve: kind_rank(curve.host_memory))


def _rate_charts(runs: Sequence[Run], curves: Sequence[Sequence[Curve]], titles: Sequence[str]) -> list[Chart]:
    charts = []
    for direction in DIRECTIONS:
        groups = [_along(each, direction) for each in curves]
        domain = _domain(runs, groups)
        label = f"Rate against transfer size, {direction_title(direction)}; its figures are in the tables below."
        for index, group in enumerate(groups):
            if group:
                charts.append(Chart(_title(direction, titles, index), label, rate_chart(runs[index], group, domain)))
    return charts


def _domain(runs: Sequence[Run], groups: Sequence[Sequence[Curve]]) -> tuple[float, float]:
    """Range of rates in GB/s over all runs, the link's rate included, with some room."""
    rates = [point.rate.median for group in groups for curve in group for point in (*curve.points, *curve.failed)]
    limits = [
        limit
        for run, group in zip(runs, groups, strict=True)
        if group and (limit := link_rate(run, both=group[0].direction == "both"))
    ]
    return (min(rates, default=1e9) / 1.5e9, max([*rates, *limits], default=1e9) * 1.6e-9)


def _time_charts(curves: Sequence[Sequence[Curve]], titles: Sequence[str]) -> list[Chart]:
    label = "Time against size below 64 KiB, {}; its figures are in the tables below."
    return [
        Chart(_title(direction, titles, index), label.format(direction_title(direction)), spec)
        for direction in ONE_WAY
        for index, each in enumerate(curves)
        if (spec := time_chart(_along(each, direction)))
    ]


def _samples_charts(curves: Sequence[Sequence[Curve]], titles: Sequence[str]) -> list[Chart]:
    label = "Rates of single transfers from 1 MiB on, {}, of pageable and pinned memory."
    return [
        Chart(_title(direction, titles, index), label.format(direction_title(direction)), spec)
        for direction in ONE_WAY
        for index, each in enumerate(curves)
        if (spec := samples_chart([curve for curve in _along(each, direction) if curve.host_memory in _COMPARED]))
    ]


_COMPARED = ("pageable", "pinned")


def _along(curves: Sequence[Curve], direction: str) -> list[Curve]:
    return [curve for curve in curves if curve.direction == direction]


def _title(direction: str, titles: Sequence[str], index: int) -> str:
    return direction_title(direction) if len(titles) == 1 else f"{direction_title(direction)}: {titles[index]}"
