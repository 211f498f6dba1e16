"""The tables of managed memory: thresholds, all of the array, and times of every way at every share and stride."""

from collections.abc import Mapping, Sequence

from isthmus.analysis.labels import kind_label, run_label
from isthmus.analysis.managed.model import MANAGED_WAYS, ManagedWay, Movement, Pattern
from isthmus.analysis.managed.thresholds import WHOLE_COPIES, Overtaking, overtakings
from isthmus.analysis.managed.words import managed_answer, place_label, way_label
from isthmus.analysis.phrases import about_bytes
from isthmus.analysis.statistics.contrast import ratio
from isthmus.document.grid import Cell, Column, Grid, Group, Row, failed, interval_cell, missing, skipped, time_cell
from isthmus.document.section import Part
from isthmus.language import say
from isthmus.record import Run, format_bytes, format_seconds

# The index of a run, and what it measured.
Source = tuple[int, Movement]

_PATTERNS: tuple[Pattern, ...] = ("percent", "stride")


def movement_title(runs: Sequence[Run], source: Source) -> str:
    """``1 GiB``, with the run's letter where there are several."""
    index, movement = source
    label = run_label(runs, index)
    return format_bytes(movement.bytes) + (f": {label}" if label else "")


def thresholds_part(runs: Sequence[Run], found: Sequence[Source]) -> Part:
    """A table for each run and size: ways down, share and stride against both kinds of memory across."""
    grids = []
    for index, size in dict.fromkeys((index, movement.bytes) for index, movement in found):
        chosen = [(each, movement) for each, movement in found if (each, movement.bytes) == (index, size)]
        known_within = runs[index].settings.target_relative_half_width
        answers = {
            (movement.pattern, each.incumbent, each.way): each
            for _, movement in chosen
            for each in overtakings(movement, known_within)
        }
        if answers:
            title = say("managed_report.thresholds_grid", array=movement_title(runs, chosen[0]))
            grids.append(_thresholds_grid(title, answers))
    return Part(say("managed_report.thresholds_title"), say("managed_report.thresholds_note"), grids=tuple(grids))


def _thresholds_grid(title: str, answers: Mapping[tuple[Pattern, ManagedWay, ManagedWay], Overtaking]) -> Grid:
    keys = [(pattern, incumbent) for pattern in _PATTERNS for incumbent in WHOLE_COPIES]
    columns = tuple(
        Column(f"{name}\n{memory}", say("managed_report.against", what=name, memory=memory))
        for name, memory in (
            (say(f"managed_report.pattern_{pattern}"), kind_label(incumbent.memory)) for pattern, incumbent in keys
        )
    )
    rows = tuple(
        Row(
            way_label(way),
            tuple(_threshold_cell(pattern, answers.get((pattern, other, way))) for pattern, other in keys),
        )
        for way in dict.fromkeys(way for _, _, way in answers)
    )
    return Grid(title, columns, (Group("", rows),), corner=say("managed_report.way"))


def _threshold_cell(pattern: Pattern, answer: Overtaking | None) -> Cell:
    if answer is None:
        return missing()
    threshold = answer.threshold
    words = managed_answer(pattern, threshold)
    match threshold.state:
        case "from" | "up_to":
            number = f"{threshold.value:.2g} %" if pattern == "percent" else about_bytes(threshold.value)
            text = f"{'≥' if threshold.state == 'from' else '≤'} {number}"
        case "cannot_tell":
            return Cell("?", state="missing", detail=words)
        case _:
            text = say(f"managed_report.state_{threshold.state}")
    return Cell(text, state="ok" if threshold.certain else "wide", detail=words)


def whole_part(runs: Sequence[Run], found: Sequence[Source]) -> Part:
    """All of the array touched: both phases of every way, and the ratio to copying it from pageable memory."""
    columns = (
        *(Column(name, name) for name in map(say, ("managed_report.total", "managed_report.in", "managed_report.out"))),
        Column(say("managed_report.ratio_heading"), say("managed_report.ratio")),
    )
    grids = []
    for index, movement in found:
        rows = _whole_rows(movement)
        if movement.pattern == "percent" and rows:
            title = say("managed_report.whole_grid", array=movement_title(runs, (index, movement)))
            grids.append(Grid(title, columns, (Group("", rows),), corner=say("managed_report.way")))
    return Part(say("managed_report.whole_title"), say("managed_report.whole_note"), grids=tuple(grids))


def _whole_rows(movement: Movement) -> tuple[Row, ...]:
    plain = movement.at(WHOLE_COPIES[0], 100)
    rows = []
    for way, points in movement.curves.items():
        point = points.get(100)
        if point:
            against = missing()
            if plain:
                against = Cell("1.00") if point is plain else interval_cell(ratio(point.seconds, plain.seconds))
            cells = time_cell(point.seconds, wide=not point.converged), time_cell(point.into), time_cell(point.out)
            rows.append(Row(way_label(way), (*cells, against)))
    return tuple(rows)


def times_part(runs: Sequence[Run], found: Sequence[Source]) -> Part:
    """Both phases together: ways down, shares or strides across."""
    grids = tuple(_times_grid(runs, source) for source in found)
    return Part(say("managed_report.times_title"), say("managed_report.times_note"), grids=grids)


def _times_grid(runs: Sequence[Run], source: Source) -> Grid:
    _, movement = source
    known = {*movement.curves, *movement.failed, *movement.skipped}
    unmeasured = {place for places in (*movement.failed.values(), *movement.skipped.values()) for place in places}
    places = sorted({*movement.places, *unmeasured})
    names = [place_label(movement.pattern, place) for place in places]
    rows = tuple(
        Row(way_label(way), tuple(_time_cell(movement, way, place) for place in places))
        for way in MANAGED_WAYS
        if way in known
    )
    title = say(f"managed_report.times_{movement.pattern}", array=movement_title(runs, source))
    columns = tuple(Column(name.replace(" ", "\n"), name) for name in names)
    return Grid(title, columns, (Group("", rows),), corner=say("managed_report.way"))


def _time_cell(movement: Movement, way: ManagedWay, place: int) -> Cell:
    if place in movement.failed.get(way, ()):
        return failed(say("managed_report.wrong"))
    point = movement.curves.get(way, {}).get(place)
    if point is None:
        why = movement.skipped.get(way, {}).get(place)
        return skipped(why) if why else missing()
    into, out = format_seconds(point.into.median), format_seconds(point.out.median)
    detail = say("managed_report.cell", into=into, out=out, count=len(point.samples))
    return time_cell(point.seconds, wide=not point.converged, detail=detail)
