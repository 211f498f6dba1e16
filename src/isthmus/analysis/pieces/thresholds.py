"""From how many pieces on a method beats the incumbent, what each costs it, and where the batch call's rate jumps."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from isthmus.analysis.pieces.cell import BATCHING
from isthmus.analysis.pieces.model import Surface
from isthmus.analysis.statistics.contrast import ratio
from isthmus.analysis.statistics.curve import Point
from isthmus.analysis.statistics.once import once
from isthmus.analysis.statistics.resample import interval_of, resampled_medians
from isthmus.analysis.statistics.threshold import Threshold, size_threshold, uses_threshold
from isthmus.record import Interval

# Points of a curve in which a jump stands out from its slope.
_LEAST_SIZES = 3
# Below this factor, it is no reason to give a program's pieces another size.
_CLIFF = 1.25
# Between sizes further apart, the time grows by so much that a jump may hide in it.
_CLOSE = 2
# Fewer pieces are lost in what a call costs at all.
_LEAST_PIECES = 256


class PieceCost(NamedTuple):
    """Seconds that each further piece adds to the incumbent, between two numbers of pieces of one size."""

    each_bytes: int
    first: int
    last: int
    seconds: Interval


@dataclass(frozen=True)
class Cliff:
    """Where the batch call takes significantly less time for larger pieces: between these sizes, with so many pieces.

    `gain` is how many times as long the smaller pieces take. `slow` and `fast` are what it moves on either side.
    """

    pieces: int
    below: int
    above: int
    gain: Interval
    slow: Point
    fast: Point


class CliffLook(NamedTuple):
    """What the batch call's times with so many pieces show: the largest jump, if any.

    `close` are the first and the last of the sizes that lie at most twice apart from one to the next: where a jump
    would have shown. None where there are not three of them.
    """

    pieces: int
    cliff: Cliff | None
    close: tuple[int, int] | None


@once(kept=32)
def count_thresholds(surface: Surface, known_within: float) -> dict[tuple[int, str], Threshold]:
    """By size and challenger, where both it and the incumbent were measured with two numbers of pieces at least."""
    found = {}
    for size in surface.sizes:
        incumbent = surface.along_counts(size, surface.kind.incumbent)
        for method in surface.kind.challengers:
            challenger = surface.along_counts(size, method)
            counts = [count for count in incumbent if count in challenger]
            if len(counts) < 2:
                continue
            # Drawn together, so that the two are independent of each other.
            series = [points[count].samples for points in (incumbent, challenger) for count in counts]
            draws = resampled_medians(series, known_within=known_within)
            ours, theirs = draws[: len(counts)], draws[len(counts) :]
            # Numbers of rows lie too far apart for a line in their number.
            is_line = surface.kind is BATCHING
            found[size, method] = (
                uses_threshold(counts, ours - theirs) if is_line else size_threshold(counts, ours, theirs)
            )
    return found


def piece_cost(surface: Surface, known_within: float) -> PieceCost | None:
    """From the narrowest pieces, whose bytes hardly count; None without two numbers of them that are far apart."""
    for size in sorted({size for size, _ in surface.cells if size <= surface.kind.narrow_bytes}):
        along = surface.along_counts(size, surface.kind.incumbent)
        points = {count: point for count, point in along.items() if count >= _LEAST_PIECES}
        if len(points) > 1:
            first, last = min(points), max(points)
            draws = resampled_medians([points[first].samples, points[last].samples], known_within=known_within)
            return PieceCost(size, first, last, interval_of((draws[1] - draws[0]) / (last - first)))
    return None


def batch_cliff(surface: Surface) -> CliffLook | None:
    """What the number of pieces shows for which the batch call was measured at most sizes.

    A rate that grows by more than the size does means that larger pieces take less time. None where the call was not
    measured at three sizes with one number of pieces; no jump where larger pieces never take significantly less time.
    """
    curves = {count: surface.along_sizes(count, "batch") for count in {count for _, count in surface.cells}}
    count = max(curves, key=lambda each: (len(curves[each]), each), default=None)
    if count is None or len(curves[count]) < _LEAST_SIZES:
        return None
    points = list(curves[count].items())
    jumps = [
        Cliff(count, below, size, ratio(slow.seconds, fast.seconds), slow, fast)
        for (below, slow), (size, fast) in pairwise(points)
    ]
    found = [jump for jump in jumps if jump.gain.low > 1 and jump.gain.median >= _CLIFF]
    return CliffLook(count, max(found, key=lambda jump: jump.gain.median, default=None), _close(list(curves[count])))


def _close(sizes: Sequence[int]) -> tuple[int, int] | None:
    """The ends of the longest series of ascending sizes that lie close to each other."""
    series = [[sizes[0]]]
    for below, size in pairwise(sizes):
        if size <= _CLOSE * below:
            series[-1].append(size)
        else:
            series.append([size])
    longest = max(series, key=len)
    return (longest[0], longest[-1]) if len(longest) >= _LEAST_SIZES else None
