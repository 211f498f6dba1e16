"""The section on threads: many host threads that copy one buffer, and what older runs have of devices and nodes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from isthmus.analysis.figures import Figure, brief_rate, cell_of, figures, legend_of, link_rules, rate_cell, rate_rows
from isthmus.analysis.labels import DIRECTIONS, Source, direction_title, in_lines, of_run, run_label, sources
from isthmus.analysis.phrases import direction_name, direction_word, link_rate, memory_label
from isthmus.analysis.published.source import Measured, Series
from isthmus.analysis.published.table import published_parts
from isthmus.analysis.statistics.curve import ONE_WAY
from isthmus.analysis.threads.gain import enough_threads
from isthmus.analysis.threads.model import (
    BLANK,
    REFERENCE_BYTES,
    ThreadCurve,
    mode_look,
    mode_name,
    most_complete,
    reference_bytes,
    thread_curves,
    threads_label,
)
from isthmus.document.chart import Axis, Drawn, curves_chart
from isthmus.document.grid import Cell, Column, Grid, Group, Row, missing, spread
from isthmus.document.pivot import Entry, columns_of, pivot, rows_of
from isthmus.document.section import Chart, Glance, Part, Section, section_of
from isthmus.grouping import grouped
from isthmus.language import say
from isthmus.record import Run, format_bytes, kind_rank

# Numbers of threads on a first screen.
_MOST = 6
# Curves of one direction and size.
_Curves = Sequence[Source[ThreadCurve]]


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of threads; None where that is nothing but skips."""
    parts = [*rate_parts(runs), places_part(runs), *published_parts(runs, "threads", _slices_of_workers)]
    return section_of("threads", parts)


def glance(run: Run) -> Glance | None:
    """Rates by number of threads, one direction at a time, of one size; None where no threads were measured."""
    curves = [curve for curve in thread_curves(run) if curve.points and curve.direction in ONE_WAY]
    size = reference_bytes(curves)
    if size is None:
        return None
    subjects = grouped((curve for curve in curves if curve.bytes == size), lambda curve: curve.subject)
    chosen = [most_complete(same) for same in subjects.values()]
    counts = sorted({count for curve in chosen for count in curve.points})
    shown = (counts[at] for at in spread(len(counts), _MOST))
    rows = rows_of(shown, str, chosen, lambda curve, count: brief_rate(curve.points.get(count)))
    kinds = ((memory_label(curve.host_memory), direction_name(curve.direction)) for curve in chosen)
    columns = tuple(Column("\n".join(each), each[0]) for each in kinds)
    title = say("threads_report.glance", size=format_bytes(size))
    return Glance((Grid(title, columns, (Group("", rows),), say("threads_report.corner_threads")),))


def _slices_of_workers(run: Run, series: Series) -> Mapping[int, Measured]:
    """Rates by number of threads that are kept, each with one slice, of the use of streams with the most numbers."""
    wanted = tuple(series.case[name] for name in ("host_memory", "direction", "bytes"))
    curves = [
        curve
        for curve in thread_curves(run)
        if curve.subject == wanted and (curve.method, curve.slicing) == ("workers", "slices") and curve.points
    ]
    points = most_complete(curves).points if curves else {}
    return {count: Measured(point.rate, not point.converged) for count, point in points.items()}


def rate_parts(runs: Sequence[Run]) -> list[Part]:
    """A part for each size: the one to conclude about first, then the others."""
    by_size = grouped(sources(runs, thread_curves), lambda each: each.value.bytes)
    parts = [_part(size, by_size[size]) for size in sorted(by_size, key=lambda size: (size != REFERENCE_BYTES, size))]
    return [replace(part, note=say("threads_report.rates_note")) for part in parts[:1]] + parts[1:]


def _part(size: int, curves: _Curves) -> Part:
    by_direction = grouped(curves, lambda each: each.value.direction)
    along = [by_direction[direction] for direction in DIRECTIONS if direction in by_direction]
    return Part(
        title=say("threads_report.rates", size=format_bytes(size)),
        charts=tuple(drawn for of_direction in along for drawn in _charts(of_direction)),
        legend=legend_of({mode_name(each.value): mode_look(each.value) for each in sorted(curves, key=_place)}),
        grids=tuple(_grid(size, of_direction) for of_direction in along),
    )


def _charts(curves: _Curves) -> Iterator[Chart]:
    """One for each kind of memory and run, all on one scale."""
    measured = [(count, each.measured) for of in curves for count, each in of.value.figures.items() if each.measured]
    rates = [point.rate.median for _, point in measured]
    limits = [limit for each in curves if (limit := _limit(each))]
    counts = [count for count, _ in measured]
    threads = Axis(say("threads_report.threads_axis"), (min(counts), max(counts)))
    rate = Axis("GB/s", (min(rates) / 1.5e9, max([*rates, *limits]) * 1.6e-9))
    in_order = sorted(curves, key=lambda each: (kind_rank(each.value.host_memory), each.index))
    for (kind, _), chosen in grouped(in_order, lambda each: (each.value.host_memory, each.index)).items():
        first = chosen[0]
        title = say("common.comma").join([direction_title(first.value.direction), memory_label(kind)])
        rules = link_rules(first.run, both=first.value.direction == "both")
        spec = curves_chart([_drawn(each.value) for each in chosen], threads, rate, rules=rules)
        title = first.titled(title)
        yield Chart(title, say("threads_report.rates_label", title=title), spec)


