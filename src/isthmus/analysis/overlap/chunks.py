"""What a further chunk costs a pipeline, and the number of chunks at which that meets what it saves."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from isthmus.analysis.overlap.model import Overlap, PipelinePoint
from isthmus.analysis.statistics.resample import Draws, interval_of
from isthmus.record import Interval

__all__ = ["ChunkCost", "chunk_cost"]

# Two figures are fitted; with fewer points their fit could not be wrong.
_LEAST_POINTS = 4


@dataclass(frozen=True)
class ChunkCost:
    """Seconds that each chunk adds to a pipeline on `streams` streams, over these numbers of `chunks`.

    From the fit time(n) = factor * bound(n) + seconds * n, by least squares of the relative error; `factor` is how much
    longer stages take that share the device. `ideal` is the number of chunks from which on a further one costs more
    than it saves, where the derivative is zero: sqrt(factor * (in + work + out - max) / seconds). None where the cost
    is not certainly more than nothing.
    """

    streams: int
    chunks: tuple[int, ...]
    seconds: Interval
    ideal: Interval | None


def chunk_cost(overlap: Overlap) -> ChunkCost | None:
    """The cost with as many streams as the best pipeline has; None where too few numbers of chunks were measured."""
    best = overlap.best
    if best is None:
        return None
    points = [
        point
        for point in overlap.points.values()
        if point.streams == best.streams and point.chunks > 1 and point.bound_draws is not None
    ]
    if len(points) < _LEAST_POINTS:
        return None
    factors, costs = _fit(points)
    alone = [stage.median for stage in overlap.alone.values()]
    seconds = interval_of(costs)
    ideal = None
    if seconds.low > 0:
        # The few draws below the interval may be nothing or less, for which there is no such number.
        costs = np.maximum(costs, seconds.low)
        ideal = interval_of(np.sqrt(np.maximum(factors, 0) * (sum(alone) - max(alone)) / costs))
    return ChunkCost(best.streams, tuple(point.chunks for point in points), seconds, ideal)


def _fit(points: Sequence[PipelinePoint]) -> tuple[Draws, Draws]:
    """Draws of the factor and of the seconds for each chunk."""
    chunks = np.array([point.chunks for point in points], dtype=np.float64)
    times = np.vstack([point.draws for point in points])
    bounds = np.vstack([point.bound_draws for point in points if point.bound_draws is not None])
    found = [
        np.linalg.lstsq(np.column_stack([bound, chunks]) / time[:, np.newaxis], np.ones(len(chunks)), rcond=None)[0]
        for bound, time in zip(bounds.T, times.T, strict=True)
    ]
    factors, costs = np.array(found).T
    return factors, costs
