"""What the work of a pipeline was measured to take, as a multiple of a copy."""

from collections.abc import Sequence
from dataclasses import dataclass

from isthmus.analysis.overlap.times import Timed, fastest_alone

__all__ = ["Work", "measured_work"]

# The work is meant to be a multiple of the first of these that there is.
_BASES = ("pinned", "pageable", "staged")


@dataclass(frozen=True)
class Work:
    """The work of the case `ratio`, which is the multiple of a copy that it was meant to take.

    `multiple` is how many times as long it was measured to take, alone, as the slower of the copies in and out of
    memory of the kind `base` alone; None where one of the three was not measured.
    """

    ratio: float
    multiple: float | None = None
    base: str = ""


def measured_work(timed: Sequence[Timed], size: int, ratio: float) -> Work:
    """The work of one size; each time is the fastest of those measured, whole or in chunks."""
    work = fastest_alone(timed, "work_alone", "device", size, ratio)
    for base in _BASES:
        into, out = (fastest_alone(timed, way, base, size) for way in ("in_alone", "out_alone"))
        if work and into and out:
            slower = max(into.seconds.median, out.seconds.median)
            return Work(ratio, work.seconds.median / slower, base)
    return Work(ratio)
