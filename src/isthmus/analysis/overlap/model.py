"""Pipelines of copy in, work and copy out: how near each comes to its bound, and how far ahead of the serial time."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Literal

from isthmus.analysis.figures import Figure, figures
from isthmus.analysis.overlap.pipeline import pipeline_seconds
from isthmus.analysis.statistics.contrast import MATTERS
from isthmus.analysis.statistics.curve import is_resolved
from isthmus.analysis.statistics.once import once
from isthmus.analysis.statistics.resample import Draws, interval_of, resampled_medians
from isthmus.grouping import grouped
from isthmus.record import Case, Interval, Run, StageName, kind_rank

STAGES: tuple[StageName, ...] = ("in", "work", "out")
Answer = Literal["yes", "no", "cannot tell"]
# The work is meant to be a multiple of the first of these that there is.
_BASES = ("pinned", "pageable", "staged")


@dataclass(frozen=True)
class Timed:
    """A case with its median time in seconds, and the draws of that median."""

    case: Case
    seconds: Interval
    draws: Draws = field(repr=False, compare=False)
    converged: bool


@once()
def timed_cases(run: Run) -> Sequence[Timed]:
    """Every case of the experiment whose time is known and whose results were not wrong."""
    points = [each.point for each in figures(run, "overlap") if each.point and is_resolved(each.case)]
    target = run.settings.target_relative_half_width
    draws = resampled_medians([point.samples for point in points], known_within=target)
    return [Timed(each.case, each.seconds, row, each.converged) for each, row in zip(points, draws, strict=True)]


def fastest_alone(
    timed: Iterable[Timed], method: str, host_memory: str, size: int, ratio: float | None = None
) -> Timed | None:
    """A stage alone: the fastest measurement, whole or in chunks, since a bound must not be slower than any of them."""
    wanted = method, host_memory, size, ratio
    alone = (
        each
        for each in timed
        if (each.case.method, each.case.host_memory, each.case.bytes, each.case.work_ratio) == wanted
    )
    return min(alone, key=lambda each: each.seconds.median, default=None)


def work_multiple(timed: Sequence[Timed], size: int, ratio: float) -> float | None:
    """Measured time of the work alone over the slower copy's; None where one of the three was not measured."""
    work = fastest_alone(timed, "work_alone", "device", size, ratio)
    for base in _BASES:
        into, out = (fastest_alone(timed, method, base, size) for method in ("in_alone", "out_alone"))
        if work and into and out:
            return work.seconds.median / max(into.seconds.median, out.seconds.median)
    return None


@dataclass(frozen=True)
class PipelinePoint:
    """One pipeline: `seconds` from the first call until all is back.

    `bound` is what it would take if all stages ran at once at the speed that they have alone, None where one of them
    was not measured alone; `share` is the bound over `seconds`: 1 is perfect. `speedup` is the serial time over
    `seconds`, None without one.
    """

    chunks: int
    streams: int
    seconds: Interval
    converged: bool
    bound: Interval | None
    share: Interval | None
    speedup: Interval | None


@dataclass(frozen=True)
class Overlap:
    """The pipelines of one kind of memory, size and work, by (chunks, streams).

    The work was meant to take `ratio` times as long as a copy, and took `multiple`, None where that was not measured.
    `alone` has the seconds of each stage alone: the fastest of those measured, whole or in chunks.
    """

    host_memory: str
    bytes: int
    ratio: float
    multiple: float | None
    alone: Mapping[StageName, Interval]
    points: Mapping[tuple[int, int], PipelinePoint]
    figures: Mapping[tuple[int, int], Figure]

    @property
    def serial(self) -> PipelinePoint | None:
        """All in one chunk: one stage after the other."""
        return self.points.get((1, 1))

    @property
    def best(self) -> PipelinePoint | None:
        """The fastest of several chunks."""
        several = (point for point in self.points.values() if point.chunks > 1)
        return min(several, key=lambda point: point.seconds.median, default=None)

    @property
    def gains(self) -> Answer:
        """Whether chunks beat the serial time by a factor that matters.

        "yes" where the 95 % intervals of two pipelines (of one, if no more were measured) lie above that factor: of two
        dozen noisy ones, the fastest looks better than it is. "no" where no interval leaves room for the factor.
        """
        speedups = [point.speedup for point in self.points.values() if point.chunks > 1 and point.speedup]
        if not speedups:
            return "cannot tell"
        if sum(speedup.low > MATTERS for speedup in speedups) >= min(2, len(speedups)):
            return "yes"
        return "no" if all(speedup.high < MATTERS for speedup in speedups) else "cannot tell"


