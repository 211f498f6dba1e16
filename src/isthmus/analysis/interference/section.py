"""The section on interference: what each method costs each neighbour at which rate, as a table and a chart."""

from collections.abc import Iterator, Sequence

from isthmus.analysis.charts import legend_of
from isthmus.analysis.frame import section_of
from isthmus.analysis.interference.model import DIRECTIONS, NEIGHBOURS, WAYS, Cost, costs, largest, way_words
from isthmus.analysis.labels import of_run, run_title
from isthmus.analysis.phrases import memory_name, percent_cell, percent_words
from isthmus.document import chart
from isthmus.document.chart import Axis, Drawn, curves_chart
from isthmus.document.grid import Column, interval_cell
from isthmus.document.palette import numbered_look
from isthmus.document.pivot import Entry, pivot
from isthmus.document.section import Chart, Part, Section
from isthmus.language import capitalised, say
from isthmus.record import Run, format_bytes, format_rate


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of it; None where that is nothing but skips.

    A row for each method, a pair of columns for each neighbour, a group for each run, size and direction.
    """
    title = say("interference_report.grid")
    columns = [
        Column(_heading(neighbour, name), _column(neighbour, name), minor=name == "rate")
        for neighbour in NEIGHBOURS
        for name in ("slowdown", "rate")
    ]
    grid = pivot(title, say("labels.corner_method"), columns, _entries(runs))
    table = Part(title, say("interference_report.grid_note"), grids=(grid,)) if grid else None
    return section_of("interference", [table, cost_part(runs)], ("load",))


def _column(neighbour: str, name: str) -> str:
    return f"{say(f'interference_report.neighbour_{neighbour}')}: {_heading(neighbour, name)}"


def _heading(neighbour: str, name: str) -> str:
    return f"{say(f'interference_report.heading_{neighbour}')}\n{say(f'interference_report.heading_{name}')}"


def _entries(runs: Sequence[Run]) -> Iterator[Entry]:
    for index, run in enumerate(runs):
        for cost in costs(run):
            words = [run_title(runs, index)] if len(runs) > 1 else []
            group = say("common.comma").join([*words, cost.direction.upper(), format_bytes(cost.bytes)])
            slowdown = percent_cell(cost.slowdown, wide=cost.wide)
            for name, cell in (("slowdown", slowdown), ("rate", interval_cell(cost.rate, scale=1e-9))):
                yield Entry(group, way_words(cost), _column(cost.neighbour, name), cell)


def cost_part(runs: Sequence[Run]) -> Part:
    """A chart for each run and direction, with the first neighbour that was measured."""
    heading = say("interference_report.chart")
    axes = (
        Axis(say("interference_report.axis_rate"), scale="linear"),
        Axis(say("interference_report.axis_slowdown"), scale="linear"),
    )
    charts = []
    for index, run in enumerate(runs):
        largest_costs = largest(costs(run))
        for neighbour in [name for name in NEIGHBOURS if any(cost.neighbour == name for cost in largest_costs)][:1]:
            for direction in DIRECTIONS:
                shown = [cost for cost in largest_costs if (cost.neighbour, cost.direction) == (neighbour, direction)]
                if curves := list(_curves(shown)):
                    words = [say(f"interference_report.neighbour_{neighbour}"), direction.upper()]
                    title = of_run(say("common.comma").join(words), runs, index)
                    charts.append(Chart(title, f"{heading}: {title}", curves_chart(curves, *axes)))
    legend = legend_of({_name(*each): numbered_look(place) for place, each in enumerate(WAYS)})
    return Part(heading, say("interference_report.chart_note"), charts=tuple(charts), legend=legend)


def _curves(shown: Sequence[Cost]) -> Iterator[Drawn]:
    for place, (method, memory) in enumerate(WAYS):
        name = _name(method, memory)
        rows = tuple(
            chart.row(
                name,
                cost.rate.median / 1e9,
                cost.slowdown.scaled(100),
                way=way_words(cost),
                rate=format_rate(cost.rate.median),
                slowdown=f"{percent_words(cost.slowdown.median)} %",
            )
            for cost in shown
            if (cost.method, cost.memory) == (method, memory)
        )
        if rows:
            yield Drawn(name, numbered_look(place), rows)


def _name(method: str, memory: str) -> str:
    if method == "copy":
        return capitalised(say("interference.copy", memory=memory_name(memory)))
    return say(f"interference_report.curve_{method}")
