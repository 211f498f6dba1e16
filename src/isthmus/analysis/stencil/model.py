"""Stencils between ranks: what each method to exchange halos takes, phase by phase; managed against explicit memory."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from isthmus.analysis.statistics.contrast import ratio
from isthmus.record import LEAST_SAMPLES, Case, Interval, Metric, Run, median_interval

# The plainest first.
STENCIL_METHODS = ("cpu_whole", "cpu_columns", "gpu_pack", "gpu_pack_mapped")
# In a sample, as in the paper that the experiment follows.
STENCIL_ITERATIONS = 20
# Those that make up a sample, in the order of an iteration; MPI is next to it.
STENCIL_PHASES: tuple[Metric, ...] = ("compute_seconds", "pack_seconds", "copy_seconds", "unpack_seconds")
MANAGED = "managed"
_MEMORIES = ("pageable", "pinned", "mapped", MANAGED)

_DOUBLE = 8
_CUT = re.compile(r"([0-9]{1,9})x([0-9]{1,9})")
# Rows, columns, halo, ranks, devices, ranks down.
_Key = tuple[int, int, int, int, int, int]

# A method and the kind of memory that the host's part of it is in.
StencilWay = tuple[str, str]


@dataclass(frozen=True)
class StencilPoint:
    """What one method takes for all iterations, in seconds, without MPI; `phases` has what was measured of each.

    `elapsed` is the time with MPI, which older runs have not.
    """

    method: StencilWay
    seconds: Interval
    phases: Mapping[Metric, Interval]
    mpi: Interval | None
    elapsed: Interval | None
    samples: int
    converged: bool

    @property
    def iteration(self) -> Interval | None:
        """One of them, MPI included."""
        return self.elapsed.scaled(1 / STENCIL_ITERATIONS) if self.elapsed else None

    @property
    def exchange_share(self) -> float | None:
        """Share of what elapsed that is not the computing of the rank that it takes longest."""
        computing = self.phases.get("compute_seconds")
        if self.elapsed is None or computing is None or not self.elapsed.median:
            return None
        return max(0.0, 1 - computing.median / self.elapsed.median)


@dataclass(frozen=True)
class Stencil:
    """All methods for one field, halo and number of ranks on so many devices.

    `side` is the field's in rows; `down` of the ranks share each column of it, and with 1 no row is cut. `failed` are
    methods whose result was wrong, `skipped` has the reasons of those that were not measured.
    """

    side: int
    columns: int
    halo: int
    ranks: int
    devices: int
    down: int
    points: Mapping[StencilWay, StencilPoint]
    failed: frozenset[StencilWay]
    skipped: Mapping[StencilWay, str]

    @property
    def across(self) -> int:
        """Ranks that share a row."""
        return self.ranks // self.down

    @property
    def is_square(self) -> bool:
        """As many rows as columns."""
        return self.side == self.columns

    @property
    def methods(self) -> list[StencilWay]:
        """All that were measured, failed or skipped, the plainest first."""
        return sorted({*self.points, *self.failed, *self.skipped}, key=_place)

    @cached_property
    def ranking(self) -> tuple[StencilPoint, ...]:
        """The methods by their medians, the fastest first."""
        return tuple(sorted(self.points.values(), key=lambda point: point.seconds.median))

    @property
    def as_fast(self) -> tuple[StencilPoint, ...]:
        """Methods that are not significantly slower than the fastest."""
        return tuple(point for point in self.ranking[1:] if point.seconds.low <= self.ranking[0].seconds.high)

    def ratio(self, over: StencilWay, under: StencilWay) -> Interval | None:
        """How many times as long the first method takes; None where one of them was not measured."""
        if over not in self.points or under not in self.points:
            return None
        return ratio(self.points[over].seconds, self.points[under].seconds)

    def managed_over_explicit(self, method: str) -> Interval | None:
        """Managed memory against the fastest explicit kind, of one method."""
        explicit = [point for point in self.ranking if point.method[0] == method and point.method[1] != MANAGED]
        return self.ratio((method, MANAGED), explicit[0].method) if explicit else None


def stencils(run: Run) -> list[Stencil]:
    """By field, halo and cut; one of which nothing was measured does not appear."""
    groups: dict[_Key, list[Case]] = {}
    for case in run.cases:
        if case.experiment == "stencil":
            groups.setdefault(_key(case), []).append(case)
    all_stencils = (_stencil(key, cases, run) for key, cases in sorted(groups.items()))
    return [each for each in all_stencils if each.points or each.failed]


def _key(case: Case) -> _Key:
    rows, ranks = case.rows or 0, case.ranks or 1
    columns = case.bytes // _DOUBLE // rows if rows else 0
    cut = _CUT.fullmatch(case.cut)
    # One that does not fit the ranks is of a version to come, or of a file that was edited.
    fits = cut is not None and int(cut[1]) * int(cut[2]) == ranks
    return rows, columns, case.halo or 0, ranks, case.devices or 1, int(cut[1]) if cut and fits else 1


def _stencil(key: _Key, cases: Iterable[Case], run: Run) -> Stencil:
    points: dict[StencilWay, StencilPoint] = {}
    failed: set[StencilWay] = set()
    skipped: dict[StencilWay, str] = {}
    for case in cases:
        method = case.method, case.host_memory
        if case.skipped:
            skipped[method] = case.note
        elif case.verified == "no":
            failed.add(method)
        elif samples := case.samples("host_seconds"):
            seconds = median_interval(samples)
            target = run.settings.target_relative_half_width
            phases = {phase: median_interval(taken) for phase in STENCIL_PHASES if (taken := case.samples(phase))}
            mpi, elapsed = case.samples("mpi_seconds"), case.samples("elapsed_seconds")
            points[method] = StencilPoint(
                method=method,
                seconds=seconds,
                phases=phases,
                mpi=median_interval(mpi) if mpi else None,
                elapsed=median_interval(elapsed) if elapsed else None,
                samples=len(samples),
                converged=len(samples) >= LEAST_SAMPLES and seconds.relative_half_width <= target,
            )
    return Stencil(*key, points, frozenset(failed), skipped)


def _place(way: StencilWay) -> tuple[object, ...]:
    method, memory = way
    known = method in STENCIL_METHODS and memory in _MEMORIES
    places = (STENCIL_METHODS.index(method), _MEMORIES.index(memory)) if known else (len(STENCIL_METHODS), 0)
    return (*places, *way)
