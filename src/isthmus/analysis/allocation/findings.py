"""What the allocation experiment says: the cost of each kind of memory at one size, and the cheapest pinned memory."""

from collections.abc import Iterable

from isthmus.analysis.allocation.model import EXISTING, PHASES, AllocationCosts, Phase, allocation_costs, pinned_choices
from isthmus.analysis.phrases import factor_digits, memory_name, times
from isthmus.document.finding import Finding, Takeaway
from isthmus.language import enumerated, say, sentences
from isthmus.record import MIB, Run, format_bytes, format_seconds

# Large enough that the part for each byte counts, small enough that every machine measures it.
_SHOWN_BYTES = 64 * MIB
# Below two huge pages there is nothing for them to gain.
_HUGE_FROM = 4 * MIB
# A difference below this factor is no reason to change a program.
_MATTERS = 1.05
# Touching and locking that take more than this times what the allocation does explain nothing of it.
_EXPLAINED = 1.33
# Blocks that come so much faster beside another one are carved out of what that one brought.
_CARVED = 2.0
# A first call that takes less than this times a later one is not worth a word.
_SLOW_START = 2.0


def findings(run: Run) -> list[Finding]:
    """Everything that the run's allocation experiment supports; none where it measured none of it."""
    costs = allocation_costs(run)
    if costs is None:
        return []
    found = [
        _pageable(costs),
        _pinned(costs),
        _cheapest_pinned(run, costs),
        _huge_pages(costs),
        _managed(costs),
        _device(costs),
        _beside(costs),
        _first_calls(costs),
    ]
    return [finding for finding in found if finding]


def takeaway(run: Run) -> Takeaway | None:
    """What to take away about the cost of memory; None where none was measured."""
    costs = allocation_costs(run)
    if costs is None or not costs.curves:
        return None
    host, advice = _host(costs)
    return Takeaway(sentences([host, _device_cost(costs)]) or say("allocation.nothing_whole"), advice)


def _host(costs: AllocationCosts) -> tuple[str, str]:
    """What memory of the host costs and what follows; both may be empty."""
    for kind in ("pinned", "pageable", "malloc"):
        whole = costs.whole(kind)
        if whole is None or costs.pages_absent(kind, _shown(whole.sizes)):
            continue
        size = _shown(whole.sizes)
        cost = whole.at(size).median
        words = {"size": format_bytes(size), "memory": memory_name(kind), "time": format_seconds(cost)}
        if kind != "pinned":
            return say("allocation.cost", **words), ""
        choice = next((choice for choice in pinned_choices(costs) if choice.bytes == size), None)
        if choice is None or "pinned" in choice.cheapest:
            return say("allocation.cost", **words), say("allocation.keep")
        way, best = memory_name(choice.cheapest[0]), choice.costs[choice.cheapest[0]].median
        against = {"times": times(cost / best, cost / best), "way": way, "other": format_seconds(best)}
        return say("allocation.cost_against", **words, **against), say("allocation.keep_and_get", way=way)
    return "", ""


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
    found = sorted(sizes)
    return max((size for size in found if size <= _SHOWN_BYTES), default=found[0])


def _pageable(costs: AllocationCosts) -> Finding | None:
    touch, whole = costs.phase("pageable", "touch"), costs.whole("pageable")
    if touch is None or whole is None:
        return None
    size = _shown(whole.sizes)
    cost, part = (format_seconds(each.at(size).median) for each in (whole, touch))
    text = say("allocation.pageable", size=format_bytes(size), time=cost, touch=part)
    return Finding("note", "allocation_pageable", text, cause=say("allocation.first_touch_cause"))


