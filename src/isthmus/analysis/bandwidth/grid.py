"""The tables of bandwidth: sizes down and memory kinds across, times of small transfers and rates of large ones."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from isthmus.analysis.labels import DIRECTIONS, curve_name, details, direction_title, heading, in_one_text, run_label
from isthmus.analysis.phrases import about_bytes, link_rate
from isthmus.analysis.statistics.curve import Curve, Point, bandwidth_curves, moved_memory
from isthmus.analysis.statistics.line import fixed_and_rate
from isthmus.analysis.statistics.shape import half_size, plateau
from isthmus.document.grid import Cell, Column, Grid, Group, Row, decimals, failed, interval_cell, missing, skipped
from isthmus.language import say
from isthmus.record import KIB, Case, Run, format_bytes, kind_rank

# Below this a rate says nothing and the time says everything.
_TIMES_BELOW = 64 * KIB


@dataclass(frozen=True)
class _Source:
    """A column's run and curve, and the sizes that were skipped."""

    run: Run
    label: str
    curve: Curve
    skipped: dict[int, str]


def grids(runs: Sequence[Run]) -> list[Grid]:
    """One table for each direction, and one for each direction timed by the device while the other runs."""
    sources = [source for index, run in enumerate(runs) for source in _sources(run, run_label(runs, index))]
    sources.sort(key=lambda source: kind_rank(source.curve.host_memory))
    made = []
    for direction in DIRECTIONS:
        chosen = [source for source in sources if source.curve.direction == direction and _on_host_clock(source)]
        if chosen:
            made.append(_grid(direction_title(direction), chosen))
    duplex = [source for source in sources if not _on_host_clock(source)]
    if duplex:
        made.append(_grid(say("bandwidth_report.duplex"), duplex))
    return made


def _on_host_clock(source: _Source) -> bool:
    return source.curve.metric == "host_seconds"


def _sources(run: Run, label: str) -> Iterator[_Source]:
    skipped = [case for case in run.cases if case.skipped]
    for curve in bandwidth_curves(run):
        yield _Source(run, label, curve, {case.bytes: case.note for case in skipped if _belongs(case, curve)})


def _belongs(case: Case, curve: Curve) -> bool:
    return (case.method, case.direction, moved_memory(case)) == (
        curve.method,
        curve.direction,
        curve.host_memory,
    ) and curve.alignment_bytes in (None, case.alignment_bytes)


def _grid(title: str, sources: list[_Source]) -> Grid:
    columns = tuple(Column(heading(source.curve), curve_name(source.curve), source.label) for source in sources)
    sizes = sorted({size for source in sources for size in (*_measured_sizes(source.curve), *source.skipped)})
    small = [size for size in sizes if size < _TIMES_BELOW]
    large = [size for size in sizes if size >= _TIMES_BELOW]
    groups = [
        Group(say("bandwidth_report.times"), tuple(_row(size, sources, rates=False) for size in small)),
        Group(say("bandwidth_report.group_rates"), tuple(_row(size, sources, rates=True) for size in large)),
        Group(say("bandwidth_report.group_summary"), tuple(_summary(sources))),
    ]
    return Grid(title, columns, tuple(group for group in groups if group.rows))


def _measured_sizes(curve: Curve) -> list[int]:
    return [point.bytes for point in (*curve.points, *curve.failed)]


def _row(size: int, sources: list[_Source], *, rates: bool) -> Row:
    return Row(format_bytes(size), tuple(_cell(source, size, rates=rates) for source in sources))


def _cell(source: _Source, size: int, *, rates: bool) -> Cell:
    if any(point.bytes == size for point in source.curve.failed):
        return failed()
    point = source.curve.at(size)
    if point is None:
        if size in source.skipped:
            return skipped(source.skipped[size])
        return missing()
    interval, scale = (point.rate, 1e-9) if rates else (point.seconds, 1e6)
    return interval_cell(interval, scale=scale, wide=not point.converged, detail=_detail(point))


def _detail(point: Point) -> str:
    return in_one_text(details(point))


def _summary(sources: list[_Source]) -> Iterator[Row]:
    settled = [plateau(source.curve) for source in sources]
    if any(settled):
        yield Row(
            say("bandwidth_report.row_settles"),
            tuple(
                Cell(f"{curve.rate.median / 1e9:.{decimals(curve.rate.median / 1e9)}f}") if curve else missing()
                for curve in settled
            ),
        )
        yield Row(say("bandwidth_report.row_half"), tuple(_half_cell(source.curve) for source in sources))
    lines = [fixed_and_rate(source.curve) for source in sources]
    if any(lines):
        fixed = (interval_cell(line[0], scale=1e6) if line and line[0].median > 0 else missing() for line in lines)
        yield Row(say("bandwidth_report.row_fixed"), tuple(fixed))
        rates = (interval_cell(line[1], scale=1e-9) if line else missing() for line in lines)
        yield Row(say("bandwidth_report.row_rate"), tuple(rates))
    links = [link_rate(source.run, both=source.curve.direction == "both") for source in sources]
    if any(links):
        yield Row(
            say("bandwidth_report.row_link"),
            tuple(
                Cell(f"{100 * _end_rate(source.curve) / link:.0f} %") if link and source.curve.points else missing()
                for source, link in zip(sources, links, strict=True)
            ),
        )


def _half_cell(curve: Curve) -> Cell:
    half = half_size(curve)
    if half is None:
        return missing()
    return Cell(f"{'<= ' if half.at_most else ''}{about_bytes(half.bytes)}")


def _end_rate(curve: Curve) -> float:
    """The plateau, or where there is none the rate of the largest size."""
    settled = plateau(curve)
    return settled.rate.median if settled else curve.points[-1].rate.median
