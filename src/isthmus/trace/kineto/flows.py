"""Arrows from a call to what a device did for it: rocprof and unitrace number those, and neither of the two ends."""

from bisect import bisect_right
from collections.abc import Mapping

import numpy as np

from isthmus.trace.columns import UNKNOWN, Integers
from isthmus.trace.kineto.event import Event
from isthmus.trace.kineto.times import when, whole

# unitrace numbers what a device does, and the arrow to it alike.
_OF_UNITRACE = "Flow_H2D"
_OF_ROCPROF = "DataFlow"
_MOST_FLOWS = 20_000_000


def is_of_flow(event: Event) -> bool:
    """Whether an event is one end of such an arrow; torch's own are not, whose ends are numbered."""
    category = event.cat
    return isinstance(category, str) and (category == _OF_ROCPROF or category.startswith(_OF_UNITRACE))


class Flows:
    """The ends of arrows: where each begins and where it ends, by thread or queue and moment."""

    def __init__(self) -> None:
        self._begins: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._ends: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._count = 0
        # Device and stream of each queue, by the process and thread that it is written as.
        self.queues: dict[tuple[int, int], tuple[int, int]] = {}

    def add(self, event: Event) -> None:
        """Keep one end."""
        event.dur = 1
        lasted, number = when(event), whole(event.id)
        if lasted is None or number == UNKNOWN or event.ph not in ("s", "t") or self._count >= _MOST_FLOWS:
            return
        self._count += 1
        ends = self._begins if event.ph == "s" else self._ends
        # Numbers count from 0, and correlations from 1.
        ends.setdefault((whole(event.pid), whole(event.tid)), []).append((lasted[0], number + 1))

    def of_calls(self, calls: Mapping[str, Integers]) -> Integers:
        """The number of each call that an arrow begins in, else its own correlation."""
        return _numbered(self._begins, calls, ("pid", "thread"))

    def of_device(self, records: Mapping[str, Integers]) -> Integers:
        """The number of each thing that a device did and an arrow ends at, else its own correlation."""
        ends = {self.queues.get(place, place): moments for place, moments in self._ends.items()}
        return _numbered(ends, records, ("device", "stream"))


def _numbered(
    ends: Mapping[tuple[int, int], list[tuple[int, int]]], records: Mapping[str, Integers], where: tuple[str, str]
) -> Integers:
    numbers: Integers = records["correlation"].copy()
    for place, moments in ends.items():
        mine = np.flatnonzero((records[where[0]] == place[0]) & (records[where[1]] == place[1]))
        begun = records["start_ns"][mine].tolist()
        for moment, number in sorted(moments):
            # The last that had begun.
            if (at := bisect_right(begun, moment) - 1) >= 0:
                numbers[mine[at]] = number
    return numbers
