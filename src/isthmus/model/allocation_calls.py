"""What giving memory back costs, small blocks beside another, and the first calls of a process, in sentences."""

from isthmus.model.allocation import AllocationCosts
from isthmus.model.allocation_words import how_many_times, shown_size
from isthmus.model.cost_ratio import cost_ratio
from isthmus.model.finding import Finding
from isthmus.model.phrases import enumerated, memory_name
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
        against = [f"{how_many_times(float(free.row(size)[0] / allocate.row(size)[0]))} what allocating it takes"]
        gap = cost_ratio(free, costs.phase("malloc", "free"))
        if gap and size in gap.sizes:
            against.append(f"{how_many_times(gap.at(size).median)} what free takes")
        parts.append(f"{memory_name(kind)} {format_seconds(free.at(size).median)} ({', '.join(against)})")
    return Finding("info", "allocation_free", f"Giving {format_bytes(size)} back takes: {'; '.join(parts)}.")


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
        first, last = carved[0], carved[-1]
        gains.append(
            f"{memory_name(kind)} comes in {format_seconds(beside.at(first).median)} in place of "
            f"{format_seconds(alone.at(first).median)} at {format_bytes(first)}, and at {format_bytes(last)} in "
            f"{format_seconds(beside.at(last).median)} in place of {format_seconds(alone.at(last).median)}"
        )
    if not gains:
        same = f"A small block that is held makes no other of its kind twice as fast to get: {enumerated(others)}."
        return Finding("info", "allocation_beside", same) if others else None
    text = f"While a small block of the kind is held, {'; '.join(gains)}."
    text += f" It makes no such difference to {enumerated(others)}." if others else ""
    return Finding(
        "info",
        "allocation_beside",
        text,
        cause="The driver carves small blocks out of a larger one, which it gets with the first of them and gives back "
        "with the last.",
        fix="Keep one small block of the kind for as long as others come and go.",
    )


def first_call_finding(costs: AllocationCosts) -> Finding | None:
    """What the process pays once; None where no first call was timed."""
    sentences = []
    if costs.open_device is not None:
        opened = format_seconds(costs.open_device)
        sentences.append(f"Opening the device, which loads the driver and creates the context, took {opened}.")
    slow = _slow_starts(costs)
    if slow:
        names = [
            f"{memory_name(kind)} ({phase}) {format_seconds(seconds)} where later ones take {format_seconds(later)}"
            for kind, phase, seconds, later in slow[:_MOST_NAMED]
        ]
        more = f"; {len(slow) - _MOST_NAMED} more are in the table" if len(slow) > _MOST_NAMED else ""
        sentences.append(
            f"First calls of the process that take at least twice as long as later ones: {'; '.join(names)}{more}. "
            "Each was timed once, so how much of that is chance cannot be told."
        )
    elif costs.first:
        sentences.append("No kind's first call took twice as long as later ones.")
    if not sentences:
        return None
    fix = "Open the device and allocate once while the program starts, and leave both out of measurements."
    once = slow or costs.open_device is not None
    return Finding("info", "allocation_first_call", " ".join(sentences), fix=fix if once else "")


def _slow_starts(costs: AllocationCosts) -> list[tuple[str, str, float, float]]:
    """Kind, phase, seconds of the first call and of later ones; those that lose the most time first."""
    slow: list[tuple[str, str, float, float]] = []
    for (kind, phase), (size, seconds) in costs.first.items():
        later = costs.phase(kind, phase)
        if later and size in later.sizes and seconds >= _SLOW_START * later.at(size).high:
            slow.append((kind, phase, seconds, later.at(size).median))
    return sorted(slow, key=lambda each: each[3] - each[2])
