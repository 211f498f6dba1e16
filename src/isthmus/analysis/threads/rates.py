"""Rate against the number of threads: charts by direction and memory kind, and the tables of their figures."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from isthmus.analysis.labels import (
    DIRECTIONS,
    details,
    direction_title,
    in_lines,
    in_one_text,
    kind_label,
    run_label,
    run_title,
)
from isthmus.analysis.phrases import link_rate
from isthmus.analysis.statistics.curve import Point
from isthmus.analysis.threads.gain import enough_threads
from isthmus.analysis.threads.labels import BLANK, mode_look, mode_name, threads_label
from isthmus.analysis.threads.model import REFERENCE_BYTES, ThreadCurve, thread_curves
from isthmus.document import chart
from isthmus.document.chart import Axis, Drawn, curves_chart
from isthmus.document.grid import Cell, Column, Grid, Group, Row, failed, interval_cell, missing, skipped
from isthmus.document.section import Chart, LegendEntry, Part
from isthmus.language import say
from isthmus.record import Run, format_bytes, format_rate, kind_rank


@dataclass(frozen=True)
class _Source:
    """A curve with the run that it is of."""

    index: int
    run: Run
    curve: ThreadCurve


def rate_parts(runs: Sequence[Run]) -> list[Part]:
    """A part for each size: the one to conclude about first, then the others."""
    sources = [_Source(index, run, curve) for index, run in enumerate(runs) for curve in thread_curves(run)]
    sizes = sorted({source.curve.bytes for source in sources}, key=lambda size: (size != REFERENCE_BYTES, size))
    parts = [_part(runs, size, [source for source in sources if source.curve.bytes == size]) for size in sizes]
    return [replace(part, note=say("threads_report.rates_note")) for part in parts[:1]] + parts[1:]


def _part(runs: Sequence[Run], size: int, sources: Sequence[_Source]) -> Part:
    along = {
        direction: [source for source in sources if source.curve.direction == direction] for direction in DIRECTIONS
    }
    looks = {mode_name(source.curve): mode_look(source.curve) for source in sorted(sources, key=_way)}
    return Part(
        title=say("threads_report.rates", size=format_bytes(size)),
        charts=tuple(drawn for chosen in along.values() for drawn in _charts(runs, chosen)),
        legend=tuple(LegendEntry(name, look) for name, look in looks.items()),
        grids=tuple(_grid(runs, size, chosen) for chosen in along.values() if chosen),
    )


def _charts(runs: Sequence[Run], sources: Sequence[_Source]) -> Iterator[Chart]:
    """One for each kind of memory and run of one direction and size, all on one scale."""
    if not sources:
        return
    counts = [count for source in sources for count in (*source.curve.points, *source.curve.failed)]
    across, rates = (min(counts), max(counts)), _domain(sources)
    for kind in sorted({source.curve.host_memory for source in sources}, key=kind_rank):
        for index in sorted({source.index for source in sources}):
            chosen = [source for source in sources if (source.index, source.curve.host_memory) == (index, kind)]
            if not chosen:
                continue
            direction = chosen[0].curve.direction
            title = say("common.comma").join([direction_title(direction), kind_label(kind)])
            if len(runs) > 1:
                title += f": {run_title(runs, index)}"
            yield Chart(title, say("threads_report.rates_label", title=title), _rate_chart(chosen, across, rates))


def _rate_chart(sources: Sequence[_Source], across: tuple[int, int], rates: tuple[float, float]) -> chart.Spec:
    limit = _limit(sources[0])
    return curves_chart(
        [_drawn(source) for source in sources],
        Axis(say("threads_report.threads_axis"), across),
        Axis("GB/s", rates),
        rules=[(limit / 1e9, say("threads_report.link", rate=format_rate(limit)))] if limit else [],
    )


def _limit(source: _Source) -> float | None:
    return link_rate(source.run, both=source.curve.direction == "both")


def _domain(sources: Sequence[_Source]) -> tuple[float, float]:
    """Range of rates in GB/s, the link's rate included, with some room."""
    points = [point for each in sources for point in (*each.curve.points.values(), *each.curve.failed.values())]
    rates = [point.rate.median for point in points]
    limits = [limit for each in sources if (limit := _limit(each))]
    return min(rates) / 1.5e9, max([*rates, *limits]) * 1.6e-9


