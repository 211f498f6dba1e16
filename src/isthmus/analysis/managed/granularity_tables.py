"""How much managed memory moves at a time: units by counters and by timing, sizes of migrations, touches."""

from collections.abc import Iterator, Mapping, Sequence

from isthmus.analysis.labels import of_run, run_label
from isthmus.analysis.managed.counts import Counted, counted_passes
from isthmus.analysis.managed.granularity import Mechanism, mechanisms, unit_words
from isthmus.analysis.managed.timing import Touches, Unit, touches
from isthmus.document import chart
from isthmus.document.chart import Axis, Drawn, curves_chart
from isthmus.document.grid import Cell, Column, Grid, Group, Row, missing, time_cell
from isthmus.document.palette import numbered_look
from isthmus.document.section import Chart, LegendEntry, Part
from isthmus.language import can_say, say
from isthmus.record import Faults, Interval, Run, format_bytes, format_seconds

_SIDES = ("device", "host")
_KINDS = ("neighbours", "grown", "stride")
# Columns of the table of units that hold words.
_WORDS = ("counters", "timing", "agree")


def granularity_parts(runs: Sequence[Run]) -> list[Part]:
    """Units of every run; migrations by size and cause; times of touches."""
    return [_units_part(runs), _sizes_part(runs), _touches_part(runs)]


def _units_part(runs: Sequence[Run]) -> Part:
    grids = []
    for index, run in enumerate(runs):
        known = mechanisms(run)
        if not known:
            continue
        columns = tuple(
            Column(name, name, run_label(runs, index), prose=key in _WORDS)
            for key in (*_WORDS, "there", "waits")
            for name in [say(f"granularity_report.column_{key}")]
        )
        rows = tuple(Row(each.name, _unit_cells(each)) for each in known)
        title = of_run(say("granularity_report.units_title"), runs, index)
        grids.append(Grid(title, columns, (Group("", rows),), corner=say("granularity_report.corner")))
    return Part(say("granularity_report.units_title"), say("granularity_report.units_note"), grids=tuple(grids))


def _unit_cells(mechanism: Mechanism) -> tuple[Cell, ...]:
    agreement = "-" if mechanism.agreement == "cannot tell" else say(f"labels.verified_{mechanism.agreement}")
    return (
        _unit_cell(mechanism.counted),
        _unit_cell(mechanism.timed),
        Cell(agreement, state="failed" if mechanism.agreement == "no" else "ok"),
        _time_cell(mechanism.there),
        _time_cell(mechanism.waiting),
    )


def _unit_cell(unit: Unit | None) -> Cell:
    return missing() if unit is None else Cell(unit_words(unit), detail=unit.why)


def _time_cell(seconds: Interval | None) -> Cell:
    return missing() if seconds is None else time_cell(seconds)


def _pass_title(each: Counted) -> str:
    case = each.case
    mechanism = _mover(case.method.removeprefix("counted_").partition("_")[0], case.direction or "")
    if case.stride_bytes and not case.method.endswith("_sweep"):
        return say("granularity_report.pass", mechanism=mechanism, stride=format_bytes(case.stride_bytes))
    return say("granularity_report.pass_all", mechanism=mechanism)


def _mover(mover: str, direction: str) -> str:
    key = f"granularity.mechanism_{mover if mover in _SIDES else f'{mover}_{direction}'}"
    return say(key) if can_say(key) else mover


def _sizes_part(runs: Sequence[Run]) -> Part:
    grids = []
    for index, run in enumerate(runs):
        passes = counted_passes(run)
        if not passes:
            continue
        label = run_label(runs, index)
        columns = tuple(
            Column(name, name, label)
            for key in ("count", "share", "alignment")
            for name in [say(f"granularity_report.column_{key}")]
        )
        groups = tuple(Group(_pass_title(each), tuple(_size_rows(each))) for each in passes)
        title = of_run(say("granularity_report.sizes_title"), runs, index)
        grids.append(Grid(title, columns, groups, corner=say("granularity_report.corner")))
    note = say("granularity_report.sizes_note")
    return Part(say("granularity_report.sizes_title"), note, grids=tuple(grids), page_only=True)


def _size_rows(each: Counted) -> Iterator[Row]:
    total = sum(one.bytes * one.count for one in each.case.migrations)
    for one in each.case.migrations:
        direction = "" if one.direction == each.case.direction else one.direction.upper()
        name = say("common.comma").join(filter(None, (format_bytes(one.bytes), one.cause, direction)))
        share = f"{100 * one.bytes * one.count / total:.1f}" if total else "0"
        yield Row(name, (Cell(str(one.count)), Cell(share), Cell(format_bytes(one.alignment_bytes))))
    for fault in each.case.faults:
        count = Cell(_faults_words(each, fault))
        yield Row(_mover(fault.side, ""), (count, missing(), missing()))


def _faults_words(each: Counted, fault: Faults) -> str:
    """``16``, ``180 in 40 groups``, or ``≥ 5`` where more pages moved for faults than were reported to fault."""
    moved = sum(
        one.count
        for one in each.case.migrations
        if one.cause == "coherence" and one.direction == ("d2h" if fault.side == "host" else "h2d")
    )
    words = str(fault.count)
    if fault.groups != fault.count:
        words = say("granularity_report.grouped", faults=fault.count, groups=fault.groups)
    return f"≥ {words}" if fault.groups < moved else words


def _touches_part(runs: Sequence[Run]) -> Part:
    charts = [
        made
        for index, run in enumerate(runs)
        for each in touches(run)
        if (made := _touches_chart(each, of_run(_mover(each.mover, each.direction), runs, index)))
    ]
    legend = tuple(
        LegendEntry(say(f"granularity_report.kind_{kind}"), numbered_look(place)) for place, kind in enumerate(_KINDS)
    )
    note = say("granularity_report.touches_note")
    return Part(say("granularity_report.touches_title"), note, tuple(charts), legend)


def _touches_chart(of: Touches, title: str) -> Chart | None:
    kinds: Mapping[str, Mapping[int, Interval]] = dict(zip(_KINDS, (of.neighbour, of.grown, of.stride), strict=True))
    curves = []
    for place, kind in enumerate(_KINDS):
        name = say(f"granularity_report.kind_{kind}")
        if rows := tuple(_touch_rows(name, kinds[kind])):
            curves.append(Drawn(name, numbered_look(place), rows))
    if not curves:
        return None
    rules = [(of.there.median, say("granularity_report.column_there"))] if of.there else []
    span, time = say("granularity_report.span_axis"), say("granularity_report.touches_title")
    spec = curves_chart(curves, Axis(span, labels="bytes"), Axis(time, labels="seconds"), rules=rules)
    return Chart(title, say("labels.named_value", name=time, value=title), spec)


def _touch_rows(name: str, times: Mapping[int, Interval]) -> Iterator[chart.Row]:
    """By span; a distance of nothing has no place on the axis and is the chart's rule."""
    for span, seconds in times.items():
        if span:
            hover = {
                say("granularity_report.span_axis"): format_bytes(span),
                say("labels.told_time"): format_seconds(seconds.median),
            }
            yield chart.row(name, span, seconds, **hover)
