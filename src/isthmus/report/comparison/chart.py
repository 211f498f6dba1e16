"""The charts of a comparison: one dot a case, its ratio over its size, one chart an experiment."""

from isthmus.compare import VERDICTS, CaseResult, Comparison, Verdict
from isthmus.document.chart import Axis, Drawn, points_chart, row
from isthmus.document.palette import Look, numbered_look
from isthmus.document.section import Chart, LegendEntry
from isthmus.language import say
from isthmus.record import Interval, format_seconds
from isthmus.report.comparison.words import case_name, ratio_cell, verdict_name

# The numbered looks whose colours and shapes are farthest apart; grey for what is the same.
_LOOKS: dict[Verdict, int] = {"slower": 1, "faster": 0, "same": 5, "cannot_tell": 3}
# Ratios beyond are drawn at the edge; pointing at them tells the figure.
_LOWEST, _HIGHEST = 0.4, 2.5


def legend(comparison: Comparison) -> tuple[LegendEntry, ...]:
    """The verdicts that occur, as they are drawn."""
    return tuple(LegendEntry(verdict_name(each), _look(each)) for each in VERDICTS if comparison.counts[each])


def ratio_charts(comparison: Comparison) -> tuple[Chart, ...]:
    """A chart for each experiment, those without sizes left out."""
    experiments = dict.fromkeys(case.pair.base.experiment for case in comparison.judgement.cases)
    charts = [_chart(comparison, experiment) for experiment in experiments]
    return tuple(chart for chart in charts if chart)


def _chart(comparison: Comparison, experiment: str) -> Chart | None:
    cases = [
        case for case in comparison.judgement.cases if case.pair.base.experiment == experiment and case.pair.base.bytes
    ]
    if not cases:
        return None
    clouds = [
        Drawn(verdict_name(verdict), _look(verdict), tuple(_dot(case) for case in cases if case.verdict == verdict))
        # What is the same first, so that what differs is drawn over it.
        for verdict in reversed(VERDICTS)
    ]
    ratios = [min(max(case.ratio.median, _LOWEST), _HIGHEST) for case in cases]
    y = Axis(say("compare.axis_ratio"), (min(0.9, *ratios), max(1.1, *ratios)), scale="linear")
    x = Axis(say("page.size"), labels="bytes")
    return Chart(
        title=experiment,
        label=say("terminal.labelled", label=experiment, text=say("compare.axis_ratio")),
        spec=points_chart([cloud for cloud in clouds if cloud.rows], x, y),
    )


def _dot(case: CaseResult) -> dict[str, object]:
    ratio, shown = min(max(case.ratio.median, _LOWEST), _HIGHEST), ratio_cell(case.ratio)
    return row(
        verdict_name(case.verdict),
        case.pair.base.bytes,
        Interval(ratio, case.ratio.low, case.ratio.high),
        **{
            say("compare.column_case"): case_name(case.pair.base),
            say("compare.column_base"): format_seconds(case.base_seconds.median),
            say("compare.column_new"): format_seconds(case.new_seconds.median),
            say("compare.column_ratio"): f"{shown.text} ±{shown.half_width}",
        },
    )


def _look(verdict: Verdict) -> Look:
    return numbered_look(_LOOKS[verdict])
