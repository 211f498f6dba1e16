"""The cheapest way to page-locked memory of each size, and the sizes from which one way beats another."""

from dataclasses import dataclass

import numpy as np

from isthmus.analysis.allocation.model import AllocationCosts, SizedCost
from isthmus.analysis.statistics.resample import interval_of
from isthmus.analysis.statistics.threshold import Threshold, size_threshold
from isthmus.record import Interval

__all__ = ["EXISTING", "NEW_WAYS", "Crossover", "PinnedChoice", "pinned_choices", "pinned_crossovers"]

# To memory that the program does not have yet.
NEW_WAYS = ("pinned", "touched_registered", "touched_registered_huge")
# Locking memory that the program has already, and unlocking it again.
EXISTING = "registered"


@dataclass(frozen=True)
class PinnedChoice:
    """What page-locked memory of one size costs from allocation to release, in seconds, by way.

    `cheapest` holds the cheapest of NEW_WAYS and all that cannot be told from it with 95 % confidence. A way whose
    pages are not there yet is no choice.
    """

    bytes: int
    costs: dict[str, Interval]
    cheapest: tuple[str, ...]


@dataclass(frozen=True)
class Crossover:
    """From which size on `challenger` is cheaper than `incumbent`."""

    incumbent: str
    challenger: str
    threshold: Threshold


def pinned_choices(costs: AllocationCosts) -> list[PinnedChoice]:
    """One entry for each size at which two of the new ways were measured at least."""
    wholes = {way: whole for way in (*NEW_WAYS, EXISTING) if (whole := _complete(costs, way))}
    choices = []
    for size in sorted({size for whole in wholes.values() for size in whole.sizes}):
        rows = {way: whole.row(size) for way, whole in wholes.items() if size in whole.sizes}
        new = [way for way in NEW_WAYS if way in rows]
        if len(new) < 2:
            continue
        best = min(new, key=lambda way: rows[way][0])
        tied = [way for way in new if way == best or np.quantile(rows[way][1:] / rows[best][1:], 0.025) <= 1]
        tied.sort(key=lambda way: rows[way][0])
        choices.append(PinnedChoice(size, {way: interval_of(row) for way, row in rows.items()}, tuple(tied)))
    return choices


def pinned_crossovers(costs: AllocationCosts) -> list[Crossover]:
    """For every pair of ways that share two sizes at least: pinned memory first, as the one that everybody uses."""
    ways = [way for way in (*NEW_WAYS, EXISTING) if _complete(costs, way)]
    found = []
    for index, incumbent in enumerate(ways):
        for challenger in ways[index + 1 :]:
            first, second = costs.whole(incumbent), costs.whole(challenger)
            sizes = tuple(size for size in first.sizes if size in second.sizes) if first and second else ()
            if first and second and len(sizes) >= 2:
                threshold = size_threshold(sizes, first.only(sizes).draws, second.only(sizes).draws)
                found.append(Crossover(incumbent, challenger, threshold))
    return found


def _complete(costs: AllocationCosts, way: str) -> SizedCost | None:
    """What a way costs, unless its pages are still to come; registered memory was there before."""
    whole = costs.whole(way)
    if whole and way != EXISTING and costs.pages_absent(way, whole.sizes[-1]):
        return None
    return whole
