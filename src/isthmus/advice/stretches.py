"""Sets of moments as disjoint stretches of time: their unions, differences and what of an interval they cover."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from isthmus.trace import union as merged

Seconds = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Stretches:
    """Ascending stretches that do not touch one another, in seconds."""

    begin: Seconds
    end: Seconds

    @property
    def length(self) -> float:
        """Of all together."""
        return float((self.end - self.begin).sum())

    def covered(self, begin: Seconds, end: Seconds) -> Seconds:
        """How much of each interval lies in these stretches."""
        found: Seconds = np.maximum(self._until(end) - self._until(begin), 0.0)
        return found

    def without(self, other: "Stretches") -> "Stretches":
        """The moments that are in these stretches and in none of the others."""
        bounds = np.unique(np.concatenate([self.begin, self.end, other.begin, other.end]))
        inside = self._holds(bounds[:-1]) & ~other._holds(bounds[:-1])
        return union(bounds[:-1][inside], bounds[1:][inside])

    def _holds(self, moments: Seconds) -> npt.NDArray[np.bool_]:
        """Whether each moment, and what follows it at once, is in a stretch."""
        if not self.begin.size:
            return np.zeros(moments.size, np.bool_)
        place = np.searchsorted(self.begin, moments, "right") - 1
        found: npt.NDArray[np.bool_] = (place >= 0) & (moments < self.end[np.maximum(place, 0)])
        return found

    def _until(self, moments: Seconds) -> Seconds:
        """How much lies before each moment."""
        if not self.begin.size:
            return np.zeros(moments.size)
        place = np.searchsorted(self.begin, moments, "right") - 1
        last = np.maximum(place, 0)
        inside = np.clip(moments - self.begin[last], 0.0, self.end[last] - self.begin[last])
        return np.where(place >= 0, self._before[last] + inside, 0.0)

    @cached_property
    def _before(self) -> Seconds:
        lengths = self.end - self.begin
        return np.cumsum(lengths) - lengths


def union(begin: Seconds, end: Seconds) -> Stretches:
    """All moments of intervals, which may overlap in any way; those that do not end after they begin hold none."""
    return Stretches(*merged(begin, end))


# Longer than any trace, and short enough for sums of it to keep nanoseconds.
ALWAYS = Stretches(np.array([-1e6]), np.array([1e6]))
