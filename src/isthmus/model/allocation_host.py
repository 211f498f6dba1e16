"""What host memory costs, in sentences: pageable and pinned memory, huge pages, managed memory."""

from isthmus.model.allocation import AllocationCosts, Phase
from isthmus.model.allocation_words import costs_text, how_many_times, ratio_range, shown_size, within_text
from isthmus.model.cost_fit import fit_cost
from isthmus.model.cost_ratio import cost_ratio
from isthmus.model.finding import Finding
from isthmus.model.phrases import capitalised, enumerated, memory_name
from isthmus.model.shape import LARGE_BYTES
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
    sentences = []
    if allocate:
        sentences.append(f"malloc {costs_text(allocate)}{f'; free {costs_text(free)}' if free else ''}.")
    if touch:
        sentences.append(f"The first touch of fresh pages {costs_text(touch)}.")
    if whole:
        size = shown_size(whole.sizes)
        sentences.append(
            f"So {format_bytes(size)} of fresh pageable memory that is used cost "
            f"{format_seconds(whole.at(size).median)} from allocation to release."
        )
    if not sentences:
        return None
    cause = "Allocating reserves addresses; the kernel finds and clears each page when it is touched first."
    return Finding("info", "allocation_pageable", " ".join(sentences), cause if touch else "")


def _pinned(costs: AllocationCosts) -> Finding | None:
    allocate, free, whole = costs.find("pinned", "allocate"), costs.find("pinned", "free"), costs.whole("pinned")
    if allocate is None:
        return None
    touch = costs.find("pinned", "touch")
    text = f"Allocating pinned memory {costs_text(allocate)}"
    text += f", its first touch {costs_text(touch)}" if touch else ""
    text += f", freeing it {costs_text(free)}" if free else ""
    text += f"{within_text(fit_cost(curve) for curve in (allocate, free) if curve)}."
    absent = False
    if whole:
        size = shown_size(whole.sizes)
        absent = costs.pages_absent("pinned", size)
        text += f" At {format_bytes(size)} all of that takes {format_seconds(whole.at(size).median)}"
        against = [
            f"{how_many_times(float(whole.row(size)[0] / other.row(size)[0]))} what {name}"
            for other, name in (
                (costs.calls("malloc"), "malloc and free take"),
                (costs.whole("pageable"), "fresh pageable memory costs once it is touched"),
            )
            if other and size in other.sizes
        ]
        text += f": {' and '.join(against)}." if against else "."
        if absent:
            text += (
                " That is far less than touching as much takes, so its pages are not there yet: what they cost comes "
                "with their first use, which was not timed."
            )
    return Finding(
        "info",
        "allocation_pinned",
        f"{text}{_like_pinned(costs)}",
        cause=_pinned_cause(costs),
        fix=""
        if absent
        else "Allocate pinned buffers once and keep them; a program that allocates one for each transfer pays this "
        "every time.",
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
    text = (
        f"At {format_bytes(size)} one thread's first touch of fresh pages takes {format_seconds(parts[0])} and locking "
        f"pages that are there {format_seconds(parts[1])}, together {100 * share:.0f} % of what the allocation takes"
    )
    if share >= _EXPLAINED[0]:
        return f"{text}: the driver has to find, clear and lock every page before the call returns."
    return f"{text}; the rest is the driver's own."


def _like_pinned(costs: AllocationCosts) -> str:
    """How the kinds that the same call gives with other flags compare; empty without any."""
    same, other = [], []
    for kind in _LIKE_PINNED:
        gap = cost_ratio(costs.calls(kind), costs.calls("pinned"), least_bytes=LARGE_BYTES)
        if gap and gap.alike:
            same.append(memory_name(kind))
        elif gap and gap.unknown:
            other.append(f"{memory_name(kind)} cannot be told from it")
        elif gap:
            other.append(f"{memory_name(kind)} costs {ratio_range(gap)} as much")
    parts = [f"{enumerated(same)} {'cost' if len(same) > 1 else 'costs'} the same within 5 %"] if same else []
    text = "; ".join([*parts, *other])
    return f" {capitalised(text)} (sizes from 1 MiB on)." if text else ""


def _huge_pages(run: Run, costs: AllocationCosts) -> Finding | None:
    pairs: tuple[tuple[str, Phase, str, str], ...] = (
        ("pageable", "touch", "pageable_huge", "the first touch"),
        ("registered", "allocate", "registered_huge", "registering"),
        ("touched_registered", "allocate", "touched_registered_huge", "touching with many threads and registering"),
    )
    gains, helpful = [], set()
    for plain, phase, huge, name in pairs:
        gap = cost_ratio(costs.phase(plain, phase), costs.phase(huge, phase), least_bytes=_HUGE_FROM)
        if gap is None:
            continue
        if gap.alike or not gap.told_apart:
            gains.append(f"no certain difference to {name}")
        elif gap.span[1] < 1:
            gains.append(f"{name} {ratio_range(gap.inverse)} slower")
        else:
            gains.append(f"{name} {ratio_range(gap)} as fast")
            helpful |= {plain} if gap.typical > 1 else set()
    if not gains:
        return None
    memory = run.fingerprint.host.memory
    pages = f"{format_bytes(memory.huge_page_bytes)} in place of {format_bytes(memory.page_bytes)}"
    return Finding(
        "info",
        "allocation_huge_pages",
        f"Huge pages make {enumerated(gains)} (sizes from 4 MiB on).",
        cause=f"A page fault then fetches {pages}." if helpful & _TOUCHED and memory.huge_page_bytes else "",
        fix="Ask for huge pages with madvise(MADV_HUGEPAGE) for buffers of 4 MiB and more, before they are touched."
        if helpful
        else "",
    )


# Kinds whose time above has page faults in it.
_TOUCHED = {"pageable", "touched_registered"}


def _managed(costs: AllocationCosts) -> Finding | None:
    allocate, free = costs.find("managed", "allocate"), costs.find("managed", "free")
    if allocate is None:
        return None
    touch = costs.find("managed", "touch")
    text = f"Allocating managed memory {costs_text(allocate)}"
    text += f", its first touch by the host {costs_text(touch)}" if touch else ""
    text += f", freeing it {costs_text(free)}" if free else ""
    gap = cost_ratio(costs.whole("managed"), costs.whole("pageable"))
    if gap:
        size = shown_size(gap.sizes)
        ratio = gap.at(size)
        text += f"; used by the host, {format_bytes(size)} of it cost "
        text += (
            "what fresh pageable memory does, as far as the intervals tell"
            if ratio.low <= 1 <= ratio.high
            else f"{how_many_times(ratio.median)} what fresh pageable memory does"
        )
    return Finding("info", "allocation_managed", f"{text}.")
