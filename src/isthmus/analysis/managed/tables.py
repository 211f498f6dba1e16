"""The tables of managed memory: thresholds, all of the array, and times of every method at every share and stride."""

from collections.abc import Mapping, Sequence

from isthmus.analysis.labels import in_one_text, kind_label, run_label
from isthmus.analysis.managed.model import MANAGED_WAYS, ManagedWay, Movement, Pattern
from isthmus.analysis.managed.thresholds import WHOLE_COPIES, Overtaking, overtakings
from isthmus.analysis.managed.words import (
    managed_answer,
    pattern_name,
    phases_told,
    place_label,
    threshold_words,
    way_label,
)
from isthmus.analysis.statistics.contrast import ratio
from isthmus.document.grid import Cell, Column, Grid, Group, Row, failed, interval_cell, missing, skipped, time_cell
from isthmus.document.section import Part
from isthmus.language import say
from isthmus.record import Run, format_bytes

# The index of a run, and what it measured.
Source = tuple[int, Movement]

_PATTERNS: tuple[Pattern, ...] = ("percent", "stride")


def movement_title(runs: Sequence[Run], source: Source, *words: str) -> str:
    """The words and ``1 GiB``, with the run's letter where there are several."""
    index, movement = source
    label = run_label(runs, index)
    title = say("common.comma").join([*words, format_bytes(movement.bytes)])
    return f"{title}: {label}" if label else title


def thresholds_part(runs: Sequence[Run], sources: Sequence[Source]) -> Part:
    """A table for each run and size: methods down, share and stride against both kinds of memory across."""
    heading = say("managed_report.thresholds_title")
    grids = []
    for index, size in dict.fromkeys((index, movement.bytes) for index, movement in sources):
        chosen = [(each, movement) for each, movement in sources if (each, movement.bytes) == (index, size)]
        known_within = runs[index].settings.target_relative_half_width
        answers = {
            (movement.pattern, each.incumbent, each.method): each
            for _, movement in chosen
            for each in overtakings(movement, known_within)
        }
        if answers:
            grids.append(_thresholds_grid(movement_title(runs, chosen[0], heading), answers))
    return Part(heading, say("managed_report.thresholds_note"), grids=tuple(grids))


def _thresholds_grid(title: str, answers: Mapping[tuple[Pattern, ManagedWay, ManagedWay], Overtaking]) -> Grid:
    keys = [(pattern, incumbent) for pattern in _PATTERNS for incumbent in WHOLE_COPIES]
    columns = tuple(
        Column(f"{name}\n{memory}", say("managed_report.against", what=name, memory=memory))
        for name, memory in ((pattern_name(pattern), kind_label(incumbent.memory)) for pattern, incumbent in keys)
    )
    rows = tuple(
        Row(
            way_label(method),
            tuple(_threshold_cell(pattern, answers.get((pattern, other, method))) for pattern, other in keys),
        )
        for method in dict.fromkeys(method for _, _, method in answers)
    )
    return Grid(title, columns, (Group("", rows),), corner=say("managed_report.way"))


def _threshold_cell(pattern: Pattern, answer: Overtaking | None) -> Cell:
    if answer is None:
        return missing()
    threshold = answer.threshold
    text, detail = threshold_words(pattern, threshold), managed_answer(pattern, threshold)
    if threshold.state == "cannot_tell":
        return Cell(text, state="missing", detail=detail)
    return Cell(text, state="ok" if threshold.certain else "wide", detail=detail)


def whole_part(runs: Sequence[Run], sources: Sequence[Source]) -> Part:
    """All of the array touched: both phases of every method, and the ratio to copying it from pageable memory."""
    keys = ("managed_report.total", "managed_report.in", "managed_report.out", "managed_report.ratio")
    columns = tuple(Column(name, name.replace("\n", " ")) for name in map(say, keys))
    heading = say("managed_report.whole_title")
    grids = []
    for index, movement in sources:
        rows = _whole_rows(movement)
        if movement.pattern == "percent" and rows:
            title = movement_title(runs, (index, movement), heading)
            grids.append(Grid(title, columns, (Group("", rows),), corner=say("managed_report.way")))
    return Part(heading, grids=tuple(grids))


def _whole_rows(movement: Movement) -> tuple[Row, ...]:
    plain = movement.at(WHOLE_COPIES[0], 100)
    rows = []
    for method, points in movement.curves.items():
        point = points.get(100)
        if point:
            against = missing()
            if plain:
                against = Cell("1.00") if point is plain else interval_cell(ratio(point.seconds, plain.seconds))
            cells = time_cell(point.seconds, wide=not point.converged), time_cell(point.into), time_cell(point.out)
            rows.append(Row(way_label(method), (*cells, against)))
    return tuple(rows)


def times_part(runs: Sequence[Run], sources: Sequence[Source]) -> Part:
    """Both phases together: methods down, shares or strides across."""
    grids = tuple(_times_grid(runs, source) for source in sources)
    return Part(say("managed_report.times_title"), say("managed_report.times_note"), grids=grids)


def _times_grid(runs: Sequence[Run], source: Source) -> Grid:
    _, movement = source
    known = {*movement.curves, *movement.failed, *movement.skipped}
    unmeasured = {place for places in (*movement.failed.values(), *movement.skipped.values()) for place in places}
    places = sorted({*movement.places, *unmeasured})
    names = [place_label(movement.pattern, place) for place in places]
    rows = tuple(
        Row(way_label(method), tuple(_time_cell(movement, method, place) for place in places))
        for method in MANAGED_WAYS
        if method in known
    )
    title = movement_title(runs, source, say("managed_report.times_title"), pattern_name(movement.pattern))
    columns = tuple(Column(name.replace(" ", "\n"), name) for name in names)
    return Grid(title, columns, (Group("", rows),), corner=say("managed_report.way"))


def _time_cell(movement: Movement, method: ManagedWay, place: int) -> Cell:
    if place in movement.failed.get(method, ()):
        return failed(say("labels.wrong_data"))
    point = movement.curves.get(method, {}).get(place)
    if point is None:
        why = movement.skipped.get(method, {}).get(place)
        return skipped(why) if why else missing()
    return time_cell(point.seconds, wide=not point.converged, detail=in_one_text(phases_told(point)))
