"""Up to which share, and from which stride on, one method to move an array beats copying all of it."""

from typing import NamedTuple

from isthmus.analysis.managed.model import ManagedWay, Movement
from isthmus.analysis.statistics.resample import resampled_medians
from isthmus.analysis.statistics.threshold import Threshold, size_threshold, uses_threshold

# What a program does first, and what it does once it was made faster.
WHOLE_COPIES = (ManagedWay("explicit_whole", "pageable"), ManagedWay("explicit_whole", "pinned"))
ON_DEMAND = ManagedWay("managed", "managed")


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
    return Overtaking(method, incumbent, size_threshold(list(points), incumbents, challengers))
