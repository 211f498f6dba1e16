"""The section on explicit and automatic data movement: thresholds, all of the array, curves, and migration units."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from isthmus.analysis.figures import cell_of, legend_of
from isthmus.analysis.labels import Source, in_one_text, one_of_each, sources
from isthmus.analysis.managed.granularity import Counted, Mechanism, counted_passes, mechanisms, unit_words
from isthmus.analysis.managed.model import (
    WHOLE_COPIES,
    ManagedWay,
    Movement,
    Overtaking,
    Pattern,
    movements,
    overtakings,
)
from isthmus.analysis.managed.published import measured_movements
from isthmus.analysis.managed.timing import Touches, Unit, touches
from isthmus.analysis.managed.words import (
    managed_answer,
    pattern_name,
    phases_shown,
    place_label,
    threshold_words,
    way_label,
    way_look,
)
from isthmus.analysis.phrases import memory_label
from isthmus.analysis.published.table import published_parts
from isthmus.analysis.statistics.contrast import ratio
from isthmus.analysis.statistics.curve import Point
from isthmus.document import chart
from isthmus.document.chart import Axis, Drawn, curves_chart, numbered_look
from isthmus.document.grid import Cell, Column, Grid, Group, Row, excerpt, interval_cell, missing, time_cell
from isthmus.document.pivot import columns_of, grid_of, rows_of
from isthmus.document.section import Chart, Glance, Part, Section, section_of
from isthmus.grouping import grouped
from isthmus.language import say, say_or
from isthmus.record import Interval, Run, format_bytes, format_seconds

Movements = Sequence[Source[Movement]]
_PATTERNS: tuple[Pattern, ...] = ("percent", "stride")
_MOST = 7
# More places than that are rows of a table: a terminal has no room for so many columns.
_MOST_ACROSS = 16
_SIDES = ("device", "host")
_KINDS = ("neighbours", "grown", "stride")
# Columns of the table of units that hold words.
_WORDS = ("counters", "timing", "agree")


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of it; None where that is nothing but skips."""
    measured = sources(runs, movements)
    # The part with a chart for each size and pattern that has a curve of two points at least.
    part = times_part(measured)
    chosen = [each for each in measured if any(_curves(each.value))]
    methods = dict.fromkeys(method for each in chosen for method, _ in _curves(each.value))
    charts = tuple(_chart(part.title, each) for each in chosen)
    parts = [
        thresholds_part(measured),
        whole_part(measured),
        replace(part, charts=charts, legend=legend_of({way_label(each): way_look(each) for each in methods})),
        *published_parts(runs, "managed", measured_movements),
        *granularity_parts(runs),
    ]
    # The caveats are about passes over an array, which a run of units alone has not.
    return section_of("managed", parts, ("work", "fits") if measured else ())


def glance(run: Run) -> Glance | None:
    """All of an array touched, else the first of its tables that the run can fill; None where it has none."""
    measured = sources([run], movements)
    parts = (whole_part(measured), times_part(measured), *granularity_parts([run]))
    grids = [grid for part in parts if not part.page_only for grid in part.grids]
    return Glance((excerpt(grids[0], _MOST),)) if grids else None


def _chart(heading: str, source: Source[Movement]) -> Chart:
    movement = source.value
    name = pattern_name(movement.pattern)
    title = source.titled(movement_title(source, name))
    by_share = movement.pattern == "percent"
    spec = curves_chart(
        [curve for _, curve in _curves(movement)],
        Axis(f"{name}, %", scale="linear") if by_share else Axis(name, labels="bytes"),
        Axis(say("labels.told_time"), labels="seconds"),
        # A copy of the whole array that was measured once is a line.
        rules=[
            (point.seconds.median, way_label(method))
            for method, points in movement.curves.items()
            if method.method == "explicit_whole" and len(points) == 1
            for point in points.values()
        ],
    )
    return Chart(title, f"{heading}: {title}", spec)


def _curves(movement: Movement) -> Iterator[tuple[ManagedWay, Drawn]]:
    for method, points in movement.curves.items():
        if len(points) > 1:
            name = way_label(method)
            rows = tuple(
                chart.row(name, place, point.seconds, **_shown(movement, place, name, point))
                for place, point in points.items()
            )
            yield method, Drawn(name, way_look(method), rows)


def _shown(movement: Movement, place: int, name: str, point: Point) -> dict[str, str]:
    """What pointing at a point shows."""
    return {
        say("labels.told_method"): name,
        pattern_name(movement.pattern): place_label(movement.pattern, place),
        say("labels.told_time"): format_seconds(point.seconds.median),
        **phases_shown(point),
    }


