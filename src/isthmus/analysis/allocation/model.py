"""What memory costs: seconds to allocate, to touch first and to free, by kind and size, with intervals."""

import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from isthmus.analysis.figures import figures
from isthmus.analysis.statistics.curve import Point
from isthmus.analysis.statistics.once import once
from isthmus.analysis.statistics.resample import Draws, interval_of, resampled_medians
from isthmus.grouping import grouped
from isthmus.record import Interval, Run, kind_rank, memory_kind

Phase = Literal["allocate", "touch", "free"]
PHASES: tuple[Phase, ...] = ("allocate", "touch", "free")

# Locked pages that a driver allocated in so much less time than touching takes are not there yet.
_ABSENT = 0.1


@dataclass(frozen=True)
class CostCurve:
    """One phase of one kind of memory, by ascending size; it has a point at least."""

    kind: str
    phase: Phase
    points: tuple[Point, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Bytes of the points."""
        return tuple(point.bytes for point in self.points)

    def at(self, size: int) -> Point | None:
        """The point of exactly this many bytes."""
        return next((point for point in self.points if point.bytes == size), None)

    @cached_property
    def draws(self) -> Draws:
        """Medians in seconds with their bootstrap draws, a row a point."""
        # A seed of its own, because two curves of equal numbers of samples would otherwise be drawn alike.
        seed = zlib.crc32(f"{self.kind} {self.phase} False".encode())
        return resampled_medians([point.samples for point in self.points], seed=seed)


@dataclass(frozen=True, eq=False)
class SizedCost:
    """Seconds by size as estimates with their draws, such as a sum of phases."""

    sizes: tuple[int, ...]
    draws: Draws

    def at(self, size: int) -> Interval:
        """Estimate and 95 % interval at one of `sizes`."""
        return interval_of(self.row(size))

    def row(self, size: int) -> Draws:
        """Estimate and draws at one of `sizes`."""
        row: Draws = self.draws[self.sizes.index(size)]
        return row

    def over(self, other: "SizedCost", size: int) -> Interval:
        """How many times as much as another at a size that both have."""
        return interval_of(self.row(size) / other.row(size))

    def only(self, sizes: tuple[int, ...]) -> "SizedCost":
        """The same at these sizes, which it must have."""
        return SizedCost(sizes, self.draws[[self.sizes.index(size) for size in sizes]])


@dataclass(frozen=True)
class AllocationCosts:
    """All that a run measured of allocation; kinds in the order in which reports show them."""

    curves: tuple[CostCurve, ...]

    def find(self, kind: str, phase: Phase) -> CostCurve | None:
        """The curve of one phase of one kind."""
        return next((curve for curve in self.curves if (curve.kind, curve.phase) == (kind, phase)), None)

    def phase(self, kind: str, phase: Phase) -> SizedCost | None:
        """One phase alone."""
        curve = self.find(kind, phase)
        return SizedCost(curve.sizes, curve.draws) if curve else None

    def whole(self, kind: str) -> SizedCost | None:
        """From allocation to release of memory that is there: with its first touch where pages come only then."""
        late = memory_kind(kind).late or self.find(kind, "touch")
        return self._sum(kind, PHASES if late else ("allocate", "free"))

    def pages_absent(self, kind: str, size: int) -> bool:
        """Whether that much memory, though allocated without a touch, cannot be there: it took far less than touching
        does.

        False where the run cannot tell.
        """
        allocated = self.phase(kind, "allocate")
        touches = [touch for other in ("pageable", "pageable_huge") if (touch := self.phase(other, "touch"))]
        fastest = min((float(touch.row(size)[0]) for touch in touches if size in touch.sizes), default=0.0)
        if allocated is None or size not in allocated.sizes or self.find(kind, "touch"):
            return False
        return float(allocated.row(size)[0]) < _ABSENT * fastest

    def _sum(self, kind: str, phases: tuple[Phase, ...]) -> SizedCost | None:
        parts = [self.phase(kind, phase) for phase in phases]
        if not parts or any(part is None for part in parts):
            return None
        present = [part for part in parts if part]
        sizes = tuple(size for size in present[0].sizes if all(size in part.sizes for part in present))
        if not sizes:
            return None
        return SizedCost(sizes, np.sum([part.only(sizes).draws for part in present], axis=0))


@once()
def allocation_costs(run: Run) -> AllocationCosts | None:
    """The allocation experiment of a run; None where it measured none of it."""
    points = [(each.case, each.point) for each in figures(run, "allocation") if each.point]
    if not points:
        return None
    points.sort(key=lambda each: (kind_rank(each[0].host_memory), each[0].bytes))
    by_method = grouped(points, lambda each: (each[0].host_memory, each[0].method))
    curves = (
        CostCurve(kind, phase, tuple(point for _, point in by_method[kind, phase]))
        for kind in dict.fromkeys(case.host_memory for case, _ in points)
        for phase in PHASES
        if (kind, phase) in by_method
    )
    return AllocationCosts(tuple(curves))


# Kinds of pinned memory that the program does not have yet.
NEW_WAYS = ("pinned", "touched_registered", "touched_registered_huge")
# Locking memory that the program has already, and unlocking it again.
EXISTING = "registered"


@dataclass(frozen=True)
class PinnedChoice:
    """What pinned memory of one size costs from allocation to release, in seconds, by memory kind.

    `cheapest` holds the cheapest of NEW_WAYS and all without a significant difference from it (95 % confidence). A
    memory kind whose pages are not there yet is no choice.
    """

    bytes: int
    costs: dict[str, Interval]
    cheapest: tuple[str, ...]


def pinned_choices(costs: AllocationCosts) -> list[PinnedChoice]:
    """One entry for each size at which two of the new kinds were measured at least."""
    wholes = {kind: whole for kind in (*NEW_WAYS, EXISTING) if (whole := _complete(costs, kind))}
    choices = []
    for size in sorted({size for whole in wholes.values() for size in whole.sizes}):
        rows = {kind: whole.row(size) for kind, whole in wholes.items() if size in whole.sizes}
        new = [kind for kind in NEW_WAYS if kind in rows]
        if len(new) < 2:
            continue
        best = min(new, key=lambda kind: rows[kind][0])
        tied = [kind for kind in new if kind == best or np.quantile(rows[kind][1:] / rows[best][1:], 0.025) <= 1]
        tied.sort(key=lambda kind: rows[kind][0])
        choices.append(PinnedChoice(size, {kind: interval_of(row) for kind, row in rows.items()}, tuple(tied)))
    return choices


def _complete(costs: AllocationCosts, kind: str) -> SizedCost | None:
    """What a memory kind costs, unless its pages are still to come; registered memory was there before."""
    whole = costs.whole(kind)
    if whole and kind != EXISTING and costs.pages_absent(kind, whole.sizes[-1]):
        return None
    return whole
