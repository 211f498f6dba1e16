"""What a method costs concurrent work, where the run has measured that."""

from collections.abc import Iterable, Mapping

from isthmus.analysis.interference.model import NEIGHBOURS, Cost, costs, largest, telling
from isthmus.record import BufferNeed, Need, PiecesNeed, Run, SectionNeed

# Methods by what of them goes on concurrently: a kernel over the link, threads that pack, the driver's copy of memory
# that it stages by itself. All others are copies of memory that the device reaches by its copy engines.
_KERNELS = {"kernel", "pack_kernel", "mapped"}
_THREADS = {"isthmus", "pack", "pack_threads", "staging", "staged"}
_STAGED = {"pageable", "driver"}


def beside(run: Run, need: Need, method: str) -> Mapping[str, float]:
    """By neighbour the share by which its work takes longer: the greater of both directions' where data goes in both
    directions.

    Empty where the run has nothing of it, and for needs that compute themselves or move pages.
    """
    if not isinstance(need, BufferNeed | PiecesNeed | SectionNeed):
        return {}
    return slowdowns(run, ("h2d", "d2h") if need.direction == "both" else (need.direction,), method)


def slowdowns(run: Run, directions: Iterable[str], method: str, blocks: int | None = None) -> Mapping[str, float]:
    """The same of a method, or of a session's method, in these directions; a kernel of so many blocks where they were
    measured, else of the fewest that fill the link. 0 blocks stand for all of the device.
    """
    factors: dict[str, float] = {}
    for neighbour in NEIGHBOURS:
        for direction in directions:
            shown = [each for each in largest(costs(run)) if (each.neighbour, each.direction) == (neighbour, direction)]
            # The kernel that sessions take, with the fewest blocks that fill the link, comes before that with all.
            exact = [each for each in shown if each.blocks is not None and each.blocks == blocks]
            cost = next((each for each in (*exact, *telling(shown)) if _is_such(each, method)), None)
            if cost is not None:
                factors[neighbour] = max(factors.get(neighbour, cost.slowdown.median), cost.slowdown.median)
    return factors


def _is_such(cost: Cost, method: str) -> bool:
    if method in _KERNELS:
        return cost.method == "kernel"
    if method in _THREADS:
        return cost.method == "isthmus"
    return cost.method == "copy" and cost.memory == ("pageable" if method in _STAGED else "pinned")
