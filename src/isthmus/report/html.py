"""The report as one HTML page that needs nothing else: no network, no other file, any browser of today."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TextIO

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from isthmus.model import ONE_WAY, Curve, bandwidth_curves, findings, link_rate, verdict
from isthmus.record import Run
from isthmus.report import vega
from isthmus.report.facts import facts
from isthmus.report.figures import Spec, rate_chart, samples_chart, time_chart
from isthmus.report.grid import grids
from isthmus.report.labels import DIRECTIONS, curve_name, direction_title, kind_rank, run_title
from isthmus.report.overview import overview
from isthmus.report.palette import all_looks, look
from isthmus.report.skips import skip_groups

__all__ = ["write"]


@dataclass(frozen=True)
class Chart:
    """One chart with the words that name it; `label` says to those who cannot see it where its figures are."""

    title: str
    label: str
    spec: Spec


def write(runs: Sequence[Run], out: TextIO) -> None:
    """Write the page to `out`; curves of several runs stand side by side on the same scale."""
    # Whatever a run file says is text: it comes from elsewhere and may hold any characters.
    environment = Environment(
        loader=PackageLoader("isthmus.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(look=look, all_looks=all_looks)
    environment.filters["packed"] = _packed
    curves = [_presentable(run) for run in runs]
    shown = sorted({curve.host_memory for each in curves for curve in each}, key=kind_rank)
    titles = [run_title(runs, index) for index in range(len(runs))]
    page = environment.get_template("page.html.j2").render(
        titles=titles,
        verdicts=verdict(runs).split("\n"),
        findings=[findings(run) for run in runs],
        overview=overview(runs),
        legend={curve.host_memory: curve_name(curve) for each in curves for curve in each},
        kinds=shown,
        rate_charts=_rate_charts(runs, curves, titles),
        time_charts=_time_charts(curves, titles),
        samples_charts=_samples_charts(curves, titles),
        grids=grids(runs),
        skips=[skip_groups(run) for run in runs],
        facts=[facts(run) for run in runs],
        settings=[run.settings for run in runs],
        commands=[_command(run) for run in runs],
        vega=Markup(vega.script()),
    )
    out.write(page)


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


def _packed(spec: Spec) -> Spec:
    """The specification with each data set as names and rows of values, half the size; page.js unpacks it."""
    packed = {
        name: {"names": list(rows[0]) if rows else [], "rows": [list(row.values()) for row in rows]}
        for name, rows in spec["datasets"].items()
    }
    return spec | {"datasets": packed}


def _command(run: Run) -> str:
    """The command as someone else would type it: without the folder of the program."""
    words = run.settings.command
    return shlex.join([PurePath(words[0]).name, *words[1:]]) if words else ""
