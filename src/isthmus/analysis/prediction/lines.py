"""Latency, rate, half-rate size and changes of pace of every curve of a run."""

from collections.abc import Sequence

from isthmus.analysis.labels import DIRECTIONS, curve_name, direction_title, kind_rank, run_title
from isthmus.analysis.phrases import about_bytes
from isthmus.analysis.prediction.check import CurveCheck
from isthmus.analysis.statistics.segments import Segment, breakpoints
from isthmus.analysis.statistics.shape import half_size
from isthmus.document.grid import Cell, Column, Grid, Group, Row, interval_cell, time_cell
from isthmus.language import enumerated, say
from isthmus.record import Interval, Run, format_bytes

__all__ = ["NOTHING", "lines_grid"]

# Where the run says nothing.
NOTHING = Cell("-", state="missing")


def lines_grid(runs: Sequence[Run], index: int, checks: Sequence[CurveCheck]) -> Grid:
    """A row for each curve of one run, by direction."""
    columns = (
        Column(say("prediction_report.latency"), say("prediction_report.latency")),
        Column(say("prediction_report.rate_heading"), say("prediction_report.rate")),
        Column(say("prediction_report.half_heading"), say("prediction_report.half")),
        Column(say("prediction_report.changes"), say("prediction_report.changes"), prose=True),
    )
    groups = []
    for direction in DIRECTIONS:
        of_direction = [check for check in checks if check.curve.direction == direction]
        rows = tuple(_row(check) for check in sorted(of_direction, key=lambda each: kind_rank(each.curve.host_memory)))
        if rows:
            groups.append(Group(direction_title(direction), rows))
    title = say("prediction_report.lines_part") if len(runs) == 1 else run_title(runs, index)
    return Grid(title, columns, tuple(groups), corner=say("prediction_report.memory"))


def _row(check: CurveCheck) -> Row:
    segments = check.predictor.segments
    half = half_size(check.curve)
    pairs = [say("common.range", low=format_bytes(low), high=format_bytes(high)) for low, high in breakpoints(segments)]
    rate = _rate(check, segments[-1])
    cells = (
        time_cell(segments[0].latency),
        interval_cell(rate, scale=1e-9) if rate else NOTHING,
        Cell(f"{'<= ' if half.at_most else ''}{about_bytes(half.bytes)}") if half else NOTHING,
        Cell(enumerated(pairs) or say("prediction_report.none")),
    )
    return Row(curve_name(check.curve), cells)


def _rate(check: CurveCheck, segment: Segment) -> Interval | None:
    """Bytes that cross the link a second: both directions together where both run."""
    point = check.curve.points[-1]
    moved = point.bytes_moved / point.bytes
    return Interval(*(moved * end for end in segment.rate)) if segment.rate else None
