"""The sections of a report: one for each experiment that the runs hold, in the order of the articles they come from."""

from collections.abc import Callable, Sequence

from isthmus.record import Run
from isthmus.report import (
    allocation,
    bandwidth,
    batching,
    breakeven,
    managed,
    openacc,
    overlap,
    prediction,
    stencil,
    strided,
    threads,
)
from isthmus.report.section import Section

__all__ = ["sections"]

# One line an experiment; each gives None where no run holds its cases.
_EXPERIMENTS: tuple[Callable[[Sequence[Run]], Section | None], ...] = (
    bandwidth.section,
    allocation.section,
    breakeven.section,
    managed.section,
    stencil.section,
    openacc.section,
    threads.section,
    batching.section,
    strided.section,
    overlap.section,
    prediction.section,
)


def sections(runs: Sequence[Run]) -> list[Section]:
    """What the runs hold, in reading order."""
    return [section for of_experiment in _EXPERIMENTS if (section := of_experiment(runs))]
