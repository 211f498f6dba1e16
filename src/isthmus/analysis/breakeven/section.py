"""The section about the breakeven experiment: which way pays, from which size and from how many uses on."""

import math
from collections.abc import Mapping, Sequence

from isthmus.analysis.breakeven.analysis import analyse_breakeven
from isthmus.analysis.breakeven.charts import (
    both_cases_charts,
    both_cases_legend,
    by_uses_charts,
    sources,
    speed_charts,
    time_charts,
    uses_legend,
    ways_legend,
)
from isthmus.analysis.breakeven.tables import (
    Labelled,
    derived_grid,
    fastest_grid,
    size_cell,
    threshold_grids,
    time_grids,
    uses_grids,
    written,
)
from isthmus.analysis.breakeven.thresholds import Contest
from isthmus.analysis.frame import section_of
from isthmus.analysis.labels import run_label
from isthmus.analysis.published.measured import Measured
from isthmus.analysis.published.source import Series
from isthmus.analysis.published.table import published_parts
from isthmus.document.grid import Grid, excerpt
from isthmus.document.section import Glance, Part, Section
from isthmus.language import capitalised, say
from isthmus.record import Interval, Run

_MOST = 7


def section(runs: Sequence[Run]) -> Section | None:
    """The section of these runs; None where none holds a case of the experiment that counts."""
    analyses = [analyse_breakeven(run) for run in runs]
    labelled: list[Labelled] = [
        (run_label(runs, index), analysis) for index, analysis in enumerate(analyses) if analysis
    ]
    if not labelled:
        return None
    drawn = sources(runs, analyses)
    kinds = ways_legend(drawn)
    fastest, derived = fastest_grid(labelled), derived_grid(labelled)
    parts = (
        Part(say("breakeven_report.times"), charts=time_charts(drawn), legend=kinds, grids=tuple(time_grids(labelled))),
        Part(capitalised(say("breakeven_report.axis_speed")), charts=speed_charts(drawn), legend=kinds),
        Part(say("breakeven_report.both_cases"), charts=both_cases_charts(drawn), legend=both_cases_legend()),
        Part(say("breakeven_report.speeds_of_pinned"), charts=by_uses_charts(drawn), legend=uses_legend()),
        Part(
            say("breakeven_report.from_size"),
            say("breakeven_report.from_size_note"),
            grids=tuple(threshold_grids(labelled)),
        ),
        Part(say("breakeven_report.derived_grid"), say("breakeven_report.derived_note"), grids=(derived,))
        if derived
        else None,
        Part(say("breakeven_report.from_uses"), grids=tuple(uses_grids(labelled))),
        Part(say("breakeven_report.fastest_grid"), grids=(fastest,) if fastest else ()),
        *published_parts(runs, "breakeven", _pinned_pays),
    )
    return section_of("breakeven", parts, ("recycled",))


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


def glance(run: Run) -> Glance | None:
    """Thresholds, or times where there is nothing to compare; None where the run has neither."""
    analysis = analyse_breakeven(run)
    if analysis is None:
        return None
    sources = [("", analysis)]
    thresholds = next(threshold_grids(sources), None)
    if thresholds is not None:
        against_pageable = Grid(thresholds.title, thresholds.columns, thresholds.groups[:1], thresholds.corner)
        return Glance((excerpt(against_pageable, _MOST),))
    times = next(time_grids(sources), None)
    return Glance((excerpt(times, _MOST),)) if times else None
