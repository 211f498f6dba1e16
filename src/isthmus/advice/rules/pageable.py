"""Copies from or to pageable memory, which the driver stages: avoid that by the cheapest method, or leave them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from isthmus.advice.code import CALLS, way_code
from isthmus.advice.loops import one_way
from isthmus.advice.new_pages import busy_threads, freed_after, into_new_pages, made_before, most_in_a_row
from isthmus.advice.places import copy_places, size_steps
from isthmus.advice.rates import Range, Rates, Seconds, priced, saved
from isthmus.advice.records import ONE_WAY, Interface
from isthmus.advice.rule import Draft, Rule, Summary, Words
from isthmus.advice.scene import Scene
from isthmus.advice.staged import accelerated as staged_faster
from isthmus.advice.staged import staged, staging
from isthmus.advice.thresholds import (
    ACCELERATED_BYTES,
    BUSY_PROCESSORS_SHARE,
    GAIN_A_BYTE,
    LEAST_NEW_BUFFERS,
    LIBRARY_START_SECONDS,
    NEW_BUFFERS_SHARE,
    least_gain,
)
from isthmus.language import say, sentences
from isthmus.plan import Unpriced
from isthmus.record import BufferNeed, BufferSource, Direction, Interval, decimal_bytes, format_rate, format_seconds
from isthmus.trace import UNKNOWN, Integers, grouped, union

# Whether copies are of memory that stays, that is new each time, of which also the pages are new, made by the copy or
# by the program before it, or nothing tells.
Memory = Literal["same", "new", "new pages", "made", "unknown"]
# The plainest first, which leads where two save the same. OpenCL has no call that locks memory where it is.
_WAYS: Mapping[Interface, tuple[str, ...]] = {
    "cuda": ("registered", "pinned", "loader", "kept", "staging", "library"),
    "opencl": ("pinned", "kept", "staging"),
}
# Those of them that are for memory that is new each time.
_FOR_NEW = ("loader", "kept")
# A thread that pins ahead fills one buffer while the other is copied.
_LOADER_BUFFERS = 2


class Remedy(NamedTuple):
    """What one method of moving copies saves of each, and what it costs once."""

    name: str
    gains: Range
    once: Range
    # Seconds of the gains, at most, that are not the copies' own.
    beyond: float = 0.0

    @property
    def gain(self) -> float:
        """Seconds that it saves of all copies."""
        return float(self.gains[:, 0].sum() - self.once[0])


class Group(NamedTuple):
    """Copies of one direction, place and size, or nearly, with what they cost and what of it can be gained."""

    rows: Integers
    direction: Direction
    sizes: Integers
    cost: Seconds
    exposed: Seconds
    # How many processes have one link among them meanwhile.
    sharing: Seconds


def memory_of(scene: Scene, rates: Rates, group: Group) -> Memory:
    """Told by how slowly new pages are made, else by addresses."""
    if into_new_pages(scene, rates, group.rows).mean() > 0.5:
        return "new pages"
    if made_before(scene, group.rows)[0].mean() > 0.5:
        return "made"
    addresses = np.unique(scene.host_address(group.rows))
    if (addresses == UNKNOWN).any():
        return "unknown"
    return "new" if addresses.size >= max(LEAST_NEW_BUFFERS, NEW_BUFFERS_SHARE * group.rows.size) else "same"


def best_remedy(scene: Scene, rates: Rates, group: Group, memory: Memory, *, library: bool = True) -> Remedy:
    """The method that saves most, with what it costs once. Raises Unpriced where the run can price none.

    Without `library` it is none that needs the library's start.
    """
    sizes, largest = group.sizes, int(group.sizes.max())
    # Without addresses, copies of one place and size are taken to be of one buffer.
    buffers = np.unique(scene.host_address(group.rows)).size
    counts = {"loader": _LOADER_BUFFERS, "kept": most_in_a_row(scene, group.rows), "staging": 1}
    recipes: dict[str, Callable[[], Range]] = {
        "registered": lambda: rates.copy("registered", group.direction, sizes),
        "pinned": lambda: rates.copy("pinned", group.direction, sizes),
        "loader": lambda: _ahead(scene, rates, group),
        "kept": lambda: rates.copy("pinned", group.direction, sizes),
        "staging": lambda: rates.copy("pinned", group.direction, sizes) + rates.memcpy(sizes),
        "library": lambda: rates.library(group.direction, sizes, fresh=memory == "new pages"),
    }
    candidates: list[Remedy] = []
    if memory == "new pages":
        # They are not there yet to be locked, and a copy from a pinned buffer has to make them, too.
        names: tuple[str, ...] = ("kept", "library")
    elif memory == "made":
        names = ("pinned", "library")
    else:
        never = {"h2d": "kept", "d2h": "loader"}[group.direction]
        names = tuple(
            name for name in _WAYS[scene.interface] if name not in (_FOR_NEW if memory != "new" else (never,))
        )
    has_library = library and _has_library(scene) and _busy(scene, rates, group) is None
    for name in tuple(name for name in names if name != "library" or has_library):
        try:
            gains = saved(group.cost, recipes[name]() * group.sharing[:, np.newaxis], group.exposed)
            kept = _kept(scene, rates, group, memory) if name in ("kept", "pinned") else np.zeros(3)
            once = _once(rates, name, largest, counts.get(name, buffers), spares=memory not in ("new pages", "made"))
            candidates.append(Remedy(name, gains + kept, once, float(kept[..., 2].sum())))
        except Unpriced as unpriced:
            reason = unpriced
    if not candidates:
        raise reason
    return max(candidates, key=lambda way: way.gain)


def _kept(scene: Scene, rates: Rates, group: Group, memory: Memory) -> Range:
    """Seconds beside each copy that memory which is kept saves: it is neither freed nor are its pages made again."""
    if memory == "new pages":
        return freed_after(scene, rates, group.rows)
    if memory != "made":
        return np.zeros((group.rows.size, 3))
    _, seconds, most = made_before(scene, group.rows)
    # The kernel may have done something else; and other threads may have been in it for longer.
    return np.stack([seconds, np.zeros_like(seconds), most], 1)


def accelerated(scene: Scene, rates: Rates, group: Group, memory: Memory) -> Range | None:
    """What each copy saves under `isthmus accelerate`, without a change in the program; None where that is not known.

    Small copies stay the driver's, and so do those of which it is the faster.
    """
    if not _has_library(scene) or _busy(scene, rates, group):
        return None
    seconds = priced(rates.library, group.direction, group.sizes, fresh=memory == "new pages")
    if seconds is None:
        return None
    gains = saved(group.cost, seconds * group.sharing[:, np.newaxis], group.exposed)
    gains[(group.sizes < ACCELERATED_BYTES) | (gains[:, 0] < 0)] = 0.0
    return gains


def _busy(scene: Scene, rates: Rates, group: Group) -> tuple[float, int] | None:
    """How many threads the program runs meanwhile, on how many processors, where it leaves none to the library."""
    processors = rates.run.fingerprint.host.cpu.allowed
    threads = busy_threads(scene, group.rows)
    here = processors > 0 and scene.other is None
    return (threads, processors) if here and threads >= BUSY_PROCESSORS_SHARE * processors else None


def _has_library(scene: Scene) -> bool:
    return scene.interface == "cuda" and not scene.other_vendor


def _ahead(scene: Scene, rates: Rates, group: Group) -> Range:
    """Seconds of each copy where another thread fills its pinned buffer while the program does all else."""
    begun = scene.device_begin(group.rows)
    between = float(begun.max() - begun.min()) / max(group.rows.size - 1, 1)
    filled = rates.memcpy(group.sizes)
    # A thread that fills more slowly than the program goes on holds it up.
    late = filled - np.maximum(between - group.cost, 0.0)[:, np.newaxis]
    return np.maximum(rates.copy("pinned", group.direction, group.sizes), late)


def _once(rates: Rates, method: str, size: int, buffers: int, *, spares: bool = True) -> Range:
    """Locking memory that is there; pinned memory instead of what the program has; pinned buffers to stage in.

    With `spares` the program's own memory is not got, touched and freed, which is in no copy's gain.
    """
    if method == "library":
        return np.zeros(3)
    if method == "registered":
        return rates.held("registered", size) * buffers
    pinned = rates.held("pinned", size)
    if method in ("staging", "loader") or not spares:
        return pinned * buffers
    spared: Range = rates.held("pageable", size)[[0, 2, 1]]
    return np.maximum(pinned - spared, 0.0) * buffers


class _Treated(NamedTuple):
    """A group with its best remedy, its memory, and what each of its copies saves under `isthmus accelerate`."""

    group: Group
    remedy: Remedy
    memory: Memory
    accelerated: Range | None


def _find(scene: Scene, rates: Rates) -> Draft | None:
    every = np.concatenate([scene.of(direction, "pageable") for direction in ONE_WAY])
    staged_rows = staged(scene)
    if not every.size and not staged_rows.size:
        return None
    treated = [each for direction in ONE_WAY for each in _of_direction(scene, rates, direction)]
    treated += _of_library(scene, rates, staged_rows)
    # The library starts once for all that it copies.
    by_library = [each for each in treated if each.remedy.name == "library" and each.remedy.gain > 0]
    start = LIBRARY_START_SECONDS if by_library else 0.0
    others = [_without_library(scene, rates, each) for each in treated] if by_library else treated
    if _total(treated) - start < _total(others):
        treated, start = others, 0.0
    groups = [each for each in treated if each.remedy.gain > 0]
    if not groups:
        return Draft("copies", every, np.zeros((every.size, 3)), level="note")
    rows = np.concatenate([each.group.rows for each in groups])
    largest = max(groups, key=lambda each: each.remedy.gain)
    leading = largest.group
    facts = {
        "way": largest.remedy.name,
        "memory": largest.memory,
        "bytes": int(np.median(leading.sizes)),
        "direction": one_way(int(scene.trace.copies.direction[leading.rows[0]])),
        "uses": leading.rows.size,
        "once": start + sum(float(each.remedy.once[0]) for each in groups),
        "addresses": "addresses" in scene.trace.knows,
        "dry": _dry(scene, rows),
        "span": scene.span_seconds,
        "accelerate": _accelerate(scene, treated),
        "staged": _staged_facts(groups),
        "library": "" if rates.library_run is rates.run else rates.library_run.fingerprint.device.name,
        "busy": _busy(scene, rates, leading),
        **_new_facts(scene, rates, leading, largest.memory),
    }
    once = start + np.sum([each.remedy.once for each in groups], axis=0)
    bound = scene.exposed_together(rows) + sum(each.remedy.beyond for each in groups)
    return Draft("copies", rows, np.concatenate([each.remedy.gains for each in groups]), once, bound, facts)


def _total(treated: Sequence[_Treated]) -> float:
    return sum(max(each.remedy.gain, 0.0) for each in treated)


def _without_library(scene: Scene, rates: Rates, treated: _Treated) -> _Treated:
    """The group with the best of its other remedies; with one that saves nothing where the run prices no other."""
    if treated.remedy.name != "library":
        return treated
    try:
        remedy = best_remedy(scene, rates, treated.group, treated.memory, library=False)
    except Unpriced:
        remedy = Remedy("library", np.zeros_like(treated.remedy.gains), np.zeros(3))
    return treated._replace(remedy=remedy)


def _of_direction(scene: Scene, rates: Rates, direction: Direction) -> list[_Treated]:
    """Groups of copies of one direction, each with the fastest method."""
    rows = scene.of(direction, "pageable")
    if not rows.size:
        return []
    sizes = scene.trace.copies.bytes[rows]
    cost, exposed, sharing = scene.cost(rows, rates), scene.exposed(rows), scene.sharing(rows)
    treated = []
    for at in grouped(copy_places(scene, rows), size_steps(sizes)):
        group = Group(rows[at], direction, sizes[at], cost[at], exposed[at], sharing[at])
        memory = memory_of(scene, rates, group)
        treated.append(
            _Treated(group, best_remedy(scene, rates, group, memory), memory, accelerated(scene, rates, group, memory))
        )
    return treated


def _of_library(scene: Scene, rates: Rates, rows: Integers) -> list[_Treated]:
    """What a library stages by itself: the copy within the host is what pinned memory saves. None without its price."""
    if not rows.size or not _has_library(scene):
        return []
    try:
        before, spent = staging(scene, rates, rows)
        sizes = scene.trace.copies.bytes[rows]
        once = _once(rates, "pinned", int(sizes.max()), most_in_a_row(scene, rows))
    except Unpriced:
        return []
    remedy = Remedy("staged", spent, once, float(spent[:, 2].sum()))
    group = Group(rows, "h2d", sizes, before, before, np.ones(rows.size))
    return [_Treated(group, remedy, "unknown", staged_faster(scene, rates, rows, spent))]


def _staged_facts(groups: Sequence[_Treated]) -> tuple[int, float] | None:
    """How many copies a library stages by itself, and how long the host is at that; None where it does not."""
    of_library = next((each for each in groups if each.remedy.name == "staged"), None)
    return None if of_library is None else (of_library.group.rows.size, float(of_library.remedy.gains[:, 0].sum()))


def _accelerate(scene: Scene, treated: Sequence[_Treated]) -> Interval | None:
    """What all copies of pageable memory save without a change in the program; None where that is nothing.

    The first are left to the driver, until they could have gained what the library's start costs.
    """
    known = [each for each in treated if each.accelerated is not None]
    if not known:
        return None
    rows = np.concatenate([each.group.rows for each in known])
    gains = np.concatenate([each.accelerated for each in known if each.accelerated is not None])
    # What a library stages itself starts nothing.
    a_byte = np.concatenate([np.full(each.group.rows.size, _a_byte(each)) for each in known])
    sizes = scene.trace.copies.bytes[rows]
    order = np.argsort(scene.asked(rows), kind="stable")
    missed = np.cumsum(np.where(sizes >= ACCELERATED_BYTES, sizes * a_byte, 0.0)[order])
    total = gains[order][missed >= LIBRARY_START_SECONDS].sum(axis=0) - LIBRARY_START_SECONDS
    bound = scene.exposed_together(np.concatenate([each.group.rows for each in known]))
    bound += sum(each.remedy.beyond for each in known if each.remedy.name == "staged")
    median, low, high = np.clip(total, 0.0, bound).tolist()
    return Interval(median, min(low, median), max(high, median)) if median > 0 else None


def _a_byte(treated: _Treated) -> float:
    return 0.0 if treated.remedy.name == "staged" else GAIN_A_BYTE[treated.group.direction]


def _new_facts(scene: Scene, rates: Rates, group: Group, memory: Memory) -> dict[str, Any]:
    """What copies into new pages reach, and into kept pages would, with what those hold; nothing for others."""
    held = most_in_a_row(scene, group.rows) * int(group.sizes.max())
    keeps = {"held": held, "threshold": 1 << int(group.sizes.max()).bit_length()}
    if memory == "made":
        made, seconds, _ = made_before(scene, group.rows)
        pages = int(np.median(scene.trace.copies.faults[group.rows[made]]))
        return {**keeps, "made": (float(np.median(seconds[made])), pages), "warm_gain": float(seconds.sum())}
    if memory != "new pages":
        return {}
    warm = rates.copy("pageable", group.direction, group.sizes)
    moved, lasted = float(group.sizes.sum()), float(group.cost.sum())
    gain = float((saved(group.cost, warm, group.exposed) + freed_after(scene, rates, group.rows))[:, 0].sum())
    return {**keeps, "seen": moved / lasted, "warm": moved / float(warm[:, 0].sum()), "warm_gain": gain}


def _dry(scene: Scene, rows: Integers) -> float:
    """Seconds in which other streams had nothing left to do because the thread that feeds them was in these calls.

    What of that the copies cost the program is in the gain already.
    """
    trace = scene.trace
    rows = rows[scene.blocking(rows)]
    kernels, calls = trace.kernels, scene.call(rows)
    known = (kernels.process == scene.process) & (kernels.call >= 0) & (kernels.call < len(trace.calls))
    if not rows.size or not known.any():
        return 0.0
    thread = np.where(known, trace.calls.thread[np.where(known, kernels.call, 0)], UNKNOWN)
    fed = known & np.isin(thread, np.unique(trace.calls.thread[calls]))
    fed &= (kernels.stream != UNKNOWN) & ~np.isin(kernels.stream, np.unique(trace.copies.stream[rows]))
    at_work = union(scene.moments(kernels.start_ns[fed]), scene.moments(kernels.end_ns[fed]))
    begin = scene.moments(trace.calls.start_ns[calls])
    end = begin + scene.lasted(trace.calls, calls)
    worked = at_work.covered(begin, end)
    return float(np.maximum(end - begin - worked, 0.0)[worked > 0].sum())


def _words(summary: Summary) -> Words:
    title = say("advice.pageable_title", count=summary.calls, size=decimal_bytes(summary.bytes))
    cause, facts = say("advice.pageable_cause"), summary.facts
    if not facts:
        return Words(title, cause, say("advice.pageable_leave"))
    pages, warmer, by_library = "", "", ""
    if facts["staged"] is not None:
        count, seconds = facts["staged"]
        by_library = say("advice.pageable_staged", count=count, time=format_seconds(seconds))
        cause = "" if facts["way"] == "staged" else cause
    if "seen" in facts:
        pages = say("advice.pageable_new_pages", seen=format_rate(facts["seen"]), warm=format_rate(facts["warm"]))
    if "made" in facts:
        seconds, count = facts["made"]
        pages = say("advice.pageable_made", time=format_seconds(seconds), count=count)
    if "warm_gain" in facts:
        threshold = f"{facts['threshold']}"
        tunables = f"glibc.malloc.mmap_threshold={threshold}:glibc.malloc.trim_threshold={threshold}"
        words = {"time": format_seconds(facts["warm_gain"]), "held": decimal_bytes(facts["held"])}
        warmer = say("advice.pageable_warm", setting=f"GLIBC_TUNABLES={tunables}", **words)
    dry = (
        say("advice.pageable_dry", time=format_seconds(facts["dry"]))
        if facts["dry"] >= least_gain(facts["span"])
        else ""
    )
    changes = {
        "registered": say("advice.pageable_pin_torch" if summary.named_as == "torch" else "advice.pageable_register"),
        "pinned": say("advice.pageable_pin", call=CALLS["pin"][summary.named_as]),
        "library": say("advice.pageable_library"),
        "loader": say("advice.pageable_loader"),
        "kept": say("advice.pageable_kept", call=CALLS["pin"][summary.named_as]),
        "staging": say("advice.pageable_stage"),
        "staged": "",
    }
    either = ""
    plain = facts["way"] in ("registered", "pinned") and summary.interface == "cuda"
    if plain and (facts["memory"], facts["direction"]) == ("unknown", "h2d"):
        either = say("advice.pageable_or_loader")
    once = say("advice.pageable_once", time=format_seconds(facts["once"])) if facts["once"] > 0 else ""
    buffers = "" if facts["addresses"] else say("advice.pageable_one_buffer")
    change = changes[facts["way"]]
    if summary.library == "jax":
        change, either = say(f"advice.pageable_jax_{facts['direction']}"), ""
    if facts["staged"] is not None:
        change = sentences([change, say("advice.pageable_staged_change")])
    # In code, a buffer that is kept or filled ahead is pinned memory like any other.
    method = "pinned" if facts["way"] in ("loader", "kept", "staged") else facts["way"]
    source: BufferSource = "new" if method == "pinned" else "pageable"
    need = BufferNeed(facts["bytes"], facts["direction"], facts["uses"], source)
    kept = {"registered": "same", "pinned": "new", "loader": "new", "staged": "new"}
    if facts["memory"] == "made" and summary.named_as == "torch":
        kept = {"pinned": "made"}
    lines = "pageable-d2h" if facts["direction"] == "d2h" else f"pageable-{kept.get(facts['way'], 'staging')}-h2d"
    accelerate = ""
    if (gain := facts["accelerate"]) is not None:
        words = {"command": "isthmus accelerate -- CMD", "time": format_seconds(gain.median)}
        accelerate = say("advice.pageable_accelerate", **words)
    busy = ""
    if facts["busy"] is not None:
        threads, processors = facts["busy"]
        busy = say("advice.pageable_busy", threads=round(threads), processors=processors)
    by = say("advice.pageable_library_of", device=facts["library"]) if accelerate and facts["library"] else ""
    return Words(
        title,
        sentences([cause, by_library, pages, dry]),
        sentences([accelerate, warmer, change, either]),
        sentences([once, buffers, by, busy]),
        way_code(need, {"library": "isthmus"}.get(method, method), summary.interface),
        lines,
    )


RULE = Rule("pageable", (), _find, _words)
