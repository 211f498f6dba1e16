"""What device memory costs, in sentences: linear, from the pool, two-dimensional."""

from isthmus.analysis.allocation.cost_ratio import cost_ratio
from isthmus.analysis.allocation.model import AllocationCosts
from isthmus.analysis.allocation.words import cost_words, steps_sentence, times_span
from isthmus.analysis.phrases import memory_name
from isthmus.document.finding import Finding
from isthmus.language import clauses, say, sentences
from isthmus.record import MIB, format_bytes

__all__ = ["device_memory_findings"]

# glibc recycles what a program has freed up to 32 MiB.
_ASKED_OF_THE_SYSTEM = 64 * MIB


def device_memory_findings(costs: AllocationCosts) -> list[Finding]:
    """The findings about memory of the device, as far as the run measured it."""
    found = [_device(costs), _pool(costs), _two_dimensional(costs)]
    return [finding for finding in found if finding]


def _device(costs: AllocationCosts) -> Finding | None:
    steps = steps_sentence(costs, "device", say("allocation.used_by_device"))
    if not steps:
        return None
    # Smaller blocks the C library recycles, so that nothing is asked of the system.
    gap = cost_ratio(
        costs.phase("device", "allocate"), costs.phase("malloc", "allocate"), least_bytes=_ASKED_OF_THE_SYSTEM
    )
    against = say("allocation.device_malloc", size=format_bytes(gap.sizes[0]), times=times_span(gap)) if gap else ""
    return Finding("info", "allocation_device", sentences([steps, against]))


def _pool(costs: AllocationCosts) -> Finding | None:
    warm, free = costs.find("device_pool", "allocate"), costs.find("device_pool", "free")
    if warm is None:
        return None
    text = (
        say("allocation.pool_free", allocate=cost_words(warm), free=cost_words(free))
        if free
        else say("allocation.pool", allocate=cost_words(warm))
    )
    gap = cost_ratio(costs.calls("device"), costs.calls("device_pool"))
    gains = bool(gap and gap.told_apart and gap.typical > 1)
    against = ""
    if gap:
        against = say("allocation.pool_gain", times=times_span(gap)) if gains else say("allocation.pool_no_gain")
    cold = costs.find("device_pool_cold", "allocate")
    return Finding(
        "info",
        "allocation_pool",
        sentences([text, against, say("allocation.cold_pool", allocate=cost_words(cold)) if cold else ""]),
        cause=say("allocation.pool_cause") if gains else "",
        fix=say("allocation.pool_fix") if gains else "",
    )


def _two_dimensional(costs: AllocationCosts) -> Finding | None:
    found = []
    for kind in ("device_pitched", "device_array"):
        # Where only one of them has to be used before it is there, their calls cannot be compared.
        if bool(costs.find(kind, "touch")) != bool(costs.find("device", "touch")):
            continue
        gap, memory = cost_ratio(costs.calls(kind), costs.calls("device")), memory_name(kind)
        if gap and gap.told_apart and not gap.alike:
            found.append(say("allocation.times_linear", memory=memory, times=times_span(gap)))
        elif gap:
            found.append(say("allocation.like_linear" if gap.alike else "allocation.perhaps_linear", memory=memory))
    if not found:
        return None
    return Finding("info", "allocation_2d", say("allocation.two_dimensional", kinds=clauses(found)))
