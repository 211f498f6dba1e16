"""From how many pieces on a method beats the incumbent, and where the batch call's rate jumps."""

from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from isthmus.analysis.pieces.cell import BATCHING
from isthmus.analysis.pieces.model import Surface
from isthmus.analysis.statistics.contrast import ratio
from isthmus.analysis.statistics.curve import Point
from isthmus.analysis.statistics.once import once
from isthmus.analysis.statistics.resample import resampled_medians
from isthmus.analysis.statistics.threshold import Threshold, size_threshold, uses_threshold
from isthmus.record import Interval

# Below this factor, it is no reason to give a program's pieces another size.
_CLIFF = 1.25


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
