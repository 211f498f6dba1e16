"""The charts of the breakeven experiment: times and speed-ups against size."""

from collections.abc import Callable, Sequence

from isthmus.analysis.breakeven.derived import BreakevenAnalysis
from isthmus.analysis.breakeven.measured import BREAKEVEN_USES
from isthmus.analysis.breakeven.words import PLAIN_CASES, case_words, uses_count
from isthmus.analysis.figures import legend_of
from isthmus.analysis.labels import Source
from isthmus.analysis.phrases import memory_label
from isthmus.document.chart import Axis, Drawn, Look, Row, curves_chart, look, numbered_look, row
from isthmus.document.section import Chart, LegendEntry
from isthmus.language import capitalised, say
from isthmus.record import Interval, format_bytes, format_seconds, kind_rank, three_figures

# As fast as pageable memory.
_EVEN = ((1.0, ""),)

Analyses = Sequence[Source[BreakevenAnalysis]]


def kinds_legend(analyses: Analyses) -> tuple[LegendEntry, ...]:
    """Every memory kind that any of them measured, once."""
    kinds = {kind for each in analyses for _, kind in each.value.measured.totals}
    return legend_of({memory_label(kind): look(kind) for kind in sorted(kinds, key=kind_rank)})


def uses_legend() -> tuple[LegendEntry, ...]:
    """The numbers of uses."""
    return legend_of({uses_count(uses): numbered_look(index) for index, uses in enumerate(BREAKEVEN_USES)})


def time_charts(analyses: Analyses) -> tuple[Chart, ...]:
    """Seconds from allocation to release against size, for one use, a chart for each case."""
    return _charts(
        analyses,
        lambda analysis, case: [
            _drawn(memory_label(kind), look(kind), analysis.once.get((case, kind), {}), _time_row)
            for kind in analysis.measured.kinds(case)
        ],
        Axis(say("breakeven_report.axis_time"), labels="seconds"),
        uses=1,
    )


def speed_charts(analyses: Analyses) -> tuple[Chart, ...]:
    """How many times as fast as pageable memory each memory kind is with one use, against size."""
    return _charts(
        analyses,
        lambda analysis, case: [
            _drawn(memory_label(kind), look(kind), analysis.measured.speed_up(case, kind, 1), _speed_row)
            for kind in analysis.measured.kinds(case)
            if kind != "pageable"
        ],
        Axis(say("breakeven_report.axis_speed")),
        uses=1,
        rules=_EVEN,
    )


def by_uses_charts(analyses: Analyses) -> tuple[Chart, ...]:
    """How many times as fast as pageable memory pinned memory is, against size, a curve for each number of uses."""
    return _charts(
        analyses,
        lambda analysis, case: [
            _drawn(uses_count(uses), numbered_look(index), analysis.measured.speed_up(case, "pinned", uses), _speed_row)
            for index, uses in enumerate(BREAKEVEN_USES)
        ],
        Axis(say("breakeven_report.axis_speed")),
        rules=_EVEN,
    )


def _charts(
    analyses: Analyses,
    draw: Callable[[BreakevenAnalysis, str], list[Drawn]],
    y: Axis,
    *,
    uses: int | None = None,
    rules: Sequence[tuple[float, str]] = (),
) -> tuple[Chart, ...]:
    """One chart for each case and run with points, of so many uses; those of several runs are on the same scale.

    Data that is produced in place makes curves of the same shape, which the tables hold.
    """
    charts: list[Chart] = []
    for case in PLAIN_CASES:
        words = [capitalised(case_words(case)), *([uses_count(uses)] if uses is not None else [])]
        title = say("common.comma").join(words)
        shown = [(source, [curve for curve in draw(source.value, case) if curve.rows]) for source in analyses]
        points = [point for _, curves in shown for curve in curves for point in curve.rows]
        ends = [end for point in points for end in (point["low"], point["high"])] + [value for value, _ in rules]
        for source, curves in shown:
            if curves:
                axis = Axis(y.title, (0.8 * min(ends), 1.25 * max(ends)), labels=y.labels)
                label = say("breakeven_report.chart_label", quantity=capitalised(y.title), chart=title)
                spec = curves_chart(curves, Axis(say("page.size"), labels="bytes"), axis, rules=rules)
                charts.append(Chart(source.titled(title), label, spec))
    return tuple(charts)


def _drawn(name: str, drawn: Look, intervals: dict[int, Interval], point: Callable[[str, int, Interval], Row]) -> Drawn:
    return Drawn(name, drawn, tuple(point(name, size, interval) for size, interval in intervals.items()))


def _time_row(name: str, size: int, seconds: Interval) -> Row:
    interval = say("common.range", low=format_seconds(seconds.low), high=format_seconds(seconds.high))
    return row(name, size, seconds, size=format_bytes(size), time=format_seconds(seconds.median), interval=interval)


def _speed_row(name: str, size: int, ratio: Interval) -> Row:
    interval = say("common.range", low=three_figures(ratio.low), high=three_figures(ratio.high))
    speed = say("common.times", factor=three_figures(ratio.median))
    return row(name, size, ratio, size=format_bytes(size), speed=speed, interval=interval)
