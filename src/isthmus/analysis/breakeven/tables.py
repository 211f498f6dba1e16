"""The tables of the breakeven experiment: times, thresholds by size and by uses, the fastest memory kind."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from isthmus.analysis.breakeven.analysis import BreakevenAnalysis
from isthmus.analysis.breakeven.derived import DERIVED_USES, Derived
from isthmus.analysis.breakeven.measured import BREAKEVEN_USES, BREAKEVEN_WAYS, ordered_ways
from isthmus.analysis.breakeven.thresholds import Contest
from isthmus.analysis.breakeven.words import PLAIN_CASES, WIDE, case_words, from_to, uses_count
from isthmus.analysis.labels import kind_heading, kind_label
from isthmus.analysis.phrases import about_bytes, memory_name
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.document.grid import Cell, Column, Grid, Group, Row, decimals, interval_cell, missing
from isthmus.language import capitalised, say
from isthmus.record import GIB, KIB, MIB, format_bytes

# The letter of a run, empty for a single one, and its analysis.
Labelled = tuple[str, BreakevenAnalysis]

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


def time_grids(labelled: Sequence[Labelled]) -> Iterator[Grid]:
    """Seconds from allocation to release of one use, sizes down and memory kinds across, a table for each case."""
    for case in PLAIN_CASES:
        curves = [
            (label, kind, analysis.once[case, kind])
            for kind in _ways(labelled, case)
            for label, analysis in labelled
            if (case, kind) in analysis.once
        ]
        sizes = sorted({size for _, _, intervals in curves for size in intervals})
        groups = []
        for unit, scale, chosen in (
            ("us", 1e6, [size for size in sizes if size < MIB]),
            ("ms", 1e3, [size for size in sizes if size >= MIB]),
        ):
            rows = tuple(
                Row(
                    format_bytes(size),
                    tuple(
                        interval_cell(intervals[size], scale=scale) if size in intervals else missing()
                        for _, _, intervals in curves
                    ),
                )
                for size in chosen
            )
            groups += [Group(unit, rows)] if rows else []
        columns = tuple(Column(kind_heading(kind), kind_label(kind), label) for label, kind, _ in curves)
        if groups:
            yield Grid(say("breakeven_report.one_use", case=case_words(case)), columns, tuple(groups))


def threshold_grids(labelled: Sequence[Labelled]) -> Iterator[Grid]:
    """The size from which memory kinds beat pageable memory, and from which one of the alternatives beats another."""
    for case in PLAIN_CASES:
        challengers = _ways(labelled, case)
        groups = []
        for index, incumbent in enumerate(challengers):
            rows = tuple(
                Row(
                    kind_label(challenger),
                    tuple(
                        size_cell(analysis.measured.thresholds.get(Contest(case, uses, incumbent, challenger)))
                        for uses in BREAKEVEN_USES
                        for _, analysis in labelled
                    ),
                )
                for challenger in challengers[index + 1 :]
                if incumbent == "pageable" or (incumbent, challenger) in _CHOICES
            )
            groups += [Group(say("breakeven_report.against", memory=memory_name(incumbent)), rows)] if rows else []
        if groups:
            title = say("breakeven_report.wins_from_size", case=case_words(case))
            yield Grid(title, _uses_columns(labelled), tuple(groups), say("breakeven_report.way"))


def derived_grid(labelled: Sequence[Labelled]) -> Grid | None:
    """From which size on pinned beats pageable memory, as measured and as derived; None where nothing was derived."""
    groups = []
    for case in PLAIN_CASES:
        by_uses = [
            {each.contest.uses: each for each in analysis.derived if each.contest.case == case}
            for _, analysis in labelled
        ]
        known = [each.get(uses) for uses in DERIVED_USES for each in by_uses]
        rows = [
            Row(say("breakeven_report.measured"), tuple(size_cell(each and each.measured) for each in known)),
            Row(say("breakeven_report.derived"), tuple(size_cell(each and each.derived) for each in known)),
            Row(say("breakeven_report.apart"), tuple(map(_apart, known))),
        ]
        groups += [Group(capitalised(case_words(case)), tuple(rows))] if any(by_uses) else []
    columns = _uses_columns(labelled, DERIVED_USES)
    return Grid(say("breakeven_report.derived_grid"), columns, tuple(groups)) if groups else None


def _apart(derived: Derived | None) -> Cell:
    if derived is None or derived.apart is None:
        return missing()
    return Cell(f"{100 * derived.apart:+.0f} %", state="ok" if derived.agrees else "wide")


def uses_grids(labelled: Sequence[Labelled]) -> Iterator[Grid]:
    """The number of uses from which each memory kind beats pageable memory, at a few sizes."""
    sizes = _sizes(labelled)
    for case in PLAIN_CASES:
        rows = tuple(
            Row(
                kind_label(kind),
                tuple(
                    uses_cell(analysis.measured.least_uses(case, size, "pageable", kind))
                    for size in sizes
                    for _, analysis in labelled
                ),
            )
            for kind in _ways(labelled, case)
            if kind != "pageable"
        )
        columns = tuple(
            Column(format_bytes(size), format_bytes(size), label) for size in sizes for label, _ in labelled
        )
        if rows:
            title = say("breakeven_report.wins_from_uses", case=case_words(case))
            yield Grid(title, columns, (Group("", rows),), say("breakeven_report.way"))


def fastest_grid(labelled: Sequence[Labelled]) -> Grid | None:
    """The fastest memory kinds by uses and size: with a buffer that is kept, and among those that allocate one."""
    sizes = _sizes(labelled)
    groups = tuple(
        Group(
            capitalised(say(key, case=case_words(case))),
            tuple(
                Row(
                    uses_count(uses),
                    tuple(
                        Cell(say("common.between_clauses").join(map(kind_label, kinds)) or "-")
                        for size in sizes
                        for _, analysis in labelled
                        for kinds in [analysis.measured.fastest(case, uses, size, among=among)]
                    ),
                )
                for uses in BREAKEVEN_USES
            ),
        )
        for case in PLAIN_CASES
        if _ways(labelled, case)
        for key, among in (("breakeven_report.kept", BREAKEVEN_WAYS), ("breakeven_report.new", _ALLOCATED_WAYS))
    )
    columns = tuple(
        Column(format_bytes(size), format_bytes(size), label, prose=True) for size in sizes for label, _ in labelled
    )
    return Grid(say("breakeven_report.fastest_grid"), columns, groups, say("breakeven_report.uses")) if groups else None


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


def _uses_columns(labelled: Iterable[Labelled], numbers: Sequence[int] = BREAKEVEN_USES) -> tuple[Column, ...]:
    labels = [label for label, _ in labelled]
    return tuple(Column(name.replace(" ", "\n"), name, label) for name in map(uses_count, numbers) for label in labels)


def _sizes(labelled: Sequence[Labelled]) -> list[int]:
    """The sizes of _USES_SIZES, no larger than the largest reference."""
    most = max(analysis.reference_bytes for _, analysis in labelled)
    return sorted({min(size, most) for size in _USES_SIZES})


def _ways(labelled: Sequence[Labelled], case: str) -> list[str]:
    """The memory kinds that any of the runs measured in this case, pageable first."""
    return ordered_ways(kind for _, analysis in labelled for kind in analysis.measured.kinds(case))
