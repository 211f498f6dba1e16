"""Methods that move the same bytes, against each other: which is the fastest, and which are as fast."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from isthmus.analysis.statistics.contrast import above, ratio
from isthmus.analysis.statistics.curve import Point
from isthmus.record import Case, Interval

__all__ = ["MethodCell", "threads_that_pack"]

_PACKED_ON_THREADS = ("pack_threads", "pack_kernel")


@dataclass(frozen=True, kw_only=True)
class MethodCell:
    """What each method takes for one thing to move.

    `failed` are methods whose data did not arrive; no conclusion may rest on them. `skipped` has the reasons of those
    that were not measured.
    """

    points: Mapping[str, Point]
    failed: Mapping[str, Point]
    skipped: Mapping[str, str]

    @property
    def compared(self) -> Mapping[str, Point]:
        """The points of the methods that can take each other's place."""
        return self.points

    @cached_property
    def ranking(self) -> tuple[str, ...]:
        """The methods that are compared by their median rates, the fastest first."""
        return tuple(sorted(self.compared, key=lambda method: -self.points[method].rate.median))

    @property
    def fastest(self) -> str:
        """The method with the highest median rate. Precondition: some are compared."""
        return self.ranking[0]

    @property
    def best(self) -> Point:
        """Its point."""
        return self.points[self.fastest]

    @cached_property
    def as_fast(self) -> tuple[str, ...]:
        """Other methods that are not certainly slower, the fastest of them first."""
        return tuple(method for method in self.ranking[1:] if not above(self.best, self.points[method]))

    @property
    def lead(self) -> Interval | None:
        """How many times as fast as the next method the fastest is; None where there is no other."""
        return ratio(self.best.rate, self.points[self.ranking[1]].rate) if len(self.ranking) > 1 else None


def threads_that_pack(cases: Iterable[Case]) -> int:
    """How many threads packed, of the cases that measured packing on threads; 0 where none did."""
    threads = (case.threads or 0 for case in cases if case.method in _PACKED_ON_THREADS and not case.skipped)
    return max(threads, default=0)
