"""Pinned memory that copies hardly touch, and pinned memory that is allocated and freed again and again."""

from collections.abc import Callable

import numpy as np

from isthmus.advice.code import CALLS, own_code
from isthmus.advice.places import call_places
from isthmus.advice.rates import Rates, Seconds
from isthmus.advice.rule import Draft, Rule, Summary, Words
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import (
    LEAST_REPEATED_ALLOCATIONS,
    PINNED_BYTES,
    PINNED_SHARE_OF_HOST,
    ROUNDED_UP_SHARE,
    UNUSED_PINNED_SHARE,
)
from isthmus.document.finding import Level
from isthmus.language import say
from isthmus.record import format_seconds, near_bytes
from isthmus.trace import UNKNOWN, Integers, grouped, memory_index, union, vendors

# A program's beginning: what goes on for longer is not part of it.
_MOST_OF = 0.75


def _find_over_pinned(scene: Scene, rates: Rates) -> Draft | None:
    table = scene.trace.allocations
    mine = (table.process == scene.process) & (table.kind == memory_index("pinned")) & (table.release != 1)
    rows = np.flatnonzero(mine & (table.address != UNKNOWN) & (table.bytes > 0))
    if not rows.size:
        return None
    # On either side: what a device works on may be pinned memory, too.
    copies = scene.trace.copies.taken(scene.copies)
    begin = np.concatenate([copies.source_address, copies.destination_address])
    sizes = np.tile(copies.bytes, 2)[begin != UNKNOWN]
    begin = begin[begin != UNKNOWN].astype(np.float64)
    touched = union(begin, begin + sizes)
    start = table.address[rows].astype(np.float64)
    used = np.minimum(touched.covered(start, start + table.bytes[rows]), table.bytes[rows])
    held, unused = int(table.bytes[rows].sum()), int((table.bytes[rows] - used).sum())
    if held < PINNED_BYTES or unused < UNUSED_PINNED_SHARE * held:
        return _rounded_up(scene, rows, used)
    idle = rows[used < UNUSED_PINNED_SHARE * table.bytes[rows]]
    host = rates.run.fingerprint.host.memory.total_bytes
    level: Level = "ATTENTION" if host and unused >= PINNED_SHARE_OF_HOST * host else "note"
    return Draft("allocations", idle, np.zeros((idle.size, 3)), level=level, facts={"held": held, "idle": unused})


def _rounded_up(scene: Scene, rows: Integers, used: Seconds) -> Draft | None:
    """Allocations of powers of two, of which copies use a little more than half: the rest was not asked for."""
    sizes = scene.trace.allocations.bytes[rows]
    is_power = (sizes & (sizes - 1)) == 0
    rounded = is_power & (used > UNUSED_PINNED_SHARE * sizes) & (used <= ROUNDED_UP_SHARE * sizes)
    held, idle = int(sizes[rounded].sum()), int((sizes[rounded] - used[rounded]).sum())
    # Memory that was sized to what is copied is seldom of such sizes by accident, but one or two may be.
    if rounded.sum() < LEAST_REPEATED_ALLOCATIONS or held < PINNED_BYTES:
        return None
    facts = {"held": held, "idle": idle, "count": int(rounded.sum())}
    return Draft("allocations", rows[rounded], np.zeros((int(rounded.sum()), 3)), level="note", facts=facts)


def _words_over_pinned(summary: Summary) -> Words:
    held, idle = near_bytes(summary.facts["held"]), near_bytes(summary.facts["idle"])
    if "count" in summary.facts:
        title = say("advice.rounded_up_title", idle=idle, held=held)
        cause = say("advice.rounded_up_cause", count=summary.facts["count"])
        return Words(title, cause, say("advice.rounded_up_change", call=CALLS["pin"][summary.interface]))
    return Words(say("advice.over_pinned_title", idle=idle, held=held), "", say("advice.over_pinned_change"))


