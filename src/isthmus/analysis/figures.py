"""Measured cases as figures: times and rates with intervals, why a case has none, and points and legends of charts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, TypeVar

from isthmus.analysis.labels import details, in_one_text
from isthmus.analysis.phrases import link_rate
from isthmus.analysis.statistics.curve import Point, case_metric, case_point, rate_of
from isthmus.analysis.statistics.once import once
from isthmus.document.chart import Look, Row, row
from isthmus.document.grid import Cell, brief, failed, interval_cell, missing, skipped
from isthmus.document.section import LegendEntry
from isthmus.language import say
from isthmus.record import Case, Interval, Metric, Run, format_rate, median_interval

_Place = TypeVar("_Place", int, float)


class Figure(NamedTuple):
    """One case; `measured` is None where it was skipped or is too short for the clock."""

    case: Case
    measured: Point | None

    @property
    def is_wrong(self) -> bool:
        """Whether it was measured, and its data was wrong."""
        return self.case.verified == "no" and not self.case.skipped

    @property
    def point(self) -> Point | None:
        """What was measured, unless its data was wrong: no conclusion may rest on that."""
        return None if self.case.verified == "no" else self.measured

    @property
    def seconds(self) -> Interval | None:
        """What it took."""
        return self.point.seconds if self.point else None

    @property
    def wide(self) -> bool:
        """Whether that is known less precisely than the run set out to."""
        return self.point is not None and not self.point.converged

    @property
    def rate(self) -> Interval | None:
        """Bytes per second of all that crossed the link; None without a time."""
        moved = self.case.moved_bytes or self.case.bytes_moved
        return rate_of(moved, self.seconds) if self.seconds else None


@once()
def figures(run: Run, experiment: str) -> Sequence[Figure]:
    """A figure for each case of the experiment, in the order of the run."""
    return [figure_of(run, case) for case in run.cases if case.experiment == experiment]


def figure_of(run: Run, case: Case) -> Figure:
    """A case as a figure: on the host's clock, or on the device's where the case has no other."""
    usual = case_metric(case)
    metric: Metric = usual if case.samples(usual) else "device_seconds"
    if case.skipped or min(case.samples(metric), default=0) <= 0:
        return Figure(case, None)
    return Figure(case, case_point(case, run.settings.target_relative_half_width, metric))


def paired(case: Case, over: Metric, under: Metric) -> Interval | None:
    """One metric over another, sample by sample: a device that changes its clock does so for both.

    None unless every sample has both, as times that the clock can tell from nothing.
    """
    times, others = case.samples(over), case.samples(under)
    if len(times) != len(others) or min((*times, *others), default=0) <= 0:
        return None
    return median_interval([one / other for one, other in zip(times, others, strict=True)])


def cell_of(figure: Figure | None, shown: Callable[[Point], Cell]) -> Cell:
    """What was measured, as `shown` shows it; the reason where that is missing, wrong or skipped."""
    if figure is None:
        return missing()
    if figure.is_wrong:
        return failed(figure.case.note)
    return shown(figure.point) if figure.point else skipped(figure.case.note)


def figure_cell(figure: Figure | None, unit: Literal["GB/s", "ns"] = "GB/s") -> Cell:
    """The rate in GB/s or the time in ns, in a table of many columns."""
    value = figure and (figure.seconds if unit == "ns" else figure.rate)
    return cell_of(figure, lambda point: narrow_cell(value or point.rate, unit, wide=not point.converged))


def rate_cell(point: Point | None) -> Cell:
    """The rate in GB/s with its interval; what it took on hovering."""
    if point is None:
        return missing()
    return interval_cell(point.rate, scale=1e-9, wide=not point.converged, detail=in_one_text(details(point)))


def brief_rate(point: Point | None) -> Cell:
    """The rate in GB/s alone, for first screens."""
    return brief(interval_cell(point.rate, scale=1e-9, wide=not point.converged)) if point else missing()


def quotient_cell(value: Interval | None, target: float, *, scale: float = 1.0, detail: str = "") -> Cell:
    """A quotient of two figures, each known as well as the run aimed at: within `target`, relatively."""
    return interval_cell(value, scale=scale, wide=bool(value and value.relative_half_width > 2 * target), detail=detail)


def narrow_cell(value: Interval, unit: Literal["GB/s", "ns"] = "GB/s", *, wide: bool = False) -> Cell:
    """Bytes per second in GB/s or seconds in ns, for tables of many columns: pointing at it shows the interval."""
    shown = interval_cell(value, scale=1e9 if unit == "ns" else 1e-9, wide=wide)
    return replace(brief(shown), detail=say("common.half", half=shown.half_width, unit=unit))


def rate_rows(
    name: str, points: Mapping[_Place, Point], shown: Callable[[_Place], Mapping[str, str]]
) -> tuple[Row, ...]:
    """The points of a curve of rates by their places; pointing at one shows where it is, and the figures."""
    return tuple(
        row(name, place, point.rate.scaled(1e-9), **shown(place), **details(point)) for place, point in points.items()
    )


def link_rules(run: Run, *, both: bool = False) -> list[tuple[float, str]]:
    """A line at the rate of the link, in GB/s; of both directions twice as high. None where no link is known."""
    limit = link_rate(run, both=both)
    return [(limit / 1e9, say("labels.link_rate", rate=format_rate(limit)))] if limit else []


def legend_of(looks: Mapping[str, Look]) -> tuple[LegendEntry, ...]:
    """Names of curves with their looks."""
    return tuple(LegendEntry(*each) for each in looks.items())
