"""What `overlap` measures of one size: pipelines over chunks, streams and work, and each of their stages alone."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from isthmus.record import Case, Direction

STAGES = {"pipeline": ["in", "work", "out"], "in_alone": ["in"], "work_alone": ["work"], "out_alone": ["out"]}
_DIRECTIONS: Mapping[str, Direction] = {"in_alone": "h2d", "out_alone": "d2h"}
# Work that takes as long as a copy gains most from overlap, so it is measured in full.
MAIN_RATIO = 1.0
# Chunks and streams of stages alone: some data moves faster in chunks, and a bound must not be slower than that.
_ALONE = ((1, 1), (16, 4), (64, 4))
_CHUNKS_A_THREAD = 4


class Divisions(NamedTuple):
    """How data of one kind of memory is divided.

    With work of the main ratio all `chunks` on all `streams`, with that of others `few_chunks` on `few_streams`.
    """

    chunks: Sequence[int]
    streams: Sequence[int]
    few_chunks: Sequence[int]
    few_streams: int


class Plan(NamedTuple):
    """What a mode measures: amounts of work, and how the data of each kind of memory is divided."""

    ratios: Sequence[float]
    divisions: Mapping[str, Divisions]


def case_of(method: str, memory: str, size: int, ratio: float | None, chunks: int, streams: int) -> Case:
    """`ratio` is the time of the work over that of the slower copy, None where there is no work."""
    return Case(
        experiment="overlap",
        method=method,
        direction=_DIRECTIONS.get(method),
        host_memory=memory,
        bytes=size,
        pieces=chunks,
        streams=streams,
        work_ratio=ratio,
    )


def cases_of(size: int, plan: Plan, kinds: Sequence[str], threads: int) -> Iterator[Case]:
    """Every case of one size; those of staged memory have no more streams than there are `threads`."""
    for ratio in plan.ratios:
        yield from (case_of("work_alone", "device", size, ratio, *division) for division in _ALONE)
    for kind in kinds:
        divisions = plan.divisions[kind]
        most = threads if kind == "staged" else max(divisions.streams)
        yield from _alone(size, kind, [count for count in _at_most(most, divisions.streams) if count > 1])
        for ratio in plan.ratios:
            is_main = ratio == MAIN_RATIO
            for chunks in divisions.chunks if is_main else divisions.few_chunks:
                for streams in _at_most(min(chunks, most), divisions.streams if is_main else [divisions.few_streams]):
                    yield case_of("pipeline", kind, size, ratio, chunks, streams)


def _at_most(most: int, streams: Sequence[int]) -> list[int]:
    """More streams than there are chunks, or threads, would have nothing to do."""
    return list(dict.fromkeys(min(count, most) for count in streams))


def _alone(size: int, kind: str, streams: Sequence[int]) -> Iterator[Case]:
    """Copies alone; the CPU's part in staged ones takes as many threads as pipelines have."""
    several = [(_CHUNKS_A_THREAD * count, count) for count in streams] if kind == "staged" else _ALONE[1:]
    for division in (_ALONE[0], *several):
        yield case_of("in_alone", kind, size, None, *division)
        yield case_of("out_alone", kind, size, None, *division)
