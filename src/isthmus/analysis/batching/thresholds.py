"""From how many pieces on a method beats the loop of copies, and where the batch call's rate jumps."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from isthmus.analysis.batching.model import LOOP, LOOPS, BatchingSurface
from isthmus.analysis.statistics.contrast import ratio
from isthmus.analysis.statistics.curve import Point
from isthmus.analysis.statistics.once import once
from isthmus.analysis.statistics.resample import resampled_medians
from isthmus.analysis.statistics.threshold import Threshold, uses_threshold
from isthmus.record import Interval

__all__ = ["BatchingThreshold", "Cliff", "CliffLook", "batch_cliff", "batching_thresholds"]

# Points of a curve in which a jump could be told from its slope.
_LEAST_SIZES = 3
# Below this factor, it is no reason to give a program's pieces another size.
_CLIFF = 1.25
# Between sizes further apart, the time grows by so much that a jump may hide in it.
_CLOSE = 2


class BatchingThreshold(NamedTuple):
    """From how many pieces of one size on a method beats the loop of copies."""

    piece_bytes: int
    method: str
    threshold: Threshold


@dataclass(frozen=True)
class Cliff:
    """Where the batch call takes certainly less time for larger pieces: between these sizes, with so many pieces.

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
def batching_thresholds(surface: BatchingSurface, known_within: float) -> Sequence[BatchingThreshold]:
    """For each size and method that shares two numbers of pieces with the loop at least; by size, then method."""
    found = []
    for size in surface.sizes:
        loop = surface.along_counts(size, LOOP)
        for method in surface.methods:
            others = surface.along_counts(size, method)
            counts = [count for count in loop if count in others]
            if method not in LOOPS and len(counts) > 1:
                points = [loop, others]
                found.append(BatchingThreshold(size, method, _threshold(counts, points, known_within)))
    return found


def _threshold(counts: Sequence[int], points: Sequence[dict[int, Point]], known_within: float) -> Threshold:
    # Drawn together, so that the two are independent of each other.
    series = [of_method[count].samples for of_method in points for count in counts]
    draws = resampled_medians(series, known_within=known_within)
    return uses_threshold(counts, draws[: len(counts)] - draws[len(counts) :])


def batch_cliff(surface: BatchingSurface) -> CliffLook | None:
    """What the number of pieces shows for which the batch call was measured at most sizes.

    A rate that grows by more than the size does means that larger pieces take less time. None where the call was not
    measured at three sizes with one number of pieces; no jump where larger pieces never take certainly less time.
    """
    numbers = {count for _, count in surface.cells}
    curves = {count: surface.along_sizes(count, "batch") for count in numbers}
    count = max(curves, key=lambda each: (len(curves[each]), each), default=None)
    if count is None or len(curves[count]) < _LEAST_SIZES:
        return None
    points = list(curves[count].items())
    jumps = [
        Cliff(count, below, size, ratio(slow.seconds, fast.seconds), slow, fast)
        for (below, slow), (size, fast) in pairwise(points)
    ]
    certain = [jump for jump in jumps if jump.gain.low > 1 and jump.gain.median >= _CLIFF]
    return CliffLook(count, max(certain, key=lambda jump: jump.gain.median, default=None), _close(list(curves[count])))


def _close(sizes: Sequence[int]) -> tuple[int, int] | None:
    """Of the longest series of ascending sizes that lie close to each other."""
    series = [[sizes[0]]]
    for below, size in pairwise(sizes):
        if size <= _CLOSE * below:
            series[-1].append(size)
        else:
            series.append([size])
    longest = max(series, key=len)
    return (longest[0], longest[-1]) if len(longest) >= _LEAST_SIZES else None
