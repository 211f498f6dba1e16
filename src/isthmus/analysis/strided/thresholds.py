"""From how many rows on, and at which widths, a method beats the driver's 2-D copy; what that copy costs a row."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from isthmus.analysis.statistics.curve import Point
from isthmus.analysis.statistics.once import once
from isthmus.analysis.statistics.resample import interval_of, resampled_medians
from isthmus.analysis.statistics.threshold import Threshold, size_threshold
from isthmus.analysis.strided.grid import StridedGrid
from isthmus.analysis.strided.model import DOUBLE, DRIVER
from isthmus.record import Interval

__all__ = ["RowCost", "StridedThreshold", "row_cost", "row_thresholds", "width_thresholds"]

# Fewer rows are lost in what a copy costs at all.
_LEAST_ROWS = 256


class StridedThreshold(NamedTuple):
    """Where a method beats the driver's copy: in rows at a width of `at` bytes, or in bytes of width at `at` rows."""

    method: str
    at: int
    threshold: Threshold


class RowCost(NamedTuple):
    """Seconds that each further row adds to the driver's copy, between two numbers of rows of one width."""

    width_bytes: int
    first_rows: int
    last_rows: int
    seconds: Interval


@once(kept=32)
def row_thresholds(grid: StridedGrid, known_within: float) -> Sequence[StridedThreshold]:
    """For each width and method that shares two numbers of rows with the driver's copy at least."""
    return [
        StridedThreshold(method, width, found)
        for method in grid.methods
        if method != DRIVER
        for width in grid.widths
        if (found := _threshold(grid.along_rows(width, DRIVER), grid.along_rows(width, method), known_within))
    ]


@once(kept=32)
def width_thresholds(grid: StridedGrid, known_within: float) -> Sequence[StridedThreshold]:
    """For each number of rows and method that shares two widths with the driver's copy at least."""
    return [
        StridedThreshold(method, rows, found)
        for method in grid.methods
        if method != DRIVER
        for rows in grid.row_counts
        if (found := _threshold(grid.along_widths(rows, DRIVER), grid.along_widths(rows, method), known_within))
    ]


def _threshold(driver: Mapping[int, Point], other: Mapping[int, Point], known_within: float) -> Threshold | None:
    common = [value for value in driver if value in other]
    if len(common) < 2:
        return None
    # Drawn together, so that the two are independent of each other.
    series = [points[value].samples for points in (driver, other) for value in common]
    draws = resampled_medians(series, known_within=known_within)
    return size_threshold(common, draws[: len(common)], draws[len(common) :])


def row_cost(grid: StridedGrid, known_within: float) -> RowCost | None:
    """Of the narrowest rows, whose bytes hardly count; None without two numbers of them that are far apart."""
    for width in (each for each in grid.widths if each <= DOUBLE):
        points = {rows: point for rows, point in grid.along_rows(width, DRIVER).items() if rows >= _LEAST_ROWS}
        if len(points) < 2:
            continue
        first, last = min(points), max(points)
        draws = resampled_medians([points[first].samples, points[last].samples], known_within=known_within)
        return RowCost(width, first, last, interval_of((draws[1] - draws[0]) / (last - first)))
    return None