def _pinned(costs: AllocationCosts) -> Finding | None:
    whole, fresh = costs.whole("pinned"), costs.whole("pageable")
    if whole is None:
        return None
    size = _shown(whole.sizes)
    words = {"size": format_bytes(size), "time": format_seconds(whole.at(size).median)}
    if costs.pages_absent("pinned", size):
        return Finding("note", "allocation_pinned", say("allocation.pinned_absent", **words))
    if fresh and size in fresh.sizes:
        ratio = whole.over(fresh, size).median
        text = say("allocation.pinned_against", **words, times=times(ratio, ratio))
    else:
        text = say("allocation.pinned", **words)
    return Finding("note", "allocation_pinned", text, cause=_pinned_cause(costs, size), fix=say("allocation.keep"))


def _pinned_cause(costs: AllocationCosts, size: int) -> str:
    """How much of an allocation a first touch and locking explain; empty where they take longer than it does."""
    pinned = costs.phase("pinned", "allocate")
    parts = costs.phase("pageable", "touch"), costs.phase("registered", "allocate")
    seconds = [each.at(size).median for each in parts if each and size in each.sizes]
    if pinned is None or len(seconds) < 2:
        return ""
    share = sum(seconds) / pinned.at(size).median
    touch, lock = map(format_seconds, seconds)
    return say("allocation.explained", touch=touch, lock=lock, percent=100 * share) if share <= _EXPLAINED else ""


def _cheapest_pinned(run: Run, costs: AllocationCosts) -> Finding | None:
    """The cheapest way at one size; None where fewer than two ways were measured."""
    choices = pinned_choices(costs)
    if not choices:
        return None
    size = _shown(choice.bytes for choice in choices)
    choice = next(choice for choice in choices if choice.bytes == size)
    best, *tied = choice.cheapest
    words = {"size": format_bytes(size), "memory": memory_name(best), "time": format_seconds(choice.costs[best].median)}
    if tied:
        names = enumerated([memory_name(way) for way in choice.cheapest])
        text = say("allocation.cheapest_tied", size=words["size"], memory=names, time=words["time"])
    elif best != "pinned" and "pinned" in choice.costs:
        text = say("allocation.cheapest_against", **words, pinned=format_seconds(choice.costs["pinned"].median))
    else:
        text = say("allocation.cheapest", **words)
    if existing := choice.costs.get(EXISTING):
        text = sentences([text, say("allocation.registering_existing", time=format_seconds(existing.median))])
    # No copy engine needs pinned memory where the device shares the host's.
    shares = run.fingerprint.device.shares_host_memory
    fix = "" if shares else say("allocation.take_any" if tied else f"allocation.get_{best}")
    return Finding("note", "allocation_cheapest_pinned", text, fix=fix)


def _huge_pages(costs: AllocationCosts) -> Finding | None:
    pairs: tuple[tuple[str, Phase, str], ...] = (
        ("pageable", "touch", "pageable_huge"),
        ("registered", "allocate", "registered_huge"),
        ("touched_registered", "allocate", "touched_registered_huge"),
    )
    both = {plain: (costs.phase(plain, phase), costs.phase(huge, phase)) for plain, phase, huge in pairs}
    known = {name: (plain, huge) for name, (plain, huge) in both.items() if plain and huge}
    shared = [{*plain.sizes} & {*huge.sizes} for plain, huge in known.values()]
    sizes = [size for size in set.intersection(*shared) if size >= _HUGE_FROM] if shared else []
    if not sizes:
        return None
    size = _shown(sizes)
    gains, helps = [], False
    for name, (plain, huge) in known.items():
        ratio, doing = plain.over(huge, size), say(f"allocation.doing_{name}")
        if ratio.low > _MATTERS:
            gains.append(say("allocation.huge_faster", doing=doing, factor=factor_digits(ratio.median)))
            helps = True
        elif ratio.high < 1 / _MATTERS:
            gains.append(say("allocation.huge_slower", doing=doing, factor=factor_digits(1 / ratio.median)))
        else:
            gains.append(say("allocation.huge_same", doing=doing))
    text = say("allocation.huge_pages", size=format_bytes(size), gains=enumerated(gains))
    return Finding("note", "allocation_huge_pages", text, fix=say("allocation.huge_fix") if helps else "")


