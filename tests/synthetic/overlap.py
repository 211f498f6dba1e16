"""Runs of the overlap experiment whose truth is known: what stages take alone, how much of them runs at once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from isthmus.record import MIB, Case, Direction, Series, Span, StageName, Verified
from tests.synthetic.made import drawn, without

SIZE = 64 * MIB
CHUNKS = (1, 2, 4, 8, 16, 32, 64)
STREAMS = (1, 2, 4, 8)


@dataclass(frozen=True)
class Truth:
    """Seconds of the stages alone, for one kind of memory and work.

    On one stream one stage follows the other. On several, the pipeline reaches `share` of its bound, and each chunk
    costs `chunk` seconds on top; with `overlaps` false several streams are no better than one.
    """

    into: float = 1.2e-3
    work: float = 1.2e-3
    out: float = 1.2e-3
    share: float = 1.0
    chunk: float = 0.0
    overlaps: bool = True
    noise: float = 0.002

    def bound(self, chunks: int) -> float:
        """The first chunk through all stages, and each of the others one turn of the slowest later."""
        stages = (self.into, self.work, self.out)
        return sum(stages) / chunks + (chunks - 1) / chunks * max(stages)

    def seconds(self, chunks: int, streams: int) -> float:
        """A pipeline's time."""
        serial = self.into + self.work + self.out
        at_once = self.overlaps and streams > 1 and chunks > 1
        return (self.bound(chunks) / self.share if at_once else serial) + (chunks - 1) * self.chunk


PINNED = Truth(share=0.93, chunk=2e-6)
PAGEABLE = Truth(into=8e-3, out=5e-3, overlaps=False)
STAGED = Truth(into=1.5e-3, out=1.5e-3, share=0.85, chunk=5e-6)


def case(
    method: str,
    memory: str,
    seconds: float,
    random: np.random.Generator,
    *,
    chunks: int = 1,
    streams: int = 1,
    ratio: float | None = None,
    direction: Direction | None = None,
    size: int = SIZE,
    noise: float = 0.002,
    verified: Verified = "n/a",
) -> Case:
    """One case whose samples spread around that time."""
    return Case(
        experiment="overlap",
        method=method,
        direction=direction,
        host_memory=memory,
        bytes=size,
        pieces=chunks,
        streams=streams,
        work_ratio=ratio,
        series=[drawn(seconds, random, noise)],
        verified=verified,
    )


def cases(
    memory: str,
    truth: Truth,
    *,
    ratio: float = 1.0,
    chunks: Iterable[int] = CHUNKS,
    streams: Sequence[int] = STREAMS,
    size: int = SIZE,
    seed: int = 3,
) -> list[Case]:
    """The stages alone, and a pipeline for each number of chunks and of streams, up to the chunks."""
    made = partial(case, random=np.random.default_rng(seed), size=size, noise=truth.noise)
    pipe = partial(made, "pipeline", memory, ratio=ratio, verified="yes")
    return [
        made("in_alone", memory, truth.into, direction="h2d"),
        # In chunks and slower: the bound must take the faster one.
        made("in_alone", memory, 1.5 * truth.into, direction="h2d", chunks=64),
        made("out_alone", memory, truth.out, direction="d2h"),
        made("work_alone", "device", truth.work, ratio=ratio),
        *(
            pipe(truth.seconds(count, lanes), chunks=count, streams=lanes)
            for count in chunks
            for lanes in dict.fromkeys(min(count, lanes) for lanes in streams)
        ),
    ]


def skips(memory: str, reason: str, *, ratio: float = 1.0, chunks: Iterable[int] = CHUNKS) -> list[Case]:
    """Pipelines that could not be measured."""
    random = np.random.default_rng(0)
    return [without(case("pipeline", memory, 0.0, random, chunks=count, ratio=ratio), reason) for count in chunks]


def traced(memory: str = "pinned", chunks: int = 4, seconds: float = 1e-4) -> Case:
    """A perfect pipeline whose stages take equally long, `seconds` a chunk."""
    stages: tuple[StageName, ...] = ("in", "work", "out")
    spans = [
        Span(stage=stage, chunk=chunk, begin=(chunk + place) * seconds, end=(chunk + place + 1) * seconds)
        for place, stage in enumerate(stages)
        for chunk in range(chunks)
    ]
    return Case(
        experiment="overlap",
        method="traced",
        host_memory=memory,
        bytes=SIZE,
        pieces=chunks,
        streams=2,
        work_ratio=1.0,
        spans=spans,
        series=[Series(metric="device_seconds", samples=[(chunks + 2) * seconds])],
    )


def h200_cases() -> list[Case]:
    """A default run as an H200 should give it: pinned memory overlaps, pageable does not, staged does."""
    found = []
    for ratio, seed in ((0.3, 20), (1.0, 30), (3.0, 40)):
        main = ratio == 1
        for place, (memory, truth) in enumerate((("pinned", PINNED), ("pageable", PAGEABLE), ("staged", STAGED))):
            chunks, streams = (CHUNKS, STREAMS) if main else ((1, 16), (4,))
            worked = replace(truth, work=1.2e-3 * ratio)
            made = cases(memory, worked, ratio=ratio, chunks=chunks, streams=streams, seed=seed + place)
            # Stages alone are measured once, and work once for all kinds of memory.
            alone = [each for each in made if each.method != "pipeline"]
            kept = [each for each in alone if (main and each.method != "work_alone")]
            kept += [each for each in alone if each.method == "work_alone" and memory == "pinned"]
            found += [*kept, *(each for each in made if each.method == "pipeline")]
    return [*found, traced("pinned"), traced("staged", 8)]
