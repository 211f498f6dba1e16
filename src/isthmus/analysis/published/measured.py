"""What a run measured of a published series: the cases with its fields, as values with intervals by place."""

from collections.abc import Mapping
from typing import NamedTuple

from isthmus.analysis.published.source import Fields, Series
from isthmus.analysis.statistics.contrast import ratio
from isthmus.analysis.statistics.curve import Point, case_point, is_resolved
from isthmus.record import Case, Interval, Run


class Measured(NamedTuple):
    """A value of this run; `words` stand for it where it is an answer, which may have no number."""

    value: Interval | None
    wide: bool = False
    words: str = ""


def measured(run: Run, series: Series) -> Mapping[int, Measured]:
    """Values by place of the cases that have the fields of the series."""
    points = _points(run, series.along, series.case)
    if series.quantity == "times":
        others = _points(run, series.along, {**series.case, **series.over})
        return {place: _quotient(point, others[place]) for place, point in points.items() if place in others}
    return {
        place: Measured(point.rate if series.quantity == "rate" else point.seconds, not point.converged)
        for place, point in points.items()
    }


def quotient(over: Interval, under: Interval, target: float) -> Measured:
    """Two times divided; each is known as well as the run aimed at, so their quotient within twice that."""
    value = ratio(over, under)
    return Measured(value, value.relative_half_width > 2 * target)


def _quotient(point: Point, other: Point) -> Measured:
    return quotient(point.seconds, other.seconds, point.target_relative_half_width)


def _points(run: Run, along: str, fields: Fields) -> dict[int, Point]:
    target = run.settings.target_relative_half_width
    points: dict[int, Point] = {}
    for case in run.cases:
        if _has(case, fields) and is_resolved(case) and case.verified != "no":
            points.setdefault(getattr(case, along) or 0 if along else 0, case_point(case, target))
    return points


def _has(case: Case, fields: Fields) -> bool:
    return all(getattr(case, name) == value for name, value in fields.items())
