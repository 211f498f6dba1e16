"""All tables of an experiment that moves pieces, among them from how many on a method beats the incumbent."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from isthmus.analysis.breakeven.words import about_uses
from isthmus.analysis.figures import link_rules, rate_cell, rate_rows
from isthmus.analysis.labels import Source, details, in_one_text, sources
from isthmus.analysis.phrases import spanned
from isthmus.analysis.pieces.cell import BATCHING, STRIDED, Cell, Kind
from isthmus.analysis.pieces.map import Surfaces, corner, count_words, main_sources, map_parts, methods_legend
from isthmus.analysis.pieces.model import Surface, piece_surfaces
from isthmus.analysis.pieces.words import method_look, method_name, surface_title
from isthmus.analysis.statistics.contrast import ratio
from isthmus.analysis.statistics.curve import Point
from isthmus.analysis.statistics.once import once
from isthmus.analysis.statistics.resample import resampled_medians
from isthmus.analysis.statistics.threshold import Threshold, size_threshold, uses_threshold
from isthmus.document.chart import Axis, Drawn, curves_chart
from isthmus.document.grid import Cell as Shown
from isthmus.document.grid import Column, Grid, Group, Row, failed, missing, skipped, time_cell
from isthmus.document.pivot import grid_of, groups_of, rows_of
from isthmus.document.section import Chart, Part
from isthmus.language import in_brackets, say
from isthmus.record import Interval, Run, format_bytes

_DRAWN_COUNTS = 2
# Below this factor, it is no reason to give a program's pieces another size.
_CLIFF = 1.25


def pieces_parts(runs: Sequence[Run], kind: Kind) -> list[Part | None]:
    """The fastest method everywhere, from where it pays, then all figures."""
    surfaces = sources(runs, lambda run: piece_surfaces(run, kind))
    main = main_sources(surfaces)
    # Every point of every method.
    title = say(f"pieces_report.figures_title_{kind.shows}")
    last = curves_part(main), Part(title, grids=tuple(map(_grid, surfaces)), page_only=True)
    return [*map_parts(surfaces), _pays_part(kind, main), *last]


def _pays_part(kind: Kind, surfaces: Surfaces) -> Part:
    """A table for each surface: bytes of a piece down, methods across."""
    title = say("pieces_report.pays_title", incumbent=method_name(kind.incumbent))
    return Part(title, say("pieces_report.pays_note"), grids=tuple(filter(None, map(_pays, surfaces))))


def _pays(source: Source[Surface]) -> Grid | None:
    surface = source.value
    thresholds = count_thresholds(surface, source.target)
    methods = list(dict.fromkeys(method for _, method in thresholds))
    sizes = sorted({size for size, _ in thresholds})
    rows = rows_of(sizes, format_bytes, methods, lambda method, size: _pays_cell(thresholds.get((size, method))))
    named = {"setting": surface_title(source), "incumbent": method_name(surface.kind.incumbent)}
    title = say("pieces_report.pays_grid", **named)
    return grid_of(title, method_columns(methods), [Group("", rows)], corner(surface.kind))


def _pays_cell(threshold: Threshold | None) -> Shown:
    """``7 (6 to 9)``, ``never``, ``≤ 16`` where the smallest number measured is 16; ``always?`` within noise."""
    if threshold is None:
        return missing()
    if threshold.state == "cannot_tell":
        return Shown("?", state="missing")
    if threshold.state in {"from", "up_to"}:
        text = f"{about_uses(threshold.value)}{_within(threshold)}"
        return Shown(say("pieces_report.cell_up_to", value=text) if threshold.state == "up_to" else text)
    at_least = threshold.state == "always" and threshold.first > 1
    text = f"≤ {threshold.first:.0f}" if at_least else say(f"pieces_report.cell_{threshold.state}")
    return Shown(text) if threshold.certain else Shown(f"{text}?", state="wide")


def _within(threshold: Threshold) -> str:
    """The interval in brackets; nothing where it is the number itself."""
    low, high = max(threshold.low, threshold.first), min(threshold.high, threshold.last)
    first, last = about_uses(low), about_uses(high)
    return in_brackets(spanned(first, last)) if first != last else ""


def curves_part(surfaces: Surfaces) -> Part:
    """For each surface charts of the largest numbers of pieces of which half of the sizes, or more, were measured."""
    charts = tuple(drawn for each in surfaces for drawn in _charts(each))
    methods = (method for each in surfaces for method in each.value.methods)
    legend = methods_legend(surfaces[0].value.kind, methods) if surfaces else ()
    return Part(say("pieces_report.curves_title"), charts=charts, legend=legend)


def method_columns(methods: Sequence[str]) -> tuple[Column, ...]:
    """A column for each method, with a line for each word."""
    names = map(method_name, methods)
    return tuple(Column(name.replace(" + ", "+").replace(" ", "\n").replace("+", " +\n"), name) for name in names)


def method_cell(cell: Cell, method: str) -> Shown:
    """The method's rate in GB/s, or its time, or why there is none."""
    if method in cell.failed:
        return failed()
    # Where kernels reach mapped memory alone, they reach no pageable memory either.
    reason = cell.skipped.get(method) or cell.skipped.get(method.removeprefix("mapped_"))
    if method not in cell.points:
        nothing = say("pieces_report.nothing_to_do") if cell.kind is STRIDED else ""
        return skipped(reason) if reason else missing(nothing)
    point = cell.points[method]
    if cell.kind.shows == "rate":
        return rate_cell(point)
    return time_cell(point.seconds, wide=not point.converged, detail=in_one_text(details(point)))


