"""The section on bandwidth: how fast each kind of host memory moves, at which size, and how steadily."""

from collections.abc import Mapping, Sequence

from isthmus.analysis.bandwidth.charts import legend, rate_charts, samples_charts, time_charts
from isthmus.analysis.bandwidth.glance import glance
from isthmus.analysis.bandwidth.grid import grids
from isthmus.analysis.frame import section_of
from isthmus.analysis.phrases import about_bytes
from isthmus.analysis.published.measured import Measured, measured
from isthmus.analysis.published.source import Series
from isthmus.analysis.published.table import published_parts
from isthmus.analysis.statistics.curve import bandwidth_curves, find
from isthmus.analysis.statistics.shape import SMALL_BYTES, half_size
from isthmus.document.section import Part, Section
from isthmus.language import say
from isthmus.record import Interval, Run

__all__ = ["glance", "section"]


def section(runs: Sequence[Run]) -> Section | None:
    """Charts and tables of all runs that measured bandwidth; None where none did."""
    tables = tuple(grids(runs))
    if not tables:
        return None
    entries = legend(runs)
    parts = (
        Part(
            say("bandwidth_report.rates"),
            say("bandwidth_report.rates_note"),
            charts=rate_charts(runs),
            legend=entries,
            grids=tables,
        ),
        Part(say("bandwidth_report.small"), charts=time_charts(runs), legend=entries),
        Part(say("bandwidth_report.steady"), charts=samples_charts(runs)),
        *published_parts(runs, "bandwidth", _measured),
    )
    return section_of("bandwidth", parts, ("alone", "cached"))


def _measured(run: Run, series: Series) -> Mapping[int, Measured]:
    """Times and rates; as the size from which time grows with the size that at which a copy costs twice its latency."""
    if series.quantity != "size":
        return measured(run, series)
    curve = find(bandwidth_curves(run), series.case["direction"], str(series.case["host_memory"]))  # type: ignore[arg-type]
    half = half_size(curve) if curve and curve.points[0].bytes <= SMALL_BYTES else None
    if half is None:
        return {}
    return {0: Measured(Interval(half.bytes, half.bytes, half.bytes), words=about_bytes(half.bytes))}
