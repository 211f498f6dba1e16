"""The tables of managed memory: thresholds, all of the array, and times of every method at every share and stride."""

from collections.abc import Mapping, Sequence

from isthmus.analysis.figures import cell_of
from isthmus.analysis.labels import Source, in_one_text, kind_label
from isthmus.analysis.managed.model import WHOLE_COPIES, ManagedWay, Movement, Overtaking, Pattern, overtakings
from isthmus.analysis.managed.words import (
    managed_answer,
    pattern_name,
    phases_shown,
    place_label,
    threshold_words,
    way_label,
)
from isthmus.analysis.statistics.contrast import ratio
from isthmus.analysis.statistics.curve import Point
from isthmus.document.grid import Cell, Column, Grid, Group, Row, interval_cell, missing, time_cell
from isthmus.document.pivot import columns_of, grid_of, rows_of
from isthmus.document.section import Part
from isthmus.grouping import grouped
from isthmus.language import say
from isthmus.record import format_bytes

Movements = Sequence[Source[Movement]]

_PATTERNS: tuple[Pattern, ...] = ("percent", "stride")


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
        for name, memory in ((pattern_name(pattern), kind_label(incumbent.memory)) for pattern, incumbent in keys)
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
    """Both phases together: methods down, shares or strides across."""
    grids = tuple(map(_times_grid, measured))
    return Part(say("managed_report.times_title"), say("managed_report.times_note"), grids=grids)


def _times_grid(source: Source[Movement]) -> Grid:
    movement = source.value
    places = sorted({place for by_place in movement.figures.values() for place in by_place})
    rows = rows_of(
        movement.figures,
        way_label,
        places,
        lambda place, method: cell_of(movement.figures[method].get(place), _time_cell),
    )
    title = movement_title(source, say("managed_report.times_title"), pattern_name(movement.pattern))
    columns = columns_of(place_label(movement.pattern, place).replace(" ", "\n") for place in places)
    return Grid(title, columns, (Group("", rows),), corner=say("labels.corner_method"))


def _time_cell(point: Point) -> Cell:
    return time_cell(point.seconds, wide=not point.converged, detail=in_one_text(phases_shown(point)))
