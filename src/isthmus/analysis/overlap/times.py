"""What every case of the overlap experiment took, each stage alone, and the work as a multiple of a copy."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from isthmus.analysis.figures import figures
from isthmus.analysis.statistics.curve import is_resolved
from isthmus.analysis.statistics.once import once
from isthmus.analysis.statistics.resample import Draws, resampled_medians
from isthmus.record import Case, Interval, Run

# The work is meant to be a multiple of the first of these that there is.
_BASES = ("pinned", "pageable", "staged")


@dataclass(frozen=True)
class Timed:
    """A case with its median time in seconds, and the draws of that median."""

    case: Case
    seconds: Interval
    draws: Draws = field(repr=False, compare=False)
    converged: bool


@once()
def timed_cases(run: Run) -> Sequence[Timed]:
    """Every case of the experiment whose time is known and whose results were not wrong."""
    points = [each.point for each in figures(run, "overlap") if each.point and is_resolved(each.case)]
    target = run.settings.target_relative_half_width
    draws = resampled_medians([point.samples for point in points], known_within=target)
    return [Timed(each.case, each.seconds, row, each.converged) for each, row in zip(points, draws, strict=True)]


def fastest_alone(
    timed: Iterable[Timed], method: str, host_memory: str, size: int, ratio: float | None = None
) -> Timed | None:
    """A stage alone: the fastest measurement, whole or in chunks, since a bound must not be slower than any of them."""
    wanted = method, host_memory, size, ratio
    alone = (
        each
        for each in timed
        if (each.case.method, each.case.host_memory, each.case.bytes, each.case.work_ratio) == wanted
    )
    return min(alone, key=lambda each: each.seconds.median, default=None)


def work_multiple(timed: Sequence[Timed], size: int, ratio: float) -> float | None:
    """Measured time of the work alone over the slower copy's; None where one of the three was not measured."""
    work = fastest_alone(timed, "work_alone", "device", size, ratio)
    for base in _BASES:
        into, out = (fastest_alone(timed, method, base, size) for method in ("in_alone", "out_alone"))
        if work and into and out:
            return work.seconds.median / max(into.seconds.median, out.seconds.median)
    return None