def _charts(source: Source[Surface]) -> Iterator[Chart]:
    surface = source.value
    sizes = {count: [size for size, each in surface.measured if each == count] for count in surface.counts if count > 1}
    least = max(2, max(map(len, sizes.values()), default=0) / 2)
    for count in sorted(count for count in sizes if len(sizes[count]) >= least)[-_DRAWN_COUNTS:]:
        title = say("common.comma").join([count_words(surface.kind, count), surface_title(source)])
        curves = ((method, surface.along_sizes(count, method)) for method in surface.methods)
        drawn = [_drawn(surface.kind, method, points) for method, points in curves if points]
        axes = Axis(corner(surface.kind), labels="bytes"), Axis("GB/s")
        yield Chart(title, title, curves_chart(drawn, *axes, rules=link_rules(source.run)))


def _drawn(kind: Kind, method: str, points: Mapping[int, Point]) -> Drawn:
    name = method_name(method)
    rows = rate_rows(name, points, lambda size: {say("labels.told_method"): name, corner(kind): format_bytes(size)})
    return Drawn(name, method_look(kind, method), rows)


def _grid(source: Source[Surface]) -> Grid:
    """Sizes down, methods across, a group for each number of pieces."""
    surface = source.value
    rows = (
        (
            count_words(surface.kind, count),
            Row(format_bytes(size), tuple(method_cell(cell, method) for method in surface.methods)),
        )
        for (size, count), cell in sorted(surface.cells.items(), key=lambda each: (each[0][1], each[0][0]))
    )
    return Grid(surface_title(source), method_columns(surface.methods), groups_of(rows), corner(surface.kind))


class Cliff(NamedTuple):
    """Where the batch call takes significantly less time for larger pieces: between these sizes, with so many pieces.

    `gain` is how many times as long the smaller pieces take. `slow` and `fast` are what it moves on either side.
    """

    pieces: int
    below: int
    above: int
    gain: Interval
    slow: Point
    fast: Point


@once(kept=32)
def count_thresholds(surface: Surface, known_within: float) -> dict[tuple[int, str], Threshold]:
    """By size and challenger, where both it and the incumbent were measured with two numbers of pieces at least."""
    thresholds = {}
    # Numbers of rows lie too far apart for a line in their number.
    is_line, incumbent = surface.kind is BATCHING, surface.kind.incumbent
    points = {
        (*key, method): point
        for key, cell in surface.cells.items()
        if incumbent in cell.points
        for method, point in cell.points.items()
        if method in (incumbent, *surface.kind.challengers)
    }
    # All in one call: each is drawn once, and independent of the others.
    draws = resampled_medians([point.samples for point in points.values()], known_within=known_within)
    rows = dict(zip(points, draws, strict=True))
    for size, method in product(surface.sizes, surface.kind.challengers):
        counts = [count for each, count, name in points if (each, name) == (size, method)]
        if len(counts) > 1:
            ours, theirs = (np.array([rows[size, count, name] for count in counts]) for name in (incumbent, method))
            threshold = uses_threshold(counts, ours - theirs) if is_line else size_threshold(counts, ours, theirs)
            thresholds[size, method] = threshold
    return thresholds


def batch_curve(surface: Surface) -> tuple[int, dict[int, Point]]:
    """The number of pieces for which the batch call was measured at most sizes, and its points by size."""
    curves = {count: surface.along_sizes(count, "batch") for count in {count for _, count in surface.cells}}
    count = max(curves, key=lambda each: (len(curves[each]), each))
    return count, curves[count]


def batch_cliff(surface: Surface) -> Cliff | None:
    """The largest jump; None where larger pieces never take significantly less time."""
    count, curve = batch_curve(surface)
    jumps = [
        Cliff(count, below, above, ratio(slow.seconds, fast.seconds), slow, fast)
        for (below, slow), (above, fast) in pairwise(curve.items())
    ]
    cliffs = [jump for jump in jumps if jump.gain.low > 1 and jump.gain.median >= _CLIFF]
    return max(cliffs, key=lambda jump: jump.gain.median, default=None)
