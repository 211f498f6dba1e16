"""Bandwidth at a glance: what each kind of memory reaches in each direction, a small copy, and where latency ends."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from isthmus.analysis.labels import DIRECTIONS, curve_name, in_lines
from isthmus.analysis.phrases import about_bytes
from isthmus.analysis.statistics.curve import Curve, host_curves
from isthmus.analysis.statistics.shape import SMALL_BYTES, compared_bytes, compared_point, half_size
from isthmus.document.grid import Cell, Column, Grid, Group, Row, brief, interval_cell, missing
from isthmus.document.section import Glance
from isthmus.language import say
from isthmus.record import GIB, KIB, MIB, Run, format_bytes, format_seconds, kind_rank

_MOST_KINDS = 7
# Left out first: as a rule they move as another one does.
_LIKE_OTHERS = ("pinned_portable", "registered_huge", "pageable_huge", "write_combined")
_BY_SIZE = ("pinned", "pageable_isthmus", "pageable")
_SIZES = (64 * KIB, MIB, 16 * MIB, 256 * MIB, GIB)
_BAR = 10
# A sweep that a screen has room for.
_MOST_CURVES, _LEAST_SWEEP, _MOST_SWEEP = 6, 6, 20

_Ways = Mapping[str, Curve]


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
    by_size = [
        (kind, direction) for kind in _BY_SIZE for direction in ("h2d", "d2h") if direction in kinds.get(kind, {})
    ]
    curves = [kinds[kind][direction] for kind, direction in by_size]
    sizes = _sizes(curves)
    grids = [_overview(ranked, directions, main, size)]
    if sweep := _sweep(curves):
        grids.append(sweep)
    elif len(sizes) > 1:
        grids.append(_by_size(curves, sizes))
    return Glance(tuple(grids))


def _overview(ranked: Sequence[_Ways], directions: Sequence[str], main: str, size: int) -> Grid:
    fastest = max(_rate(curves[main], size) for curves in ranked)
    small = min({point.bytes for curves in ranked for point in curves[main].points}, key=_from_small)
    names = [*map(_way, directions), f"{format_bytes(small)} {_way(main)}"]
    names += [say("bandwidth_report.glance_half")]
    rows = []
    for curves in ranked:
        point, half = curves[main].at(small), half_size(curves[main])
        cells = [_rate_cell(curves[direction], size) if direction in curves else missing() for direction in directions]
        cells.append(Cell(format_seconds(point.seconds.median)) if point else missing())
        cells.append(Cell(f"{'<= ' if half.at_most else ''}{about_bytes(half.bytes)}") if half else missing())
        cells.append(Cell("#" * max(round(_BAR * _rate(curves[main], size) / fastest), 1), state="bar"))
        rows.append(Row(curve_name(curves[main]), tuple(cells)))
    columns = (*(Column(name, name) for name in names), Column("", _way(main), prose=True))
    return Grid("", columns, (Group("", tuple(rows)),), corner=_at("GB/s", size))


def _by_size(curves: Sequence[Curve], sizes: Sequence[int]) -> Grid:
    rows = tuple(
        Row(f"{curve_name(curve)} {_way(curve.direction)}", tuple(_point_cell(curve, size) for size in sizes))
        for curve in curves
    )
    columns = tuple(Column(format_bytes(size), format_bytes(size)) for size in sizes)
    return Grid("", columns, (Group("", rows),), corner=say("page.size"))


def _sweep(curves: Sequence[Curve]) -> Grid | None:
    """Sizes down and a few curves across, as tables of bandwidthTest are; None but for sweeps of large sizes."""
    sizes = sorted({point.bytes for curve in curves for point in curve.points})
    if len(curves) > _MOST_CURVES or not _LEAST_SWEEP <= len(sizes) <= _MOST_SWEEP or sizes[0] < MIB:
        return None
    names = [f"{curve_name(curve)} {_way(curve.direction)}" for curve in curves]
    columns = tuple(Column(in_lines(name), name) for name in names)
    rows = tuple(Row(format_bytes(size), tuple(_point_cell(curve, size) for curve in curves)) for size in sizes)
    return Grid("", columns, (Group("", rows),), corner="GB/s")


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


def _way(direction: str) -> str:
    return say("bandwidth_report.glance_both") if direction == "both" else say(f"common.way_{direction}")


def _rate(curve: Curve, size: int) -> float:
    return compared_point(curve, size).rate.median


def _rate_cell(curve: Curve, size: int) -> Cell:
    """The rate at the table's size; at the curve's largest, which the cell then names, where it lacks that one."""
    point = compared_point(curve, size)
    cell = _point_cell(curve, point.bytes)
    if point.bytes == size:
        return cell
    return replace(cell, text=_at(cell.text, point.bytes))


def _at(what: str, size: int) -> str:
    return say("bandwidth_report.glance_at", what=what, size=format_bytes(size))


def _point_cell(curve: Curve, size: int) -> Cell:
    point = curve.at(size)
    return brief(interval_cell(point.rate, scale=1e-9, wide=not point.converged)) if point else missing()
