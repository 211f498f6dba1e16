"""The charts of the breakeven experiment: times and speed-ups against size."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from isthmus.analysis.breakeven.analysis import BreakevenAnalysis
from isthmus.analysis.breakeven.measured import BREAKEVEN_USES
from isthmus.analysis.breakeven.words import FEW_AND_MANY, PLAIN_CASES, case_words, uses_count
from isthmus.analysis.labels import kind_label, run_title
from isthmus.document.chart import Axis, Drawn, Row, curves_chart, row
from isthmus.document.palette import Look, look, numbered_look
from isthmus.document.section import Chart, LegendEntry
from isthmus.language import capitalised, say
from isthmus.record import Interval, Run, format_bytes, format_seconds, kind_rank, three_figures

# An analysis with the title of its run, empty for a single one.
Source = tuple[str, BreakevenAnalysis]


def sources(runs: Sequence[Run], analyses: Sequence[BreakevenAnalysis | None]) -> list[Source]:
    """The analyses that there are, with titles."""
    return [
        (run_title(runs, index) if len(runs) > 1 else "", analysis)
        for index, analysis in enumerate(analyses)
        if analysis
    ]


def ways_legend(sources: Iterable[Source]) -> tuple[LegendEntry, ...]:
    """Every memory kind that any of them measured, once."""
    kinds = [
        kind for _, analysis in sources for case in analysis.measured.cases() for kind in analysis.measured.kinds(case)
    ]
    return tuple(LegendEntry(kind_label(kind), look(kind)) for kind in sorted(set(kinds), key=kind_rank))


def uses_legend() -> tuple[LegendEntry, ...]:
    """The numbers of uses."""
    return tuple(LegendEntry(uses_count(uses), numbered_look(index)) for index, uses in enumerate(BREAKEVEN_USES))


def time_charts(sources: Sequence[Source]) -> tuple[Chart, ...]:
    """Seconds from allocation to release against size, for one use, a chart for each case."""
    return _charts(
        sources,
        lambda analysis, case: [
            _drawn(kind_label(way), look(way), analysis.once.get((case, way), {}), _time_row)
            for way in analysis.measured.kinds(case)
        ],
        Axis(say("breakeven_report.axis_time"), labels="seconds"),
        uses=1,
    )


def speed_charts(sources: Sequence[Source]) -> tuple[Chart, ...]:
    """How many times as fast as pageable memory each memory kind is with one use, against size."""
    return _charts(
        sources,
        lambda analysis, case: [
            _drawn(kind_label(way), look(way), analysis.measured.speed_up(case, way, 1), _speed_row)
            for way in analysis.measured.kinds(case)
            if way != "pageable"
        ],
        Axis(say("breakeven_report.axis_speed")),
        uses=1,
        rules=[(1.0, "")],
    )


def both_cases_legend() -> tuple[LegendEntry, ...]:
    """Both cases with either number of uses."""
    return tuple(LegendEntry(name, numbered_look(index)) for index, (name, _, _) in enumerate(_both_cases()))


def both_cases_charts(sources: Sequence[Source]) -> tuple[Chart, ...]:
    """How many times as fast as pageable memory pinned memory is, both cases in one chart, for each run."""
    drawn = [
        (
            run,
            [
                _drawn(name, numbered_look(index), analysis.measured.speed_up(case, "pinned", uses), _speed_row)
                for index, (name, case, uses) in enumerate(_both_cases())
            ],
        )
        for run, analysis in sources
    ]
    axis = Axis(say("breakeven_report.axis_speed"))
    return tuple(_on_one_scale(say("breakeven_report.chart_both"), drawn, axis, [(1.0, "")]))


def _both_cases() -> list[tuple[str, str, int]]:
    comma = say("common.comma")
    return [
        (comma.join([capitalised(case_words(case)), uses_count(uses)]), case, uses)
        for case in PLAIN_CASES
        for uses in FEW_AND_MANY
    ]


def by_uses_charts(sources: Sequence[Source]) -> tuple[Chart, ...]:
    """How many times as fast as pageable memory pinned memory is, against size, a curve for each number of uses."""
    return _charts(
        sources,
        lambda analysis, case: [
            _drawn(uses_count(uses), numbered_look(index), speeds, _speed_row)
            for index, uses in enumerate(BREAKEVEN_USES)
            if (speeds := analysis.measured.speed_up(case, "pinned", uses))
        ],
        Axis(say("breakeven_report.axis_speed")),
        rules=[(1.0, "")],
    )


def _charts(
    sources: Sequence[Source],
    draw: Callable[[BreakevenAnalysis, str], list[Drawn]],
    y: Axis,
    *,
    uses: int | None = None,
    rules: Sequence[tuple[float, str]] = (),
) -> tuple[Chart, ...]:
    """One chart for each case and run, of so many uses; those of several runs stand side by side on the same scale.

    Data that is produced in place makes curves of the same shape, which the tables hold.
    """
    made: list[Chart] = []
    for case in PLAIN_CASES:
        words = capitalised(case_words(case))
        if uses is not None:
            words = say("common.comma").join([words, uses_count(uses)])
        made += _on_one_scale(words, [(run, draw(analysis, case)) for run, analysis in sources], y, rules)
    return tuple(made)


def _on_one_scale(
    words: str, runs: Iterable[tuple[str, Sequence[Drawn]]], y: Axis, rules: Sequence[tuple[float, str]] = ()
) -> Iterator[Chart]:
    """A chart for each run that has curves with points."""
    drawn = [(run, [curve for curve in curves if curve.rows]) for run, curves in runs]
    shown = [(run, curves) for run, curves in drawn if curves]
    if not shown:
        return
    domain = y.domain or _domain([curve for _, curves in shown for curve in curves], rules)
    for run, curves in shown:
        size, axis = Axis(say("page.size"), labels="bytes"), Axis(y.title, domain, labels=y.labels)
        label = say("breakeven_report.chart_label", quantity=capitalised(y.title), chart=words)
        title = say("labels.of_run", title=words, run=run) if run else words
        yield Chart(title, label, curves_chart(curves, size, axis, rules=rules))


def _domain(curves: Sequence[Drawn], rules: Sequence[tuple[float, str]]) -> tuple[float, float]:
    ends = [point[name] for curve in curves for point in curve.rows for name in ("low", "high")]
    ends += [value for value, _ in rules]
    return (0.8 * min(ends), 1.25 * max(ends))


def _drawn(name: str, drawn: Look, intervals: dict[int, Interval], point: Callable[[str, int, Interval], Row]) -> Drawn:
    return Drawn(name, drawn, tuple(point(name, size, interval) for size, interval in intervals.items()))


def _time_row(name: str, size: int, seconds: Interval) -> Row:
    interval = say("common.range", low=format_seconds(seconds.low), high=format_seconds(seconds.high))
    return row(name, size, seconds, size=format_bytes(size), time=format_seconds(seconds.median), interval=interval)


def _speed_row(name: str, size: int, ratio: Interval) -> Row:
    interval = say("common.range", low=three_figures(ratio.low), high=three_figures(ratio.high))
    speed = say("common.times", factor=three_figures(ratio.median))
    return row(name, size, ratio, size=format_bytes(size), speed=speed, interval=interval)
