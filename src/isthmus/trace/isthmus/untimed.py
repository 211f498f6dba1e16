"""Copies that no device reported, untimed ones and the last of a killed program: when they were probably made.

A device's time stamps slow programs down whose small copies come one right after the other, so that `isthmus trace`
times only a share of such copies.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from isthmus.trace.columns import UNKNOWN, Allocations, Integers, direction_index, memory_index
from isthmus.trace.isthmus.records import (
    MAYBE_TIMED,
    NOT_TIMED,
    OF_GRAPH,
    Mask,
    Records,
    called_copies,
    direction_of,
    of_several,
)
from isthmus.trace.live_memory import kinds_at
from isthmus.trace.recorded import CORRELATIONS, MOST_BYTES, paired, places_of

Columns = dict[str, Integers]
# The share of delays between calls and their work that no queue has lengthened.
_UNQUEUED = 0.1
# A wait that lasts longer is for a device that is behind, in nanoseconds; shorter ones are the call itself.
_LEAST_WAIT = 10_000
# Longest copy, and longest time from its call to its end, in nanoseconds: days.
_LONGEST = 10**15
_NEVER = np.iinfo(np.int64).max
_KERNEL = -1


class Waits(NamedTuple):
    """Calls in which threads waited for a device."""

    process: Integers
    thread: Integers
    start_ns: Integers
    end_ns: Integers


class _Work(NamedTuple):
    """What devices made, timed or not, stream by stream in the order of the calls."""

    # The number of an untimed copy, -1 of what is timed.
    untimed: Integers
    stream: Integers
    # One number for process and thread.
    thread: Integers
    called: Integers
    # When it began, or with nothing before it would have, and how long it took.
    start: Integers
    lasted: Integers
    # Whether it began so late after its call that something was before it.
    queued: Integers


def estimated_times(timed: Columns, kernels: Columns, untimed: Columns, calls: Columns, waits: Waits) -> Columns:
    """From when to when each untimed copy was probably made, as ``start_ns`` and ``end_ns``; each must have a call.

    A copy takes as long as timed ones of its kind and size. It begins as soon after its call as timed ones do that find
    nothing queued, and not before what is before it in its stream is over. Where the timed work or the wait that comes
    next shows that the device was behind, it was busy until then.
    """
    work = _in_order(timed, kernels, untimed, calls)
    rows = np.flatnonzero(work.untimed >= 0)
    first, last, run = _runs(work, rows)
    lasted = work.lasted[rows]
    done = np.cumsum(lasted)
    done -= (done[first] - lasted[first])[run]
    # Not before what was there before the run.
    begins = np.maximum(work.start[rows[first]], _ends_before(work, rows[first]))
    # Each as soon as it can be and the one before it is over: a running maximum that begins anew with every run.
    least = np.maximum(work.start[rows] - begins[run] - (done - lasted), 0)
    room = np.maximum.reduceat(least, first) + 1 if rows.size else first
    offset = (np.cumsum(room) - room)[run]
    ends = begins[run] + done + np.maximum.accumulate(least + offset) - offset
    until, behind = _until(work, rows[last], waits)
    share = done / np.maximum(done[last], 1)[run]
    stretched = begins[run] + ((np.where(behind, until, begins) - begins)[run] * share).astype(np.int64)
    # Whatever hostile records say, not for ever.
    ends = np.minimum(np.maximum(ends, stretched), np.minimum(until[run], work.called[rows] + _LONGEST))
    ends = np.maximum(ends, work.called[rows])
    times = {name: np.zeros(rows.size, np.int64) for name in ("start_ns", "end_ns")}
    times["end_ns"][work.untimed[rows]] = ends
    times["start_ns"][work.untimed[rows]] = np.clip(ends - lasted, work.called[rows], ends)
    return times


def _in_order(timed: Columns, kernels: Columns, untimed: Columns, calls: Columns) -> _Work:
    tables = (timed, kernels, untimed)
    # The times of the untimed ones are not known yet.
    count = timed["process"].size + kernels["process"].size

    def joined(name: str, *parts: Columns) -> Integers:
        return np.concatenate([part[name] for part in parts])

    process = joined("process", *tables)
    call = places_of(process, joined("correlation", *tables), calls["process"], calls["correlation"])
    # What graphs make has the call of their launch, and some of a killed program none.
    known = call >= 0
    begun = joined("start_ns", timed, kernels)
    called = np.concatenate([begun, np.zeros(process.size - count, np.int64)])
    called[known] = calls["start_ns"][call[known]]
    thread = np.zeros_like(called)
    thread[known] = _thread(calls["process"], calls["thread"])[call[known]]
    kind = np.concatenate([_kind(timed), np.full(kernels["process"].size, _KERNEL), _kind(untimed)])
    # What timed copies of each kind, else of all kinds, need from their call to their beginning.
    delay = begun - called[:count]
    usual = np.full(kind.size, max(int(np.quantile(delay, _UNQUEUED)), 0) if delay.size else 0)
    for each in np.unique(kind[: delay.size]).tolist():
        usual[kind == each] = max(int(np.quantile(delay[kind[: delay.size] == each], _UNQUEUED)), 0)
    start = np.concatenate([begun, (called + usual)[count:]])
    own = calls["end_ns"][call[count:]] - calls["start_ns"][call[count:]]
    lasted = np.concatenate([joined("end_ns", timed, kernels) - begun, _durations(timed, untimed, own)])
    stream = _pairs(_pairs(process, joined("device", *tables)), joined("stream", *tables))
    number = np.arange(process.size) - count
    queued = (start > called + 2 * usual) & (number < 0)
    order = np.lexsort((called, stream))
    columns = (np.maximum(number, -1), stream, thread, called, start, lasted, queued)
    return _Work(*(column[order] for column in columns))


def _pairs(outer: Integers, inner: Integers) -> Integers:
    """A small number for each pair of numbers."""
    return np.unique(outer * CORRELATIONS + inner + 1, return_inverse=True)[1]


def _thread(process: Integers, thread: Integers) -> Integers:
    return process * CORRELATIONS + thread


def _kind(copies: Columns) -> Integers:
    """One number for process, direction and kinds of memory."""
    kind = copies["process"]
    for name in ("direction", "source", "destination"):
        kind = kind * 8 + copies[name] + 1
    return kind


def _durations(timed: Columns, untimed: Columns, own: Integers) -> Integers:
    """How long each untimed copy took: as timed ones of its kind, else of its direction, else as its own call."""
    lasted = np.maximum(own, 0)
    missing = np.ones(own.size, np.bool_)
    for of_timed, of_untimed in ((_kind(timed), _kind(untimed)), (timed["direction"], untimed["direction"])):
        for each in np.intersect1d(of_timed, of_untimed[missing]).tolist():
            wanted, alike = missing & (of_untimed == each), of_timed == each
            times = (timed["end_ns"] - timed["start_ns"])[alike]
            lasted[wanted] = _by_size(untimed["bytes"][wanted], timed["bytes"][alike], times)
            missing &= ~wanted
    return lasted


def _by_size(wanted: Integers, sizes: Integers, lasted: Integers) -> Integers:
    """The median of each size, in proportion between sizes, and at the rate of the largest above it."""
    order = np.lexsort((lasted, sizes))
    distinct, first, counts = np.unique(sizes[order], return_index=True, return_counts=True)
    medians = lasted[order][first + (counts - 1) // 2]
    beyond = np.maximum(wanted / max(int(distinct[-1]), 1), 1.0)
    durations: Integers = np.minimum(np.interp(wanted, distinct, medians) * beyond, _LONGEST).astype(np.int64)
    return durations


def _runs(work: _Work, rows: Integers) -> tuple[Integers, Integers, Integers]:
    """Untimed copies that follow each other in a stream: first and last of each run, and the run of each copy."""
    new = np.ones(rows.size, np.bool_)
    new[1:] = (np.diff(rows) > 1) | (np.diff(work.stream[rows]) != 0)
    first = np.flatnonzero(new)
    last = np.concatenate([first[1:], [rows.size]])[: first.size] - 1
    return first, last, np.cumsum(new) - 1


def _ends_before(work: _Work, rows: Integers) -> Integers:
    """When what is before each of these in its stream was over; 0 where nothing is."""
    before = np.maximum(rows - 1, 0)
    same = (rows > 0) & (work.stream[before] == work.stream[rows])
    return np.where(same, work.start[before] + work.lasted[before], 0)


def _until(work: _Work, rows: Integers, waits: Waits) -> tuple[Integers, Integers]:
    """By when each of these, the last untimed ones in a row, was over; and whether its device was behind."""
    after = np.minimum(rows + 1, work.stream.size - 1)
    follows = (after > rows) & (work.stream[after] == work.stream[rows])
    until = np.where(follows, work.start[after], _NEVER)
    behind = follows & work.queued[after]
    of_thread = _thread(waits.process, waits.thread)
    for thread in np.unique(work.thread[rows]).tolist():
        mine = np.flatnonzero(work.thread[rows] == thread)
        theirs = np.flatnonzero(of_thread == thread)
        theirs = theirs[np.argsort(waits.start_ns[theirs], kind="stable")]
        place = np.searchsorted(waits.start_ns[theirs], work.called[rows[mine]])
        mine, place = mine[place < theirs.size], theirs[place[place < theirs.size]]
        sooner = waits.end_ns[place] < until[mine]
        mine, place = mine[sooner], place[sooner]
        until[mine] = waits.end_ns[place]
        behind[mine] = waits.end_ns[place] - waits.start_ns[place] > _LEAST_WAIT
    return until, behind


class Reported(NamedTuple):
    """What devices reported; `graphs` are those of the kernels that are graphs as a whole."""

    copies: Records
    kernels: Records
    graphs: Records


def unreported_copies(
    reports: Reported,
    operands: Records,
    calls: Records,
    waits: Waits,
    allocations: Allocations,
    ended: Integers,
    accelerated: npt.NDArray[np.bool_],
    notes: list[str],
) -> Records:
    """Copies that calls made and no device reported, with estimated times; `notes` says how many.

    Those of graphs that devices reported as a whole are within those. Those of calls that are `accelerated` have the
    times of their calls, which return when all has arrived.
    """
    timed, kernels, graphs = reports
    seen = places_of(operands["process"], operands["correlation"], timed["process"], timed["correlation"])
    call = places_of(operands["process"], operands["correlation"], calls["process"], calls["correlation"])
    of_graph = (operands["timing"] == OF_GRAPH) & of_several(operands)
    reported = ((seen != UNKNOWN) & ~of_graph) | _of_graphs(operands, timed, calls)
    rows = np.flatnonzero(
        ~reported
        & (call != UNKNOWN)
        & ((operands["timing"] >= MAYBE_TIMED) | ~ended[operands["process"]])
        & (operands["bytes"] > 0)
        & (operands["bytes"] <= MOST_BYTES)
    )
    copies = called_copies(operands, rows)
    known = copies["direction"] != UNKNOWN
    rows, copies = rows[known], {name: column[known] for name, column in copies.items()}
    call = call[rows]
    copies |= {"start_ns": calls["start_ns"][call], "end_ns": calls["end_ns"][call]}
    copies |= _memory_kinds(copies, allocations)
    untimed = np.flatnonzero((operands["timing"][rows] >= MAYBE_TIMED) & ~accelerated[call])
    if lost := int(rows.size - untimed.size - np.count_nonzero(accelerated[call])):
        notes.append(
            f"{lost} copies were called for, but the program ended before the device told when it made them: "
            "they have the times of their calls."
        )
    if untimed.size:
        without_times = {name: column[untimed] for name, column in copies.items()}
        of_calls = calls["start_ns"][call[untimed]]
        times = estimated_times(timed, kernels, without_times, calls, waits)
        _move_into_graphs(times, without_times, of_calls, operands["timing"][rows[untimed]] == OF_GRAPH, graphs)
        for name, column in times.items():
            copies[name][untimed] = column
        every = untimed.size + timed["bytes"].size
        fast = int(np.count_nonzero(operands["timing"][rows[untimed]] == NOT_TIMED))
        if fast:
            notes.append(
                f"{fast} of {every} copies came so fast that timing them would have slowed the program: when the "
                "device made them is estimated from those it timed. To time all: isthmus trace --all-times."
            )
        if fast < untimed.size:
            notes.append(
                f"{untimed.size - fast} of {every} copies have no time of the device that is certain to be theirs: it "
                "is estimated from those that have."
            )
    return copies


def _of_graphs(operands: Records, timed: Records, calls: Records) -> Mask:
    """Which operands of graphs a device has reported: each record is one of its launch's, or of any where it has none.

    By direction: copies within a device that the driver makes by kernels are reported only where kernels are. By size
    first, so that what is left of a launch that was reported in part has the sizes of what is missing.
    """
    reported, used = (np.zeros(table["process"].size, np.bool_) for table in (operands, timed))
    ours, theirs = {**operands, "direction": direction_of(operands)}, timed
    uncalled = places_of(timed["process"], timed["correlation"], calls["process"], calls["correlation"]) == UNKNOWN
    for keys, records in ((("process", "correlation"), ~uncalled), (("process",), uncalled)):
        for names in ((*keys, "direction", "bytes"), (*keys, "direction")):
            rows = np.flatnonzero((operands["timing"] == OF_GRAPH) & ~reported)
            among = np.flatnonzero(records & ~used)
            place = paired([ours[name][rows] for name in names], [theirs[name][among] for name in names])
            reported[rows[place != UNKNOWN]] = True
            used[among[place[place != UNKNOWN]]] = True
    return reported


def _move_into_graphs(times: Columns, copies: Columns, called: Integers, of_graph: Mask, graphs: Records) -> None:
    """Copies of a graph that a device reported as a whole were made within it: at its end what comes to the host.

    The graph is that of the launch; where none has its number, launches and graphs are in the same order, and none
    begins before its launch.
    """
    rows = np.flatnonzero(of_graph)
    place = places_of(copies["process"][rows], copies["correlation"][rows], graphs["process"], graphs["correlation"])
    for process in np.unique(copies["process"][rows[place == UNKNOWN]]).tolist():
        of_process = np.flatnonzero(graphs["process"] == process)
        of_process = of_process[np.argsort(graphs["start_ns"][of_process], kind="stable")]
        mine = np.flatnonzero((place == UNKNOWN) & (copies["process"][rows] == process))
        launches, launch = np.unique(called[rows[mine]], return_inverse=True)
        number = np.arange(launches.size)
        after = np.searchsorted(graphs["start_ns"][of_process], launches)
        after = np.minimum(np.maximum.accumulate(after - number) + number, of_process.size)
        place[mine] = np.append(of_process, UNKNOWN)[after[launch]]
    rows, place = rows[place != UNKNOWN], place[place != UNKNOWN]
    begin, end = graphs["start_ns"][place], graphs["end_ns"][place]
    lasted = np.minimum(times["end_ns"][rows] - times["start_ns"][rows], end - begin)
    comes = copies["direction"][rows] == direction_index("d2h")
    times["start_ns"][rows] = np.where(comes, end - lasted, begin)
    times["end_ns"][rows] = times["start_ns"][rows] + lasted


def _memory_kinds(copies: Records, allocations: Allocations) -> Records:
    """The kinds of memory at both ends: as it was allocated, else by the side of the copy that it is on."""
    kinds = {}
    for side, from_host in (("source", ("h2d", "h2h")), ("destination", ("d2h", "h2h"))):
        on_host = np.isin(copies["direction"], [direction_index(name) for name in from_host])
        otherwise = np.where(on_host, memory_index("pageable"), memory_index("device"))
        known = kinds_at(copies["process"], copies[f"{side}_address"], copies["start_ns"], allocations)
        kinds[side] = np.where(known == UNKNOWN, otherwise, known)
    return kinds
