"""Rates between two devices against size, as a chart and a table for each pair."""

from collections.abc import Iterator, Sequence

from isthmus.analysis.figures import figure_cell
from isthmus.analysis.labels import in_lines, run_label, run_title
from isthmus.analysis.peers.model import METHODS, Copies, Pair, copies_of
from isthmus.document import chart
from isthmus.document.chart import Axis, Drawn, curves_chart
from isthmus.document.grid import Column, Grid
from isthmus.document.palette import numbered_look
from isthmus.document.pivot import Entry, pivot
from isthmus.document.section import Chart, LegendEntry, Part, chart_name
from isthmus.language import say
from isthmus.record import Run, format_bytes, format_rate


def size_parts(runs: Sequence[Run]) -> list[Part]:
    """One part for all pairs of all runs whose copies have several sizes; none where none has."""
    charts: list[Chart] = []
    grids: list[Grid] = []
    for index, run in enumerate(runs):
        of_pairs = [each for each in copies_of(run) if each.direction == "peer"]
        pairs = dict.fromkeys(pair for each in of_pairs for pair in each.rates)
        for pair in pairs:
            of_pair = [each for each in of_pairs if pair in each.pairs]
            if len({each.bytes for each in of_pair}) < 2:
                continue
            title = say("peers_report.pair", source=pair[0], to=pair[1])
            title += f": {run_title(runs, index)}" if len(runs) > 1 else ""
            grids += filter(None, [_grid(title, of_pair, pair)])
            curves = [curve for method in METHODS if (curve := _drawn(method, of_pair, pair))]
            spec = curves_chart(curves, Axis(say("peers_report.size"), labels="bytes"), Axis("GB/s"))
            name = chart_name("peers", *pair, run_label(runs, index))
            charts.append(Chart(title, say("peers_report.sizes_label", title=title), spec, name))
    if not grids:
        return []
    legend = tuple(LegendEntry(_name(method), numbered_look(at)) for at, method in enumerate(METHODS))
    part = say("peers_report.sizes"), say("peers_report.note_sizes")
    return [Part(*part, charts=tuple(charts), legend=legend, grids=tuple(grids))]


def _name(method: str) -> str:
    return say(f"peers_report.method_{method}")


def _grid(title: str, of_pair: Sequence[Copies], pair: Pair) -> Grid | None:
    methods = [method for method in METHODS if any(each.method == method for each in of_pair)]
    columns = [Column(in_lines(_name(method)), _name(method)) for method in methods]
    entries = [
        Entry("GB/s", format_bytes(each.bytes), _name(each.method), figure_cell(each.pairs[pair]))
        for each in sorted(of_pair, key=lambda each: each.bytes)
    ]
    return pivot(title, "", columns, entries)


def _drawn(method: str, of_pair: Sequence[Copies], pair: Pair) -> Drawn | None:
    name = _name(method)

    def rows() -> Iterator[chart.Row]:
        for each in sorted(of_pair, key=lambda each: each.bytes):
            rate = each.rates.get(pair)
            if each.method == method and rate:
                values = {say("labels.told_rate"): format_rate(rate.median)}
                yield chart.row(name, each.bytes, rate.scaled(1e-9), **values)

    drawn = tuple(rows())
    return Drawn(name, numbered_look(METHODS.index(method)), drawn) if drawn else None
