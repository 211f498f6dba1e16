"""The sections of a report beside bandwidth's: one for each experiment that the runs hold, in reading order."""

from collections.abc import Callable, Sequence

from isthmus.record import Run
from isthmus.report import allocation, batching, breakeven, managed, openacc, overlap, stencil, strided, threads
from isthmus.report.section import Section

__all__ = ["sections"]

# One line an experiment; each gives None where no run holds its cases.
_EXPERIMENTS: tuple[Callable[[Sequence[Run]], Section | None], ...] = (
    allocation.section,
    batching.section,
    breakeven.section,
    managed.section,
    openacc.section,
    overlap.section,
    stencil.section,
    strided.section,
    threads.section,
)


def sections(runs: Sequence[Run]) -> list[Section]:
    """What the runs hold beside bandwidth."""
    return [section for of_experiment in _EXPERIMENTS if (section := of_experiment(runs))]
