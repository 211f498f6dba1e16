"""What each method to move an array took, by how much of it the device touched: over the share and over the stride."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from isthmus.analysis.statistics.curve import is_resolved
from isthmus.record import Case, Interval, Run, median_interval

# The device touches the leading percents of the array, or one double in every so many bytes of it.
Pattern = Literal["percent", "stride"]


class ManagedWay(NamedTuple):
    """How an array moves, and the memory that it is in on the host."""

    method: str
    memory: str


# In the order of tables. What the paper calls manual is the first, what it calls automatic is on demand.
MANAGED_WAYS = (
    ManagedWay("explicit_whole", "pageable"),
    ManagedWay("explicit_whole", "pinned"),
    ManagedWay("explicit_touched", "pageable"),
    ManagedWay("explicit_touched", "pinned"),
    ManagedWay("managed", "managed"),
    ManagedWay("prefetch_whole", "managed"),
    ManagedWay("prefetch_touched", "managed"),
    ManagedWay("read_mostly", "managed"),
    ManagedWay("prefer_device", "managed"),
    ManagedWay("accessed_by", "managed"),
    ManagedWay("mapped", "mapped"),
    ManagedWay("system", "pageable"),
)


@dataclass(frozen=True)
class ManagedPoint:
    """One method with one part touched: medians with 95 % intervals, in seconds.

    `into` is the copy in and the device's computing, `out` the copy out and the CPU's adding up, `seconds` both.
    """

    seconds: Interval
    into: Interval
    out: Interval
    samples: tuple[float, ...]
    converged: bool


@dataclass(frozen=True)
class Movement:
    """One pattern over an array of so many bytes: by method the points, ascending by percent or by stride in bytes.

    `failed` are those whose sum was wrong, on which no conclusion may rest; `skipped` has the reasons of others.
    """

    bytes: int
    pattern: Pattern
    curves: Mapping[ManagedWay, Mapping[int, ManagedPoint]]
    failed: Mapping[ManagedWay, tuple[int, ...]]
    skipped: Mapping[ManagedWay, Mapping[int, str]]

    @property
    def places(self) -> list[int]:
        """Every percent or stride at which something was measured."""
        return sorted({place for points in self.curves.values() for place in points})

    def at(self, method: ManagedWay, place: int) -> ManagedPoint | None:
        """The point of one method at one place.

        A copy of the whole array takes the same time whatever is touched of it: its nearest point counts for all.
        """
        points = self.curves.get(method, {})
        if method.method == "explicit_whole" and points:
            return points[min(points, key=lambda each: abs(each - place))]
        return points.get(place)


def movements(run: Run) -> list[Movement]:
    """Everything that the run measured, the largest array first, percents before strides; none from skips alone."""
    cases: dict[tuple[int, Pattern], list[Case]] = {}
    for case in run.cases:
        if case.experiment == "managed" and ManagedWay(case.method, case.host_memory) in MANAGED_WAYS:
            if case.fraction is not None:
                cases.setdefault((case.bytes, "percent"), []).append(case)
            elif case.stride_bytes is not None:
                cases.setdefault((case.bytes, "stride"), []).append(case)
    target = run.settings.target_relative_half_width
    all_movements = [_movement(size, pattern, of_one, target) for (size, pattern), of_one in cases.items()]
    return sorted(
        (each for each in all_movements if each.curves or each.failed), key=lambda each: (-each.bytes, each.pattern)
    )


def main_movements(run: Run) -> Mapping[Pattern, Movement]:
    """Both patterns of the largest array of which something is known."""
    measured = [each for each in movements(run) if each.curves]
    return {each.pattern: each for each in measured if each.bytes == measured[0].bytes}


def why_no_migration(run: Run) -> str:
    """Why pages of managed memory did not move in this run, as it recorded that; empty where they did."""
    notes = (case.note for case in run.cases if case.experiment == "managed" and case.method == "migration")
    return next(notes, "")


def _movement(size: int, pattern: Pattern, cases: list[Case], target: float) -> Movement:
    curves: dict[ManagedWay, dict[int, ManagedPoint]] = {}
    failed: dict[ManagedWay, tuple[int, ...]] = {}
    skipped: dict[ManagedWay, dict[int, str]] = {}
    for case in sorted(cases, key=_place):
        method, place = ManagedWay(case.method, case.host_memory), _place(case)
        if case.verified == "no":
            failed[method] = (*failed.get(method, ()), place)
        elif case.skipped:
            skipped.setdefault(method, {})[place] = case.note
        elif is_resolved(case) and case.samples("in_seconds") and case.samples("out_seconds"):
            curves.setdefault(method, {})[place] = _point(case, target)
    ordered = {method: curves[method] for method in MANAGED_WAYS if method in curves}
    return Movement(size, pattern, ordered, failed, skipped)


def _place(case: Case) -> int:
    """Whole percents, or bytes of the stride."""
    return round(100 * case.fraction) if case.fraction is not None else case.stride_bytes or 0


def _point(case: Case, target: float) -> ManagedPoint:
    samples = case.samples("host_seconds")
    seconds = median_interval(samples)
    return ManagedPoint(
        seconds,
        median_interval(case.samples("in_seconds")),
        median_interval(case.samples("out_seconds")),
        tuple(samples),
        seconds.relative_half_width <= target,
    )
