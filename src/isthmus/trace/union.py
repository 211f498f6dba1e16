"""Time in which at least one of many intervals was under way."""

from typing import NamedTuple

import numpy as np

from isthmus.trace.columns import Integers


class Union(NamedTuple):
    """Intervals that neither touch nor overlap, in their order."""

    start_ns: Integers
    end_ns: Integers

    @property
    def total_ns(self) -> int:
        """How long all of them last together."""
        return int((self.end_ns - self.start_ns).sum())

    def before(self, moments: Integers) -> Integers:
        """How much of the union lies before each of these moments."""
        lasted = np.concatenate(([0], np.cumsum(self.end_ns - self.start_ns)))
        begun = np.searchsorted(self.start_ns, moments, side="right")
        # Of the last that has begun, what is still to come.
        rest = np.where(begun > 0, self.end_ns[np.maximum(begun, 1) - 1] - moments, 0) if self.start_ns.size else 0
        whole: Integers = lasted[begun] - np.maximum(rest, 0)
        return whole

    def gaps(self, start_ns: int, end_ns: int) -> "Union":
        """What of this time the union leaves free."""
        starts = np.concatenate(([start_ns], np.clip(self.end_ns, start_ns, end_ns)))
        ends = np.concatenate((np.clip(self.start_ns, start_ns, end_ns), [end_ns]))
        free = ends > starts
        return Union(starts[free], ends[free])


def union(start_ns: Integers, end_ns: Integers) -> Union:
    """The union of intervals in any order; those without a length leave no trace."""
    lasting = end_ns > start_ns
    order = np.argsort(start_ns[lasting], kind="stable")
    starts, ends = start_ns[lasting][order], np.maximum.accumulate(end_ns[lasting][order])
    if not starts.size:
        return Union(starts, ends)
    first = np.concatenate(([True], starts[1:] > ends[:-1]))
    last = np.concatenate((first[1:], [True]))
    return Union(starts[first], ends[last])
