"""What each way would cost, put together from the allocation and bandwidth figures of the same run.

A use costs what `bandwidth` measures for the copies there and back; the first one also what `allocation` measures for
getting the memory, touching it first and giving it back. What all ways share - the memcpy that fills memory which is
already there, the kernel on the device's own memory, the result of four bytes - is left out: it is the same on both
sides of every comparison. So these totals are no times to wait for; only their differences mean something.

Mapped memory needs no copy: the kernel itself works over the link, in both directions at once, so that the slower one
sets the time. The kernel of all other ways then no longer cancels. It counts with what the smallest mapped kernel
takes, which is its launch; on a device that shares the host's memory with what the same kernel takes on mapped memory.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from isthmus.model.breakeven_measured import Key, Totals, interpolated
from isthmus.model.resample import DRAWS, Draws, resampled_medians
from isthmus.record import KIB, Case, Direction, Run

__all__ = ["CostTable", "Derivation", "Term", "derived_totals"]

# What malloc gives: recycled memory below glibc's M_MMAP_THRESHOLD, fresh pages from there on (mallopt(3)).
_USUAL = "usual"
_FRESH_FROM = 128 * KIB
# Times below this are the clock's, and a logarithm needs something above zero.
_SHORTEST_SECONDS = 1e-10
# Sums of straight lines in logarithms bend between the measured sizes; this many points an octave follow them.
_POINTS_AN_OCTAVE = 4


class Term(NamedTuple):
    """One kind of cost that a run may hold."""

    experiment: str
    method: str
    host_memory: str
    direction: Direction | None = None

    def __str__(self) -> str:
        way = f" {self.direction.upper()}" if self.direction else ""
        return f"{self.method}{way} of {self.host_memory}"


class _Recipe(NamedTuple):
    """What a way pays once, and at each use for the way there and back."""

    once: tuple[Term, ...]
    there: Term
    back: Term


def _memory(kind: str, *methods: str) -> tuple[Term, ...]:
    return tuple(Term("allocation", method, kind) for method in methods or ("allocate", "free"))


def _copies(kind: str, method: str = "copy") -> tuple[Term, Term]:
    return Term("bandwidth", method, kind, "h2d"), Term("bandwidth", method, kind, "d2h")


_USUAL_ONCE = _memory(_USUAL, "allocate", "touch", "free")
_RECIPES = {
    "pageable": _Recipe(_USUAL_ONCE, *_copies("pageable")),
    "pinned": _Recipe(_memory("pinned"), *_copies("pinned")),
    # Registering needs pages that are there, so the buffer is filled before.
    "registered": _Recipe(_USUAL_ONCE + _memory("registered"), *_copies("registered")),
    "touched_registered": _Recipe(_memory("touched_registered"), *_copies("registered")),
    "staging": _Recipe((), *_copies("pinned")),
    "mapped": _Recipe(_memory("mapped"), *_copies("mapped", "kernel")),
    "managed_prefetch": _Recipe(_memory("managed", "allocate", "touch", "free"), *_copies("managed", "prefetch")),
}
_NO_RECIPE = {
    "managed": "neither experiment measures what it costs when the device's accesses fault the pages over one by one",
}
_NO_FURTHER_USE = {
    ("reduction", "managed_prefetch"): "neither experiment measures what it costs the host to write to pages that the "
    "device still holds, as every use after the first does where only a result comes back",
}


class CostTable:
    """The medians of `allocation` and `bandwidth` by term and size, with their draws, interpolated in logarithms."""

    def __init__(self, run: Run) -> None:
        cases = [case for case in run.cases if _is_cost(case)]
        # Another seed than that of the totals, which were measured independently.
        medians = resampled_medians([case.samples("host_seconds") for case in cases], seed=1)
        self._by_term: dict[Term, dict[int, Draws]] = {}
        for case, median in zip(cases, medians, strict=True):
            term = Term(case.experiment, case.method, case.host_memory, case.direction)
            self._by_term.setdefault(term, {})[case.bytes] = np.maximum(median, _SHORTEST_SECONDS)
        for term in _USUAL_ONCE:
            if usual := self._usual(term.method):
                self._by_term[term] = usual

    def sizes(self, term: Term) -> list[int]:
        """The measured sizes of a term, ascending; empty when the run does not hold it."""
        return sorted(self._by_term.get(term, {}))

    def seconds(self, term: Term, size: int) -> Draws | None:
        """None beyond the measured sizes. Raises Absent when the run does not hold the term at all."""
        if term not in self._by_term:
            raise Absent(term)
        return interpolated(self._by_term[term], size)

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


class Absent(Exception):
    """A run does not hold this term."""

    def __init__(self, term: Term) -> None:
        super().__init__(f"the run holds no time for {term}")


@dataclass(frozen=True)
class Derivation:
    """Totals of the ways whose costs the run holds, and for the others, and for what is left out, the reason."""

    totals: dict[Key, Totals]
    missing: dict[Key, str]


def derived_totals(run: Run, first: int, last: int, cases: Iterable[str]) -> Derivation:
    """The totals of each case between two sizes, for as many uses as one likes, common costs left out."""
    table = CostTable(run)
    sizes = _fine(first, last)
    totals: dict[Key, Totals] = {}
    missing: dict[Key, str] = {}
    for case in cases:
        shape = case.removesuffix("_in_place")
        for way, recipe in _RECIPES.items():
            further: dict[int, Draws] = {}
            once: dict[int, Draws] = {}
            try:
                for size in sizes:
                    use = _use(run, table, shape, way, size)
                    setup = [table.seconds(term, size) for term in recipe.once]
                    if use is not None and all(part is not None for part in setup):
                        further[size] = use
                        once[size] = sum((part for part in setup if part is not None), np.zeros(1 + DRAWS))
            except Absent as absent:
                missing[case, way] = str(absent)
                continue
            if not once:
                missing[case, way] = "its costs were measured at other sizes"
                continue
            if reason := _NO_FURTHER_USE.get((shape, way)):
                missing[case, way] = reason
            totals[case, way] = Totals(
                {size: {1: once[size] + further[size]} for size in once}, {} if reason else further
            )
        missing |= {(case, way): reason for way, reason in _NO_RECIPE.items()}
    return Derivation(totals, missing)


def _use(run: Run, table: CostTable, shape: str, way: str, size: int) -> Draws | None:
    """One use of a buffer that is there, common costs left out."""
    recipe = _RECIPES[way]
    parts = [table.seconds(recipe.there, size)]
    if shape == "round_trip":
        parts.append(table.seconds(recipe.back, size))
    if way != "mapped":
        parts.append(_kernel(run, table, shape, size))
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    found: Draws = np.max(known, axis=0) if way == "mapped" else np.sum(known, axis=0)
    return found


def _kernel(run: Run, table: CostTable, shape: str, size: int) -> Draws | None:
    """What a kernel on the device's own memory takes, as far as the difference to mapped memory needs it."""
    there = _RECIPES["mapped"].there
    measured = table.sizes(there)
    if not measured:
        return np.zeros(1 + DRAWS)
    if run.fingerprint.device.shares_host_memory:
        return _use(run, table, shape, "mapped", size)
    return table.seconds(there, measured[0])


def _fine(first: int, last: int) -> list[int]:
    """Sizes from the first to the last in equal steps of their logarithm, both included."""
    steps = max(math.ceil(math.log2(last / first) * _POINTS_AN_OCTAVE), 1)
    return sorted({round(first * (last / first) ** (step / steps)) for step in range(steps + 1)})


def _is_cost(case: Case) -> bool:
    of_these = case.experiment in {"allocation", "bandwidth"}
    return of_these and not case.skipped and case.verified != "no" and bool(case.samples("host_seconds"))
