"""Stencils between ranks: what each way to exchange halos takes, phase by phase; managed against explicit memory."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from isthmus.model.contrast import ratio
from isthmus.record import LEAST_SAMPLES, Case, Interval, Metric, Run, median_interval

__all__ = [
    "MANAGED",
    "STENCIL_METHODS",
    "STENCIL_PHASES",
    "Stencil",
    "StencilPoint",
    "StencilWay",
    "stencils",
]

# The plainest first.
STENCIL_METHODS = ("cpu_whole", "cpu_columns", "gpu_pack", "gpu_pack_mapped")
# Those that make up a sample, in the order of an iteration; MPI is beside it.
STENCIL_PHASES: tuple[Metric, ...] = ("compute_seconds", "pack_seconds", "copy_seconds", "unpack_seconds")
MANAGED = "managed"
_MEMORIES = ("pageable", "pinned", "mapped", MANAGED)

# A method and the kind of memory that the host's part of it is in.
StencilWay = tuple[str, str]


@dataclass(frozen=True)
class StencilPoint:
    """What one way takes for all iterations, in seconds, without MPI; `phases` has what was measured of each."""

    way: StencilWay
    seconds: Interval
    phases: Mapping[Metric, Interval]
    mpi: Interval | None
    samples: int
    converged: bool

    def share(self, phase: Metric) -> float:
        """Of the phases' sum; ranks may differ in what takes them longest, so that it exceeds the total a little."""
        total = sum(each.median for each in self.phases.values())
        return self.phases[phase].median / total if total and phase in self.phases else 0.0


@dataclass(frozen=True)
class Stencil:
    """All ways for one side, halo and number of ranks on so many devices.

    `failed` are ways whose result was wrong, `skipped` has the reasons of those that were not measured.
    """

    side: int
    halo: int
    ranks: int
    devices: int
    points: Mapping[StencilWay, StencilPoint]
    failed: frozenset[StencilWay]
    skipped: Mapping[StencilWay, str]

    @property
    def ways(self) -> list[StencilWay]:
        """All that the run tells something of, the plainest first."""
        return sorted({*self.points, *self.failed, *self.skipped}, key=_place)

    @cached_property
    def ranking(self) -> tuple[StencilPoint, ...]:
        """The ways by their medians, the fastest first."""
        return tuple(sorted(self.points.values(), key=lambda point: point.seconds.median))

    @property
    def as_fast(self) -> tuple[StencilPoint, ...]:
        """Ways that are not certainly slower than the fastest."""
        return tuple(point for point in self.ranking[1:] if point.seconds.low <= self.ranking[0].seconds.high)

    def ratio(self, over: StencilWay, under: StencilWay) -> Interval | None:
        """How many times as long the first way takes; None where one of them was not measured."""
        if over not in self.points or under not in self.points:
            return None
        return ratio(self.points[over].seconds, self.points[under].seconds)

    def managed_over_explicit(self, method: str) -> Interval | None:
        """Of one method, managed memory against the fastest explicit kind."""
        explicit = [point for point in self.ranking if point.way[0] == method and point.way[1] != MANAGED]
        return self.ratio((method, MANAGED), explicit[0].way) if explicit else None


def stencils(run: Run) -> list[Stencil]:
    """By side and halo; one of which nothing was measured does not appear."""
    groups: dict[tuple[int, int, int, int], list[Case]] = {}
    for case in run.cases:
        if case.experiment == "stencil":
            key = (case.rows or 0, case.halo or 0, case.ranks or 1, case.devices or 1)
            groups.setdefault(key, []).append(case)
    found = (_stencil(key, cases, run) for key, cases in sorted(groups.items()))
    return [each for each in found if each.points or each.failed]


def _stencil(key: tuple[int, int, int, int], cases: Iterable[Case], run: Run) -> Stencil:
    points: dict[StencilWay, StencilPoint] = {}
    failed: set[StencilWay] = set()
    skipped: dict[StencilWay, str] = {}
    for case in cases:
        way = case.method, case.host_memory
        if case.skipped:
            skipped[way] = case.note
        elif case.verified == "no":
            failed.add(way)
        elif samples := case.samples("host_seconds"):
            seconds = median_interval(samples)
            target = run.settings.target_relative_half_width
            phases = {phase: median_interval(found) for phase in STENCIL_PHASES if (found := case.samples(phase))}
            mpi = case.samples("mpi_seconds")
            points[way] = StencilPoint(
                way=way,
                seconds=seconds,
                phases=phases,
                mpi=median_interval(mpi) if mpi else None,
                samples=len(samples),
                converged=len(samples) >= LEAST_SAMPLES and seconds.relative_half_width <= target,
            )
    side, halo, ranks, devices = key
    return Stencil(side, halo, ranks, devices, points, frozenset(failed), skipped)


def _place(way: StencilWay) -> tuple[object, ...]:
    method, memory = way
    known = method in STENCIL_METHODS and memory in _MEMORIES
    places = (STENCIL_METHODS.index(method), _MEMORIES.index(memory)) if known else (len(STENCIL_METHODS), 0)
    return (*places, *way)
