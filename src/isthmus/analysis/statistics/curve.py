"""Rate curves: the cases of one method, direction and memory kind of a run, as points with intervals."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from isthmus.analysis.statistics.once import once
from isthmus.analysis.statistics.resample import Draws, resampled_medians
from isthmus.grouping import grouped
from isthmus.record import LEAST_SAMPLES, Case, Direction, Interval, Metric, Run, median_interval


def rate_of(size: int, seconds: Interval) -> Interval:
    """Bytes per second; the ends of the interval swap, because the longer time is the lower rate."""
    return Interval(size / seconds.median, size / seconds.high, size / seconds.low)


@dataclass(frozen=True)
class Point:
    """A measured case; `seconds` and `rate` (bytes per second) are medians with their 95 % intervals."""

    case: Case = field(repr=False)
    bytes_moved: int
    seconds: Interval
    samples: tuple[float, ...]
    target_relative_half_width: float

    @property
    def bytes(self) -> int:
        """The size of the case."""
        return self.case.bytes

    @cached_property
    def phases(self) -> Mapping[Metric, Interval]:
        """All that was timed of it: medians in seconds with their intervals, by metric."""
        return {each.metric: median_interval(each.samples) for each in self.case.series if each.samples}

    @cached_property
    def rate(self) -> Interval:
        """Bytes moved over time."""
        return rate_of(self.bytes_moved, self.seconds)

    @property
    def converged(self) -> bool:
        """Whether the run knows this median as precisely as it set out to."""
        return self.seconds.relative_half_width <= self.target_relative_half_width

    @property
    def settled(self) -> bool:
        """The same, and of enough samples for an interval: where a sample takes so long that there may be fewer."""
        return self.converged and len(self.samples) >= LEAST_SAMPLES

    @cached_property
    def spread(self) -> float:
        """95th over 5th percentile of the raw samples: 1.0 is perfectly steady."""
        low, high = np.percentile(self.samples, [5, 95])
        return float(high / low)


@dataclass(frozen=True)
class Curve:
    """The points of one method, direction and memory kind, by size; `failed` are those whose data did not arrive.

    Failed points are kept apart because no conclusion may rest on them. `alignment_bytes` is None unless the run
    varied it.
    """

    method: str
    direction: Direction
    host_memory: str
    alignment_bytes: int | None
    metric: Metric
    points: tuple[Point, ...]
    failed: tuple[Point, ...] = ()

    @cached_property
    def draws(self) -> Draws:
        """The points' medians in seconds with their bootstrap draws, a row a point; not to be changed."""
        return resampled_medians([point.samples for point in self.points])

    def at(self, size: int) -> Point | None:
        """The point of exactly this many bytes."""
        return next((point for point in self.points if point.bytes == size), None)


ONE_WAY: tuple[Direction, ...] = ("h2d", "d2h")

# What the experiment calls one direction's device time while the other direction runs; it has no host time.
_DUPLEX = "duplex"


@once()
def bandwidth_curves(run: Run) -> Sequence[Curve]:
    """The curves of a run's bandwidth experiment, in the order in which their first cases were measured.

    Skipped cases make no point, nor do cases too short for the clock; a curve without any point does not appear.
    """
    target = run.settings.target_relative_half_width
    # From a node of its own a copy is there to explain others.
    measured = [
        case for case in run.cases if case.experiment == "bandwidth" and case.node is None and is_resolved(case)
    ]
    aligned = len({case.alignment_bytes for case in measured}) > 1
    groups = grouped(
        measured,
        lambda case: (case.method, case.direction, moved_memory(case), case.alignment_bytes if aligned else None),
    )
    curves = []
    for (method, direction, memory, alignment), alike in groups.items():
        if direction is None:
            continue
        # One of each size: what the file calls another point is none to these curves.
        cases = list({case.bytes: case for case in alike}.values())
        points = [case_point(case, target) for case in sorted(cases, key=lambda case: case.bytes)]
        curves.append(
            Curve(
                method=method,
                direction=direction,
                host_memory=memory,
                alignment_bytes=alignment,
                metric=case_metric(cases[0]),
                points=tuple(point for point in points if point.case.verified != "no"),
                failed=tuple(point for point in points if point.case.verified == "no"),
            )
        )
    return curves


def moved_memory(case: Case) -> str:
    """The row of the table of memory kinds that a case belongs to: what the library copies has rows of its own."""
    return f"{case.host_memory}_isthmus" if case.method == "isthmus" else case.host_memory


def find(curves: Iterable[Curve], direction: Direction, memory: str, *, duplex: bool = False) -> Curve | None:
    """The first curve of a direction and memory kind that has a point to conclude from."""
    for curve in curves:
        if curve.direction == direction and curve.host_memory == memory and (curve.method == _DUPLEX) == duplex:
            return curve if curve.points else None
    return None


def case_metric(case: Case) -> Metric:
    """The metric that says how long a case took: completion on the host's clock wherever there is one."""
    return "device_seconds" if case.method == _DUPLEX or case.experiment == "peers" else "host_seconds"


def is_resolved(case: Case) -> bool:
    """Whether it was measured and every sample is a time: a device clock can be too coarse for one byte.

    Nothing but opening a device moves no bytes.
    """
    if case.skipped or (case.bytes == 0 and case.method != "open_device"):
        return False
    samples = case.samples(case_metric(case))
    return bool(samples) and min(samples) > 0


def case_point(case: Case, target: float, metric: Metric | None = None) -> Point:
    """A case that `is_resolved` as a point; `target` is the relative half width that the run aimed at.

    `metric` names the clock, of which there must be samples, where it is not that of `case_metric`.
    """
    samples = case.samples(metric or case_metric(case))
    return Point(case, case.bytes_moved, median_interval(samples), tuple(samples), target)


def host_curves(run: Run) -> list[Curve]:
    """The curves of `bandwidth_curves` with points, timed on the host's clock."""
    return [curve for curve in bandwidth_curves(run) if curve.points and curve.metric == "host_seconds"]
