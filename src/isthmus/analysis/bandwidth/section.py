"""The section on bandwidth: how fast each kind of host memory moves, at which size, and how steadily."""

from collections.abc import Sequence

from isthmus.analysis.bandwidth.charts import legend, rate_charts, samples_charts, time_charts
from isthmus.analysis.bandwidth.grid import grids
from isthmus.analysis.frame import section_of
from isthmus.analysis.published.table import published_part
from isthmus.document.section import Part, Section
from isthmus.language import say
from isthmus.record import Run


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
            charts=tuple(rate_charts(runs)),
            legend=entries,
            grids=tables,
        ),
        Part(say("bandwidth_report.small"), charts=tuple(time_charts(runs)), legend=entries),
        Part(say("bandwidth_report.steady"), charts=tuple(samples_charts(runs))),
        published_part(runs, "bandwidth"),
    )
    return section_of("bandwidth", parts, ("alone", "cached"))