def granularity_parts(runs: Sequence[Run]) -> list[Part]:
    """Units of every run; migrations by size and cause; times of touches."""
    return [_units_part(runs), _sizes_part(runs), _touches_part(runs)]


def _units_part(runs: Sequence[Run]) -> Part:
    title, corner = say("granularity_report.units_title"), say("granularity_report.corner")
    grids = []
    for each in one_of_each(runs, mechanisms):
        columns = (
            Column(name, name, each.label, prose=key in _WORDS)
            for key in (*_WORDS, "there", "waits")
            for name in [say(f"granularity_report.column_{key}")]
        )
        rows = tuple(Row(mechanism.name, _unit_cells(mechanism)) for mechanism in each.value)
        grids.append(grid_of(each.titled(title), columns, [Group("", rows)], corner))
    return Part(title, say("granularity_report.units_note"), grids=tuple(filter(None, grids)))


def _unit_cells(mechanism: Mechanism) -> tuple[Cell, ...]:
    agreement = "-" if mechanism.agreement == "cannot tell" else say(f"labels.verified_{mechanism.agreement}")
    return (
        _unit_cell(mechanism.counted),
        _unit_cell(mechanism.timed),
        Cell(agreement, state="failed" if mechanism.agreement == "no" else "ok"),
        time_cell(mechanism.there),
        time_cell(mechanism.waiting),
    )


def _unit_cell(unit: Unit | None) -> Cell:
    return missing() if unit is None else Cell(unit_words(unit), detail=unit.why)


def _pass_title(each: Counted) -> str:
    case = each.case
    mechanism = _mover(case.method.removeprefix("counted_").partition("_")[0], case.direction or "")
    if case.stride_bytes and not case.method.endswith("_sweep"):
        return say("granularity_report.pass", mechanism=mechanism, stride=format_bytes(case.stride_bytes))
    return say("granularity_report.pass_all", mechanism=mechanism)


def _mover(mover: str, direction: str) -> str:
    return say_or(f"granularity.mechanism_{mover if mover in _SIDES else f'{mover}_{direction}'}", mover)


def _sizes_part(runs: Sequence[Run]) -> Part:
    title, corner = say("granularity_report.sizes_title"), say("granularity_report.corner")
    grids = []
    for each in one_of_each(runs, counted_passes):
        columns = columns_of(
            (say(f"granularity_report.column_{key}") for key in ("count", "share", "alignment")), each.label
        )
        groups = (Group(_pass_title(one), tuple(_size_rows(one))) for one in each.value)
        grids.append(grid_of(each.titled(title), columns, groups, corner))
    return Part(title, say("granularity_report.sizes_note"), grids=tuple(filter(None, grids)), page_only=True)


def _size_rows(each: Counted) -> Iterator[Row]:
    total = sum(one.bytes * one.count for one in each.case.migrations)
    for one in each.case.migrations:
        direction = "" if one.direction == each.case.direction else one.direction.upper()
        name = say("common.comma").join(filter(None, (format_bytes(one.bytes), one.cause, direction)))
        share = f"{100 * one.bytes * one.count / total:.1f}" if total else "0"
        yield Row(name, (Cell(str(one.count)), Cell(share), Cell(format_bytes(one.alignment_bytes))))
    for fault in each.case.faults:
        # ``16``, ``180 in 40 groups``, or ``≥ 5`` where more pages moved for faults than were reported to fault.
        moved = sum(
            one.count
            for one in each.case.migrations
            if one.cause == "coherence" and one.direction == ("d2h" if fault.side == "host" else "h2d")
        )
        words = str(fault.count)
        if fault.groups != fault.count:
            words = say("granularity_report.grouped", faults=fault.count, groups=fault.groups)
        count = Cell(f"≥ {words}" if fault.groups < moved else words)
        yield Row(_mover(fault.side, ""), (count, missing(), missing()))


def _touches_part(runs: Sequence[Run]) -> Part:
    charts = (
        _touches_chart(each.value, each.titled(_mover(each.value.mover, each.value.direction)))
        for each in sources(runs, touches)
    )
    names = (say(f"granularity_report.kind_{kind}") for kind in _KINDS)
    return Part(
        say("granularity_report.touches_title"),
        say("granularity_report.touches_note"),
        tuple(filter(None, charts)),
        legend_of({name: numbered_look(place) for place, name in enumerate(names)}),
    )


def _touches_chart(of: Touches, title: str) -> Chart | None:
    curves = []
    for place, (kind, times) in enumerate(zip(_KINDS, (of.neighbour, of.grown, of.stride), strict=True)):
        name = say(f"granularity_report.kind_{kind}")
        if rows := tuple(_touch_rows(name, times)):
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


