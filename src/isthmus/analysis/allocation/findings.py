"""What the allocation experiment says: the cost of each kind of memory at one size, and the cheapest pinned memory."""

from collections.abc import Iterable, Iterator

from isthmus.analysis.allocation.model import AllocationCosts, SizedCost, allocation_costs, pinned_choices
from isthmus.analysis.phrases import memory_name, times
from isthmus.document.finding import Finding, known
from isthmus.language import enumerated, say, sentences
from isthmus.record import MIB, Run, format_bytes, format_seconds

# Large enough that the part for each byte counts, small enough that every machine measures it.
_SHOWN_BYTES = 64 * MIB
# Below two huge pages there is nothing for them to gain.
_HUGE_FROM = 4 * MIB
# A difference below this factor is no reason to change a program.
_MATTERS = 1.05


def findings(run: Run) -> list[Finding]:
    """Everything that the run's allocation experiment supports; none where it measured none of it."""
    costs = allocation_costs(run)
    if costs is None:
        return []
    return known(
        _pageable(costs),
        _pinned(costs),
        _cheapest_pinned(run, costs),
        _huge_pages(costs),
        _device(costs),
        *_shaped(costs),
    )


def takeaway(run: Run) -> Finding | None:
    """What to take away about the cost of memory; None where none was measured from allocation to release."""
    costs = allocation_costs(run)
    if costs is None:
        return None
    pinned = _pinned(costs)
    # Pinned memory whose pages are still to come says nothing of what memory costs.
    first = pinned if pinned and pinned.do else _pageable(costs)
    text = sentences(each.text for each in known(first, _cheapest_pinned(run, costs), _device(costs)))
    return Finding("note", "allocation", text, do=pinned.do if pinned else ()) if text else None


def _device_cost(costs: AllocationCosts) -> str:
    device, pool = costs.whole("device"), costs.whole("device_pool")
    if device is None:
        return ""
    size = _shown(device.sizes)
    words = {
        "size": format_bytes(size),
        "memory": memory_name("device"),
        "time": format_seconds(device.at(size).median),
    }
    if pool and size in pool.sizes:
        return say("allocation.cost_pooled", **words, pool=format_seconds(pool.at(size).median))
    return say("allocation.cost", **words)


def _shown(sizes: Iterable[int]) -> int:
    """The size to name in a sentence: 64 MiB, or the nearest below it, or the smallest. There must be one."""
    ordered = sorted(sizes)
    return max((size for size in ordered if size <= _SHOWN_BYTES), default=ordered[0])


def _pageable(costs: AllocationCosts) -> Finding | None:
    touch, whole = costs.phase("pageable", "touch"), costs.whole("pageable")
    if touch is None or whole is None:
        return None
    size = _shown(whole.sizes)
    cost, part = (format_seconds(each.at(size).median) for each in (whole, touch))
    text = say("allocation.pageable", size=format_bytes(size), time=cost, touch=part)
    return Finding("note", "allocation_pageable", text)


def _pinned(costs: AllocationCosts) -> Finding | None:
    whole = costs.whole("pinned")
    if whole is None:
        return None
    size = _shown(whole.sizes)
    time = format_seconds(whole.at(size).median)
    if costs.pages_absent("pinned", size):
        return Finding("note", "allocation_pinned", say("allocation.pinned_absent", size=format_bytes(size), time=time))
    pageable = costs.whole("pageable")
    if pageable and size in pageable.sizes:
        text = _against("pinned", whole, pageable, size, say("allocation.malloc_touched"))
    else:
        text = say("allocation.cost", size=format_bytes(size), memory=memory_name("pinned"), time=time)
    return Finding("note", "allocation_pinned", text, do=(say("allocation.keep"),))


def _against(kind: str, cost: SizedCost, other: SizedCost, size: int, name: str) -> str:
    """What a kind of memory costs next to another one of this name, at a size that both have."""
    ratio = cost.over(other, size).median
    return say(
        "allocation.cost_against",
        size=format_bytes(size),
        memory=memory_name(kind),
        time=format_seconds(cost.at(size).median),
        times=times(ratio, ratio),
        other=name,
        other_time=format_seconds(other.at(size).median),
    )


def _cheapest_pinned(run: Run, costs: AllocationCosts) -> Finding | None:
    """The cheapest memory kind at one size; None where fewer than two memory kinds were measured."""
    choices = pinned_choices(costs)
    if not choices:
        return None
    size = _shown(choice.bytes for choice in choices)
    choice = next(choice for choice in choices if choice.bytes == size)
    best = choice.cheapest[0]
    names, time = enumerated(list(map(memory_name, choice.cheapest)), "or"), format_seconds(choice.costs[best].median)
    text = say("allocation.cheapest", size=format_bytes(size), memory=names, time=time)
    # No copy engine needs pinned memory where the device shares the host's.
    act = best != "pinned" and not run.fingerprint.device.shares_host_memory
    fixes = [say("allocation.get_touched_registered")] if act else []
    fixes += [say("allocation.huge_fix")] if act and best == "touched_registered_huge" else []
    return Finding("note", "allocation_cheapest_pinned", text, do=(sentences(fixes),))


def _huge_pages(costs: AllocationCosts) -> Finding | None:
    """What huge pages gain where pages are touched first; None where that is too little to change a program."""
    plain, huge = costs.phase("pageable", "touch"), costs.phase("pageable_huge", "touch")
    sizes = [size for size in plain.sizes if size >= _HUGE_FROM and size in huge.sizes] if plain and huge else []
    if plain is None or huge is None or not sizes:
        return None
    size = _shown(sizes)
    ratio = plain.over(huge, size)
    if ratio.low <= _MATTERS:
        return None
    text = say("allocation.huge_pages", size=format_bytes(size), times=times(ratio.median, ratio.median))
    return Finding("note", "allocation_huge_pages", text, do=(say("allocation.huge_fix"),))


def _device(costs: AllocationCosts) -> Finding | None:
    text = _device_cost(costs)
    fix = say("allocation.pool_fix") if costs.whole("device_pool") else ""
    return Finding("note", "allocation_device", text, do=(fix,)) if text else None


def _shaped(costs: AllocationCosts) -> Iterator[Finding]:
    """What rows with a pitch and arrays of textures cost next to plain device memory."""
    plain = costs.whole("device")
    for kind in ("device_pitched", "device_array"):
        shaped = costs.whole(kind)
        both = [size for size in shaped.sizes if size in plain.sizes] if shaped and plain else []
        if shaped is None or plain is None or not both:
            continue
        text = _against(kind, shaped, plain, _shown(both), memory_name("device"))
        yield Finding("note", f"allocation_{kind}", text)
