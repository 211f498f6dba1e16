"""What the allocation experiment says: all its findings, and what to take away in two sentences."""

from isthmus.model.allocation import AllocationCosts, allocation_costs
from isthmus.model.allocation_calls import beside_finding, first_call_finding, freeing_finding
from isthmus.model.allocation_device import device_memory_findings
from isthmus.model.allocation_host import host_memory_findings
from isthmus.model.allocation_pinning import cheapest_pinned_finding
from isthmus.model.allocation_words import how_many_times, shown_size
from isthmus.model.finding import Finding
from isthmus.model.phrases import memory_name
from isthmus.model.pinned_ways import pinned_choices
from isthmus.record import Run, format_bytes, format_seconds

__all__ = ["allocation_findings", "allocation_verdict"]


def allocation_findings(run: Run) -> list[Finding]:
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


def allocation_verdict(run: Run) -> str:
    """What to take away about the cost of memory; empty where none was measured."""
    costs = allocation_costs(run)
    if costs is None or not costs.curves:
        return ""
    return (
        " ".join(filter(None, (_host(costs), _device(costs))))
        or "memory was allocated, but no kind of it from allocation to release."
    )


def _host(costs: AllocationCosts) -> str:
    wholes = ((kind, costs.whole(kind)) for kind in ("pinned", "pageable", "malloc"))
    found = ((kind, whole, shown_size(whole.sizes)) for kind, whole in wholes if whole)
    kind, whole, size = next((each for each in found if not costs.pages_absent(each[0], each[2])), ("", None, 0))
    if whole is None:
        return ""
    cost = whole.at(size).median
    text = f"{format_bytes(size)} of {memory_name(kind)} cost {format_seconds(cost)} from allocation to release"
    choice = next((choice for choice in pinned_choices(costs) if choice.bytes == size), None)
    if kind != "pinned" or choice is None:
        return f"{text}." if kind != "pinned" else f"{text}, so keep such buffers."
    best = choice.cheapest[0]
    if len(choice.cheapest) > 1:
        return f"{text}, and no other way is certainly cheaper; keep such buffers."
    if best == "pinned":
        return f"{text}, less than any other way to lock as much; keep such buffers."
    ratio = cost / choice.costs[best].median
    return (
        f"{text}, {how_many_times(ratio)} as much as {memory_name(best)} "
        f"({format_seconds(choice.costs[best].median)}); keep such buffers, and get large ones that way."
    )


def _device(costs: AllocationCosts) -> str:
    device = costs.whole("device")
    if device is None:
        return ""
    size = shown_size(device.sizes)
    text = f"As much device memory takes {format_seconds(device.at(size).median)}"
    pool = costs.whole("device_pool")
    if pool and size in pool.sizes:
        text += f", from the warm pool {format_seconds(pool.at(size).median)}"
    return f"{text}."
