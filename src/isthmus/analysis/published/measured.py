"""What a run measured of a published series: the cases with its fields, as values with intervals by place."""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from isthmus.analysis.published.source import Fields, Series
from isthmus.analysis.statistics.contrast import ratio
from isthmus.analysis.statistics.curve import Point, case_metric, case_point, is_resolved
from isthmus.analysis.statistics.once import once
from isthmus.grouping import grouped
from isthmus.record import Case, Interval, Metric, Run


class Measured(NamedTuple):
    """A value of this run; `words` stand for it where it is an answer, which may have no number."""

    value: Interval | None
    wide: bool = False
    words: str = ""


def measured(run: Run, series: Series) -> Mapping[int, Measured]:
    """Values by place of the cases that have the fields of the series."""
    points = _points(run, series.along, series.case, series.metric)
    if series.quantity == "times":
        others = _points(run, series.along, {**series.case, **series.over}, series.metric)
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


def _points(run: Run, along: str, fields: Fields, metric: Metric | None) -> dict[int, Point]:
    target = run.settings.target_relative_half_width
    points: dict[int, Point] = {}
    # A run has thousands of cases, and a report asks of hundreds of series: the rarest field says which to look at.
    candidates = min((_valid(run, name).get(value, ()) for name, value in fields.items()), key=len)
    for case in candidates:
        place = getattr(case, along) or 0 if along else 0
        if place not in points and _has(case, fields) and min(case.samples(metric or case_metric(case)), default=0) > 0:
            points[place] = case_point(case, target, metric)
    return points


@once(kept=32)
def _valid(run: Run, field: str) -> Mapping[object, Sequence[Case]]:
    """The cases that have figures, by the value of a field."""
    return grouped(_with_figures(run), attrgetter(field))


@once()
def _with_figures(run: Run) -> Sequence[Case]:
    return [case for case in run.cases if case.verified != "no" and is_resolved(case)]


def _has(case: Case, fields: Fields) -> bool:
    return all(getattr(case, name) == value for name, value in fields.items())
