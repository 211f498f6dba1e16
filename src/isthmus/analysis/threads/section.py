"""The section on threads: many host threads that copy one buffer, several devices at once, and NUMA nodes."""

from collections.abc import Mapping, Sequence

from isthmus.analysis.figures import brief_rate
from isthmus.analysis.frame import section_of
from isthmus.analysis.labels import kind_label
from isthmus.analysis.phrases import direction_name
from isthmus.analysis.published.measured import Measured
from isthmus.analysis.published.source import Series
from isthmus.analysis.published.table import published_parts
from isthmus.analysis.statistics.curve import ONE_WAY
from isthmus.analysis.threads.model import most_complete, reference_bytes, thread_curves
from isthmus.analysis.threads.places_tables import place_parts
from isthmus.analysis.threads.rates import rate_parts
from isthmus.document.grid import Column, Grid, Group, spread
from isthmus.document.pivot import rows_of
from isthmus.document.section import Glance, Section
from isthmus.grouping import grouped
from isthmus.language import say
from isthmus.record import Run, format_bytes

# Numbers of threads on a first screen.
_MOST = 6


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of threads; None where that is nothing but skips."""
    parts = [*rate_parts(runs), *place_parts(runs), *published_parts(runs, "threads", _slices_of_workers)]
    return section_of("threads", parts)


def glance(run: Run) -> Glance | None:
    """Rates by number of threads, one direction at a time, of one size; None where no threads were measured."""
    curves = [curve for curve in thread_curves(run) if curve.points and curve.direction in ONE_WAY]
    size = reference_bytes(curves)
    if size is None:
        return None
    subjects = grouped((curve for curve in curves if curve.bytes == size), lambda curve: curve.subject)
    chosen = [most_complete(same) for same in subjects.values()]
    counts = sorted({count for curve in chosen for count in curve.points})
    shown = (counts[at] for at in spread(len(counts), _MOST))
    rows = rows_of(shown, str, chosen, lambda curve, count: brief_rate(curve.points.get(count)))
    kinds = ((kind_label(curve.host_memory), direction_name(curve.direction)) for curve in chosen)
    columns = tuple(Column("\n".join(each), each[0]) for each in kinds)
    title = say("threads_report.glance", size=format_bytes(size))
    return Glance((Grid(title, columns, (Group("", rows),), say("threads_report.corner_threads")),))


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
