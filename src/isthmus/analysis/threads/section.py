"""The section on threads: many host threads that copy one buffer, several devices at once, and NUMA nodes."""

from collections.abc import Mapping, Sequence

from isthmus.analysis.frame import section_of
from isthmus.analysis.published.measured import Measured
from isthmus.analysis.published.source import Series
from isthmus.analysis.published.table import published_parts
from isthmus.analysis.threads.model import most_complete, thread_curves
from isthmus.analysis.threads.places_tables import place_parts
from isthmus.analysis.threads.rates import rate_parts
from isthmus.document.section import Section
from isthmus.record import Run


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of threads; None where that is nothing but skips."""
    parts = [*rate_parts(runs), *place_parts(runs), *published_parts(runs, "threads", _slices_of_workers)]
    return section_of("threads", parts)


def _slices_of_workers(run: Run, series: Series) -> Mapping[int, Measured]:
    """Rates by number of threads that are kept, each with one slice, of the use of streams with the most numbers."""
    wanted = tuple(series.case[name] for name in ("host_memory", "direction", "bytes"))
    curves = [
        curve
        for curve in thread_curves(run)
        if curve.subject == wanted and (curve.method, curve.slicing) == ("workers", "slices") and curve.points
    ]
    points = most_complete(curves).points if curves else {}
    return {count: Measured(point.rate, not point.converged) for count, point in points.items()}