OVER_PINNED = Rule("over-pinned", (("allocations",), ("addresses",)), _find_over_pinned, _words_over_pinned)


def _find_pinned_in_loop(scene: Scene, _rates: Rates) -> Draft | None:
    trace = scene.trace
    if scene.interface == "opencl":
        gets, gives_back = (_of_buffers(scene, release) for release in (0, 1))
    else:
        gets, gives_back = (_named(scene, does) for does in (vendors.pins, vendors.unpins))
    # What is allocated after something was freed could have been kept: other memory fills a pool.
    begun = trace.calls.start_ns
    released = np.searchsorted(begun[gives_back], begun[gets])
    launched = np.searchsorted(scene.kernels[0], scene.moments(begun[gets]))
    again: list[Integers] = []
    for group in grouped(call_places(scene, gets)):
        later = group[1:][np.diff(released[group]) > 0]
        # Whether calls come again and again until most of the program is over, and not only while it begins.
        if not later.size and bool(scene.moments(begun[gets[group]]).max() > _MOST_OF * scene.span_seconds):
            # A pool that grows from step to step, as of an allocator that never gives back, is none.
            later = group[1:][np.diff(launched[group]) > 0]
        if later.size >= LEAST_REPEATED_ALLOCATIONS - 1:
            again.append(later)
    if not again:
        return None
    repeated = np.concatenate(again)
    kept = np.unique(released[repeated][released[repeated] > 0] - 1)
    needless = gives_back[kept] if gives_back.size else gives_back
    calls = np.sort(np.concatenate([gets[repeated], needless]))
    begin = scene.moments(trace.calls.start_ns[calls])
    end = begin + scene.lasted(trace.calls, calls)
    seconds = scene.idle_within(begin, end)
    together = union(begin, end)
    bound = float(scene.idle_within(together.begin, together.end).sum())
    facts = {"freed": bool(kept.size), "again": repeated.size, "seconds": float(scene.lasted(trace.calls, calls).sum())}
    return Draft("calls", calls, np.repeat(seconds[:, np.newaxis], 3, axis=1), bound=bound, facts=facts)


def _named(scene: Scene, does: Callable[[str], bool]) -> Integers:
    """Calls of this process that do something by their names, the outermost of those that hold one another."""
    trace = scene.trace
    names = [place for place, name in enumerate(trace.names) if does(name)]
    calls = np.flatnonzero((trace.calls.process == scene.process) & np.isin(trace.calls.name, names))
    if not calls.size:
        return calls
    calls = calls[np.argsort(trace.calls.start_ns[calls], kind="stable")]
    ends = np.maximum.accumulate(trace.calls.end_ns[calls])
    inner = np.concatenate([[False], trace.calls.end_ns[calls][1:] <= ends[:-1]])
    outer: Integers = calls[~inner]
    return outer


def _of_buffers(scene: Scene, release: int) -> Integers:
    """Calls of this process that made or released a pinned buffer: their names do not tell those from others."""
    table = scene.trace.allocations
    mine = (table.process == scene.process) & (table.kind == memory_index("pinned")) & (table.release == release)
    calls = table.call[mine & (table.call >= 0) & (table.call < len(scene.trace.calls))]
    ordered: Integers = calls[np.argsort(scene.trace.calls.start_ns[calls], kind="stable")]
    return ordered


def _words_pinned_in_loop(summary: Summary) -> Words:
    facts = summary.facts
    return Words(
        say("advice.pinned_loop_title", count=facts["again"]),
        say(
            "advice.pinned_loop_cause" if facts["freed"] else "advice.pinned_loop_grows",
            time=format_seconds(facts["seconds"]),
        ),
        say("advice.pinned_loop_change"),
        snippets=own_code("pinned_in_loop", summary.interface),
        lines="pinned-in-loop",
    )


PINNED_IN_LOOP = Rule("pinned-in-loop", (("calls",),), _find_pinned_in_loop, _words_pinned_in_loop, by_trace=True)
