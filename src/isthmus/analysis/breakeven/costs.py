"""What single steps cost, as the allocation and bandwidth experiments of a run measured them, at any size between."""

from statistics import median
from typing import NamedTuple

import numpy as np

from isthmus.analysis.breakeven.measured import interpolated
from isthmus.analysis.statistics.resample import DRAWS, Draws, resampled_medians
from isthmus.analysis.statistics.shape import SMALL_BYTES
from isthmus.record import KIB, Case, Direction, Run

# What malloc gives: recycled memory below glibc's M_MMAP_THRESHOLD, fresh pages from there on (mallopt(3)).
USUAL = "usual"
_FRESH_FROM = 128 * KIB
# Times below this are the clock's, and a logarithm needs something above zero.
_SHORTEST_SECONDS = 1e-10


class Term(NamedTuple):
    """One kind of cost that a run may hold."""

    experiment: str
    method: str
    host_memory: str
    direction: Direction | None = None


class Absent(Exception):
    """A run does not hold this term."""

    def __init__(self, term: Term) -> None:
        super().__init__(term)
        self.term = term


class CostTable:
    """The medians of single steps by term and size, with their draws, interpolated in logarithms.

    Copies are those that the breakeven experiment measured of data which caches may hold, as a program's are, and
    beyond their sizes those of `bandwidth`, which evicts it from them.
    """

    def __init__(self, run: Run) -> None:
        cases = [case for case in run.cases if _is_cost(case)]
        # Another seed than that of the totals, which were measured independently.
        aim = run.settings.target_relative_half_width
        medians = resampled_medians([case.samples("host_seconds") for case in cases], seed=1, known_within=aim)
        by_term: dict[Term, dict[int, Draws]] = {}
        waits: dict[Term, list[float]] = {}
        for case, found in zip(cases, medians, strict=True):
            term = Term(case.experiment, case.method, case.host_memory, case.direction)
            by_term.setdefault(term, {})[case.bytes] = np.maximum(found, _SHORTEST_SECONDS)
            if case.bytes <= SMALL_BYTES and (enqueue := case.samples("enqueue_seconds")):
                copied = term._replace(experiment="bandwidth")
                waits.setdefault(copied, []).append(max(float(found[0]) - median(enqueue), 0.0))
        self._waits = {term: median(found) for term, found in waits.items()}
        cached = {term: by_term.pop(term) for term in list(by_term) if term.experiment == "breakeven"}
        self._by_term = by_term
        for term, steps in cached.items():
            copied = term._replace(experiment="bandwidth")
            evicted = by_term.get(copied, {})
            by_term[copied] = {
                size: row for size, row in evicted.items() if not min(steps) <= size <= max(steps)
            } | steps
        for method in ("allocate", "touch", "free"):
            if usual := self._usual(method):
                self._by_term[Term("allocation", method, USUAL)] = usual

    def sizes(self, term: Term) -> list[int]:
        """The measured sizes of a term, ascending; empty when the run does not hold it."""
        return sorted(self._by_term.get(term, {}))

    def seconds(self, term: Term, size: int) -> Draws | None:
        """None beyond the measured sizes. Raises Absent when the run does not hold the term at all."""
        if term not in self._by_term:
            raise Absent(term)
        return interpolated(self._by_term[term], size)

    def queued(self, term: Term, size: int) -> Draws | None:
        """The same without the wait for completion, for what is followed by other work before anybody waits.

        The wait is what remains of the smallest transfers once they are enqueued.
        """
        seconds = self.seconds(term, size)
        return None if seconds is None else np.maximum(seconds - self._waits.get(term, 0.0), _SHORTEST_SECONDS)

    def _usual(self, method: str) -> dict[int, Draws]:
        """Recycled memory below the threshold and fresh pages above, with the step between them."""
        recycled, fresh = (self._by_term.get(Term("allocation", method, kind), {}) for kind in ("malloc", "pageable"))
        if method == "touch" and not recycled:
            # Memory that comes back from an earlier allocation has been touched.
            recycled = {size: np.full(1 + DRAWS, _SHORTEST_SECONDS) for size in (1, _FRESH_FROM)}
        found = {size: row for size, row in recycled.items() if size < _FRESH_FROM}
        found |= {size: row for size, row in fresh.items() if size >= _FRESH_FROM}
        for known, size in ((recycled, _FRESH_FROM - 1), (fresh, _FRESH_FROM)):
            if known and (row := interpolated(known, size)) is not None:
                found[size] = row
        return found if fresh else {}


def _is_cost(case: Case) -> bool:
    # In the breakeven experiment, single copies alone have a direction.
    single = case.experiment in {"allocation", "bandwidth"} or (case.experiment == "breakeven" and case.direction)
    return bool(single) and not case.skipped and case.verified != "no" and bool(case.samples("host_seconds"))