def pipeline_bound(alone: Iterable[Draws], chunks: int) -> Draws:
    """Time of `chunks` equal chunks through stages that each take one at a time, given the stages' times for all data.

    sum / n + (n - 1) / n * max: what `pipeline_seconds` says of stages that take as long for a chunk as its share of
    the data, and that nothing slows.
    """
    return pipeline_seconds([stage / chunks for stage in alone], chunks)


@once()
def overlaps(run: Run) -> Sequence[Overlap]:
    """By size, kind of memory and ratio; one without any pipeline that was measured does not appear."""
    timed = timed_cases(run)
    groups = grouped(
        (each for each in figures(run, "overlap") if each.case.method == "pipeline"),
        lambda each: (each.case.host_memory, each.case.bytes, each.case.work_ratio),
    )
    all_overlaps = [_overlap(memory, size, ratio, of, timed) for (memory, size, ratio), of in groups.items() if ratio]
    return sorted((each for each in all_overlaps if any(of.measured for of in each.figures.values())), key=_place)


def main_overlaps(all_overlaps: Sequence[Overlap]) -> list[Overlap]:
    """Those to conclude from: first of one size, of each memory the ratio with the most pipelines; then larger sizes.

    The size is the one with the most kinds of memory, of several the largest; the ratio, of several, the one nearest
    to 1, where overlap can gain most. Not every kind of memory was measured with larger sizes.
    """
    measured = [each for each in all_overlaps if each.points]
    kinds: dict[int, set[str]] = {}
    for each in measured:
        kinds.setdefault(each.bytes, set()).add(each.host_memory)
    size = max(kinds, key=lambda size: (len(kinds[size]), size), default=0)
    ratios: dict[str, float] = {}
    for each in sorted(measured, key=lambda each: (-len(each.points), abs(log(each.ratio)))):
        if each.bytes == size:
            ratios.setdefault(each.host_memory, each.ratio)
    return [each for each in measured if each.bytes >= size and ratios.get(each.host_memory) == each.ratio]


def traced(run: Run) -> list[Case]:
    """Pipelines of which the run holds a whole timeline."""
    cases = [case for case in run.cases if case.experiment == "overlap" and case.spans]
    return [case for case in cases if all(span.end >= span.begin for span in case.spans)]


def _place(each: Overlap) -> tuple[object, ...]:
    return each.bytes, each.host_memory != "pinned", kind_rank(each.host_memory), each.ratio


def _overlap(memory: str, size: int, ratio: float, alike: Sequence[Figure], timed: Sequence[Timed]) -> Overlap:
    stages: dict[StageName, Timed | None] = {
        "in": fastest_alone(timed, "in_alone", memory, size),
        "work": fastest_alone(timed, "work_alone", "device", size, ratio),
        "out": fastest_alone(timed, "out_alone", memory, size),
    }
    alone = {stage: each for stage, each in stages.items() if each}
    of_case = {id(each.case): each for each in timed}
    measured = [of_case[id(each.case)] for each in alike if id(each.case) in of_case]
    serial = next((each for each in measured if _ways(each.case) == (1, 1)), None)
    draws = [each.draws for each in alone.values()] if len(alone) == len(STAGES) else []
    points = {_ways(each.case): _point(each, draws, serial) for each in measured}
    return Overlap(
        host_memory=memory,
        bytes=size,
        ratio=ratio,
        multiple=work_multiple(timed, size, ratio),
        alone={stage: each.seconds for stage, each in alone.items()},
        points=dict(sorted(points.items())),
        figures={_ways(each.case): each for each in alike},
    )


def _ways(case: Case) -> tuple[int, int]:
    return case.pieces or 1, case.streams or 1


def _point(each: Timed, alone: list[Draws], serial: Timed | None) -> PipelinePoint:
    chunks, streams = _ways(each.case)
    bound = pipeline_bound(alone, chunks) if alone else None
    return PipelinePoint(
        chunks=chunks,
        streams=streams,
        seconds=each.seconds,
        converged=each.converged,
        bound=None if bound is None else interval_of(bound),
        share=None if bound is None else interval_of(bound / each.draws),
        speedup=None if serial is None else interval_of(serial.draws / each.draws),
    )
