"""Which method is the fastest at any two numbers, from the times at those that were measured."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import NamedTuple

from isthmus.analysis.statistics.curve import is_resolved
from isthmus.record import Case

__all__ = ["Choice", "HeldOut", "MethodTable", "check_table", "held_out", "method_table", "share_within"]

# Two positive numbers, such as the bytes of a piece and the number of pieces.
Spot = tuple[float, float]


class Choice(NamedTuple):
    """The fastest method at a spot with its seconds; None where that is not between measured spots.

    The method is then the fastest at the nearest spot that was measured.
    """

    method: str
    seconds: float | None

    @property
    def extrapolated(self) -> bool:
        """Whether it goes beyond what was measured."""
        return self.seconds is None


class HeldOut(NamedTuple):
    """A measured spot that a table was asked about which did not know it."""

    spot: Spot
    chosen: str
    fastest: str
    slowdown: float  # time of the chosen method over that of the fastest, both measured


@dataclass(frozen=True)
class MethodTable:
    """Seconds of each method at measured spots.

    Between them, the logarithm of the time is interpolated bilinearly in the logarithms of the two numbers, so that
    times in proportion to a power of either come out exactly. A method takes part where it was measured at every
    corner around the spot.
    """

    seconds: Mapping[str, Mapping[Spot, float]]

    def predict(self, x: float, y: float) -> dict[str, float]:
        """Seconds of each method that was measured all around the spot, the fastest first."""
        corners = self._corners(x, y)
        found = {
            method: math.exp(sum(weight * math.log(known[corner]) for corner, weight in corners))
            for method, known in self.seconds.items()
            if corners and all(corner in known for corner, _ in corners)
        }
        return dict(sorted(found.items(), key=lambda each: each[1]))

    def choose(self, x: float, y: float) -> Choice | None:
        """The fastest method at a spot of positive numbers; None for a table without any."""
        if found := self.predict(x, y):
            return Choice(*next(iter(found.items())))
        spots = {spot for known in self.seconds.values() for spot in known}
        if not spots:
            return None
        nearest = min(spots, key=lambda spot: math.hypot(math.log(spot[0] / x), math.log(spot[1] / y)))
        return Choice(self.fastest(nearest), None)

    def fastest(self, spot: Spot) -> str:
        """The fastest method at a spot that was measured."""
        return min((known[spot], method) for method, known in self.seconds.items() if spot in known)[1]

    def only(self, keep: Callable[[Spot], bool]) -> "MethodTable":
        """The table of some of the spots."""
        return MethodTable(
            {
                method: {spot: seconds for spot, seconds in known.items() if keep(spot)}
                for method, known in self.seconds.items()
            }
        )

    @cached_property
    def lines(self) -> tuple[Sequence[float], Sequence[float]]:
        """The numbers of either kind at which methods can be compared: where there is more than one, if there is."""
        methods: dict[Spot, int] = {}
        for known in self.seconds.values():
            for spot in known:
                methods[spot] = methods.get(spot, 0) + 1
        least = min(2, max(methods.values(), default=0))
        spots = [spot for spot, count in methods.items() if count >= least]
        return sorted({x for x, _ in spots}), sorted({y for _, y in spots})

    def _corners(self, x: float, y: float) -> list[tuple[Spot, float]]:
        """The measured spots around this one with their weights; none beyond the measured range."""
        sides = [_around(line, value) for line, value in zip(self.lines, (x, y), strict=True)]
        return [((ours, theirs), weight * other) for ours, weight in sides[0] for theirs, other in sides[1]]


def method_table(
    cases: Iterable[Case], x: Callable[[Case], int | None], y: Callable[[Case], int | None]
) -> MethodTable:
    """The median times of the cases whose data arrived, by what `x` and `y` take from each.

    Samples of cases with one method and spot, such as those of several runs, are taken together.
    """
    found: dict[str, dict[Spot, list[float]]] = {}
    for case in cases:
        spot = x(case), y(case)
        if is_resolved(case) and case.verified != "no" and spot[0] and spot[1]:
            samples = found.setdefault(case.method, {}).setdefault((spot[0], spot[1]), [])
            samples.extend(case.samples("host_seconds"))
    return MethodTable(
        {method: {spot: median(samples) for spot, samples in known.items()} for method, known in found.items()}
    )


def check_table(known: MethodTable, truth: MethodTable) -> list[HeldOut]:
    """How well `known` chooses at the spots of `truth` that lie between its own.

    It chooses among the methods of which the time is known there too, of which there must be more than one.
    """
    own = {spot for seconds in known.seconds.values() for spot in seconds}
    spots = {spot for seconds in truth.seconds.values() for spot in seconds} - own
    found = []
    for spot in sorted(spots):
        measured = {method: seconds[spot] for method, seconds in truth.seconds.items() if spot in seconds}
        offered = [method for method in known.predict(*spot) if method in measured]
        if len(offered) > 1:
            best = min(offered, key=measured.__getitem__)
            found.append(HeldOut(spot, offered[0], best, measured[offered[0]] / measured[best]))
    return found


def held_out(table: MethodTable) -> list[HeldOut]:
    """Every spot with neighbours on all sides, asked of a table without its row and its column.

    The neighbours are then twice as far apart as they are in use.
    """
    found = []
    for x in table.lines[0][1:-1]:
        for y in table.lines[1][1:-1]:
            coarse = table.only(lambda spot, x=x, y=y: spot[0] != x and spot[1] != y)  # type: ignore[misc]
            found += check_table(coarse, table.only(lambda spot, x=x, y=y: spot == (x, y)))  # type: ignore[misc]
    return found


def share_within(spots: Sequence[HeldOut], factor: float) -> float:
    """Share of the spots at which the chosen method takes at most `factor` times what the fastest takes."""
    return sum(each.slowdown <= factor for each in spots) / len(spots)


def _around(line: Sequence[float], value: float) -> list[tuple[float, float]]:
    """The measured numbers on either side with their weights; the number itself if it is one of them."""
    if value in line:
        return [(value, 1.0)]
    below = max((each for each in line if each < value), default=None)
    above = min((each for each in line if each > value), default=None)
    if below is None or above is None:
        return []
    share = math.log(value / below) / math.log(above / below)
    return [(below, 1 - share), (above, share)]
