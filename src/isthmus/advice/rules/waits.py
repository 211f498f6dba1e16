"""Waits for queued work, after which the device has run dry: it idles until the host has launched again.

Calls that are not known to wait count where they returned only when all that a device had been given was done.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from isthmus.advice.code import own_code
from isthmus.advice.named_steps import alike
from isthmus.advice.rates import Rates, Seconds
from isthmus.advice.records import Mask
from isthmus.advice.rule import Draft, Rule, Summary, Words
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import (
    LATE_SHARE,
    LEAST_HOST_WORK_SECONDS,
    LEAST_LATE_SECONDS,
    LEAST_WAITS,
    LONGEST_ANSWER_SECONDS,
    LONGEST_HANDOVER_SECONDS,
    NAMED_WORK_SHARE,
    NAMED_WORK_TIMES,
    SMALL_COPY_BYTES,
    WAIT_SURE_SHARE,
    least_gain,
)
from isthmus.language import say, sentences
from isthmus.record import format_seconds
from isthmus.trace import MEMORY_KINDS, UNKNOWN, Integers, Union, direction_index, union, vendors

# What waited, by what the program can do about it: copies by their direction, calls that do nothing but wait, and any
# other, such as copies within the device and modules that are loaded.
_KINDS = ("copies", "sent", "frees", "allocations", "calls", "other")
# Facts that grow with the time.
_TOTALS = frozenset({"waited", "idle", "copied", "others", "others_idle", "own"})


class Waits(NamedTuple):
    """Calls in which a thread that launches work waited for some of it, or after which, by when the waits ended."""

    calls: Integers
    # The copy that each made; UNKNOWN where it only waited.
    copies: Integers
    # Seconds of each in which kernels were in progress, and of the time until the next wait ends in which no device did
    # anything and no copy was in progress.
    waited: Seconds
    idle: Seconds
    # Whether it is not sure that the device idled because the host had waited: so much came to the host meanwhile that
    # its work on that may have been the reason, or no call tells of the wait.
    is_doubtful: Mask
    # From the end of each wait to that of the next.
    end: Seconds
    until: Seconds
    # Seconds that the host would be farther on: what was waited, and what the calls take besides that go with the wait.
    host: Seconds
    # Seconds in which no device does anything, during these calls and afterwards.
    room: Seconds

    @property
    def gains(self) -> Seconds:
        """What launching ahead saves of each: the host would be so much farther on, if the device has room."""
        return np.where(self.idle > 0, np.minimum(self.host, self.room), 0.0)


def waits(scene: Scene) -> Waits:
    """All waits of a process for kernels."""
    trace = scene.trace
    mine = trace.calls.process == scene.process
    # Where nothing tells who launched, it may be any thread.
    kernels = scene.trace.kernels
    calls = kernels.call[kernels.process == scene.process]
    launches: Integers = calls[(calls >= 0) & (calls < len(scene.trace.calls))]
    if launches.size:
        mine &= np.isin(trace.calls.thread, np.unique(trace.calls.thread[launches]))
    rows = scene.copies
    made = np.full(len(trace.calls), UNKNOWN)
    calls = scene.call(rows)
    out = trace.copies.direction[rows] == direction_index("d2h")
    blocking = out & scene.blocking(rows) & (calls != UNKNOWN)
    made[calls[blocking]] = rows[blocking]
    known = scene.synchronizing(np.arange(len(trace.calls))) | (made != UNKNOWN)
    fetching = _values_fetched(scene, made)
    late = late_calls(scene, np.flatnonzero(mine & ~known))
    known[late] = True
    copying = np.isin(calls, late) & (calls != UNKNOWN)
    made[calls[copying]] = rows[copying]
    waiting = np.flatnonzero(mine & known)
    begin = scene.moments(trace.calls.start_ns[waiting])
    end = begin + scene.lasted(trace.calls, waiting)
    fetched = _fetched(scene, begin, end)
    unseen = np.repeat([False, True], [waiting.size, fetched.size])
    made[calls_of_fetched := scene.call(fetched)] = fetched
    waiting = np.concatenate([waiting, calls_of_fetched])
    begin = np.concatenate([begin, _waited_since(scene, fetched)])
    end = np.concatenate([end, scene.device_end(fetched)])
    waited = union(*scene.kernels).covered(begin, end)
    order = np.argsort(end, kind="stable")
    order = order[waited[order] > 0]
    waiting, begin, end, waited = waiting[order], begin[order], end[order], waited[order]
    # After the last kernel there is nothing more to wait for.
    until = np.minimum(np.append(end[1:], np.inf), scene.kernels[0].max(initial=-np.inf))
    idle = scene.idle_between(end, until, _own_calls(scene))
    # Pages that the host touched meanwhile: that is what it waited for.
    idle[_arrived(scene, begin, until, migrated=True)] = 0.0
    doubtful = unseen[order] | _arrived(scene, begin, until, migrated=False)
    # What a call of another kind takes besides the wait, it takes without one, too.
    goes = ~unseen[order] & ~np.isin(waiting, late) & _few_values(scene, made[waiting])
    asked, answered = scene.in_calls(np.where(goes, fetching[waiting], UNKNOWN))
    # It returns soon after the last kernel, or waits for something else, too.
    after = end - _last_before(np.sort(scene.kernels[1]), end)
    after = np.where(goes, np.clip(after, 0.0, LONGEST_HANDOVER_SECONDS), 0.0)
    host = waited + after + answered - asked
    # Calls that copy are left out of the idle time above, and are not made now.
    room = idle + np.where(np.isin(waiting, _own_calls(scene)), after, 0.0) + scene.idle_between(asked, answered)
    return Waits(waiting, made[waiting], waited, idle, doubtful, end, until, host, room)


def _few_values(scene: Scene, copies: Integers) -> Mask:
    """Whether no more than a few values come by each wait, or none: UNKNOWN for a call that only waits."""
    few: Mask = copies == UNKNOWN
    few[~few] = scene.trace.copies.bytes[copies[~few]] <= SMALL_COPY_BYTES
    return few


def _values_fetched(scene: Scene, made: Integers) -> Integers:
    """For each call that only waits, the call before it that fetched a few values without waiting; UNKNOWN for others.

    torch's `.item()` is both. The copy of such a call is recorded in `made`: it is what the wait is for.
    """
    before = np.full(made.size, UNKNOWN)
    rows = scene.of("d2h")
    rows = rows[_few_values(scene, rows) & (scene.call(rows) != UNKNOWN) & ~scene.blocking(rows)]
    waits_for = scene.waits(rows)
    rows, waits_for = rows[waits_for != UNKNOWN], waits_for[waits_for != UNKNOWN]
    before[waits_for], made[waits_for] = scene.call(rows), rows
    return before


def _own_calls(scene: Scene) -> Integers:
    """Calls that copy and that get memory: launching ahead spares the host none of them."""
    calls, names = scene.trace.calls, scene.trace.names
    lasting = [place for place, name in enumerate(names) if vendors.copies(name) or vendors.allocates(name)]
    return np.flatnonzero((calls.process == scene.process) & np.isin(calls.name, lasting))


def _fetched(scene: Scene, begin: Seconds, end: Seconds) -> Integers:
    """Copies of a few values that a library fetched through the driver, outside of these calls that wait.

    XLA hands an event to the driver, and waits for it on a lock of its own, which no trace shows. Where the host went
    on instead, the device has been given more to do meanwhile and does not idle.
    """
    copies, calls = scene.trace.copies, scene.trace.calls
    rows = scene.of("d2h")
    rows = rows[(copies.bytes[rows] <= SMALL_COPY_BYTES) & (scene.call(rows) != UNKNOWN)]
    of_driver = np.array([name.startswith("cuMemcpy") for name in scene.trace.names], np.bool_)
    rows = rows[of_driver[calls.name[scene.call(rows)]]] if rows.size else rows
    arrived = scene.device_end(rows)
    covered = union(begin, end + LONGEST_HANDOVER_SECONDS)
    fetched: Integers = rows[covered.covered(arrived, arrived + LONGEST_HANDOVER_SECONDS) == 0]
    return fetched


def _waited_since(scene: Scene, fetched: Integers) -> Seconds:
    """From when on the host may have waited for each of these: when it asked for the copy.

    XLA asks once the kernels that make the values have ended: then since the last call before that, if it asked so
    soon that it can have waited for their end.
    """
    asked = scene.asked(fetched)
    ended = _last_before(np.sort(scene.kernels[1]), asked)
    called = _last_before(scene.calling.end, asked)
    is_answer = (called < ended) & (asked - ended <= LONGEST_ANSWER_SECONDS)
    return np.where(is_answer, called, asked)


def _last_before(moments: Seconds, times: Seconds) -> Seconds:
    """The last of the sorted moments until each of these times; long before all where there is none."""
    return np.append(moments, -np.inf)[np.searchsorted(moments, times, side="right") - 1]


def _arrived(scene: Scene, begin: Seconds, end: Seconds, *, migrated: bool) -> Mask:
    """Whether more than a few values came to the host within each of these times."""
    copies = scene.trace.copies
    wanted = (copies.process == scene.process) & (copies.direction == direction_index("d2h"))
    wanted &= (copies.migration == 1) == migrated
    if not migrated:
        wanted &= copies.bytes > SMALL_COPY_BYTES
    arrivals = np.sort(scene.device_end(np.flatnonzero(wanted)))
    return np.searchsorted(arrivals, end) > np.searchsorted(arrivals, begin)


def _find(scene: Scene, _rates: Rates) -> Draft | None:
    if not scene.kernels[0].size:
        return None
    waiting = waits(scene)
    useful: Mask = waiting.gains > 0
    total = float(waiting.gains.sum())
    if useful.sum() < LEAST_WAITS or total < least_gain(scene.span_seconds):
        return None
    sure = np.where(waiting.is_doubtful, 0.0, WAIT_SURE_SHARE)
    gains = waiting.gains[useful][:, np.newaxis] * np.stack([np.ones_like(sure), sure, np.ones_like(sure)], 1)[useful]
    kinds = _kinds(scene, waiting)
    leading = kinds == int(np.bincount(kinds[useful], waiting.gains[useful], len(_KINDS)).argmax())
    calls, copied = waiting.calls[leading & useful], waiting.copies[leading & useful]
    copied = copied[copied != UNKNOWN]
    at_work = scene.host_at_work(LEAST_HOST_WORK_SECONDS)
    within = at_work.without(at_work.without(union(waiting.end[leading & useful], waiting.until[leading & useful])))
    # The function of most of these calls; empty where none has a name.
    names = scene.trace.calls.name[calls]
    names = names[(names >= 0) & (names < len(scene.trace.names))]
    facts = {
        "kind": _KINDS[int(kinds[leading][0])],
        # With those after which the device had nothing left to do.
        "waited": float(waiting.waited[leading].sum()),
        "idle": float(waiting.idle[leading & useful].sum()),
        "copied": float((scene.device_end(copied) - scene.device_begin(copied)).sum()),
        "memory": _host_memory(scene, copied),
        "call": (scene.trace.names[int(np.bincount(names).argmax())] if names.size else ""),
        # What the host did by itself meanwhile, and what the program calls that.
        "own": float(within.length),
        "work": _name_of(scene, within),
        # What the sentences are not of.
        "others": int((useful & ~leading).sum()),
        "others_idle": float(waiting.idle[useful & ~leading].sum()),
    }
    return Draft("calls", waiting.calls[useful], gains, bound=total, facts=facts, took=waiting.waited[useful])


def _name_of(scene: Scene, work: Union) -> str:
    """The name of the ranges that hold most of this time and little else; empty where there are none."""
    held = []
    for name, rows in alike(scene).items():
        ranges = union(
            *(scene.moments(each[rows]) for each in (scene.trace.ranges.start_ns, scene.trace.ranges.end_ns))
        )
        inside = float(ranges.covered(work.begin, work.end).sum())
        if inside >= NAMED_WORK_SHARE * work.length > 0 and ranges.length <= NAMED_WORK_TIMES * work.length:
            held.append((ranges.length, name))
    return min(held, default=(0.0, ""))[1]


def _kinds(scene: Scene, waiting: Waits) -> Integers:
    """Places in `_KINDS` of what waited."""
    names = scene.trace.calls.name[waiting.calls]

    def named(test: Callable[[str], bool]) -> Mask:
        return np.isin(names, [place for place, name in enumerate(scene.trace.names) if test(name)])

    made = waiting.copies != UNKNOWN
    out = scene.trace.copies.direction[np.maximum(waiting.copies, 0)] == direction_index("d2h") if made.any() else made
    # Functions that get or free memory are named before calls that only wait.
    cases = {
        "copies": made & out,
        "sent": made,
        "frees": named(vendors.frees),
        "allocations": named(vendors.allocates),
        "calls": scene.synchronizing(waiting.calls),
    }
    return np.select(list(cases.values()), [_KINDS.index(kind) for kind in cases], _KINDS.index("other"))


def _host_memory(scene: Scene, copies: Integers) -> str:
    """The kind of the host's memory that most of these copies name; empty where they name none."""
    kinds = scene.host_kind(copies)
    kinds = kinds[kinds != UNKNOWN]
    return MEMORY_KINDS[int(np.bincount(kinds).argmax())] if kinds.size else ""


