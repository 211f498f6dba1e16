"""What each way would cost, put together from what a run measured of single steps.

A use costs the copies there and back; the first one also what `allocation` measures for getting the memory, touching it
first and giving it back. What all ways share - the memcpy that fills memory which is
already there, the kernel on the device's own memory, the result of four bytes - is left out: it is the same on both
sides of every comparison. So these totals are no times to wait for; only their differences mean something.

Nobody waits between the steps of a use, so the wait for completion counts for the last one alone; where only a result
comes back, that is the copy of the result, which all ways share. Mapped memory needs no copy: the kernel itself works
over the link, in both directions at once, so that the slower one sets the time. The kernel of all other ways then no
longer cancels. It counts with what the smallest mapped kernel takes, which is its launch; on a device that shares the
host's memory with what the same kernel takes on mapped memory.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from isthmus.analysis.breakeven.costs import USUAL, Absent, CostTable, Term
from isthmus.analysis.breakeven.measured import Key, Totals
from isthmus.analysis.statistics.resample import DRAWS, Draws
from isthmus.record import Run, memory_kind

# Sums of straight lines in logarithms bend between the measured sizes; this many points an octave follow them.
_POINTS_AN_OCTAVE = 4


class _Recipe(NamedTuple):
    """The kinds of memory that a way gets once, and what it copies with at each use."""

    kinds: tuple[str, ...]
    there: Term
    back: Term


def _copies(kind: str, method: str = "copy") -> tuple[Term, Term]:
    return Term("bandwidth", method, kind, "h2d"), Term("bandwidth", method, kind, "d2h")


_RECIPES = {
    "pageable": _Recipe((USUAL,), *_copies("pageable")),
    "pinned": _Recipe(("pinned",), *_copies("pinned")),
    # Pages of its own, whatever the size, and filled before they are locked.
    "registered": _Recipe(("pageable", "registered"), *_copies("registered")),
    "touched_registered": _Recipe(("touched_registered",), *_copies("registered")),
    "staging": _Recipe((), *_copies("pinned")),
    "mapped": _Recipe(("mapped",), *_copies("mapped", "kernel")),
    "managed": _Recipe(("managed",), *_copies("managed", "prefetch")),
    "managed_prefetch": _Recipe(("managed",), *_copies("managed", "prefetch")),
}


@dataclass(frozen=True)
class Missing:
    """Why the costs of a way cannot be put together.

    - ``no_time``: the run does not hold `term`.
    - ``other_sizes``: the costs were measured at sizes outside of the range.
    - ``unmap``, ``faults``, ``pinned_touch``: neither experiment times a step of the way: unmapping memory for each
      kernel and mapping it again; page faults of the device; the first touch of pinned memory.
    """

    reason: Literal["no_time", "other_sizes", "unmap", "faults", "pinned_touch"]
    term: Term | None = None


@dataclass(frozen=True)
class Derivation:
    """Totals of the ways whose costs the run holds, and for the others the reason."""

    totals: dict[Key, Totals]
    missing: dict[Key, Missing]


def derived_totals(run: Run, first: int, last: int, cases: Iterable[str]) -> Derivation:
    """The totals of each case between two sizes, for as many uses as one likes, common costs left out."""
    costs = CostTable(run)
    sizes = _fine(first, last)
    totals: dict[Key, Totals] = {}
    missing: dict[Key, Missing] = {}
    for case in cases:
        for way in _RECIPES:
            if reason := _missing_step(run, costs, way):
                missing[case, way] = reason
                continue
            try:
                found = _totals(run, costs, case.removesuffix("_in_place"), way, sizes)
            except Absent as absent:
                missing[case, way] = Missing("no_time", absent.term)
                continue
            if found.seconds:
                totals[case, way] = found
            else:
                missing[case, way] = Missing("other_sizes")
    return Derivation(totals, missing)


def _missing_step(run: Run, costs: CostTable, way: str) -> Missing | None:
    """A step of the way that neither experiment times; None where there is none."""
    device = run.fingerprint.device
    # OpenCL hands such memory from host to kernel and back by calls of their own (clEnqueueUnmapMemObject and its kin).
    if device.backend == "opencl" and way in {"mapped", "managed"}:
        return Missing("unmap")
    if way == "managed":
        return Missing("faults")
    # This driver leaves the touch to its user.
    if device.backend == "opencl" and device.shares_host_memory and way == "pinned" and not costs.sizes(_touch(way)):
        return Missing("pinned_touch")
    return None


def _totals(run: Run, costs: CostTable, work: str, way: str, sizes: Iterable[int]) -> Totals:
    """Raises Absent."""
    seconds, further = {}, {}
    setup_terms = [term for kind in _RECIPES[way].kinds for term in _setup(costs, kind)]
    for size in sizes:
        setup = _sum([costs.seconds(term, size) for term in setup_terms])
        use = _use(run, costs, work, way, size)
        again = _sum([use, *_fetched(costs, work, way, size)])
        if setup is not None and use is not None and again is not None:
            seconds[size] = {1: setup + use}
            further[size] = again
    return Totals(seconds, further)


def _setup(costs: CostTable, kind: str) -> list[Term]:
    touched = memory_kind(kind).late or costs.sizes(_touch(kind))
    ends = [Term("allocation", method, kind) for method in ("allocate", "free")]
    return [*ends, _touch(kind)] if touched else ends


def _touch(kind: str) -> Term:
    return Term("allocation", "touch", kind)


def _use(run: Run, costs: CostTable, work: str, way: str, size: int) -> Draws | None:
    """One use of a buffer that is there, up to the wait for its end, common costs left out."""
    recipe = _RECIPES[way]
    goes_back = work == "round_trip"
    if way == "mapped" and goes_back:
        there, back = costs.seconds(recipe.there, size), costs.seconds(recipe.back, size)
        return None if there is None or back is None else np.maximum(there, back)
    steps = [costs.queued(recipe.there, size)]
    if way != "mapped":
        steps.append(_kernel(run, costs, size))
    if goes_back:
        steps.append(costs.seconds(recipe.back, size))
    return _sum(steps)


def _kernel(run: Run, costs: CostTable, size: int) -> Draws | None:
    """What a kernel on the device's own memory takes, as far as the difference to mapped memory needs it."""
    mapped = _RECIPES["mapped"].there
    measured = costs.sizes(mapped)
    if not measured:
        return np.zeros(1 + DRAWS)
    return costs.queued(mapped, size if run.fingerprint.device.shares_host_memory else measured[0])


def _fetched(costs: CostTable, work: str, way: str, size: int) -> list[Draws | None]:
    """What the next use takes more than the first: pages that a reduction left on the device are fetched back."""
    left_there = way == "managed_prefetch" and work == "reduction"
    return [costs.seconds(_RECIPES[way].back, size)] if left_there else []


def _sum(parts: list[Draws | None]) -> Draws | None:
    known = [part for part in parts if part is not None]
    found: Draws = np.sum([np.zeros(1 + DRAWS), *known], axis=0)
    return found if len(known) == len(parts) else None


def _fine(first: int, last: int) -> list[int]:
    """Sizes from the first to the last in equal steps of their logarithm, both included."""
    steps = max(math.ceil(math.log2(last / first) * _POINTS_AN_OCTAVE), 1)
    return sorted({round(first * (last / first) ** (step / steps)) for step in range(steps + 1)})
