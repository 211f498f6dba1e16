"""The sections of a report: one for each experiment that the runs hold, in the order of the articles they come from."""

from collections.abc import Callable, Sequence

from isthmus.analysis.allocation import section as allocation
from isthmus.analysis.bandwidth import section as bandwidth
from isthmus.analysis.batching import section as batching
from isthmus.analysis.breakeven import section as breakeven
from isthmus.analysis.managed import section as managed
from isthmus.analysis.openacc import section as openacc
from isthmus.analysis.overlap import section as overlap
from isthmus.analysis.prediction import section as prediction
from isthmus.analysis.stencil import section as stencil
from isthmus.analysis.strided import section as strided
from isthmus.analysis.threads import section as threads
from isthmus.document.section import Section
from isthmus.record import Run

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
