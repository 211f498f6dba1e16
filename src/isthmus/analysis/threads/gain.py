"""Whether more threads than one move more: yes, little at most, not, or unknown; and how many are enough."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from isthmus.analysis.statistics.contrast import MATTERS, above
from isthmus.analysis.statistics.curve import Point
from isthmus.analysis.threads.model import ThreadCurve, most_complete, worker_curves
from isthmus.grouping import grouped

Answer = Literal["yes", "no", "cannot tell"]

# Up to this bound on what threads gain, one thread is the answer.
_LITTLE = 1.25


@dataclass(frozen=True)
class Gain:
    """What more threads are worth for one memory kind, direction and size.

    `one` is the rate of a single thread that copies everything in one call, `curve` that of more threads. The answer is
    "yes" where the 95 % intervals of more than one number of threads (of one, if no more were measured) lie above that
    of one thread, by a factor that matters; "no" where none does and none leaves room for more than 1.25; else the run
    cannot tell. `most` is the largest factor that the intervals leave room for.
    """

    one: Point
    curve: ThreadCurve
    answer: Answer
    most: float

    @property
    def points(self) -> dict[int, Point]:
        """By number of threads, one among them."""
        return {**self.curve.points, 1: self.one}

    @property
    def enough(self) -> int:
        """The number of threads beyond which there is no significant gain."""
        return enough_threads(self.points)

    @property
    def slowdown(self) -> tuple[int, float] | None:
        """The most threads with their rate over the best, where that is lower by so much that fewer are the answer."""
        most, best = max(self.points), max(self.points.values(), key=lambda point: point.rate.median)
        last = self.points[most]
        factor = last.rate.median / best.rate.median
        return (most, factor) if above(best, last) and factor * _LITTLE < 1 else None


def thread_gains(curves: Sequence[ThreadCurve]) -> list[Gain]:
    """One answer for each memory kind, direction and size for which one thread and more of them were measured."""
    groups = grouped(worker_curves(curves), lambda curve: curve.subject)
    return [gain for group in groups.values() if (gain := _gain(group))]


def enough_threads(points: Mapping[int, Point]) -> int:
    """The smallest number of threads that no larger one beats by a factor that matters, intervals apart."""
    counts = sorted(points)
    return next(
        count
        for place, count in enumerate(counts)
        if not any(_gains(points[more], points[count]) for more in counts[place + 1 :])
    )


def _gain(curves: Sequence[ThreadCurve]) -> Gain | None:
    # A whole copy rather than one in chunks.
    singles = sorted((curve for curve in curves if 1 in curve.points), key=lambda curve: curve.slicing != "slices")
    several = [curve for curve in curves if _several(curve)]
    if not singles or not several:
        return None
    one = singles[0].points[1]
    gaining = _gaining(several, one)
    curve = _unbeaten(gaining) if gaining else most_complete(several)
    most = max(point.rate.high for each in several for point in _several(each)) / one.rate.low
    lone = any(_gains(point, one) for each in several for point in _several(each))
    answer: Answer = "yes" if gaining else "no" if most <= _LITTLE and not lone else "cannot tell"
    return Gain(one, curve, answer, most)


def _unbeaten(curves: Sequence[ThreadCurve]) -> ThreadCurve:
    """The curve with the most numbers of threads, then the plainest, of those whose best point no other beats."""
    ends = {id(curve): max(_several(curve), key=lambda point: point.rate.median) for curve in curves}
    unbeaten = [curve for curve in curves if not any(_gains(end, ends[id(curve)]) for end in ends.values())]
    return most_complete(unbeaten)


def _gaining(curves: Sequence[ThreadCurve], one: Point) -> list[ThreadCurve]:
    """The curves that gain.

    At a single number of threads, of the curve or of all of them, a difference may be chance: with so many to choose
    from, one is.
    """
    gaining = [(curve, sum(_gains(point, one) for point in _several(curve))) for curve in curves]
    measured = sum(len(_several(curve)) for curve in curves)
    if sum(count for _, count in gaining) < min(2, measured):
        return []
    return [curve for curve, count in gaining if count >= min(2, len(_several(curve)))]


def _several(curve: ThreadCurve) -> list[Point]:
    return [point for count, point in curve.points.items() if count > 1]


def _gains(point: Point, other: Point) -> bool:
    return above(point, other) and point.rate.median >= MATTERS * other.rate.median