def _limit(source: Source[ThreadCurve]) -> float | None:
    return link_rate(source.run, both=source.value.direction == "both")


def _drawn(curve: ThreadCurve) -> Drawn:
    wrong = {count: each.measured for count, each in curve.figures.items() if each.measured and not each.point}
    rows, failed = (
        rate_rows(mode_name(curve), points, lambda count: {"threads": threads_label(curve.direction, count)})
        for points in (curve.points, wrong)
    )
    return Drawn(mode_name(curve), mode_look(curve), rows, failed)


def _grid(size: int, curves: _Curves) -> Grid:
    """Threads down, methods to divide the transfer across, a group for each kind of memory."""
    direction = curves[0].value.direction
    places = {_place(each): each for each in sorted(curves, key=_place)}
    shown = sorted({each.index for each in curves if link_rate(each.run)})
    named = [(mode_name(each.value), each.index) for each in places.values()]
    named += [(say("threads_report.best"), index) for index in shown]
    columns = [Column(in_lines(name), name, run_label(curves[0].runs, index)) for name, index in named]
    groups = []
    by_kind = grouped(curves, lambda each: each.value.host_memory)
    for kind in sorted(by_kind, key=kind_rank):
        chosen = {_place(each): each for each in by_kind[kind]}
        ordered = [chosen.get(place) for place in places]
        rows = [
            Row(
                threads_label(direction, count),
                (
                    *(cell_of(each.value.figures.get(count) if each else None, rate_cell) for each in ordered),
                    *(_best_share([each for each in chosen.values() if each.index == index], count) for index in shown),
                ),
            )
            for count in sorted({count for each in chosen.values() for count in each.value.figures})
        ]
        enough = (_enough(each.value if each else None) for each in ordered)
        rows.append(Row(say("threads_report.enough"), (*enough, *(BLANK for _ in shown))))
        groups.append(Group(say("common.comma").join([memory_label(kind), "GB/s"]), tuple(rows)))
    title = say("common.comma").join([format_bytes(size), direction_title(direction)])
    return Grid(title, tuple(columns), tuple(groups), corner=say("threads_report.corner_threads"))


def _place(source: Source[ThreadCurve]) -> tuple[bool, bool, bool, int]:
    """Place of a column: the plainest method first, created threads last, runs side by side."""
    curve = source.value
    return curve.method == "spawn", curve.slicing == "chunks", curve.streams == "own", source.index


def _best_share(curves: _Curves, count: int) -> Cell:
    rates = [each.value.points[count].rate.median for each in curves if count in each.value.points]
    limit = _limit(curves[0]) if curves else None
    return Cell(f"{100 * max(rates) / limit:.0f} %") if rates and limit else missing()


def _enough(curve: ThreadCurve | None) -> Cell:
    if curve is None or 1 not in curve.points or len(curve.points) < 2:
        return BLANK
    return Cell(threads_label(curve.direction, enough_threads(curve.points)))


def places_part(runs: Sequence[Run]) -> Part:
    """What older runs have of several devices alone and at once, pairs of devices and NUMA nodes: a table each."""
    title, corner, grids = say("threads_report.devices"), say("threads_report.corner_device"), []
    for index, run in enumerate(runs):
        placed = (each for each in figures(run, "threads") if each.case.devices or each.case.peer or _node(each))
        entries = sorted(map(_entry, (each for each in placed if each.measured)), key=lambda each: each[:3])
        known = {entry.column for entry in entries}
        columns = columns_of(word for word in map(direction_word, DIRECTIONS) if word in known)
        grids.append(pivot(of_run(title, runs, index), corner, columns, entries))
    return Part(title, grids=tuple(filter(None, grids)))


def _entry(figure: Figure) -> Entry:
    case, comma = figure.case, say("common.comma")
    name, count = case.target, case.devices or 1
    if case.peer:
        name = f"{name} → {case.peer}"
    elif node := _node(figure):
        name = comma.join(filter(None, (name, node)))
    how = say("threads_report.devices_grid", count=count) if count > 1 else say("threads_report.alone")
    kind = memory_label(case.host_memory)
    # Without a target it is the sum over all of them.
    moved = case.bytes_moved if name else count * case.bytes_moved
    cell = cell_of(figure, lambda point: rate_cell(replace(point, bytes_moved=moved)))
    group = comma.join([kind, format_bytes(case.bytes), how, "GB/s"])
    return Entry(group, name or say("threads_report.all"), direction_word(case.direction or ""), cell)


def _node(figure: Figure) -> str:
    return "" if figure.case.node is None else say("strip.node", node=figure.case.node)
