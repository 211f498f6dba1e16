"""What a further chunk costs a pipeline, and the number of chunks at which that meets what it saves."""

from dataclasses import dataclass

import numpy as np

from isthmus.model.overlap import Overlap, PipelinePoint
from isthmus.model.resample import interval_of
from isthmus.record import Interval

__all__ = ["ChunkCost", "chunk_cost"]

# A line through fewer says nothing about whether it is one.
_LEAST_POINTS = 3


@dataclass(frozen=True)
class ChunkCost:
    """Seconds that each chunk adds beyond the bound, on `streams` streams, over these numbers of `chunks`.

    The slope of the excess over the bound by least squares. `ideal` is the number of chunks from which on a further one
    costs more than it saves, sqrt((in + work + out - max) / cost): the derivative of the bound plus the cost is zero
    there. None where the cost is not certainly more than nothing.
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
        if point.streams == best.streams and point.chunks > 1 and point.excess is not None
    ]
    if len(points) < _LEAST_POINTS:
        return None
    return _fitted(overlap, best, points)


def _fitted(overlap: Overlap, best: PipelinePoint, points: list[PipelinePoint]) -> ChunkCost:
    chunks = np.array([point.chunks for point in points], dtype=np.float64)
    excess = np.vstack([point.excess for point in points if point.excess is not None])
    away = chunks - chunks.mean()
    slopes = away @ excess / (away @ away)
    seconds = interval_of(slopes)
    alone = [stage.median for stage in overlap.alone.values()]
    hidden = sum(alone) - max(alone)
    ideal = None
    if seconds.low > 0:
        ideal = Interval(*(float(np.sqrt(hidden / cost)) for cost in (seconds.median, seconds.high, seconds.low)))
    return ChunkCost(best.streams, tuple(int(count) for count in chunks), seconds, ideal)
