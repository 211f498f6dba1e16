"""Where kernels were recorded in windows alone: the windows one after the other, as if they were the whole program."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from isthmus.trace import UNKNOWN, Allocations, Calls, Copies, Faults, Integers, Intervals, Ranges, Trace, Windows


class Sample(NamedTuple):
    """What was recorded of a process in its windows, and what of it was recorded all the time."""

    # Without the time between the windows, and without calls and copies that are in none as a whole.
    trace: Trace
    # The whole time, without kernels.
    whole: Trace
    # By table: which record of the whole each is, and the number of the window that holds it.
    rows: Mapping[str, Integers]
    window: Mapping[str, Integers]
    # How long all windows last.
    seconds: float


def sample_of(trace: Trace, process: int) -> Sample | None:
    """None for a process whose kernels were all recorded, or none."""
    windows = trace.windows.taken(trace.windows.process == process)
    if not len(windows):
        return None
    end = np.maximum.accumulate(windows.end_ns)
    # Whatever a file says, one after the other.
    begin = np.maximum(_known_from(trace, process, windows), np.append(windows.start_ns[0], end[:-1]))
    end = np.maximum(end, begin)
    lasted = end - begin
    # From the clock of the trace to one that is stopped between the windows.
    shift = np.cumsum(lasted) - lasted - (begin - begin[0])

    def held(table: Calls | Copies | Allocations | Intervals, *, whole: bool = True) -> tuple[Integers, Integers]:
        """Records of the process that begin in a window, as a whole those that end there; and the window of each."""
        place = np.searchsorted(begin, table.start_ns, "right") - 1
        inside = (table.process == process) & (place >= 0) & (table.start_ns < end[place])
        inside &= (table.end_ns <= end[place]) if whole else True
        rows = np.flatnonzero(inside)
        return rows, place[rows]

    calls, window_of_calls = held(trace.calls)
    # One more for records of unknown calls.
    renumbered = np.full(len(trace.calls) + 1, UNKNOWN, np.int64)
    renumbered[calls] = np.arange(calls.size)

    def called(call: Integers) -> Integers:
        return renumbered[np.where((call >= 0) & (call < len(trace.calls)), call, len(trace.calls))]

    copies, window_of_copies = held(trace.copies)
    with_calls = (trace.copies.call[copies] == UNKNOWN) | (called(trace.copies.call[copies]) != UNKNOWN)
    copies, window_of_copies = copies[with_calls], window_of_copies[with_calls]
    memory, window_of_held = held(trace.allocations)
    of_copies, of_memory = trace.copies.taken(copies), trace.allocations.taken(memory)

    def worked(table: Intervals) -> Intervals:
        rows, window = held(table, whole=False)
        taken = table.taken(rows)
        cut = replace(taken, end_ns=np.minimum(taken.end_ns, end[window]), call=called(taken.call))
        return cut.moved(shift[window])

    sampled = replace(
        trace,
        calls=trace.calls.taken(calls).moved(shift[window_of_calls]),
        copies=replace(of_copies, call=called(of_copies.call)).moved(shift[window_of_copies]),
        allocations=replace(of_memory, call=called(of_memory.call)).moved(shift[window_of_held]),
        kernels=worked(trace.kernels),
        memsets=worked(trace.memsets),
        synchronizations=Intervals.empty(),
        faults=Faults.empty(),
        ranges=Ranges.empty(),
        windows=Windows.empty(),
    )
    others = trace.kernels.taken(trace.kernels.process != process)
    without = replace(trace, kernels=others, knows=trace.knows - {"kernels"})
    rows = {"calls": calls, "copies": copies, "allocations": memory}
    held_by = {"calls": window_of_calls, "copies": window_of_copies, "allocations": window_of_held}
    return Sample(sampled, without, rows, held_by, float(lasted.sum()) * 1e-9)


def _known_from(trace: Trace, process: int, windows: Windows) -> Integers:
    """From when on all that devices did in each window is known: work from before it may still have been in progress.

    Streams work in order, so that it was over when the first kernel or copy of the window began, or the first call
    returned that waits for a stream or a device; and before the window, where such was asked for after the last launch.
    Before the first window of a process there was none.
    """
    kernels, copies, waits = trace.kernels, trace.copies, trace.synchronizations
    kernels = kernels.taken(kernels.process == process)
    on_streams = (copies.process == process) & np.isin(copies.stream, np.unique(kernels.stream))
    copies = copies.taken(on_streams & (copies.migration != 1))
    events = [place for place, name in enumerate(trace.names) if name == "event"]
    waits = waits.taken((waits.process == process) & ~np.isin(waits.name, events))
    known = (copies.call >= 0) & (copies.call < len(trace.calls))
    asked = copies.start_ns.copy()
    asked[known] = trace.calls.start_ns[copies.call[known]]
    proofs = np.sort(np.concatenate([kernels.start_ns, copies.start_ns, waits.end_ns]))
    first = np.append(proofs, np.iinfo(np.int64).max)[np.searchsorted(proofs, windows.start_ns)]
    begin = np.where(first < windows.end_ns, first, windows.start_ns)
    # When each was asked for, and over.
    asked, over = np.concatenate([asked, waits.start_ns]), np.concatenate([copies.end_ns, waits.end_ns])
    order = np.argsort(over, kind="stable")
    latest = np.append(np.maximum.accumulate(asked[order]), np.iinfo(np.int64).min)
    is_idle = latest[np.searchsorted(over[order], windows.start_ns, "right") - 1] >= windows.launched_ns
    is_idle[:1] = True
    return np.where(is_idle, windows.start_ns, begin)
