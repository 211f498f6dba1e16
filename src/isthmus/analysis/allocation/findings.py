"""What the allocation experiment says: all its findings, and what to take away in two sentences."""

from isthmus.analysis.allocation.calls import beside_finding, first_call_finding, freeing_finding
from isthmus.analysis.allocation.device import device_memory_findings
from isthmus.analysis.allocation.host import host_memory_findings
from isthmus.analysis.allocation.model import AllocationCosts, allocation_costs
from isthmus.analysis.allocation.pinned_ways import pinned_choices
from isthmus.analysis.allocation.pinning import cheapest_pinned_finding
from isthmus.analysis.allocation.words import how_many_times, shown_size
from isthmus.analysis.phrases import memory_name
from isthmus.document.finding import Finding, Takeaway
from isthmus.language import say, sentences
from isthmus.record import Run, format_bytes, format_seconds

__all__ = ["findings", "takeaway"]


def findings(run: Run) -> list[Finding]:
    """Everything that the run's allocation experiment supports; none where it measured none of it."""
    costs = allocation_costs(run)
    if costs is None:
        return []
    found = [
        *host_memory_findings(run, costs),
        cheapest_pinned_finding(run, costs),
        *device_memory_findings(costs),
        beside_finding(costs),
        freeing_finding(costs),
        first_call_finding(costs),
    ]
    return [finding for finding in found if finding]


def takeaway(run: Run) -> Takeaway | None:
    """What to take away about the cost of memory; None where none was measured."""
    costs = allocation_costs(run)
    if costs is None or not costs.curves:
        return None
    host, advice = _host(costs)
    return Takeaway(sentences([host, _device(costs)]) or say("allocation.nothing_whole"), advice)


def _host(costs: AllocationCosts) -> tuple[str, str]:
    """What memory of the host costs and what follows; both may be empty."""
    wholes = ((kind, costs.whole(kind)) for kind in ("pinned", "pageable", "malloc"))
    found = ((kind, whole, shown_size(whole.sizes)) for kind, whole in wholes if whole)
    kind, whole, size = next((each for each in found if not costs.pages_absent(each[0], each[2])), ("", None, 0))
    if whole is None:
        return "", ""
    cost = whole.at(size).median
    words = {"size": format_bytes(size), "memory": memory_name(kind), "time": format_seconds(cost)}
    if kind != "pinned":
        return say("allocation.cost", **words), ""
    choice = next((choice for choice in pinned_choices(costs) if choice.bytes == size), None)
    if choice is None:
        return say("allocation.cost", **words), say("allocation.keep")
    best = choice.cheapest[0]
    if len(choice.cheapest) > 1:
        return say("allocation.cost_tied", **words), say("allocation.keep")
    if best == "pinned":
        return say("allocation.cost_least", **words), say("allocation.keep")
    other = choice.costs[best].median
    text = say(
        "allocation.cost_against",
        **words,
        times=how_many_times(cost / other),
        way=memory_name(best),
        other=format_seconds(other),
    )
    return text, say("allocation.keep_and_get", way=memory_name(best))


def _device(costs: AllocationCosts) -> str:
    device, pool = costs.whole("device"), costs.whole("device_pool")
    if device is None:
        return ""
    size = shown_size(device.sizes)
    words = {
        "size": format_bytes(size),
        "memory": memory_name("device"),
        "time": format_seconds(device.at(size).median),
    }
    if pool and size in pool.sizes:
        return say("allocation.cost_pooled", **words, pool=format_seconds(pool.at(size).median))
    return say("allocation.cost", **words)
