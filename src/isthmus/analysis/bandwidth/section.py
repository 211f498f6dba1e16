"""The section on bandwidth: how fast each kind of host memory moves, at which size, and how steadily."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from isthmus.analysis.bandwidth.charts import legend, rate_charts, samples_charts, time_charts
from isthmus.analysis.figures import brief_rate
from isthmus.analysis.labels import (
    DIRECTIONS,
    Source,
    curve_name,
    details,
    direction_title,
    heading,
    in_lines,
    in_one_text,
    sources,
)
from isthmus.analysis.phrases import about_bytes, link_rate
from isthmus.analysis.published.source import Measured, Series, measured
from isthmus.analysis.published.table import published_parts
from isthmus.analysis.statistics.curve import ONE_WAY, Curve, bandwidth_curves, find, host_curves, moved_memory
from isthmus.analysis.statistics.once import once
from isthmus.analysis.statistics.shape import (
    SMALL_BYTES,
    compared_bytes,
    compared_point,
    fixed_and_rate,
    half_size,
    plateau,
)
from isthmus.document.grid import Cell, Column, Grid, Group, Row, decimals, failed, interval_cell, missing, skipped
from isthmus.document.pivot import columns_of, rows_of
from isthmus.document.section import Glance, Part, Section, section_of
from isthmus.grouping import grouped
from isthmus.language import say
from isthmus.record import GIB, KIB, MIB, Case, Interval, Run, format_bytes, format_seconds, kind_rank

# Below this a rate says nothing and the time says everything.
_TIMES_BELOW = 64 * KIB
_Curves = Sequence[Source[Curve]]
__all__ = ["glance", "section"]
_MOST_KINDS = 7
# Left out first: as a rule they move as another one does.
_LIKE_OTHERS = ("pinned_portable", "registered_huge", "pageable_huge", "write_combined")
_BY_SIZE = ("pinned", "pageable_isthmus", "pageable")
_SIZES = (64 * KIB, MIB, 16 * MIB, 256 * MIB, GIB)
_BAR = 10
# A sweep that a screen has room for.
_MOST_CURVES, _LEAST_SWEEP, _MOST_SWEEP = 6, 6, 20
# The curves of one kind of memory by their direction.
_Directions = Mapping[str, Curve]


def section(runs: Sequence[Run]) -> Section | None:
    """Charts and tables of all runs that measured bandwidth; None where none did."""
    tables = tuple(grids(runs))
    if not tables:
        return None
    entries = legend(runs)
    parts = (
        Part(
            say("bandwidth_report.rates"),
            say("bandwidth_report.rates_note"),
            charts=rate_charts(runs),
            legend=entries,
            grids=tables,
        ),
        Part(say("bandwidth_report.small"), charts=time_charts(runs), legend=entries),
        Part(say("bandwidth_report.steady"), charts=samples_charts(runs)),
        *published_parts(runs, "bandwidth", _measured),
    )
    return section_of("bandwidth", parts, ("alone", "cached"))


def _measured(run: Run, series: Series) -> Mapping[int, Measured]:
    """Times and rates; as the size from which time grows with the size that at which a copy costs twice its latency."""
    if series.quantity != "size":
        return measured(run, series)
    curve = find(bandwidth_curves(run), series.case["direction"], str(series.case["host_memory"]))  # type: ignore[arg-type]
    half = half_size(curve) if curve and curve.points[0].bytes <= SMALL_BYTES else None
    if half is None:
        return {}
    return {0: Measured(Interval(half.bytes, half.bytes, half.bytes), words=about_bytes(half.bytes))}


def glance(run: Run) -> Glance | None:
    """A row for each kind of memory, the fastest first, and some by size; None where no rate was measured."""
    kinds: dict[str, dict[str, Curve]] = {}
    timed = host_curves(run)
    for curve in timed:
        kinds.setdefault(curve.host_memory, {}).setdefault(curve.direction, curve)
    directions = [direction for direction in DIRECTIONS if any(direction in curves for curves in kinds.values())]
    if not directions:
        return None
    main, size = directions[0], compared_bytes(timed)
    shown = {kind: curves for kind, curves in kinds.items() if main in curves}
    for kind in _LIKE_OTHERS:
        if len(shown) > _MOST_KINDS:
            shown.pop(kind, None)
    ranked = sorted(shown.values(), key=lambda curves: _place(curves[main], size))[:_MOST_KINDS]
    fastest = max(_rate(curves[main], size) for curves in ranked)
    small = min({point.bytes for curves in ranked for point in curves[main].points}, key=_from_small)
    names = [*map(_direction, directions), f"{format_bytes(small)} {_direction(main)}"]
    rows = []
    for curves in ranked:
        point = curves[main].at(small)
        cells = [_rate_cell(curves[direction], size) if direction in curves else missing() for direction in directions]
        cells.append(Cell(format_seconds(point.seconds.median)) if point else missing())
        cells.append(half_cell(curves[main]))
        cells.append(Cell("#" * max(round(_BAR * _rate(curves[main], size) / fastest), 1), state="bar"))
        rows.append(Row(curve_name(curves[main]), tuple(cells)))
    columns = (*columns_of([*names, say("bandwidth_report.glance_half")]), Column("", _direction(main), prose=True))
    grids = [Grid("", columns, (Group("", tuple(rows)),), corner=_at("GB/s", size))]
    chosen = (kinds.get(kind, {}).get(direction) for kind in _BY_SIZE for direction in ONE_WAY)
    if by_size := _by_size([curve for curve in chosen if curve]):
        grids.append(by_size)
    return Glance(tuple(grids))


def _by_size(curves: Sequence[Curve]) -> Grid | None:
    """Sizes down and a few curves across in sweeps of large sizes, as in tables of bandwidthTest; else sizes across."""
    sizes, shared = sorted({point.bytes for curve in curves for point in curve.points}), _sizes(curves)
    if len(curves) <= _MOST_CURVES and _LEAST_SWEEP <= len(sizes) <= _MOST_SWEEP and sizes[0] >= MIB:
        columns = tuple(Column(in_lines(_name(curve)), _name(curve)) for curve in curves)
        rows = rows_of(sizes, format_bytes, curves, lambda curve, size: brief_rate(curve.at(size)))
        return Grid("", columns, (Group("", rows),), corner="GB/s")
    if len(shared) < 2:
        return None
    rows = rows_of(curves, _name, shared, lambda size, curve: brief_rate(curve.at(size)))
    return Grid("", columns_of(map(format_bytes, shared)), (Group("", rows),), corner=say("page.size"))


def _name(curve: Curve) -> str:
    return f"{curve_name(curve)} {_direction(curve.direction)}"


def _place(curve: Curve, size: int) -> tuple[object, ...]:
    """The fastest first; what is as fast within some per cent in the order of all tables."""
    return -round(25 * math.log(_rate(curve, size))), kind_rank(curve.host_memory)


def _sizes(curves: Sequence[Curve]) -> list[int]:
    """The sizes measured with all of them that come nearest to those that everybody knows."""
    shared = set.intersection(*({point.bytes for point in curve.points} for curve in curves)) if curves else set()
    large = [size for size in shared if size >= _SIZES[0]]
    return sorted({min(large, key=lambda size: abs(size - wanted)) for wanted in _SIZES}) if large else []


def _from_small(size: int) -> float:
    return max(size / SMALL_BYTES, SMALL_BYTES / size)


def _direction(direction: str) -> str:
    return say("bandwidth_report.glance_both") if direction == "both" else say(f"common.way_{direction}")


def _rate(curve: Curve, size: int) -> float:
    return compared_point(curve, size).rate.median


def _rate_cell(curve: Curve, size: int) -> Cell:
    """The rate at the table's size; at the curve's largest, which the cell then names, where it lacks that one."""
    point = compared_point(curve, size)
    cell = brief_rate(point)
    return cell if point.bytes == size else replace(cell, text=_at(cell.text, point.bytes))


def _at(what: str, size: int) -> str:
    return say("bandwidth_report.glance_at", what=what, size=format_bytes(size))


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