def movement_title(source: Source[Movement], *words: str) -> str:
    """The words and ``1 GiB``, with the run's letter where there are several."""
    title = say("common.comma").join([*words, format_bytes(source.value.bytes)])
    return f"{title}: {source.label}" if source.label else title


def thresholds_part(measured: Movements) -> Part:
    """A table for each run and size: methods down, share and stride against both kinds of memory across."""
    heading = say("managed_report.thresholds_title")
    grids = []
    for chosen in grouped(measured, lambda each: (each.index, each.value.bytes)).values():
        answers = {
            (each.value.pattern, answer.incumbent, answer.method): answer
            for each in chosen
            for answer in overtakings(each.value, each.target)
        }
        if answers:
            grids.append(_thresholds_grid(movement_title(chosen[0], heading), answers))
    return Part(heading, say("managed_report.thresholds_note"), grids=tuple(grids))


def _thresholds_grid(title: str, answers: Mapping[tuple[Pattern, ManagedWay, ManagedWay], Overtaking]) -> Grid:
    keys = [(pattern, incumbent) for pattern in _PATTERNS for incumbent in WHOLE_COPIES]
    columns = tuple(
        Column(f"{name}\n{memory}", say("managed_report.against", what=name, memory=memory))
        for name, memory in ((pattern_name(pattern), memory_label(incumbent.memory)) for pattern, incumbent in keys)
    )
    methods = dict.fromkeys(method for _, _, method in answers)
    rows = rows_of(methods, way_label, keys, lambda key, method: _threshold_cell(key[0], answers.get((*key, method))))
    return Grid(title, columns, (Group("", rows),), corner=say("labels.corner_method"))


def _threshold_cell(pattern: Pattern, answer: Overtaking | None) -> Cell:
    if answer is None:
        return missing()
    threshold = answer.threshold
    text, detail = threshold_words(pattern, threshold), managed_answer(pattern, threshold)
    if threshold.state == "cannot_tell":
        return Cell(text, state="missing", detail=detail)
    return Cell(text, state="ok" if threshold.certain else "wide", detail=detail)


def whole_part(measured: Movements) -> Part:
    """All of the array touched: both phases of every method, and the ratio to copying it from pageable memory."""
    keys = ("managed_report.total", "managed_report.in", "managed_report.out", "managed_report.ratio")
    heading, columns = say("managed_report.whole_title"), columns_of(map(say, keys))
    grids = (
        grid_of(
            movement_title(each, heading), columns, [Group("", _whole_rows(each.value))], say("labels.corner_method")
        )
        for each in measured
        if each.value.pattern == "percent"
    )
    return Part(heading, grids=tuple(filter(None, grids)))


def _whole_rows(movement: Movement) -> tuple[Row, ...]:
    plain = movement.at(WHOLE_COPIES[0], 100)
    rows = []
    for method, points in movement.curves.items():
        if point := points.get(100):
            against = interval_cell(ratio(point.seconds, plain.seconds) if plain else None)
            phases = (time_cell(point.phases[phase]) for phase in ("in_seconds", "out_seconds"))
            cells = time_cell(point.seconds, wide=not point.converged), *phases
            rows.append(Row(way_label(method), (*cells, Cell("1.00") if point is plain else against)))
    return tuple(rows)


def times_part(measured: Movements) -> Part:
    """Both phases together: methods down, shares or strides across, or transposed where those are many."""
    grids = tuple(map(_times_grid, measured))
    return Part(say("managed_report.times_title"), say("managed_report.times_note"), grids=grids)


def _times_grid(source: Source[Movement]) -> Grid:
    movement = source.value
    places = sorted({place for by_place in movement.figures.values() for place in by_place})
    name = partial(place_label, movement.pattern)

    def cell(place: int, method: ManagedWay) -> Cell:
        return cell_of(movement.figures[method].get(place), _time_cell)

    title = movement_title(source, say("managed_report.times_title"), pattern_name(movement.pattern))
    if len(places) > _MOST_ACROSS:
        columns = columns_of(map(way_label, movement.figures))
        rows = rows_of(places, name, list(movement.figures), lambda method, place: cell(place, method))
        return Grid(title, columns, (Group("", rows),), corner=pattern_name(movement.pattern))
    columns = columns_of(name(place).replace(" ", "\n") for place in places)
    rows = rows_of(movement.figures, way_label, places, cell)
    return Grid(title, columns, (Group("", rows),), corner=say("labels.corner_method"))


def _time_cell(point: Point) -> Cell:
    return time_cell(point.seconds, wide=not point.converged, detail=in_one_text(phases_shown(point)))
