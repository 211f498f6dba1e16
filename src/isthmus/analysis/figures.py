"""Measured cases as figures: times and rates with their intervals, and why a case has none; worked out here alone."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from isthmus.analysis.statistics.curve import case_metric, rate_of
from isthmus.analysis.statistics.once import once
from isthmus.document.grid import Cell, brief, failed, interval_cell, missing, skipped
from isthmus.language import say
from isthmus.record import Case, Interval, Metric, Run, median_interval


class Figure(NamedTuple):
    """One case; `seconds` is None where it was skipped, too short for the clock, or its data was wrong."""

    case: Case
    seconds: Interval | None
    wide: bool = False

    @property
    def is_wrong(self) -> bool:
        """Whether it was measured, and its data was wrong."""
        return self.case.verified == "no" and not self.case.skipped

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
    samples = case.samples(case_metric(case)) or case.samples("device_seconds")
    if case.skipped or case.verified == "no" or min(samples, default=0) <= 0:
        return Figure(case, None)
    seconds = median_interval(samples)
    return Figure(case, seconds, seconds.relative_half_width > run.settings.target_relative_half_width)


def paired(case: Case, over: Metric, under: Metric) -> Interval | None:
    """One metric over another, sample by sample: a device that changes its clock does so for both.

    None unless every sample has both, as times that the clock can tell from nothing.
    """
    times, others = case.samples(over), case.samples(under)
    if len(times) != len(others) or min((*times, *others), default=0) <= 0:
        return None
    return median_interval([one / other for one, other in zip(times, others, strict=True)])


def figure_cell(figure: Figure | None, unit: Literal["GB/s", "ns"] = "GB/s") -> Cell:
    """The rate in GB/s or the time in ns; the reason where that is missing, wrong or skipped."""
    if figure is None:
        return missing()
    if figure.is_wrong:
        return failed(figure.case.note)
    value = figure.seconds if unit == "ns" else figure.rate
    return narrow_cell(value, unit, wide=figure.wide) if value else skipped(figure.case.note)


def narrow_cell(value: Interval, unit: Literal["GB/s", "ns"] = "GB/s", *, wide: bool = False) -> Cell:
    """Bytes per second in GB/s or seconds in ns, for tables of many columns: pointing at it shows the interval."""
    shown = interval_cell(value, scale=1e9 if unit == "ns" else 1e-9, wide=wide)
    return replace(brief(shown), detail=say("common.half", half=shown.half_width, unit=unit))
