"""What `overlap` measures of one size: pipelines over chunks, streams and work, and each of their stages alone."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

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


class OverlapPoint(NamedTuple):
    """One case: `ratio` is the time of the work over that of the slower copy, None where there is no work."""

    method: PointMethod
    memory: str
    bytes: int
    ratio: float | None
    chunks: int
    streams: int


class Ways(NamedTuple):
    """How data of one kind of memory is divided.

    With work of the main ratio all `chunks` on all `streams`, with that of others `few_chunks` on `few_streams`.
    """

    chunks: Sequence[int]
    streams: Sequence[int]
    few_chunks: Sequence[int]
    few_streams: int


class Sweep(NamedTuple):
    """What a mode measures: amounts of work, and the ways to divide the data of each kind of memory."""

    ratios: Sequence[float]
    ways: Mapping[str, Ways]


def points_of(size: int, sweep: Sweep, kinds: Sequence[str], threads: int) -> list[OverlapPoint]:
    """Every point; those of staged memory have no more streams than there are `threads`."""
    found = [
        OverlapPoint("work_alone", "device", size, ratio, chunks, streams)
        for ratio in sweep.ratios
        for chunks, streams in _ALONE
    ]
    for kind in kinds:
        ways = sweep.ways[kind]
        most = threads if kind == "staged" else max(ways.streams)
        found += _alone(size, kind, [count for count in _at_most(most, ways.streams) if count > 1])
        for ratio in sweep.ratios:
            is_main = ratio == MAIN_RATIO
            found += [
                OverlapPoint("pipeline", kind, size, ratio, chunks, streams)
                for chunks in (ways.chunks if is_main else ways.few_chunks)
                for streams in _at_most(min(chunks, most), ways.streams if is_main else [ways.few_streams])
            ]
    return found


def _at_most(most: int, streams: Sequence[int]) -> list[int]:
    """More streams than there are chunks, or threads, would stand idle."""
    return list(dict.fromkeys(min(count, most) for count in streams))


def _alone(size: int, kind: str, streams: Sequence[int]) -> Iterator[OverlapPoint]:
    """Copies alone and both ways; the CPU's part in staged ones takes as many threads as pipelines have."""
    several = [(_CHUNKS_A_THREAD * count, count) for count in streams] if kind == "staged" else _ALONE[1:]
    for chunks, count in (_ALONE[0], *several):
        yield OverlapPoint("in_alone", kind, size, None, chunks, count)
        yield OverlapPoint("out_alone", kind, size, None, chunks, count)
    for chunks, count in several:
        yield OverlapPoint("both_ways", kind, size, None, chunks, count)
