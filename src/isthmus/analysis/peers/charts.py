"""Rates between two devices against size, as a chart and a table for each pair."""

from collections.abc import Mapping, Sequence

from isthmus.analysis.charts import legend_of
from isthmus.analysis.figures import Figure, figure_cell
from isthmus.analysis.labels import in_lines, of_run, run_label
from isthmus.analysis.peers.model import METHODS, copies_of
from isthmus.document import chart
from isthmus.document.chart import Axis, Drawn, curves_chart
from isthmus.document.grid import Column, Grid, Group
from isthmus.document.palette import numbered_look
from isthmus.document.pivot import rows_of
from isthmus.document.section import Chart, Part, chart_name
from isthmus.language import say
from isthmus.record import Run, format_bytes, format_rate


def size_part(runs: Sequence[Run]) -> Part:
    """All pairs of all runs whose copies have several sizes."""
    charts, grids = [], []
    for index, run in enumerate(runs):
        of_pairs = sorted((each for each in copies_of(run) if each.direction == "peer"), key=lambda each: each.bytes)
        for pair in dict.fromkeys(pair for each in copies_of(run) if each.direction == "peer" for pair in each.rates):
            figures = {(each.method, each.bytes): each.pairs[pair] for each in of_pairs if pair in each.pairs}
            sizes = list(dict.fromkeys(size for _, size in figures))
            if len(sizes) < 2:
                continue
            title = of_run(say("peers_report.pair", source=pair[0], to=pair[1]), runs, index)
            methods = [method for method in METHODS if any(each == method for each, _ in figures)]
            rows = rows_of(sizes, format_bytes, methods, lambda *key, of=figures: figure_cell(of.get(key)))
            columns = tuple(Column(in_lines(_name(method)), _name(method)) for method in methods)
            grids.append(Grid(title, columns, (Group("GB/s", rows),)))
            curves = [_drawn(method, figures) for method in methods]
            axes = Axis(say("peers_report.size"), labels="bytes"), Axis("GB/s")
            spec = curves_chart([curve for curve in curves if curve.rows], *axes)
            name = chart_name("peers", *pair, run_label(runs, index))
            charts.append(Chart(title, say("peers_report.sizes_label", title=title), spec, name))
    legend = legend_of({_name(method): numbered_look(at) for at, method in enumerate(METHODS)})
    return Part(say("peers_report.sizes"), say("peers_report.note_sizes"), tuple(charts), legend, tuple(grids))


def _name(method: str) -> str:
    return say(f"peers_report.method_{method}")


def _drawn(method: str, figures: Mapping[tuple[str, int], Figure]) -> Drawn:
    rates = {size: each.rate for (of, size), each in figures.items() if of == method and each.rate}
    shown = say("labels.told_rate")
    rows = (
        chart.row(_name(method), size, rate.scaled(1e-9), **{shown: format_rate(rate.median)})
        for size, rate in rates.items()
    )
    return Drawn(_name(method), numbered_look(METHODS.index(method)), tuple(rows))
