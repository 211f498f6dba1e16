"""What kind of memory an address was of at a moment, from the calls that allocated and freed memory."""

from bisect import bisect_left, insort

import numpy as np

from isthmus.trace.columns import UNKNOWN, Allocations, Integers, memory_index

# Other memory that programs get is the device's, whose addresses tell it from the host's by their side of a copy.
_KINDS = (memory_index("pinned"), memory_index("managed"))


def kinds_at(process: Integers, address: Integers, moment: Integers, allocations: Allocations) -> Integers:
    """The kind of each address, which is of one of these processes, at its moment: pinned or managed, else UNKNOWN."""
    kinds = np.full(address.size, UNKNOWN, np.int64)
    wanted = np.isin(allocations.kind, _KINDS)
    for each in np.intersect1d(process, allocations.process[wanted]).tolist():
        mine = np.flatnonzero(process == each)
        events = allocations.taken(np.flatnonzero(wanted & (allocations.process == each)))
        # How many of the events, which are in order, came before.
        before = np.searchsorted(events.start_ns, moment[mine])
        order = np.argsort(before, kind="stable")
        counts, first = np.unique(before[order], return_index=True)
        live = _Live(events)
        for count, rows in zip(counts.tolist(), np.split(mine[order], first[1:]), strict=True):
            live.advance(count)
            kinds[rows] = live.kinds(address[rows])
    return kinds


class _Live:
    """The memory that a process holds."""

    def __init__(self, events: Allocations) -> None:
        columns = (events.address, events.bytes, events.kind, events.release)
        self._events = list(zip(*(column.tolist() for column in columns), strict=True))
        self._done = 0
        self._held: list[tuple[int, int, int]] = []

    def advance(self, count: int) -> None:
        """Go on to when so many events have been."""
        for address, size, kind, release in self._events[self._done : count]:
            place = bisect_left(self._held, (address, UNKNOWN, UNKNOWN))
            if place < len(self._held) and self._held[place][0] == address:
                del self._held[place]
            if not release and size > 0:
                insort(self._held, (address, address + size, kind))
        self._done = count

    def kinds(self, addresses: Integers) -> Integers:
        """The kind of each address; UNKNOWN where nothing is held."""
        if not self._held:
            return np.full(addresses.size, UNKNOWN, np.int64)
        begin, end, kind = np.array(self._held, np.int64).T
        place = np.maximum(np.searchsorted(begin, addresses, "right") - 1, 0)
        inside = (begin[place] <= addresses) & (addresses < end[place])
        return np.where(inside, kind[place], UNKNOWN)
