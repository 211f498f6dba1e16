"""What device memory costs, in sentences: linear, from the pool, two-dimensional."""

from isthmus.model.allocation import AllocationCosts
from isthmus.model.allocation_words import costs_text, how_many_times, within_text
from isthmus.model.cost_fit import fit_cost
from isthmus.model.cost_ratio import CostRatio, cost_ratio
from isthmus.model.finding import Finding
from isthmus.model.phrases import memory_name
from isthmus.record import MIB, format_bytes

__all__ = ["device_memory_findings"]

# glibc recycles what a program has freed up to 32 MiB.
_ASKED_OF_THE_SYSTEM = 64 * MIB


def device_memory_findings(costs: AllocationCosts) -> list[Finding]:
    """The findings about memory of the device, as far as the run measured it."""
    found = [_device(costs), _pool(costs), _two_dimensional(costs)]
    return [finding for finding in found if finding]


def _device(costs: AllocationCosts) -> Finding | None:
    allocate, free = costs.find("device", "allocate"), costs.find("device", "free")
    if allocate is None:
        return None
    text = f"Allocating device memory {costs_text(allocate)}"
    touch = costs.find("device", "touch")
    text += f", its first use by the device {costs_text(touch)}" if touch else ""
    text += f", freeing it {costs_text(free)}" if free else ""
    text += within_text(fit_cost(curve) for curve in (allocate, free) if curve)
    # Smaller blocks the C library recycles, so that nothing is asked of the system.
    gap = cost_ratio(
        costs.phase("device", "allocate"), costs.phase("malloc", "allocate"), least_bytes=_ASKED_OF_THE_SYSTEM
    )
    if gap:
        text += (
            f"; from {format_bytes(gap.sizes[0])} on allocating takes {_span(gap)} as long as malloc, which only "
            "reserves addresses there"
        )
    return Finding("info", "allocation_device", f"{text}.")


def _pool(costs: AllocationCosts) -> Finding | None:
    warm = costs.find("device_pool", "allocate")
    if warm is None:
        return None
    free = costs.find("device_pool", "free")
    text = f"From the warm stream-ordered pool an allocation {costs_text(warm)}"
    text += f", and giving it back {costs_text(free)}" if free else ""
    text += "."
    gap = cost_ratio(costs.calls("device"), costs.calls("device_pool"))
    gains = bool(gap and gap.told_apart and gap.typical > 1)
    if gap and gains:
        text += f" Device memory takes {_span(gap)} as long to get and give back."
    elif gap:
        text += " That is not certainly less than device memory takes."
    cold = costs.find("device_pool_cold", "allocate")
    if cold:
        text += f" From the cold pool an allocation {costs_text(cold)}."
    return Finding(
        "info",
        "allocation_pool",
        text,
        cause="A warm pool hands out memory that the process holds already; a cold one has to map it first."
        if gains
        else "",
        fix="Take device memory that comes and goes in a loop from a pool, and set its release threshold so that it "
        "keeps what it has."
        if gains
        else "",
    )


def _two_dimensional(costs: AllocationCosts) -> Finding | None:
    found = []
    for kind in ("device_pitched", "device_array"):
        # Where only one of them has to be used before it is there, their calls cannot be compared.
        if bool(costs.find(kind, "touch")) != bool(costs.find("device", "touch")):
            continue
        gap = cost_ratio(costs.calls(kind), costs.calls("device"))
        if gap and gap.told_apart and not gap.alike:
            found.append(f"{memory_name(kind)} costs {_span(gap)} as much as linear device memory")
        elif gap and gap.alike:
            found.append(f"{memory_name(kind)} costs what linear device memory does, within 5 % at every size")
        elif gap:
            found.append(f"{memory_name(kind)} is not certainly dearer or cheaper than linear device memory")
    if not found:
        return None
    return Finding("info", "allocation_2d", f"To get and give back, {'; '.join(found)}.")


def _span(gap: CostRatio) -> str:
    low, high = gap.span
    first, last = how_many_times(low), how_many_times(high)
    return first if first == last else f"{first.removesuffix(' times')} to {last}"
