"""The section between devices: who reaches whom by what, then matrices of rates and accesses, from rows to columns."""

from collections.abc import Mapping, Sequence
from typing import Literal

from isthmus.analysis.figures import Figure, figure_cell, legend_of
from isthmus.analysis.labels import in_lines, of_run, run_label
from isthmus.analysis.peers.model import (
    METHODS,
    AtOnce,
    Copies,
    Pair,
    accesses,
    at_once,
    copies_of,
    link_grid,
    path_cell,
    path_name,
    paths,
    specs_of,
    whole,
)
from isthmus.document import chart
from isthmus.document.chart import Axis, Drawn, curves_chart, numbered_look
from isthmus.document.grid import Cell, Column, Grid, Group, Row, missing
from isthmus.document.pivot import Entry, columns_of, pivot, rows_of
from isthmus.document.section import Chart, Glance, Part, Section, chart_name, section_of
from isthmus.grouping import grouped
from isthmus.language import say
from isthmus.record import Run, format_bytes, format_rate

# A device and itself.
_SELF = Cell("", state="missing")
_COLUMNS = (("peer", "copy_write"), ("peer", "copy_read"), ("both", "copy_write"), ("peer", "kernel_write"))


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of it; None where that is nothing but skips."""
    grids: dict[str, list[Grid]] = {name: [] for name in ("paths", "one_way", "both", "access", "one_and_all", "links")}
    for index, run in enumerate(runs):
        if any(case.series for case in run.cases if case.experiment == "peers"):
            for name, of_one in _grids(run).items():
                grids[name] += [each.titled(of_run(each.title, runs, index)) for each in of_one if each]
    parts = [
        Part(say(f"peers_report.part_{name}"), say(f"peers_report.note_{name}"), grids=tuple(of_all))
        for name, of_all in grids.items()
    ]
    return section_of("peers", [*parts[:-1], size_part(runs), parts[-1]], ("virtual",))


def _grids(run: Run) -> dict[str, list[Grid | None]]:
    return {
        "paths": [
            _matrix(say("peers_report.part_paths"), {"": {pair: path_cell(path) for pair, path in paths(run).items()}})
        ],
        "one_way": [_rate_grid(whole(run, "peer"), "one_way")],
        "both": [_rate_grid(whole(run, "both"), "both")],
        "access": [_matrix(say("peers_report.grid_access"), {"": _figure_cells(accesses(run), "ns")})],
        "one_and_all": [_all_grid(each) for each in at_once(run)],
        "links": [link_grid(run)],
    }


def _rate_grid(copies: Sequence[Copies], name: str) -> Grid | None:
    if not copies:
        return None
    title = say(f"peers_report.grid_{name}", size=format_bytes(copies[0].bytes))
    return _matrix(title, {method_name(each.method): _figure_cells(each.pairs) for each in copies})


def _figure_cells(pairs: Mapping[Pair, Figure], unit: Literal["GB/s", "ns"] = "GB/s") -> dict[Pair, Cell]:
    return {pair: figure_cell(figure, unit) for pair, figure in pairs.items()}


def _matrix(title: str, groups: Mapping[str, Mapping[Pair, Cell]]) -> Grid | None:
    """Rows are where copies come from, columns where they go; a group for each direction."""
    pairs = {pair for cells in groups.values() for pair in cells}
    rows, columns = specs_of(source for source, _ in pairs), specs_of(to for _, to in pairs)
    entries = [
        Entry(name, row, to, _SELF if row == to else cells.get((row, to)) or missing())
        for name, cells in groups.items()
        for row in rows
        for to in columns
    ]
    return pivot(title, say("peers_report.corner"), columns_of(columns), entries)


def _all_grid(sums: AtOnce) -> Grid | None:
    words = {"count": sums.devices - 1, "size": format_bytes(sums.bytes)}
    title = say(f"peers_report.at_once_{sums.kind}", **words)
    entries = [
        Entry("", method_name(method), spec or say("peers_report.sum"), figure_cell(figure))
        for (method, spec), figure in sorted(sums.figures.items(), key=lambda each: METHODS.index(each[0][0]))
    ]
    columns = columns_of([spec or say("peers_report.sum") for spec in specs_of(spec for _, spec in sums.figures)])
    return pivot(title, say("labels.corner_method"), columns, entries)


def method_name(method: str) -> str:
    """``write, copy engine``."""
    return say(f"peers_report.method_{method}")


def glance(run: Run) -> Glance | None:
    """None where nothing between devices was measured."""
    by_kind = {(each.direction, each.method): each for way in ("peer", "both") for each in whole(run, way)}
    if not any(each.rates for each in by_kind.values()):
        return None
    joined = paths(run)
    by_path = grouped(joined, lambda pair: path_name(joined[pair]))
    times = accesses(run)
    columns = [column for column in _COLUMNS if column in by_kind]
    rows = []
    for name, pairs in by_path.items():
        cells = [figure_cell(_slowest([by_kind[column].pairs.get(pair) for pair in pairs])) for column in columns]
        cells.append(figure_cell(_slowest([times.get(pair) for pair in pairs]), "ns"))
        if all(cell.state in ("skipped", "missing") for cell in cells):
            continue
        rows.append(Row(say("peers_report.glance_row", path=name, count=len(pairs)), tuple(cells)))
    headings = [say(f"peers_report.glance_{direction}_{method}") for direction, method in columns]
    headings.append(say("peers_report.glance_access"))
    title = say("peers_report.glance", size=format_bytes(copies_of(run)[0].bytes))
    return Glance((Grid(title, columns_of(headings), (Group("", tuple(rows)),), say("peers_report.glance_corner")),))


def _slowest(figures: Sequence[Figure | None]) -> Figure | None:
    """What is wrong first, then the longest time; what was not measured last."""
    known = [figure for figure in figures if figure is not None]
    wrong = [figure for figure in known if figure.is_wrong]
    timed = [figure for figure in known if figure.seconds]
    if wrong or not timed:
        return next(iter(wrong or known), None)
    return max(timed, key=lambda figure: figure.seconds.median if figure.seconds else 0.0)


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
            columns = tuple(Column(in_lines(method_name(method)), method_name(method)) for method in methods)
            grids.append(Grid(title, columns, (Group("GB/s", rows),)))
            curves = [_drawn(method, figures) for method in methods]
            axes = Axis(say("peers_report.size"), labels="bytes"), Axis("GB/s")
            spec = curves_chart([curve for curve in curves if curve.rows], *axes)
            name = chart_name("peers", *pair, run_label(runs, index))
            charts.append(Chart(title, say("peers_report.sizes_label", title=title), spec, name))
    legend = legend_of({method_name(method): numbered_look(at) for at, method in enumerate(METHODS)})
    return Part(say("peers_report.sizes"), say("peers_report.note_sizes"), tuple(charts), legend, tuple(grids))


def _drawn(method: str, figures: Mapping[tuple[str, int], Figure]) -> Drawn:
    rates = {size: each.rate for (of, size), each in figures.items() if of == method and each.rate}
    shown = say("labels.told_rate")
    rows = (
        chart.row(method_name(method), size, rate.scaled(1e-9), **{shown: format_rate(rate.median)})
        for size, rate in rates.items()
    )
    return Drawn(method_name(method), numbered_look(METHODS.index(method)), tuple(rows))
