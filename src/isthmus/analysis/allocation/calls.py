"""What giving memory back costs, small blocks beside another, and the first calls of a process, in sentences."""

from isthmus.analysis.allocation.cost_ratio import cost_ratio
from isthmus.analysis.allocation.model import AllocationCosts, Phase, SizedCost
from isthmus.analysis.allocation.words import how_many_times, shown_size
from isthmus.analysis.phrases import memory_name
from isthmus.document.finding import Finding
from isthmus.language import clauses, enumerated, say, sentences
from isthmus.record import format_bytes, format_seconds

__all__ = ["beside_finding", "first_call_finding", "freeing_finding"]

# A first call that takes less than this times a later one is not worth a word.
_SLOW_START = 2.0
_MOST_NAMED = 4
# Blocks that come so much faster beside another one are carved out of what that one brought.
_CARVED = 2.0
_FREED = ("pinned", "registered", "device")


def freeing_finding(costs: AllocationCosts) -> Finding | None:
    """What giving memory back costs, against allocating it and against free; None without locked or device memory."""
    found = {
        kind: (free, allocate)
        for kind in _FREED
        if (free := costs.phase(kind, "free")) and (allocate := costs.phase(kind, "allocate"))
    }
    shared = [{*free.sizes} & {*allocate.sizes} for free, allocate in found.values()]
    sizes = set.intersection(*shared) if shared else set()
    if not sizes:
        return None
    size = shown_size(sizes)
    parts = []
    for kind, (free, allocate) in found.items():
        memory, time = memory_name(kind), format_seconds(free.at(size).median)
        allocating = how_many_times(float(free.row(size)[0] / allocate.row(size)[0]))
        gap = cost_ratio(free, costs.phase("malloc", "free"))
        if gap and size in gap.sizes:
            against = how_many_times(gap.at(size).median)
            parts.append(say("allocation.freed_both", memory=memory, time=time, allocating=allocating, free=against))
        else:
            parts.append(say("allocation.freed", memory=memory, time=time, allocating=allocating))
    text = say("allocation.giving_back", size=format_bytes(size), kinds=clauses(parts))
    return Finding("info", "allocation_free", text)


def beside_finding(costs: AllocationCosts) -> Finding | None:
    """What small blocks cost while another one of their kind is held; None where that was not measured."""
    gains, others = [], []
    for kind in dict.fromkeys(curve.kind for curve in costs.beside):
        alone, beside = costs.phase(kind, "allocate"), costs.phase(kind, "allocate", beside=True)
        gap = cost_ratio(alone, beside)
        if alone is None or beside is None or gap is None:
            continue
        carved = [size for size, ratio in zip(gap.sizes, gap.ratios, strict=True) if ratio.low >= _CARVED]
        if not carved:
            others.append(memory_name(kind))
            continue
        gains.append(_carved(memory_name(kind), alone, beside, carved[0], carved[-1]))
    same = enumerated(others)
    if not gains:
        return Finding("info", "allocation_beside", say("allocation.none_carved", kinds=same)) if others else None
    text = say("allocation.while_held", kinds=clauses(gains))
    return Finding(
        "info",
        "allocation_beside",
        sentences([text, say("allocation.others_not_carved", kinds=same) if others else ""]),
        cause=say("allocation.carved_cause"),
        fix=say("allocation.carved_fix"),
    )


def _carved(memory: str, alone: SizedCost, beside: SizedCost, first: int, last: int) -> str:
    """What blocks of two sizes, or of one, take beside another one and alone."""
    (first_alone, first_beside), (last_alone, last_beside) = (
        [format_seconds(each.at(size).median) for each in (alone, beside)] for size in (first, last)
    )
    if first == last:
        size = format_bytes(first)
        return say("allocation.carved_once", memory=memory, size=size, beside=first_beside, alone=first_alone)
    return say(
        "allocation.carved",
        memory=memory,
        first=format_bytes(first),
        first_beside=first_beside,
        first_alone=first_alone,
        last=format_bytes(last),
        last_beside=last_beside,
        last_alone=last_alone,
    )


def first_call_finding(costs: AllocationCosts) -> Finding | None:
    """What the process pays once; None where no first call was timed."""
    parts = []
    if costs.open_device is not None:
        parts.append(say("allocation.opening", time=format_seconds(costs.open_device)))
    slow = _slow_starts(costs)
    if slow:
        named = [
            say(
                "allocation.slow_start",
                memory=memory_name(kind),
                phase=say(f"allocation.phase_{phase}"),
                time=format_seconds(seconds),
                later=format_seconds(later),
            )
            for kind, phase, seconds, later in slow[:_MOST_NAMED]
        ]
        parts.append(say("allocation.slow_starts", calls=clauses(named)))
        if len(slow) > _MOST_NAMED:
            parts.append(say("allocation.more_slow_starts", count=len(slow) - _MOST_NAMED))
        parts.append(say("allocation.timed_once"))
    elif costs.first:
        parts.append(say("allocation.no_slow_start"))
    if not parts:
        return None
    once = slow or costs.open_device is not None
    return Finding(
        "info", "allocation_first_call", sentences(parts), fix=say("allocation.first_call_fix") if once else ""
    )


def _slow_starts(costs: AllocationCosts) -> list[tuple[str, Phase, float, float]]:
    """Kind, phase, seconds of the first call and of later ones; those that lose the most time first."""
    slow: list[tuple[str, Phase, float, float]] = []
    for (kind, phase), (size, seconds) in costs.first.items():
        later = costs.phase(kind, phase)
        if later and size in later.sizes and seconds >= _SLOW_START * later.at(size).high:
            slow.append((kind, phase, seconds, later.at(size).median))
    return sorted(slow, key=lambda each: each[3] - each[2])
