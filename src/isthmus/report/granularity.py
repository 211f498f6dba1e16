"""How much managed memory moves at a time: units by counters and by timing, sizes of migrations, touches."""

from collections.abc import Iterator, Mapping, Sequence

from isthmus.model import Counted, Mechanism, Touches, Unit, counted_passes, mechanisms, touches, unit_words
from isthmus.record import Faults, Interval, Run, format_bytes, format_seconds
from isthmus.report import chart
from isthmus.report.chart import Axis, Drawn, curves_chart
from isthmus.report.grid import Cell, Column, Grid, Group, Row, time_cell
from isthmus.report.labels import run_label, run_title
from isthmus.report.managed_labels import MISSING
from isthmus.report.palette import numbered_look
from isthmus.report.section import Chart, LegendEntry, Part

__all__ = ["granularity_parts"]

_UNITS_NOTE = (
    "Counters: what the driver reported through CUPTI of pages that were touched or prefetched alone. Timing: up to "
    "which distance from such a page others had come along, so that touching them does not wait. What the driver adds: "
    "the largest part that it completes once more than half is in use. There, waits: time of one touch of a page that "
    "is there, and of one that has to be fetched; of the device each with a sixteenth of the launch and of waiting for "
    "its end."
)
_SIZES_NOTE = (
    "Migrations that the driver reported, by size and cause. User: explicit prefetch. Coherence: a fault. Prefetch: "
    "what the driver added of its own accord. Alignment: the largest power of two that divides all their addresses in "
    "the array. Faults: as reported, in groups that were handled together; at least so many where fewer groups "
    "than migrations by faults were reported."
)
_TOUCHES_NOTE = (
    "Time of one touch. Neighbours: at a distance from pages that were brought over just before. Grown: the last page "
    "of a part of which the first nine sixteenths were touched. Stride: touches in turn of pages that are all on the "
    "other side."
)
_TITLES = {
    "counted_device_touches": "the device touches in turn",
    "counted_device_sweep": "the device touches all at once",
    "counted_host_touches": "the CPU touches in turn",
    "counted_prefetch": "prefetch",
}
_CAUSES = ("user", "coherence", "prefetch", "eviction", "access_counters", "unknown")
_KINDS = ("neighbours", "grown", "stride")


def granularity_parts(runs: Sequence[Run]) -> list[Part]:
    """Units of every run; migrations by size and cause, as charts and tables; times of touches."""
    parts = [_units_part(runs), _sizes_part(runs), _touches_part(runs)]
    return [part for part in parts if part]


def _units_part(runs: Sequence[Run]) -> Part | None:
    grids = []
    for index, run in enumerate(runs):
        found = mechanisms(run)
        if not found:
            continue
        names = ("counters", "timing", "agree", "there", "waits")
        columns = tuple(Column(name, name, run_label(runs, index), prose=name in names[:3]) for name in names)
        rows = tuple(Row(each.name, _unit_cells(each)) for each in found)
        title = "How much moves at a time" + (f", {run_title(runs, index)}" if len(runs) > 1 else "")
        grids.append(Grid(title, columns, (Group("", rows),), corner="Pages move by"))
    return Part("How much moves at a time", _UNITS_NOTE, grids=tuple(grids)) if grids else None


def _unit_cells(mechanism: Mechanism) -> tuple[Cell, ...]:
    agreement = {"yes": "yes", "no": "no", "cannot tell": "-"}[mechanism.agreement]
    return (
        _unit_cell(mechanism.counted),
        _unit_cell(mechanism.timed),
        Cell(agreement, state="failed" if mechanism.agreement == "no" else "ok"),
        _time_cell(mechanism.there),
        _time_cell(mechanism.waiting),
    )


def _unit_cell(unit: Unit | None) -> Cell:
    return MISSING if unit is None else Cell(unit_words(unit), detail=unit.why)


def _time_cell(seconds: Interval | None) -> Cell:
    return MISSING if seconds is None else time_cell(seconds)


def _pass_title(each: Counted) -> str:
    case = each.case
    way = f", {case.direction.upper()}" if case.direction else ""
    parts = f"a page every {format_bytes(case.stride_bytes)}" if case.stride_bytes else "all of it"
    return f"{_TITLES.get(case.method, case.method)}, {parts}{way}"