def _words(summary: Summary) -> Words:
    facts, kind = summary.facts, summary.facts["kind"]
    words = {name: format_seconds(facts[name]) for name in ("waited", "idle", "copied")} | {
        "call": facts["call"] or say("advice.place_unknown")
    }
    change = say(f"advice.waits_{kind}_change")
    if kind == "sent" and facts["memory"] == "pinned":
        change = say("advice.waits_sent_pinned_change")
    cause = say(f"advice.waits_{kind}", **words)
    # What took the host so long, and whether its work needs the result that it waited for, only the program knows.
    if 2 * facts["own"] >= facts["idle"]:
        name = facts["work"] and say("advice.waits_own_name", name=facts["work"])
        cause = sentences([cause, say("advice.waits_own", time=format_seconds(facts["own"]), name=name)])
        ahead = say("advice.waits_own_change")
        change, kind = (ahead, "own") if name else (sentences([change, ahead]), kind)
    if facts["others"]:
        others = say("advice.waits_others", count=facts["others"], idle=format_seconds(facts["others_idle"]))
        cause = sentences([cause, others])
    # What to do about another call depends on the call.
    shown = {
        "copies": "waits",
        "calls": "waits-calls" if _is_bare(summary) else "waits",
        "sent": "waits-sent",
        "other": "",
        "own": "waits-own",
    }.get(kind, "waits-memory")
    return Words(
        say("advice.waits_title", count=summary.calls),
        cause,
        change,
        say("advice.waits_pricing"),
        own_code("waits", summary.interface) if shown.startswith("waits") and kind in ("copies", "calls") else {},
        shown,
    )