def _drawn(source: _Source) -> Drawn:
    curve = source.curve
    rows, failed = (
        tuple(
            chart.row(
                mode_name(curve),
                count,
                point.rate.median / 1e9,
                point.rate.low / 1e9,
                point.rate.high / 1e9,
                threads=threads_label(curve.direction, count),
                **details(point),
            )
            for count, point in points.items()
        )
        for points in (curve.points, curve.failed)
    )
    return Drawn(mode_name(curve), mode_look(curve), rows, failed)


def _grid(runs: Sequence[Run], size: int, sources: Sequence[_Source]) -> Grid:
    """Threads down, methods to divide the transfer across, a group for each kind of memory."""
    direction = sources[0].curve.direction
    settings = sorted({_way(source) for source in sources})
    kinds = sorted({source.curve.host_memory for source in sources}, key=kind_rank)
    shown = sorted({source.index for source in sources if link_rate(source.run)})
    first = {setting: next(source.curve for source in sources if _way(source) == setting) for setting in settings}
    named = [(mode_name(first[setting]), setting[-1]) for setting in settings]
    named += [(say("threads_report.best"), index) for index in shown]
    columns = [Column(in_lines(name), name, run_label(runs, index)) for name, index in named]
    groups = []
    for kind in kinds:
        chosen = {_way(source): source for source in sources if source.curve.host_memory == kind}
        ordered = [chosen.get(setting) for setting in settings]
        counts = sorted({count for source in chosen.values() for count in _counts(source.curve)})
        rows = [
            Row(
                threads_label(direction, count),
                (
                    *(_cell(source, count) for source in ordered),
                    *(_best_share([each for each in chosen.values() if each.index == index], count) for index in shown),
                ),
            )
            for count in counts
        ]
        enough = (_enough(source) for source in ordered)
        rows.append(Row(say("threads_report.enough"), (*enough, *(BLANK for _ in shown))))
        groups.append(Group(say("common.comma").join([kind_label(kind), "GB/s"]), tuple(rows)))
    title = say("common.comma").join([format_bytes(size), direction_title(direction)])
    return Grid(title, tuple(columns), tuple(groups), corner=say("threads_report.corner_threads"))


def _way(source: _Source) -> tuple[bool, bool, bool, int]:
    """Place of a column: the plainest way first, created threads last, runs side by side."""
    curve = source.curve
    return curve.method == "spawn", curve.slicing == "chunks", curve.streams == "own", source.index


def _counts(curve: ThreadCurve) -> Iterable[int]:
    return (*curve.points, *curve.failed, *curve.skipped)


def _cell(source: _Source | None, count: int) -> Cell:
    if source is None:
        return missing()
    curve = source.curve
    if count in curve.failed:
        return failed()
    if count in curve.points:
        return point_cell(curve.points[count])
    if count in curve.skipped:
        return skipped(curve.skipped[count])
    return missing()


def point_cell(point: Point | None) -> Cell:
    """The rate in GB/s with its interval; what it took on hovering."""
    if point is None:
        return missing()
    detail = in_one_text(details(point))
    return interval_cell(point.rate, scale=1e-9, wide=not point.converged, detail=detail)


def _best_share(sources: Sequence[_Source], count: int) -> Cell:
    rates = [source.curve.points[count].rate.median for source in sources if count in source.curve.points]
    limit = _limit(sources[0]) if sources else None
    return Cell(f"{100 * max(rates) / limit:.0f} %") if rates and limit else missing()


def _enough(source: _Source | None) -> Cell:
    if source is None or 1 not in source.curve.points or len(source.curve.points) < 2:
        return BLANK
    return Cell(threads_label(source.curve.direction, enough_threads(source.curve.points)))
