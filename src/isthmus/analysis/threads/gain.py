"""Whether more threads than one move more: for certain, little at most, not, or unknown; how many are enough."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from isthmus.analysis.statistics.contrast import MATTERS, above, paired
from isthmus.analysis.statistics.curve import Point
from isthmus.analysis.threads.model import ThreadCurve, most_complete, worker_curves
from isthmus.record import Direction

__all__ = ["Answer", "Gain", "enough_threads", "thread_gains"]

Answer = Literal["yes", "little", "no", "cannot tell"]

# A bound on what threads gain, up to which it is an answer to plan with and no doubt to resolve.
_LITTLE = 1.25


@dataclass(frozen=True)
class Gain:
    """What more threads are worth for one memory kind, direction and size.

    `one` is the rate of a single thread that copies everything in one call, `best` the highest rate of `threads` of
    them, on `curve`. The answer is "yes" where the 95 % intervals of more than one number of threads (of one, if no
    more were measured) lie above that of one thread, by a factor that matters; "no" where no interval leaves room for
    such a factor; "little" where none leaves room for more than 1.25 and none lies above that of one thread; else the
    run cannot tell. `most` is the largest factor that the intervals leave room for.
    """

    one: Point
    curve: ThreadCurve
    threads: int
    best: Point
    answer: Answer
    most: float
    slower_from: int | None

    @property
    def factor(self) -> float:
        """The best rate over that of one thread."""
        return self.best.rate.median / self.one.rate.median

    @property
    def enough(self) -> int:
        """The number of threads beyond which nothing certain is gained."""
        return enough_threads({**self.curve.points, 1: self.one})


def thread_gains(curves: Sequence[ThreadCurve]) -> list[Gain]:
    """One answer for each memory kind, direction and size for which one thread and more of them were measured."""
    groups: dict[tuple[str, Direction, int], list[ThreadCurve]] = {}
    for curve in worker_curves(curves):
        groups.setdefault(curve.subject, []).append(curve)
    return [gain for group in groups.values() if (gain := _gain(group))]


def enough_threads(points: Mapping[int, Point]) -> int:
    """The smallest number of threads that no larger one beats for certain and by a factor that matters."""
    counts = sorted(points)
    return next(
        count
        for place, count in enumerate(counts)
        if not any(_gains(points[more], points[count]) for more in counts[place + 1 :])
    )


def _gain(curves: Sequence[ThreadCurve]) -> Gain | None:
    one = _single(curves)
    several = [curve for curve in curves if any(count > 1 for count in curve.points)]
    if one is None or not several:
        return None
    certain = _certain(several, one)
    curve = _unbeaten(certain) if certain else most_complete(several)
    most = max(point.rate.high for each in several for count, point in each.points.items() if count > 1) / one.rate.low
    slower = paired([(count, one, point) for count, point in curve.points.items() if count > 1])
    start = slower.faster_from if slower else None
    return Gain(
        one=one,
        curve=curve,
        threads=_best(curve),
        best=curve.points[_best(curve)],
        answer="yes" if certain else _without_certain(several, one, most),
        most=most,
        slower_from=start if slower and start and slower.span(start)[0] >= MATTERS else None,
    )


def _without_certain(curves: Sequence[ThreadCurve], one: Point, most: float) -> Answer:
    if most < MATTERS:
        return "no"
    lone = any(_gains(point, one) for curve in curves for point in _several(curve))
    return "little" if most <= _LITTLE and not lone else "cannot tell"


def _single(curves: Sequence[ThreadCurve]) -> Point | None:
    """The rate of one thread, of a whole copy rather than of one in chunks."""
    singles = sorted((curve for curve in curves if 1 in curve.points), key=lambda curve: curve.slicing != "slices")
    return singles[0].points[1] if singles else None


def _unbeaten(curves: Sequence[ThreadCurve]) -> ThreadCurve:
    """Of the ways that no other certainly beats the one with the most numbers of threads, then the plainest."""
    ends = {id(curve): curve.points[_best(curve)] for curve in curves}
    unbeaten = [curve for curve in curves if not any(_gains(end, ends[id(curve)]) for end in ends.values())]
    return most_complete(unbeaten)


def _best(curve: ThreadCurve) -> int:
    return max((count for count in curve.points if count > 1), key=lambda count: curve.points[count].rate.median)


def _certain(curves: Sequence[ThreadCurve], one: Point) -> list[ThreadCurve]:
    """The curves that gain for certain.

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
