"""Sets of moments as intervals that do not overlap: their length, what they cover, and what they leave free."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from isthmus.trace.columns import Integers

# Whole nanoseconds, or seconds.
Moments = npt.NDArray[Any]


class Union(NamedTuple):
    """Ascending intervals that neither touch nor overlap, all in one unit of time."""

    begin: Moments
    end: Moments

    @property
    def length(self) -> Any:
        """How long all of them last together, a number as their ends are."""
        return (self.end - self.begin).sum().item()

    def before(self, moments: Moments) -> Moments:
        """How much of the union is before each of these moments."""
        if not self.begin.size:
            return np.zeros_like(moments)
        lasted = self.end - self.begin
        last = np.searchsorted(self.begin, moments, "right") - 1
        begun = np.maximum(last, 0)
        inside = np.clip(moments - self.begin[begun], 0, lasted[begun])
        return np.where(last >= 0, (np.cumsum(lasted) - lasted)[begun] + inside, 0)

    def covered(self, begin: Moments, end: Moments) -> Moments:
        """How much of each of these intervals is in the union."""
        lengths: Moments = np.maximum(self.before(end) - self.before(begin), 0)
        return lengths

    def without(self, other: "Union") -> "Union":
        """The moments that are in this union and not in the other."""
        bounds = np.unique(np.concatenate([*self, *other]))
        inside = self._holds(bounds[:-1]) & ~other._holds(bounds[:-1])
        return union(bounds[:-1][inside], bounds[1:][inside])

    def gaps(self, begin: int, end: int) -> "Union":
        """What of this time the union leaves free."""
        return union(np.array([begin]), np.array([end])).without(self)

    def _holds(self, moments: Moments) -> npt.NDArray[np.bool_]:
        """Whether each moment, and what follows it at once, is in the union."""
        if not self.begin.size:
            return np.zeros(moments.size, np.bool_)
        last = np.searchsorted(self.begin, moments, "right") - 1
        return (last >= 0) & (moments < self.end[np.maximum(last, 0)])


def union(begin: Moments, end: Moments) -> Union:
    """The union of intervals in any order; those that do not end after they begin leave no trace."""
    lasting = end > begin
    order = np.argsort(begin[lasting], kind="stable")
    starts, ends = begin[lasting][order], np.maximum.accumulate(end[lasting][order])
    if not starts.size:
        return Union(starts, ends)
    first: Integers = np.concatenate(([True], starts[1:] > ends[:-1]))
    last = np.concatenate((first[1:], [True]))
    return Union(starts[first], ends[last])
