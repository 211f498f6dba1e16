"""One process of a trace: what its copies cost the program, and how much of that the timeline can give back."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from isthmus.advice.machines import other_devices
from isthmus.advice.rates import Rates, Seconds, priced
from isthmus.advice.records import ONE_WAY, Mask, Records
from isthmus.advice.thresholds import LONGEST_START_SECONDS, SHORTEST_LAUNCH_SECONDS, TRACED_BYTES
from isthmus.advice.windows import Sample, sample_of
from isthmus.trace import UNKNOWN, Integers, Trace, Union, direction_index, grouped, memory_index, union, vendors

# Longer than any trace, and short enough for sums of it to keep nanoseconds.
_ALWAYS = Union(np.array([-1e6]), np.array([1e6]))


class Scene(Records):
    """What the records of one process mean: which calls waited, and when nothing but some copies went on."""

    def __init__(self, trace: Trace, process: int, other: Rates | None = None, sample: Sample | None = None) -> None:
        """`other` are rates of another machine than the traced one: both sides of a price are then that machine's.

        With a `sample` the kernels of its windows alone are known, and the trace is the whole without any.
        """
        super().__init__(trace, process)
        self.other = other
        self.sample = sample
        self.in_windows = None if sample is None else Scene(sample.trace, process, other)
        # Rules ask several times in a row about the same copies.
        self._last: tuple[Integers, Union] | None = None

    def call(self, rows: Integers) -> Integers:
        """The call of each copy that made no other one, UNKNOWN where there is none such."""
        calls: Integers = self.trace.copies.call[rows]
        within = np.clip(calls, 0, self._copies_of_call.size - 1)
        single = self._known_call(calls) & (self._copies_of_call[within] == 1)
        return np.where(single, calls, UNKNOWN)

    def blocking(self, rows: Integers) -> Mask:
        """Whether the host did nothing else until a copy was made, or staged: by its call, or by its memory."""
        calls = self.call(rows)
        mask: Mask = (calls != UNKNOWN) & (self.host_kind(rows) == memory_index("pageable"))
        if len(self.trace.calls):
            within = np.clip(calls, 0, None)
            # Where the trace says that a call did not wait, its memory makes no difference, as with OpenCL.
            mask &= self.trace.calls.blocking[within] != 0
            mask |= (calls != UNKNOWN) & ~self.asynchronous(within)
        return mask

    def asynchronous(self, calls: Integers) -> Mask:
        """Whether each call returns before what it asks for is done, if need be by its name; so do those without."""
        names, blocking = self.trace.calls.name[calls], self.trace.calls.blocking[calls]
        by_name = self._asynchronous[np.where((names >= 0) & (names < len(self.trace.names)), names, UNKNOWN)]
        return np.where(blocking == UNKNOWN, by_name, blocking == 0)

    def occupied(self, rows: Integers) -> tuple[Seconds, Seconds]:
        """From when to when each copy occupied the program: its call where that waited for it, else the device."""
        begin, end = self.device_begin(rows), self.device_end(rows)
        blocking, calls = self.blocking(rows), np.clip(self.call(rows), 0, None)
        if not blocking.any():
            return begin, end
        table = self.trace.calls
        # A call that returned before the device began had staged the bytes; a queue costs the program nothing.
        blocking &= begin <= self.moments(table.end_ns[calls])
        begin = np.where(blocking, np.minimum(begin, self.moments(table.start_ns[calls])), begin)
        return begin, np.where(blocking, np.maximum(end, self.moments(table.end_ns[calls])), end)

    def took(self, rows: Integers) -> Seconds:
        """Seconds of each copy: those of the device or of its call, whichever are more."""
        begin, end = self.occupied(rows)
        if not len(self.trace.calls):
            return end - begin
        calls = self.call(rows)
        called = self.lasted(self.trace.calls, np.clip(calls, 0, None))
        return np.maximum(end - begin, np.where(calls != UNKNOWN, called, 0.0))

    def exposed(self, rows: Integers) -> Seconds:
        """Seconds of each copy in which nothing else went on on a device, and something waited for it.

        Kernels, memory that is set and other copies may run at the same time. Something waits where a thread
        is in a call, or where a device has been given more to do.
        """
        return self._free_beside(rows).covered(*self.occupied(rows)) * self._scale(rows)

    def exposed_together(self, rows: Integers) -> float:
        """The same of all these copies, with each moment counted once."""
        stretches = union(*self.occupied(rows))
        together = float(self._free_beside(rows).covered(stretches.begin, stretches.end).sum())
        if self.other is None or not rows.size:
            return together
        took = float(self.took(rows).sum())
        return together * float((self.took(rows) * self._scale(rows)).sum()) / took if took else 0.0

    def elapsed(self, rows: Integers, begin: Seconds, end: Seconds) -> Seconds:
        """Seconds of each interval in which something waited, and nothing but these copies went on."""
        return self._free_beside(rows).covered(begin, end)

    def idle_within(self, begin: Seconds, end: Seconds) -> Seconds:
        """Seconds of each interval in which no device did anything."""
        return self._free_beside(np.zeros(0, np.int64)).covered(begin, end)

    def idle_between(self, begin: Seconds, end: Seconds, calls: Integers | None = None) -> Seconds:
        """Seconds of each interval in which no device worked for this process and no copy of it was in progress.

        Nor any of these `calls`, which take their time whatever a device does.
        """
        at_work = self._at_work
        if calls is not None and calls.size:
            at_work = union(*(np.concatenate(each) for each in zip(at_work, self._of_calls(calls), strict=True)))
        return np.maximum(end - begin - at_work.covered(begin, end), 0.0)

    def busiest(self, begin: Seconds | None = None, end: Seconds | None = None) -> float:
        """Seconds in which the stream with the most to compute did so: of all, or within these intervals."""
        if self.sample is not None and self.in_windows is not None:
            whole = self.span_seconds if begin is None or end is None else float((end - begin).sum())
            return whole * min(self.in_windows.busiest() / max(self.sample.seconds, 1e-9), 1.0)
        longest = 0.0
        for of_stream in self._streams:
            longest = max(
                longest,
                float(of_stream.length if begin is None or end is None else of_stream.covered(begin, end).sum()),
            )
        return longest

    @cached_property
    def work_begins(self) -> Seconds:
        """When kernels began, in order; where not all were recorded, when the process called."""
        if self.sample is None:
            return self.kernels[0]
        calls = self.trace.calls
        return np.sort(self.moments(calls.start_ns[calls.process == self.process]))

    @cached_property
    def _streams(self) -> list[Union]:
        """When each stream of each device computed for this process."""
        kernels = self.trace.kernels
        mine = np.flatnonzero(kernels.process == self.process)
        streams = (mine[group] for group in grouped(kernels.device[mine], kernels.stream[mine]))
        return [union(*self.working(kernels.taken(rows))) for rows in streams]

    def idle_before(self, begin: Seconds, end: Seconds) -> Seconds:
        """Seconds of each interval in which no device did anything for this process, calls of copies aside."""
        copies = self.trace.copies
        every = np.flatnonzero(copies.process == self.process)
        busy = [self.kernels, self.working(self.trace.memsets), (self.device_begin(every), self.device_end(every))]
        at_work = union(*(np.concatenate(each) for each in zip(*busy, strict=True)))
        return np.maximum(end - begin - at_work.covered(begin, end), 0.0)

    def own_time(self, begin: Seconds, end: Seconds) -> Seconds:
        """Seconds of each interval in which the process was in no call and no device worked for it."""
        if "calls" not in self.trace.knows:
            return np.zeros_like(begin)
        return np.maximum(end - begin - self._calling_or_at_work.covered(begin, end), 0.0)

    def host_at_work(self, least: float) -> Union:
        """When the process was in no call and no device worked for it, for at least so many seconds at a time."""
        if "calls" not in self.trace.knows:
            return union(np.zeros(0), np.zeros(0))
        at_work = self._calling_or_at_work
        begin, end = at_work.end[:-1], at_work.begin[1:]
        lasting = end - begin >= least
        return Union(begin[lasting], end[lasting])

    def asked(self, rows: Integers) -> Seconds:
        """When each copy was asked for: when its call began, else when it began itself."""
        begin, calls = self.device_begin(rows), self.call(rows)
        if not len(self.trace.calls):
            return begin
        called = self.moments(self.trace.calls.start_ns[np.clip(calls, 0, None)])
        return np.where(calls != UNKNOWN, np.minimum(begin, called), begin)

    def cost(self, rows: Integers, rates: Rates) -> Seconds:
        """Seconds that each copy cost the program: on the device, and what its call took besides.

        What a call takes before the device begins, with nothing ahead of it, is the driver's where it is long.
        Tracing makes calls longer, so that a small copy costs no more than the run says of such.
        """
        if self.other is not None:
            return self.took(rows) * self._scale(rows)
        begin, end = self.occupied(rows)
        before = self._free_beside(rows).covered(begin, self.device_begin(rows))
        before = np.minimum(before, LONGEST_START_SECONDS)
        seconds: Seconds = before + end - self.device_begin(rows)
        small = self.trace.copies.bytes[rows] < TRACED_BYTES
        seconds[small] = np.fmin(seconds[small], self._priced(rates, rows[small]))
        return seconds

    def _priced(self, rates: Rates, rows: Integers) -> Seconds:
        """Seconds of each copy by these rates; NaN where they do not say."""
        copies, seconds = self.trace.copies, np.full(rows.size, np.nan)
        for direction in ONE_WAY:
            for kind in ("pageable", "pinned"):
                alike = self.host_kind(rows) == memory_index(kind)
                alike &= copies.direction[rows] == direction_index(direction)
                known = priced(rates.copy, kind, direction, copies.bytes[rows[alike]]) if alike.any() else None
                if known is not None:
                    seconds[alike] = known[:, 0]
        return seconds

    def _scale(self, rows: Integers) -> Seconds:
        """How many times as long as in the trace each copy takes on the machine that prices it; 1 where unknown."""
        if self.other is None:
            return np.ones(rows.size)
        seconds = self._priced(self.other, rows)
        return np.where(np.isnan(seconds), 1.0, seconds / np.maximum(self.took(rows), 1e-9))

    def sharing(self, rows: Integers) -> Seconds:
        """How many processes share the link of a device while each copy of pageable memory lasts: 1 and more.

        However fast such copies become, they still have one link among them.
        """
        copies, (begin, end) = self.trace.copies, self.occupied(rows)
        every = np.flatnonzero((copies.process != self.process) & (copies.migration != 1))
        every = every[self.host_kind(every) == memory_index("pageable")]
        processes = np.ones(rows.size)
        for at in grouped(copies.device[rows], copies.direction[rows]):
            alike = (copies.device[every] == copies.device[rows[at[0]]]) & (
                copies.direction[every] == copies.direction[rows[at[0]]]
            )
            for others in grouped(copies.process[every[alike]]):
                busy = union(*self.occupied(every[alike][others]))
                processes[at] += busy.covered(begin[at], end[at]) / np.maximum(end[at] - begin[at], 1e-9)
        return processes

    def waits(self, rows: Integers) -> Integers:
        """The call in which a thread waited for each copy: its own, or one right after it; UNKNOWN where none did."""
        calls = self.call(rows)
        if not len(self.trace.calls):
            return calls
        own = np.where(self.blocking(rows), calls, UNKNOWN)
        after = np.where(calls != UNKNOWN, self._next_call[np.clip(calls, 0, None)], UNKNOWN)
        waiting = (after != UNKNOWN) & self.synchronizing(np.clip(after, 0, None))
        return np.where((own == UNKNOWN) & waiting, after, own)

    def synchronizing(self, calls: Integers) -> Mask:
        """Whether each call only waits for a stream or a device."""
        names = self.trace.calls.name[calls]
        return (names >= 0) & (names < len(self.trace.names)) & self._synchronizing[names]

    def own_time_after(self, calls: Integers) -> Seconds:
        """Seconds that the thread of each call spent on its own work before it called again."""
        table, after = self.trace.calls, self._next_call[calls]
        own = self.moments(table.start_ns[np.clip(after, 0, None)]) - self.moments(table.end_ns[calls])
        return np.where(after != UNKNOWN, np.maximum(own, 0.0), 0.0)

    def own_time_before(self, calls: Integers) -> Seconds:
        """Seconds of each call's thread since it called before in which no call and no device was at work."""
        before, begin = self._previous_call[calls], self.moments(self.trace.calls.start_ns[calls])
        ended = self.in_calls(before)[1]
        return self.own_time(np.where(before != UNKNOWN, np.minimum(ended, begin), begin), begin)

    @cached_property
    def _next_call(self) -> Integers:
        """For each call the next one of its thread."""
        calls = self.trace.calls
        order = np.lexsort((calls.start_ns, calls.thread, calls.process))
        same = (calls.thread[order][1:] == calls.thread[order][:-1]) & (
            calls.process[order][1:] == calls.process[order][:-1]
        )
        following = np.full(len(calls), UNKNOWN)
        following[order[:-1][same]] = order[1:][same]
        return following

    @cached_property
    def _previous_call(self) -> Integers:
        """For each call the one before it of its thread."""
        before: Integers = np.full(len(self.trace.calls), UNKNOWN)
        known = np.flatnonzero(self._next_call != UNKNOWN)
        before[self._next_call[known]] = known
        return before

    @cached_property
    def _synchronizing(self) -> Mask:
        """Whether calls of each name wait for a stream or a device; the last entry is for calls without a name."""
        waits = [vendors.waits(name) for name in self.trace.names]
        return np.array([*waits, False])

    @cached_property
    def calling(self) -> Union:
        """When a thread was in a call; always where calls are not known."""
        if "calls" not in self.trace.knows:
            return _ALWAYS
        return union(*self._of_calls(np.flatnonzero(self.trace.calls.process == self.process)))

    def in_calls(self, calls: Integers) -> tuple[Seconds, Seconds]:
        """From when to when each of these calls lasted; no time where a call is not known."""
        known = self._known_call(calls)
        if not known.any():
            return np.zeros(calls.size), np.zeros(calls.size)
        begin, end = self._of_calls(np.where(known, calls, 0))
        return begin, np.where(known, end, begin)

    def threads(self, calls: Integers) -> Integers:
        """The thread of each of these calls; UNKNOWN where a call is not known."""
        known = self._known_call(calls)
        threads: Integers = np.full(calls.size, UNKNOWN)
        threads[known] = self.trace.calls.thread[calls[known]]
        return threads

    def _of_calls(self, rows: Integers) -> tuple[Seconds, Seconds]:
        calls = self.trace.calls
        return self.moments(calls.start_ns[rows]), self.moments(np.maximum(calls.end_ns[rows], calls.start_ns[rows]))

    @cached_property
    def _demanded(self) -> Union:
        """When a thread was in a call, or a device had been given work that it had not begun."""
        if "calls" not in self.trace.knows:
            return _ALWAYS
        begin, end = [self.calling.begin], [self.calling.end]
        trace = self.trace
        for table in (trace.copies, trace.kernels, trace.memsets):
            given = (table.process == self.process) & self._known_call(table.call)
            begin.append(self.moments(trace.calls.start_ns[table.call[given]]))
            end.append(self.moments(table.start_ns[given]))
        queued = self._queued
        begin.append(queued[0])
        end.append(queued[1])
        return union(np.concatenate(begin), np.concatenate(end))

    @property
    def _queued(self) -> tuple[Seconds, Seconds]:
        """From when to when kernels of unknown calls were waited for by a device, at least.

        A kernel that begins as soon as what its stream did before has ended was in the queue all that time.
        """
        kernels, copies = self.trace.kernels, self.trace.copies
        mine = np.flatnonzero((kernels.process == self.process) & (kernels.call == UNKNOWN))
        if not mine.size:
            return np.zeros(0), np.zeros(0)
        moved = np.flatnonzero(copies.process == self.process)
        every = np.flatnonzero(kernels.process == self.process)
        stream = np.concatenate([kernels.stream[every], copies.stream[moved]])
        device = np.concatenate([kernels.device[every], copies.device[moved]])
        starts = np.concatenate([kernels.start_ns[every], copies.start_ns[moved]])
        ends = np.concatenate([kernels.end_ns[every], copies.end_ns[moved]])
        is_mine = np.concatenate([kernels.call[every] == UNKNOWN, np.zeros(moved.size, np.bool_)])
        order = np.lexsort((starts, stream, device))
        same = (np.diff(stream[order]) == 0) & (np.diff(device[order]) == 0)
        after = starts[order][1:] - ends[order][:-1]
        queued = same & is_mine[order][1:] & (after < 1e9 * SHORTEST_LAUNCH_SECONDS)
        return self.moments(starts[order][:-1][queued]), self.moments(starts[order][1:][queued])

    def _free_beside(self, rows: Integers) -> Union:
        """Moments at which the program waits for nothing but these copies, if for anything."""
        if self._last is None or self._last[0] is not rows:
            trace = self.trace
            others = (trace.copies.process == self.process) & (trace.copies.migration != 1)
            others[rows] = False
            concurrent = np.flatnonzero(others)
            busy = [
                self.kernels,
                self.working(trace.memsets),
                (self.device_begin(concurrent), self.device_end(concurrent)),
            ]
            begin, end = (np.concatenate(each) for each in zip(*busy, strict=True))
            self._last = (rows, self._demanded.without(union(begin, end)))
        return self._last[1]

    @cached_property
    def _at_work(self) -> Union:
        """When a device worked for this process, or a copy of it was in progress."""
        copies = self.trace.copies
        every = np.flatnonzero(copies.process == self.process)
        busy = [
            *(self.kernels, self.working(self.trace.memsets)),
            *((self.device_begin(every), self.device_end(every)), self.occupied(every)),
        ]
        return union(*(np.concatenate(each) for each in zip(*busy, strict=True)))

    @cached_property
    def _calling_or_at_work(self) -> Union:
        """When a thread was in a call, or a device worked for this process."""
        return union(*(np.concatenate(each) for each in zip(self.calling, self._at_work, strict=True)))

    def _known_call(self, calls: Integers) -> Mask:
        return (calls >= 0) & (calls < len(self.trace.calls))

    @cached_property
    def _copies_of_call(self) -> Integers:
        calls = self.trace.copies.call
        return np.bincount(calls[self._known_call(calls)], minlength=max(len(self.trace.calls), 1))

    @cached_property
    def _asynchronous(self) -> Mask:
        """Whether calls of each name return before what they ask for is done; the last entry is for no name."""
        return np.array([*map(vendors.asynchronous, self.trace.names), True])


def scenes(traces: Sequence[Trace], rates: Rates) -> list[Scene]:
    """Every process of every trace that made or computed anything; those that no record names count as one."""
    all_scenes = []
    for trace in traces:
        tables = (trace.copies, trace.calls, trace.kernels, trace.allocations)
        processes = np.unique(np.concatenate([table.process for table in tables]))
        other = rates if other_devices([trace], rates.run) else None
        for process in processes.tolist():
            sample = sample_of(trace, process)
            all_scenes.append(Scene(sample.whole if sample else trace, process, other, sample))
    return all_scenes
