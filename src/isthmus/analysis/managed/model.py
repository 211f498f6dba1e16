"""What each method to move an array took, by how much of it the device touched: over the share and over the stride."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from isthmus.analysis.figures import Figure, figures
from isthmus.analysis.statistics.curve import Point
from isthmus.analysis.statistics.resample import resampled_medians
from isthmus.analysis.statistics.threshold import Threshold, size_threshold, uses_threshold
from isthmus.grouping import grouped
from isthmus.record import Case, Run

# The device touches the leading percents of the array, or one double in every so many bytes of it.
Pattern = Literal["percent", "stride"]


class ManagedWay(NamedTuple):
    """How an array moves, and the memory that it is in on the host."""

    method: str
    memory: str


_PHASES = {"in_seconds", "out_seconds"}
# In the order of tables. What the paper calls manual is the first, what it calls automatic is on demand.
MANAGED_WAYS = (
    ManagedWay("explicit_whole", "pageable"),
    ManagedWay("explicit_whole", "pinned"),
    ManagedWay("explicit_touched", "pageable"),
    ManagedWay("explicit_touched", "pinned"),
    ManagedWay("managed", "managed"),
    ManagedWay("prefetch_whole", "managed"),
    ManagedWay("prefetch_touched", "managed"),
    ManagedWay("read_mostly", "managed"),
    ManagedWay("prefer_device", "managed"),
    ManagedWay("accessed_by", "managed"),
    ManagedWay("mapped", "mapped"),
    ManagedWay("system", "pageable"),
)
# What a program does first, and what it does once it was made faster.
WHOLE_COPIES = (ManagedWay("explicit_whole", "pageable"), ManagedWay("explicit_whole", "pinned"))
ON_DEMAND = ManagedWay("managed", "managed")


# By method and place.
_Figures: TypeAlias = Mapping[ManagedWay, Mapping[int, Figure]]


@dataclass(frozen=True)
class Movement:
    """One pattern over an array of so many bytes: by method the figures, ascending by percent or by stride in bytes.

    Their `in_seconds` are the copy in and the device's computing, `out_seconds` the copy out and the CPU's adding up.
    """

    bytes: int
    pattern: Pattern
    figures: _Figures

    @cached_property
    def curves(self) -> Mapping[ManagedWay, Mapping[int, Point]]:
        """What may be concluded from, by method; those without a point do not appear."""
        measured = {
            method: {
                place: each.point
                for place, each in by_place.items()
                if each.point and each.point.phases.keys() >= _PHASES
            }
            for method, by_place in self.figures.items()
        }
        return {method: points for method, points in measured.items() if points}

    @property
    def places(self) -> list[int]:
        """Every percent or stride at which something was measured."""
        return sorted({place for points in self.curves.values() for place in points})

    def at(self, method: ManagedWay, place: int) -> Point | None:
        """The point of one method at one place.

        A copy of the whole array takes the same time whatever is touched of it: its nearest point counts for all.
        """
        points = self.curves.get(method, {})
        if method.method == "explicit_whole" and points:
            return points[min(points, key=lambda each: abs(each - place))]
        return points.get(place)


def movements(run: Run) -> list[Movement]:
    """Everything that the run measured, the largest array first, percents before strides; none from skips alone."""
    known = [each for each in figures(run, "managed") if _method(each.case) in MANAGED_WAYS and _pattern(each.case)]
    all_movements: list[Movement] = []
    for size, of_size in grouped(known, lambda each: each.case.bytes).items():
        by_pattern = {
            pattern: _by_method(alike)
            for pattern, alike in grouped(of_size, lambda each: _pattern(each.case)).items()
            if pattern
        }
        all_movements += [Movement(size, pattern, _with_whole_copies(pattern, by_pattern)) for pattern in by_pattern]
    shown = (each for each in all_movements if any(one.measured for of in each.figures.values() for one in of.values()))
    return sorted(shown, key=lambda each: (-each.bytes, each.pattern))


def main_movements(run: Run) -> Mapping[Pattern, Movement]:
    """Both patterns of the largest array of which something is known."""
    measured = [each for each in movements(run) if each.curves]
    return {each.pattern: each for each in measured if each.bytes == measured[0].bytes}


def why_no_migration(run: Run) -> str:
    """Why pages of managed memory did not move in this run, as it recorded that; empty where they did."""
    notes = (case.note for case in run.cases if case.experiment == "managed" and case.method == "migration")
    return next(notes, "")


def _by_method(alike: list[Figure]) -> _Figures:
    by_method = grouped(sorted(alike, key=lambda each: _place(each.case)), lambda each: _method(each.case))
    return {
        method: {_place(each.case): each for each in by_method[method]}
        for method in MANAGED_WAYS
        if method in by_method
    }


def _with_whole_copies(pattern: Pattern, by_pattern: Mapping[Pattern, _Figures]) -> _Figures:
    """The figures of a pattern, and copies of the whole array that were measured with the other one alone.

    Those are where most of the array is touched, which is as the other pattern was measured.
    """
    own = by_pattern[pattern]
    places = [place for by_place in own.values() for place in by_place]
    place = max(places) if pattern == "percent" else min(places)
    others = [by_pattern[other] for other in by_pattern if other != pattern]
    borrowed = {
        method: {place: list(other[method].values())[-1]}
        for other in others
        for method in WHOLE_COPIES
        if method in other and method not in own
    }
    figures = {**borrowed, **own}
    return {method: figures[method] for method in MANAGED_WAYS if method in figures}


def _method(case: Case) -> ManagedWay:
    return ManagedWay(case.method, case.host_memory)


def _pattern(case: Case) -> Pattern | None:
    return "percent" if case.fraction is not None else None if case.stride_bytes is None else "stride"


def _place(case: Case) -> int:
    """Whole percents, or bytes of the stride."""
    return round(100 * case.fraction) if case.fraction is not None else case.stride_bytes or 0


class Overtaking(NamedTuple):
    """Where `way` beats copying the whole array, as `incumbent` does: in percent, or in bytes of the stride."""

    method: ManagedWay
    incumbent: ManagedWay
    threshold: Threshold


def overtakings(movement: Movement, known_within: float) -> list[Overtaking]:
    """Every method with two points at least against both incumbents, where they were measured."""
    methods = [method for method in movement.curves if method not in WHOLE_COPIES]
    return [
        answer
        for method in methods
        for incumbent in WHOLE_COPIES
        if (answer := overtaking(movement, method, incumbent, known_within))
    ]


def overtaking(movement: Movement, method: ManagedWay, incumbent: ManagedWay, known_within: float) -> Overtaking | None:
    """Where one method beats an incumbent; None where one was not measured, or with one part touched alone."""
    points = movement.curves.get(method, {})
    others = [other for place in points if (other := movement.at(incumbent, place))]
    if len(points) < 2 or not others:
        return None
    # One point of the incumbent can stand for several places: it is drawn once, as it was measured once.
    distinct = list({id(other): other for other in others}.values())
    series = [*(point.samples for point in points.values()), *(other.samples for other in distinct)]
    draws = resampled_medians(series, known_within=known_within)
    rows = {id(other): len(points) + index for index, other in enumerate(distinct)}
    incumbents, challengers = draws[[rows[id(other)] for other in others]], draws[: len(points)]
    if movement.pattern == "percent":
        # Times grow in proportion to the share that moves, so that they are straight lines over it, in whole percents.
        return Overtaking(method, incumbent, uses_threshold(list(points), incumbents - challengers))
    # Pages move whole: the times have steps.
    threshold = size_threshold(list(points), incumbents, challengers, farthest_apart=4)
    return Overtaking(method, incumbent, threshold)
