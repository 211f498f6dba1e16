"""What single steps cost, as the allocation, bandwidth and breakeven experiments of a run measured them."""

from typing import NamedTuple

import numpy as np

from isthmus.analysis.statistics.once import once
from isthmus.analysis.statistics.resample import Draws, resampled_medians
from isthmus.record import Case, Direction, Run

# Times below this are the clock's, and a logarithm needs something above zero.
_SHORTEST_SECONDS = 1e-10


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
