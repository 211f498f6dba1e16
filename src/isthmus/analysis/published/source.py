"""Figures published elsewhere: data files next to this module, one for each source, keyed by fields of cases."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from operator import attrgetter
from typing import Literal, NamedTuple

import msgspec

from isthmus.analysis.statistics.contrast import ratio
from isthmus.analysis.statistics.curve import Point, case_metric, case_point, is_resolved
from isthmus.analysis.statistics.once import once
from isthmus.grouping import grouped
from isthmus.record import Case, Interval, Metric, Run

Quantity = Literal["seconds", "rate", "times", "size", "percent"]
# Fields of a case with the values that they must have.
Fields = Mapping[str, str | int | float | None]
Ends = tuple[float, float]


class Measured(NamedTuple):
    """A value of this run; `words` stand for it where it is an answer, which may have no number."""

    value: Interval | None
    wide: bool = False
    words: str = ""


class Series(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Published values of one quantity, by a field of cases.

    Its name in a report is ``published.series_`` and `text`, or `name`, with `words` that read alike in every language;
    `name` itself where there is no such text, or kind of memory and way where it is a rate of such.

    `case` are the fields that a measured case must have; `over` are those that differ in the case by whose time its own
    is divided. `values` are by the value of the field `along`, by "" where there is none. Two numbers are a range, with
    `quotient` the first over the second; null is "never". With `union` the table also has places that were measured
    and not published; with `between`, the first and last place to look at, it has one row for the range over all.
    `metric` names the clock where it was not the host's.
    """

    name: str
    quantity: Quantity
    values: dict[str, float | Ends | None]
    text: str = ""
    words: Mapping[str, str] = {}
    case: Fields = {}
    over: Fields = {}
    along: str = ""
    union: bool = False
    quotient: bool = False
    between: tuple[int, int] | None = None
    metric: Metric | None = None

    @property
    def by_place(self) -> Mapping[int, Ends | None]:
        """Smallest and largest published value by place, 0 where there is no `along`."""
        return {int(place or 0): self._ends(value) for place, value in self.values.items()}

    def _ends(self, value: float | Ends | None) -> Ends | None:
        if isinstance(value, tuple):
            return (value[0] / value[1],) * 2 if self.quotient else value
        return None if value is None else (value, value)


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one source says about one experiment; `beside` are sets of fields that each make a column of the run.

    The series named in `by_place` also make a table of their own: a row for each place, and columns for each series.
    """

    series: tuple[Series, ...]
    case: Fields = {}
    beside: tuple[Fields, ...] = ({},)
    by_place: tuple[str, ...] = ()


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A publication and the machine that it measured, which ``published.machine_`` and `machine` name.

    Rates are in `rate_unit`, of `rate_unit_bytes` each.
    `link_bytes_per_second` is the theoretical rate of that machine's link, one way, where it is known.
    `commands` repeat it; ``published.question_`` and ``published.answer_`` with `machine` say what it asks, and what
    came of that here.
    """

    citation: str
    machine: str
    commands: tuple[str, ...]
    experiments: dict[str, Table]
    rate_unit: str = "GB/s"
    rate_unit_bytes: float = 1e9
    link_bytes_per_second: float | None = None


@cache
def sources() -> tuple[Source, ...]:
    """All of them."""
    paths = sorted((path for path in files(__package__).iterdir() if path.name.endswith(".json")), key=str)
    return tuple(msgspec.json.decode(path.read_bytes(), type=Source) for path in paths)


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
