"""What host memory costs, in sentences: pageable and pinned memory, huge pages, managed memory."""

from isthmus.analysis.allocation.cost_ratio import cost_ratio
from isthmus.analysis.allocation.model import AllocationCosts, Phase
from isthmus.analysis.allocation.words import cost_words, how_many_times, ratio_range, shown_size, steps_sentence
from isthmus.analysis.phrases import memory_name
from isthmus.analysis.statistics.shape import LARGE_BYTES
from isthmus.document.finding import Finding
from isthmus.language import capitalised, clauses, enumerated, say, sentences
from isthmus.record import MIB, Run, format_bytes, format_seconds

__all__ = ["host_memory_findings"]

# Below two huge pages there is nothing for them to gain.
_HUGE_FROM = 4 * MIB
_LIKE_PINNED = ("pinned_portable", "write_combined", "mapped")
# How close touching and locking must come to what pinned memory costs to be called its cause.
_EXPLAINED = (0.75, 1.33)


def host_memory_findings(run: Run, costs: AllocationCosts) -> list[Finding]:
    """The findings about memory of the host, as far as the run measured it."""
    found = [_pageable(costs), _pinned(costs), _huge_pages(run, costs), _managed(costs)]
    return [finding for finding in found if finding]


def _pageable(costs: AllocationCosts) -> Finding | None:
    allocate, free = costs.find("malloc", "allocate"), costs.find("malloc", "free")
    touch, whole = costs.find("pageable", "touch"), costs.whole("pageable")
    parts = []
    if allocate and free:
        parts.append(say("allocation.malloc_free", allocate=cost_words(allocate), free=cost_words(free)))
    elif allocate:
        parts.append(say("allocation.malloc", allocate=cost_words(allocate)))
    if touch:
        parts.append(say("allocation.first_touch", touch=cost_words(touch)))
    if whole:
        size = shown_size(whole.sizes)
        time = format_seconds(whole.at(size).median)
        parts.append(say("allocation.fresh_whole", size=format_bytes(size), time=time))
    if not parts:
        return None
    cause = say("allocation.first_touch_cause") if touch else ""
    return Finding("info", "allocation_pageable", sentences(parts), cause)


def _pinned(costs: AllocationCosts) -> Finding | None:
    steps = steps_sentence(costs, "pinned", say("allocation.touched"))
    if not steps:
        return None
    parts = [steps]
    absent = False
    whole = costs.whole("pinned")
    if whole:
        size = shown_size(whole.sizes)
        absent = costs.pages_absent("pinned", size)
        against = [
            say(key, times=how_many_times(float(whole.row(size)[0] / other.row(size)[0])))
            for key, other in (
                ("allocation.times_malloc", costs.calls("malloc")),
                ("allocation.times_fresh", costs.whole("pageable")),
            )
            if other and size in other.sizes
        ]
        said, time = format_bytes(size), format_seconds(whole.at(size).median)
        if against:
            parts.append(say("allocation.whole_against", size=said, time=time, against=enumerated(against)))
        else:
            parts.append(say("allocation.whole", size=said, time=time))
        if absent:
            parts.append(say("allocation.pages_absent"))
    return Finding(
        "info",
        "allocation_pinned",
        sentences([*parts, _like_pinned(costs)]),
        cause=_pinned_cause(costs),
        fix="" if absent else say("allocation.pinned_fix"),
    )


def _pinned_cause(costs: AllocationCosts) -> str:
    """How much of an allocation a first touch and locking explain; empty where they take longer than it does."""
    pinned = costs.phase("pinned", "allocate")
    touch, lock = costs.phase("pageable", "touch"), costs.phase("registered", "allocate")
    if not (pinned and touch and lock):
        return ""
    common = [size for size in pinned.sizes if size in touch.sizes and size in lock.sizes]
    if not common:
        return ""
    size = shown_size(common)
    parts = float(touch.row(size)[0]), float(lock.row(size)[0])
    share = sum(parts) / float(pinned.row(size)[0])
    if share > _EXPLAINED[1]:
        return ""
    return say(
        "allocation.explained" if share >= _EXPLAINED[0] else "allocation.rest_is_the_drivers",
        size=format_bytes(size),
        touch=format_seconds(parts[0]),
        lock=format_seconds(parts[1]),
        percent=100 * share,
    )


def _like_pinned(costs: AllocationCosts) -> str:
    """How the kinds that the same call gives with other flags compare; empty without any."""
    same, other = [], []
    for kind in _LIKE_PINNED:
        gap = cost_ratio(costs.calls(kind), costs.calls("pinned"), least_bytes=LARGE_BYTES)
        if gap and gap.alike:
            same.append(memory_name(kind))
        elif gap and gap.unknown:
            other.append(say("allocation.unlike_unknown", memory=memory_name(kind)))
        elif gap:
            other.append(say("allocation.unlike", memory=memory_name(kind), times=ratio_range(gap)))
    alike = [say("allocation.alike", count=len(same), memory=enumerated(same))] if same else []
    kinds = clauses([*alike, *other])
    return say("allocation.like_pinned", kinds=capitalised(kinds)) if kinds else ""


def _huge_pages(run: Run, costs: AllocationCosts) -> Finding | None:
    pairs: tuple[tuple[str, Phase, str, str], ...] = (
        ("pageable", "touch", "pageable_huge", say("allocation.touching_first")),
        ("registered", "allocate", "registered_huge", say("allocation.registering")),
        ("touched_registered", "allocate", "touched_registered_huge", say("allocation.touching_and_registering")),
    )
    gains, helpful = [], set()
    for plain, phase, huge, doing in pairs:
        gap = cost_ratio(costs.phase(plain, phase), costs.phase(huge, phase), least_bytes=_HUGE_FROM)
        if gap is None:
            continue
        if gap.alike or not gap.told_apart:
            gains.append(say("allocation.huge_alike", doing=doing))
        elif gap.span[1] < 1:
            gains.append(say("allocation.huge_slower", doing=doing, times=ratio_range(gap.inverse)))
        else:
            gains.append(say("allocation.huge_faster", doing=doing, times=ratio_range(gap)))
            helpful |= {plain} if gap.typical > 1 else set()
    if not gains:
        return None
    memory = run.fingerprint.host.memory
    cause = ""
    if helpful & _TOUCHED and memory.huge_page_bytes:
        pages = {"huge": format_bytes(memory.huge_page_bytes), "plain": format_bytes(memory.page_bytes)}
        cause = say("allocation.huge_cause", **pages)
    return Finding(
        "info",
        "allocation_huge_pages",
        say("allocation.huge_pages", gains=enumerated(gains)),
        cause=cause,
        fix=say("allocation.huge_fix") if helpful else "",
    )


# Kinds whose time above has page faults in it.
_TOUCHED = {"pageable", "touched_registered"}


def _managed(costs: AllocationCosts) -> Finding | None:
    steps = steps_sentence(costs, "managed", say("allocation.touched_by_host"))
    if not steps:
        return None
    against = ""
    gap = cost_ratio(costs.whole("managed"), costs.whole("pageable"))
    if gap:
        size = shown_size(gap.sizes)
        ratio = gap.at(size)
        against = (
            say("allocation.managed_alike", size=format_bytes(size))
            if ratio.low <= 1 <= ratio.high
            else say("allocation.managed_times", size=format_bytes(size), times=how_many_times(ratio.median))
        )
    return Finding("info", "allocation_managed", sentences([steps, against]))