def _sizes_part(runs: Sequence[Run]) -> Part | None:
    grids, charts = [], []
    for index, run in enumerate(runs):
        passes = counted_passes(run)
        if not passes:
            continue
        last = f", {run_title(runs, index)}" if len(runs) > 1 else ""
        names = ("count", "share of bytes, %", "alignment")
        columns = tuple(Column(name.replace(" ", "\n", 1), name, run_label(runs, index)) for name in names)
        groups = tuple(Group(_pass_title(each), tuple(_size_rows(each))) for each in passes)
        grids.append(Grid(f"Migrations by size and cause{last}", columns, groups, corner="Size, cause"))
        charts += [_size_chart(each, last) for each in passes if len(each.case.migrations) > 1]
    if not grids:
        return None
    legend = tuple(LegendEntry(cause, numbered_look(place)) for place, cause in enumerate(_CAUSES)) if charts else ()
    return Part("Sizes of migrations", _SIZES_NOTE, tuple(charts), legend, tuple(grids), page_only=True)


def _size_rows(each: Counted) -> Iterator[Row]:
    total = sum(one.bytes * one.count for one in each.case.migrations)
    for one in each.case.migrations:
        away = "" if one.direction == each.case.direction else f", {one.direction.upper()}"
        yield Row(
            f"{format_bytes(one.bytes)}, {one.cause}{away}",
            (
                Cell(str(one.count)),
                Cell(f"{100 * one.bytes * one.count / total:.1f}" if total else "0"),
                Cell(format_bytes(one.alignment_bytes)),
            ),
        )
    for fault in each.case.faults:
        count = Cell(_faults_words(each, fault))
        yield Row(f"faults of the {'CPU' if fault.side == 'host' else 'device'}", (count, MISSING, MISSING))


def _faults_words(each: Counted, fault: Faults) -> str:
    """``16``, ``180 in 40 groups``, or ``at least 5`` where more pages moved for faults than were reported to fault."""
    moved = sum(
        one.count
        for one in each.case.migrations
        if one.cause == "coherence" and one.direction == ("d2h" if fault.side == "host" else "h2d")
    )
    words = str(fault.count) if fault.groups == fault.count else f"{fault.count} in {fault.groups} groups"
    return f"at least {words}" if fault.groups < moved else words


def _size_chart(each: Counted, last: str) -> Chart:
    curves = []
    for place, cause in enumerate(_CAUSES):
        rows = tuple(
            chart.row(
                cause, one.bytes, one.count, one.count, one.count, size=format_bytes(one.bytes), way=one.direction
            )
            for one in each.case.migrations
            if one.cause == cause and one.direction == each.case.direction
        )
        if rows:
            curves.append(Drawn(cause, numbered_look(place), rows))
    title = f"{_pass_title(each)}{last}"
    spec = curves_chart(curves, Axis("size of a migration", labels="bytes"), Axis("migrations"))
    return Chart(title, f"Number of migrations by size, {title}; its figures are in the tables.", spec)


def _touches_part(runs: Sequence[Run]) -> Part | None:
    charts = []
    for index, run in enumerate(runs):
        last = f", {run_title(runs, index)}" if len(runs) > 1 else ""
        charts += [made for each in touches(run) if (made := _touches_chart(each, last))]
    if not charts:
        return None
    legend = tuple(LegendEntry(name, numbered_look(place)) for place, name in enumerate(_KINDS))
    return Part("Time of a touch", _TOUCHES_NOTE, tuple(charts), legend)


def _touches_chart(of: Touches, last: str) -> Chart | None:
    kinds: Mapping[str, Mapping[int, Interval]] = dict(zip(_KINDS, (of.neighbour, of.grown, of.stride), strict=True))
    curves = [
        Drawn(name, numbered_look(place), rows)
        for place, name in enumerate(_KINDS)
        if (rows := tuple(_touch_rows(name, kinds[name])))
    ]
    if not curves:
        return None
    movers = {"device": "touches of the device", "host": "touches of the CPU", "prefetch": "prefetched pages"}
    title = f"{movers[of.mover]}, {of.direction.upper()}{last}"
    rules = [(of.there.median, "a page that is there")] if of.there else []
    axis = Axis("distance, part or stride", labels="bytes")
    spec = curves_chart(curves, axis, Axis("time of a touch", labels="seconds"), rules=rules)
    return Chart(title, f"Time of a touch, {title}; what it tells is in the table of units.", spec)


def _touch_rows(name: str, times: Mapping[int, Interval]) -> Iterator[chart.Row]:
    """By span; a distance of nothing has no place on the axis and is the chart's rule."""
    for span, seconds in times.items():
        if span:
            yield chart.row(name, span, *seconds, span=format_bytes(span), time=format_seconds(seconds.median))