def _managed(costs: AllocationCosts) -> Finding | None:
    whole, fresh = costs.whole("managed"), costs.whole("pageable")
    if whole is None or fresh is None or not (sizes := {*whole.sizes} & {*fresh.sizes}):
        return None
    size = _shown(sizes)
    words = {"size": format_bytes(size), "time": format_seconds(whole.at(size).median)}
    ratio = whole.over(fresh, size)
    if ratio.low <= 1 <= ratio.high:
        return Finding("note", "allocation_managed", say("allocation.managed_same", **words))
    text = say("allocation.managed", **words, times=times(ratio.median, ratio.median))
    return Finding("note", "allocation_managed", text)


def _device(costs: AllocationCosts) -> Finding | None:
    allocate, free = costs.phase("device", "allocate"), costs.phase("device", "free")
    pooled = costs.phase("device_pool", "allocate"), costs.phase("device_pool", "free")
    if allocate is None or free is None or not (sizes := {*allocate.sizes} & {*free.sizes}):
        return None
    size = _shown(sizes)
    got, gone = (format_seconds(each.at(size).median) for each in (allocate, free))
    words = {"size": format_bytes(size), "allocate": got, "free": gone}
    pool = [format_seconds(each.at(size).median) for each in pooled if each and size in each.sizes]
    if len(pool) < 2:
        return Finding("note", "allocation_device", say("allocation.device", **words))
    text = say("allocation.device_pool", **words, pool=pool[0], pool_free=pool[1])
    return Finding("note", "allocation_device", text, fix=say("allocation.pool_fix"))


def _beside(costs: AllocationCosts) -> Finding | None:
    """What small blocks cost while another one of their kind is held; None where that was not measured."""
    gains, measured = [], False
    for kind in dict.fromkeys(curve.kind for curve in costs.beside):
        alone, beside = costs.phase(kind, "allocate"), costs.phase(kind, "allocate", beside=True)
        if alone is None or beside is None:
            continue
        shared = [size for size in alone.sizes if size in beside.sizes]
        measured = measured or bool(shared)
        carved = next((size for size in shared if alone.over(beside, size).low >= _CARVED), None)
        if carved is not None:
            now, before = (format_seconds(each.at(carved).median) for each in (beside, alone))
            size = format_bytes(carved)
            gains.append(say("allocation.carved", memory=memory_name(kind), size=size, beside=now, alone=before))
    if gains:
        text = say("allocation.beside", kinds=enumerated(gains))
        cause, fix = say("allocation.carved_cause"), say("allocation.carved_fix")
        return Finding("note", "allocation_beside", text, cause=cause, fix=fix)
    return Finding("note", "allocation_beside", say("allocation.none_carved")) if measured else None


def _first_calls(costs: AllocationCosts) -> Finding | None:
    """What the process pays once; None where nothing of it was timed or worth a word."""
    parts = []
    if costs.open_device is not None:
        parts.append(say("allocation.opening", time=format_seconds(costs.open_device)))
    slow = [
        (seconds - later, kind, phase, seconds, later)
        for kind in costs.kinds
        for phase in PHASES
        if (first := costs.first.get((kind, phase))) and (curve := costs.find(kind, phase))
        for size, seconds in [first]
        if (point := curve.at(size)) and seconds >= _SLOW_START * point.seconds.high
        for later in [point.seconds.median]
    ]
    if slow:
        _, kind, phase, seconds, later = max(slow)
        call = {"memory": memory_name(kind), "phase": say(f"allocation.phase_{phase}")}
        parts.append(say("allocation.slow_start", **call, time=format_seconds(seconds), later=format_seconds(later)))
    if not parts:
        return None
    return Finding("note", "allocation_first_call", sentences(parts), fix=say("allocation.first_call_fix"))
