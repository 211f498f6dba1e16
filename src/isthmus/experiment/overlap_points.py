"""What `overlap` measures of one size: pipelines over chunks, streams and work, and each of their stages alone."""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

__all__ = ["MAIN_RATIO", "STAGES", "Point", "PointMethod", "Sweep", "points_of"]

PointMethod = Literal["pipeline", "in_alone", "work_alone", "out_alone", "both_ways"]

STAGES = {
    "pipeline": ["in", "work", "out"],
    "in_alone": ["in"],
    "work_alone": ["work"],
    "out_alone": ["out"],
    "both_ways": ["in", "out"],
}
# Work that takes as long as a copy gains most from overlap, so it is measured in full.
MAIN_RATIO = 1.0
# Chunks and streams of stages alone: some data moves faster in chunks, and a bound must not be slower than that.
_ALONE = ((1, 1), (16, 4), (64, 4))
_CHUNKS_A_THREAD = 4


class Point(NamedTuple):
    """One case: `ratio` is the time of the work over that of the slower copy, None where there is no work."""

    method: PointMethod
    memory: str
    bytes: int
    ratio: float | None
    chunks: int
    streams: int


class Sweep(NamedTuple):
    """What a mode measures.

    With work of the main ratio, all `chunks` on all `streams`; pageable memory, whose copies occupy the thread that
    starts them, on every other number of streams where there are many. With that of the other `ratios`, `few_chunks` on
    `few_streams`.
    """

    ratios: Sequence[float]
    chunks: Sequence[int]
    streams: Sequence[int]
    few_chunks: Sequence[int]
    few_streams: int


def points_of(size: int, sweep: Sweep, kinds: Sequence[str], threads: int) -> list[Point]:
    """Every point; those of staged memory have no more streams than there are `threads`."""
    found = [Point("work_alone", "device", size, ratio, 1, 1) for ratio in sweep.ratios]
    found += [Point("work_alone", "device", size, MAIN_RATIO, chunks, streams) for chunks, streams in _ALONE[1:]]
    for kind in kinds:
        found += _alone(size, sweep, kind, threads)
        for ratio in sweep.ratios:
            is_main = ratio == MAIN_RATIO
            found += [
                Point("pipeline", kind, size, ratio, chunks, streams)
                for chunks in (sweep.chunks if is_main else sweep.few_chunks)
                for streams in _streams(sweep, kind, chunks, threads, is_main)
            ]
    return found


def _alone(size: int, sweep: Sweep, kind: str, threads: int) -> Iterator[Point]:
    if kind == "staged":
        counts = [count for count in sweep.streams if count <= threads]
        several = [(_CHUNKS_A_THREAD * count, count) for count in counts if count > 1]
    else:
        several = list(_ALONE[1:])
    for chunks, streams in [_ALONE[0], *several]:
        yield Point("in_alone", kind, size, None, chunks, streams)
        yield Point("out_alone", kind, size, None, chunks, streams)
    for chunks, streams in several:
        yield Point("both_ways", kind, size, None, chunks, streams)


def _streams(sweep: Sweep, kind: str, chunks: int, threads: int, is_main: bool) -> list[int]:
    if kind == "staged":
        wanted = sweep.streams if is_main else (max(count for count in sweep.streams if count <= threads),)
        most = min(chunks, threads)
    else:
        wanted = sweep.streams[::2] if kind == "pageable" and len(sweep.streams) > 2 else sweep.streams
        wanted = wanted if is_main else (sweep.few_streams,)
        most = chunks
    return list(dict.fromkeys(min(count, most) for count in wanted))
