"""The tables of bandwidth: sizes down and memory kinds across, times of small transfers and rates of large ones."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from isthmus.analysis.labels import (
    DIRECTIONS,
    Source,
    curve_name,
    details,
    direction_title,
    heading,
    in_one_text,
    sources,
)
from isthmus.analysis.phrases import about_bytes, link_rate
from isthmus.analysis.statistics.curve import Curve, bandwidth_curves, moved_memory
from isthmus.analysis.statistics.once import once
from isthmus.analysis.statistics.shape import fixed_and_rate, half_size, plateau
from isthmus.document.grid import Cell, Column, Grid, Group, Row, decimals, failed, interval_cell, missing, skipped
from isthmus.document.pivot import rows_of
from isthmus.grouping import grouped
from isthmus.language import say
from isthmus.record import KIB, Case, Run, format_bytes, kind_rank

# Below this a rate says nothing and the time says everything.
_TIMES_BELOW = 64 * KIB

_Curves = Sequence[Source[Curve]]


def grids(runs: Sequence[Run]) -> list[Grid]:
    """One table for each direction, and one for each direction timed by the device while the other runs."""
    curves = sorted(sources(runs, bandwidth_curves), key=lambda each: kind_rank(each.value.host_memory))
    timed = grouped(curves, lambda each: each.value.direction if each.value.metric == "host_seconds" else "duplex")
    titles = {direction: direction_title(direction) for direction in DIRECTIONS}
    titles["duplex"] = say("bandwidth_report.duplex")
    return [_grid(title, timed[name]) for name, title in titles.items() if name in timed]


@once()
def _skips(run: Run) -> Mapping[tuple[object, ...], Sequence[Case]]:
    """Skipped cases by method, direction and memory."""
    skips = (case for case in run.cases if case.skipped)
    return grouped(skips, lambda case: (case.method, case.direction, moved_memory(case)))


def _skipped(source: Source[Curve]) -> dict[int, str]:
    """By size why it was left out."""
    curve = source.value
    skips = _skips(source.run).get((curve.method, curve.direction, curve.host_memory), ())
    return {case.bytes: case.note for case in skips if curve.alignment_bytes in (None, case.alignment_bytes)}


def _grid(title: str, curves: _Curves) -> Grid:
    columns = tuple(Column(heading(each.value), curve_name(each.value), each.label) for each in curves)
    measured = {point.bytes for each in curves for point in (*each.value.points, *each.value.failed)}
    sizes = sorted(measured.union(*map(_skipped, curves)))
    groups = [
        Group(
            title,
            rows_of(
                (size for size in sizes if (size >= _TIMES_BELOW) == rates),
                format_bytes,
                curves,
                partial(_cell, rates=rates),
            ),
        )
        for title, rates in ((say("bandwidth_report.times"), False), (say("bandwidth_report.group_rates"), True))
    ]
    groups.append(Group(say("bandwidth_report.group_summary"), tuple(_summary(curves))))
    return Grid(title, columns, tuple(group for group in groups if group.rows))


def _cell(source: Source[Curve], size: int, *, rates: bool) -> Cell:
    if any(point.bytes == size for point in source.value.failed):
        return failed()
    point = source.value.at(size)
    if point is None:
        why = _skipped(source).get(size)
        return missing() if why is None else skipped(why)
    interval, scale = (point.rate, 1e-9) if rates else (point.seconds, 1e6)
    return interval_cell(interval, scale=scale, wide=not point.converged, detail=in_one_text(details(point)))


def _summary(curves: _Curves) -> Iterator[Row]:
    settled = [plateau(each.value) for each in curves]
    if any(settled):
        rates = [each and each.rate.median / 1e9 for each in settled]
        cells = (Cell(f"{rate:.{decimals(rate)}f}") if rate else missing() for rate in rates)
        yield Row(say("bandwidth_report.row_settles"), tuple(cells))
        yield Row(say("bandwidth_report.row_half"), tuple(half_cell(each.value) for each in curves))
    lines = [fixed_and_rate(each.value) for each in curves]
    if any(lines):
        fixed = (interval_cell(line[0] if line and line[0].median > 0 else None, scale=1e6) for line in lines)
        yield Row(say("bandwidth_report.row_fixed"), tuple(fixed))
        yield Row(
            say("bandwidth_report.row_rate"), tuple(interval_cell(line and line[1], scale=1e-9) for line in lines)
        )
    links = [link_rate(each.run, both=each.value.direction == "both") for each in curves]
    if any(links):
        shares = (
            Cell(f"{100 * _end_rate(each.value) / link:.0f} %") if link and each.value.points else missing()
            for each, link in zip(curves, links, strict=True)
        )
        yield Row(say("bandwidth_report.row_link"), tuple(shares))


def half_cell(curve: Curve) -> Cell:
    """The size that moves at half of the plateau."""
    half = half_size(curve)
    return Cell(f"{'<= ' if half.at_most else ''}{about_bytes(half.bytes)}") if half else missing()


def _end_rate(curve: Curve) -> float:
    """The plateau, or where there is none the rate of the largest size."""
    settled = plateau(curve)
    return settled.rate.median if settled else curve.points[-1].rate.median
