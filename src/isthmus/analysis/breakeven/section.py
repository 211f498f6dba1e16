"""The section about the breakeven experiment: which way pays, from which size and from how many uses on."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from isthmus.analysis.breakeven.charts import (
    both_cases_charts,
    both_cases_legend,
    by_uses_charts,
    kinds_legend,
    speed_charts,
    time_charts,
    uses_legend,
)
from isthmus.analysis.breakeven.derived import BreakevenAnalysis, analyse_breakeven
from isthmus.analysis.breakeven.tables import (
    derived_grid,
    fastest_grid,
    size_cell,
    threshold_grids,
    time_grids,
    uses_grids,
    written,
)
from isthmus.analysis.breakeven.thresholds import Contest
from isthmus.analysis.labels import sources
from isthmus.analysis.published.source import Measured, Series
from isthmus.analysis.published.table import published_parts
from isthmus.document.grid import excerpt
from isthmus.document.section import Glance, Part, Section, section_of
from isthmus.language import capitalised, say
from isthmus.record import Interval, Run

_MOST = 7


def section(runs: Sequence[Run]) -> Section | None:
    """The section of these runs; None where none holds a case of the experiment that counts."""
    analyses = sources(runs, _analyses)
    if not analyses:
        return None
    kinds = kinds_legend(analyses)
    fastest, derived = fastest_grid(analyses), derived_grid(analyses)
    speed, times = capitalised(say("breakeven_report.axis_speed")), tuple(time_grids(analyses))
    parts = (
        Part(say("breakeven_report.times"), charts=time_charts(analyses), legend=kinds, grids=times),
        Part(speed, charts=speed_charts(analyses), legend=kinds),
        Part(say("breakeven_report.both_cases"), charts=both_cases_charts(analyses), legend=both_cases_legend()),
        Part(say("breakeven_report.speeds_of_pinned"), charts=by_uses_charts(analyses), legend=uses_legend()),
        Part(
            say("breakeven_report.from_size"),
            say("breakeven_report.from_size_note"),
            grids=tuple(threshold_grids(analyses)),
        ),
        Part(
            say("breakeven_report.derived_grid"),
            say("breakeven_report.derived_note"),
            grids=(derived,) if derived else (),
        ),
        Part(say("breakeven_report.from_uses"), grids=tuple(uses_grids(analyses))),
        Part(say("breakeven_report.fastest_grid"), grids=(fastest,) if fastest else ()),
        *published_parts(runs, "breakeven", _pinned_pays),
    )
    return section_of("breakeven", parts, ("recycled",))


def glance(run: Run) -> Glance | None:
    """Thresholds, or times where there is nothing to compare; None where the run has neither."""
    analyses = sources([run], _analyses)
    if grid := next(threshold_grids(analyses), None):
        return Glance((excerpt(replace(grid, groups=grid.groups[:1]), _MOST),))
    times = next(time_grids(analyses), None)
    return Glance((excerpt(times, _MOST),)) if times else None


def _analyses(run: Run) -> list[BreakevenAnalysis]:
    analysis = analyse_breakeven(run)
    return [analysis] if analysis else []


def _pinned_pays(run: Run, series: Series) -> Mapping[int, Measured]:
    """From which size on pinned memory beats pageable memory in one use of a case."""
    analysis = analyse_breakeven(run)
    contest = Contest(str(series.case["method"]), 1, "pageable", "pinned")
    threshold = analysis.measured.thresholds.get(contest) if analysis else None
    if threshold is None:
        return {}
    is_size = threshold.state == "from" and threshold.low > 0 and math.isfinite(threshold.high)
    value = Interval(threshold.value, threshold.low, threshold.high) if is_size else None
    return {0: Measured(value, words=written(size_cell(threshold)))}
