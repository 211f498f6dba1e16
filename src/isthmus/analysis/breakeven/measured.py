"""What getting data to the device and back costs from allocation to release, by memory kind and number of uses."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from isthmus.analysis.statistics.once import once
from isthmus.analysis.statistics.resample import Draws, resampled_medians
from isthmus.record import Case, Direction, Interval, Run, median_interval

BREAKEVEN_CASES = ("round_trip", "reduction", "round_trip_in_place", "reduction_in_place")
BREAKEVEN_USES = (1, 2, 5, 10, 100, 1000)
# What everybody has first; of two memory kinds, the later one is the challenger.
BREAKEVEN_WAYS = (
    "pageable",
    "pinned",
    "registered",
    "touched_registered",
    "staging",
    "mapped",
    "managed",
    "managed_prefetch",
)

# A case and a memory kind.
Key = tuple[str, str]

_FURTHER = "further_"
# Times below this are the clock's, and a logarithm needs something above zero.
_SHORTEST_SECONDS = 1e-10


@dataclass(frozen=True)
class Totals:
    """Seconds of one memory kind in one case: by size and number of uses, and by size for one use more.

    Each is an estimate with its draws. Between two numbers of uses the time is taken for affine; beyond the largest it
    grows by `further`.
    """

    seconds: Mapping[int, Mapping[int, Draws]]
    further: Mapping[int, Draws]

    def at(self, uses: int) -> dict[int, Draws]:
        """Seconds from allocation to release by ascending size, where they can be known."""
        totals = {size: self._total(size, uses) for size in sorted(self.seconds)}
        return {size: total for size, total in totals.items() if total is not None}

    def uses(self) -> set[int]:
        """The numbers of uses with a total of their own at any size."""
        return {uses for totals in self.seconds.values() for uses in totals}

    def _total(self, size: int, uses: int) -> Draws | None:
        totals = self.seconds[size]
        known = sorted(totals)
        below, above = bisect_right(known, uses), bisect_left(known, uses)
        if below == 0:
            return None
        first = known[below - 1]
        if first == uses:
            return totals[uses]
        if above < len(known):
            share = (uses - first) / (known[above] - first)
            return totals[first] + share * (totals[known[above]] - totals[first])
        if size not in self.further:
            return None
        return totals[first] + (uses - first) * self.further[size]


def interpolated(seconds: Mapping[int, Draws], size: float) -> Draws | None:
    """The seconds at any size, along straight lines in logarithms; None outside of the sizes that are there."""
    sizes = sorted(seconds)
    above = bisect_left(sizes, size)
    if above == len(sizes) or size < sizes[0]:
        return None
    if sizes[above] == size:
        return seconds[sizes[above]]
    low, high = sizes[above - 1], sizes[above]
    share = math.log(size / low) / math.log(high / low)
    return seconds[low] ** (1 - share) * seconds[high] ** share


@once()
def measured_totals(run: Run) -> dict[Key, Totals]:
    """The totals of the breakeven experiment; memory kinds without a total do not appear.

    Skipped cases, those whose data did not arrive and those too short for the clock count for nothing.
    """
    cases = [case for case in run.cases if case.experiment == "breakeven" and _counts(case)]
    aim = run.settings.target_relative_half_width
    medians = resampled_medians([case.samples("host_seconds") for case in cases], known_within=aim)
    seconds: dict[Key, dict[int, dict[int, Draws]]] = {}
    further: dict[Key, dict[int, Draws]] = {}
    for case, median in zip(cases, medians, strict=True):
        key = case.method.removeprefix(_FURTHER), case.host_memory
        if case.direction is not None:
            continue  # A single copy, for the derivation.
        if case.method.startswith(_FURTHER):
            further.setdefault(key, {})[case.bytes] = median
        elif case.uses is not None:
            seconds.setdefault(key, {}).setdefault(case.bytes, {})[case.uses] = median
    return {key: Totals(totals, further.get(key, {})) for key, totals in seconds.items()}


def measured_once(run: Run) -> dict[Key, dict[int, Interval]]:
    """Seconds from getting a buffer to giving it back after one use, by ascending size, as they were measured."""
    intervals: dict[Key, dict[int, Interval]] = {}
    for case in sorted(run.cases, key=lambda case: case.bytes):
        if case.experiment == "breakeven" and case.uses == 1 and _counts(case):
            intervals.setdefault((case.method, case.host_memory), {})[case.bytes] = median_interval(
                case.samples("host_seconds")
            )
    return intervals


def ordered_ways(kinds: Iterable[str]) -> list[str]:
    """Each memory kind once, in the order of BREAKEVEN_WAYS; those that this version does not know come last."""
    return sorted(
        set(kinds), key=lambda way: (BREAKEVEN_WAYS.index(way) if way in BREAKEVEN_WAYS else len(BREAKEVEN_WAYS), way)
    )


def _counts(case: Case) -> bool:
    samples: Sequence[float] = case.samples("host_seconds")
    return not case.skipped and case.verified != "no" and bool(samples) and min(samples) > 0


class Term(NamedTuple):
    """One kind of cost that a run may hold."""

    experiment: str
    method: str
    host_memory: str
    direction: Direction | None = None


# The draws of each step's median, in seconds, by size.
Costs = dict[Term, dict[int, Draws]]


def step_costs(run: Run) -> Costs:
    """What steps cost a program that has just written what it copies: `cached` of what was measured."""
    return cached(measured_costs(run))


@once()
def measured_costs(run: Run) -> Costs:
    """The medians of single steps: copies of `bandwidth`, whose data is in no cache, and apart those of breakeven."""
    cases = [case for case in run.cases if _is_cost(case)]
    # Another seed than that of the totals, which were measured independently.
    aim = run.settings.target_relative_half_width
    medians = resampled_medians([case.samples("host_seconds") for case in cases], seed=1, known_within=aim)
    costs: Costs = {}
    for case, median in zip(cases, medians, strict=True):
        term = Term(case.experiment, case.method, case.host_memory, case.direction)
        costs.setdefault(term, {})[case.bytes] = np.maximum(median, _SHORTEST_SECONDS)
    return costs


def cached(costs: Costs) -> Costs:
    """The same with copies of data that caches may hold, and of data in no cache beyond the sizes of those."""
    merged = {term: rows for term, rows in costs.items() if term.experiment != "breakeven"}
    for term, rows in costs.items():
        if term.experiment == "breakeven":
            copied, first, last = term._replace(experiment="bandwidth"), min(rows), max(rows)
            evicted = {size: row for size, row in costs.get(copied, {}).items() if not first <= size <= last}
            merged[copied] = evicted | rows
    return merged


def _is_cost(case: Case) -> bool:
    # In the breakeven experiment, single copies alone have a direction.
    single = case.experiment in {"allocation", "bandwidth"} or (case.experiment == "breakeven" and case.direction)
    single = single and case.node is None
    return bool(single) and not case.skipped and case.verified != "no" and bool(case.samples("host_seconds"))