def _is_bare(summary: Summary) -> bool:
    """Whether the program waits without asking for a value: torch waits for a stream where it needs one."""
    return summary.library not in ("torch", "cupy", "jax") or "StreamSynchronize" not in summary.facts["call"]


RULE = Rule("waits", (("calls",), ("kernels",)), _find, _words, by_trace=True, windows="each", totals=_TOTALS)


def late_calls(scene: Scene, calls: Integers) -> Integers:
    """Those of these calls that waited, whatever they were for: a copy, memory that is freed or allocated, a module.

    A trace shows it by times alone: kernels ran for most of such a call, it returned as soon as the last one, and its
    own copy, had ended, and then the device had nothing to do. What launches work waits for room in a queue instead.
    """
    table = scene.trace.calls
    launching = [place for place, name in enumerate(scene.trace.names) if vendors.launches(name)]
    calls = calls[~np.isin(table.name[calls], launching)]
    calls = calls[scene.lasted(table, calls) >= LEAST_LATE_SECONDS]
    if not calls.size:
        return calls
    begin = scene.moments(table.start_ns[calls])
    lasted = scene.lasted(table, calls)
    end = begin + lasted
    begins, ends = np.sort(scene.kernels[0]), np.sort(scene.kernels[1])
    own_begin, own_end = _own_copies(scene, calls)
    last = np.append(ends, -np.inf)[np.searchsorted(ends, end, "right") - 1]
    waited = union(*scene.kernels).covered(begin, end)
    left = end - np.maximum(last, np.where(own_end <= end, own_end, -1e9))
    late = 2 * waited >= np.maximum(lasted - (own_end - own_begin), LEAST_LATE_SECONDS)
    late &= left <= np.maximum(LONGEST_HANDOVER_SECONDS, LATE_SHARE * lasted)
    # Nothing is in progress any more.
    late &= np.searchsorted(begins, end) == np.searchsorted(ends, end, "right")
    return calls[late]


def _own_copies(scene: Scene, calls: Integers) -> tuple[Seconds, Seconds]:
    """When the copy that each call made began and ended; both long before all for a call that made none."""
    copies = scene.trace.copies
    every = np.flatnonzero(copies.process == scene.process)
    every = every[scene.call(every) != UNKNOWN]
    made = np.full(len(scene.trace.calls), UNKNOWN)
    made[scene.call(every)] = every
    rows = made[calls]
    times = (scene.device_begin(rows), scene.device_end(rows)) if len(copies) else (np.zeros(calls.size),) * 2
    begin, end = (np.where(rows != UNKNOWN, each, -1e9) for each in times)
    return begin, end
