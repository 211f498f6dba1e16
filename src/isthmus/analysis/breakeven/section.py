"""The section and the tables of the breakeven experiment: which kind of memory pays, from which size and uses on."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from isthmus.analysis.breakeven.charts import (
    Analyses,
    by_uses_charts,
    kinds_legend,
    speed_charts,
    time_charts,
    uses_legend,
)
from isthmus.analysis.breakeven.derived import DERIVED_USES, BreakevenAnalysis, Derived, analyse_breakeven
from isthmus.analysis.breakeven.measured import BREAKEVEN_USES, BREAKEVEN_WAYS, ordered_ways
from isthmus.analysis.breakeven.thresholds import Contest
from isthmus.analysis.breakeven.words import PLAIN_CASES, WIDE, case_words, from_to, uses_count
from isthmus.analysis.labels import Source, kind_heading, one_of_each
from isthmus.analysis.phrases import about_bytes, memory_label, memory_name
from isthmus.analysis.published.source import Measured, Series
from isthmus.analysis.published.table import published_parts
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.document.grid import Cell, Column, Grid, Group, Row, decimals, excerpt, interval_cell, missing
from isthmus.document.pivot import grid_of, rows_of, word_column
from isthmus.document.section import Glance, Part, Section, section_of
from isthmus.language import capitalised, clauses, say
from isthmus.record import GIB, KIB, MIB, Interval, Run, format_bytes

# What a reader may have to choose between once pageable memory is out of the question.
_CHOICES = {
    ("pinned", "registered"),
    ("pinned", "touched_registered"),
    ("pinned", "mapped"),
    ("pinned", "managed_prefetch"),
    ("registered", "touched_registered"),
}
# Memory kinds that need a buffer allocated for the purpose; a staging buffer is there already.
_ALLOCATED_WAYS = tuple(way for way in BREAKEVEN_WAYS if way != "staging")
_USES_SIZES = (64 * KIB, MIB, 16 * MIB, 64 * MIB)
_UNITS = ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"), (1, "B"))
_MOST = 7


def section(runs: Sequence[Run]) -> Section | None:
    """The section of these runs; None where none holds a case of the experiment that counts."""
    analyses = one_of_each(runs, analyse_breakeven)
    if not analyses:
        return None
    kinds = kinds_legend(analyses)
    fastest, derived = fastest_grid(analyses), derived_grid(analyses)
    speed, times = capitalised(say("breakeven_report.axis_speed")), tuple(time_grids(analyses))
    parts = (
        Part(say("breakeven_report.times"), charts=time_charts(analyses), legend=kinds, grids=times),
        Part(speed, charts=speed_charts(analyses), legend=kinds),
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
    analyses = one_of_each([run], analyse_breakeven)
    if grid := next(threshold_grids(analyses), None):
        return Glance((excerpt(replace(grid, groups=grid.groups[:1]), _MOST),))
    times = next(time_grids(analyses), None)
    return Glance((excerpt(times, _MOST),)) if times else None


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


def time_grids(analyses: Analyses) -> Iterator[Grid]:
    """Seconds from allocation to release of one use, sizes down and memory kinds across, a table for each case."""
    for case in PLAIN_CASES:
        curves = [
            (each.label, kind, each.value.once[case, kind])
            for kind in _kinds(analyses, case)
            for each in analyses
            if (case, kind) in each.value.once
        ]
        sizes = sorted({size for _, _, intervals in curves for size in intervals})
        groups = []
        for unit, scale, is_small in (("us", 1e6, True), ("ms", 1e3, False)):
            cell = partial(_time_cell, scale=scale)
            rows = rows_of((size for size in sizes if (size < MIB) == is_small), format_bytes, curves, cell)
            groups.append(Group(unit, rows))
        columns = (Column(kind_heading(kind), memory_label(kind), label) for label, kind, _ in curves)
        if grid := grid_of(say("breakeven_report.one_use", case=case_words(case)), columns, groups):
            yield grid


def _time_cell(curve: tuple[str, str, Mapping[int, Interval]], size: int, scale: float) -> Cell:
    return interval_cell(curve[2].get(size), scale=scale)


def threshold_grids(analyses: Analyses) -> Iterator[Grid]:
    """The size from which memory kinds beat pageable memory, and from which one of the alternatives beats another."""
    across = [(uses, each.value) for uses in BREAKEVEN_USES for each in analyses]
    for case in PLAIN_CASES:
        challengers = _kinds(analyses, case)
        groups = []
        for index, incumbent in enumerate(challengers):

            def cell(
                column: tuple[int, BreakevenAnalysis], challenger: str, to: str = incumbent, of: str = case
            ) -> Cell:
                return size_cell(column[1].measured.thresholds.get(Contest(of, column[0], to, challenger)))

            chosen = (
                each for each in challengers[index + 1 :] if incumbent == "pageable" or (incumbent, each) in _CHOICES
            )
            title = say("breakeven_report.against", memory=memory_name(incumbent))
            groups.append(Group(title, rows_of(chosen, memory_label, across, cell)))
        title = say("breakeven_report.wins_from_size", case=case_words(case))
        if grid := grid_of(title, _uses_columns(analyses), groups, say("labels.corner_method")):
            yield grid


def derived_grid(analyses: Analyses) -> Grid | None:
    """From which size on pinned beats pageable memory, as measured and as derived; None where nothing was derived."""
    groups = []
    for case in PLAIN_CASES:
        by_uses = [
            {each.contest.uses: each for each in of.value.derived if each.contest.case == case} for of in analyses
        ]
        known = [each.get(uses) for uses in DERIVED_USES for each in by_uses]
        rows = (
            Row(say("breakeven_report.measured"), tuple(size_cell(each and each.measured) for each in known)),
            Row(say("breakeven_report.derived"), tuple(size_cell(each and each.derived) for each in known)),
            Row(say("breakeven_report.apart"), tuple(map(_apart, known))),
        )
        groups.append(Group(capitalised(case_words(case)), rows if any(by_uses) else ()))
    return grid_of(say("breakeven_report.derived_grid"), _uses_columns(analyses, DERIVED_USES), groups)


def _apart(derived: Derived | None) -> Cell:
    if derived is None or derived.apart is None:
        return missing()
    return Cell(f"{100 * derived.apart:+.0f} %", state="ok" if derived.agrees else "wide")


def uses_grids(analyses: Analyses) -> Iterator[Grid]:
    """The number of uses from which each memory kind beats pageable memory, at a few sizes."""
    across = [(size, each) for size in _sizes(analyses) for each in analyses]
    columns = [Column(format_bytes(size), format_bytes(size), each.label) for size, each in across]
    for case in PLAIN_CASES:

        def cell(column: tuple[int, Source[BreakevenAnalysis]], kind: str, of: str = case) -> Cell:
            return uses_cell(column[1].value.measured.least_uses(of, column[0], "pageable", kind))

        kinds = (kind for kind in _kinds(analyses, case) if kind != "pageable")
        groups = [Group("", rows_of(kinds, memory_label, across, cell))]
        title = say("breakeven_report.wins_from_uses", case=case_words(case))
        if grid := grid_of(title, columns, groups, say("labels.corner_method")):
            yield grid


def fastest_grid(analyses: Analyses) -> Grid | None:
    """The fastest memory kinds by uses and size: with a buffer that is kept, and among those that allocate one."""
    across = [(size, each) for size in _sizes(analyses) for each in analyses]
    groups = tuple(
        Group(
            capitalised(say(key, case=case_words(case))),
            rows_of(BREAKEVEN_USES, uses_count, across, partial(_fastest_cell, case, among)),
        )
        for case in PLAIN_CASES
        if _kinds(analyses, case)
        for key, among in (("breakeven_report.kept", BREAKEVEN_WAYS), ("breakeven_report.new", _ALLOCATED_WAYS))
    )
    columns = (Column(format_bytes(size), format_bytes(size), each.label, prose=True) for size, each in across)
    return grid_of(say("breakeven_report.fastest_grid"), columns, groups, say("breakeven_report.uses"))


def _fastest_cell(case: str, among: Sequence[str], column: tuple[int, Source[BreakevenAnalysis]], uses: int) -> Cell:
    size, source = column
    kinds = source.value.measured.fastest(case, uses, size, among=among)
    return Cell(clauses(map(memory_label, kinds)) or "-")


def size_cell(threshold: Threshold | None) -> Cell:
    """From which size on a memory kind wins, with half of its interval."""
    return _cell(threshold, about_bytes, _size) if threshold else missing()


def uses_cell(threshold: Threshold | None) -> Cell:
    """From how many uses on a memory kind wins, with half of its interval."""
    if threshold and threshold.state == "always" and threshold.certain:
        return Cell("1")
    return _cell(threshold, _count, _uses) if threshold else missing()


def written(cell: Cell) -> str:
    """Such a cell in a sentence: ``700 ±30 KiB``, ``never``."""
    return " ".join(filter(None, (cell.text, cell.half_width and f"±{cell.half_width}", cell.unit)))


def _cell(threshold: Threshold, bound: Callable[[float], str], figures: Callable[[float, float], Cell]) -> Cell:
    """`bound` writes an end of the interval, `figures` a value and half of its interval as a cell."""
    if not threshold.known:
        return Cell("?", state="missing")
    if threshold.state in {"always", "never"}:
        text = say("breakeven_report.always" if threshold.state == "always" else "breakeven_report.never")
        return Cell(text) if threshold.certain else Cell(f"{text}?", state="wide")
    low, high = threshold.low, threshold.high
    if threshold.certain and high <= WIDE * low:
        cell = figures(threshold.value, (high - low) / 2)
    elif low <= 0.0:
        cell = Cell(f"<= {bound(high)}", state="wide")
    elif math.isinf(high):
        cell = Cell(f">= {bound(low)}", state="wide")
    else:
        cell = Cell(from_to(bound(low), bound(high)), state="wide")
    text = cell.text + ("*" if threshold.crossings > 1 else "")
    return replace(cell, text=say("breakeven_report.to", place=text) if threshold.state == "up_to" else text)


def _size(value: float, half: float) -> Cell:
    factor, unit = next(pair for pair in _UNITS if value >= pair[0])
    digits = decimals(value / factor)
    return Cell(f"{value / factor:.{digits}f}", f"{half / factor:.{digits}f}", unit=unit)


def _uses(value: float, half: float) -> Cell:
    return Cell(_count(value), _count(math.ceil(half)) if half else "")


def _count(value: float) -> str:
    return f"{value:.0f}"


def _uses_columns(analyses: Analyses, numbers: Sequence[int] = BREAKEVEN_USES) -> tuple[Column, ...]:
    return tuple(word_column(name, each.label) for name in map(uses_count, numbers) for each in analyses)


def _sizes(analyses: Analyses) -> list[int]:
    """The sizes of _USES_SIZES, no larger than the largest reference."""
    most = max(each.value.reference_bytes for each in analyses)
    return sorted({min(size, most) for size in _USES_SIZES})


def _kinds(analyses: Analyses, case: str) -> list[str]:
    """The memory kinds that any of the runs measured in this case, pageable first."""
    return ordered_ways(kind for each in analyses for kind in each.value.measured.kinds(case))
