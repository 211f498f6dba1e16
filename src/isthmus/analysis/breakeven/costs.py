"""What single steps cost, as the allocation, bandwidth and breakeven experiments of a run measured them."""

from typing import NamedTuple

import numpy as np

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


def step_costs(run: Run) -> dict[Term, dict[int, Draws]]:
    """The medians of single steps with their draws, in seconds, by term and size.

    Copies are those that the breakeven experiment measured of data which caches may hold, as a program's are, and
    beyond their sizes those of `bandwidth`, which evicts it from them.
    """
    cases = [case for case in run.cases if _is_cost(case)]
    # Another seed than that of the totals, which were measured independently.
    aim = run.settings.target_relative_half_width
    medians = resampled_medians([case.samples("host_seconds") for case in cases], seed=1, known_within=aim)
    costs: dict[Term, dict[int, Draws]] = {}
    for case, median in zip(cases, medians, strict=True):
        term = Term(case.experiment, case.method, case.host_memory, case.direction)
        costs.setdefault(term, {})[case.bytes] = np.maximum(median, _SHORTEST_SECONDS)
    for term in [term for term in costs if term.experiment == "breakeven"]:
        cached, copied = costs.pop(term), term._replace(experiment="bandwidth")
        evicted = {size: row for size, row in costs.get(copied, {}).items() if not min(cached) <= size <= max(cached)}
        costs[copied] = evicted | cached
    return costs


def _is_cost(case: Case) -> bool:
    # In the breakeven experiment, single copies alone have a direction.
    single = case.experiment in {"allocation", "bandwidth"} or (case.experiment == "breakeven" and case.direction)
    return bool(single) and not case.skipped and case.verified != "no" and bool(case.samples("host_seconds"))
