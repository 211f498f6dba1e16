"""Where each way beats copying the whole array, and what all of it costs."""

from collections.abc import Mapping, Sequence

from isthmus.analysis.labels import kind_label
from isthmus.analysis.managed.labels import Source, movement_title, way_label
from isthmus.analysis.managed.model import ManagedWay, Movement, Pattern
from isthmus.analysis.managed.thresholds import WHOLE_COPIES, Overtaking, overtakings
from isthmus.analysis.managed.words import managed_answer
from isthmus.analysis.phrases import about_bytes
from isthmus.analysis.statistics.contrast import ratio
from isthmus.document.grid import Cell, Column, Grid, Group, Row, interval_cell, time_cell
from isthmus.document.section import Part
from isthmus.document.states import missing
from isthmus.language import say
from isthmus.record import Run

_PATTERNS: tuple[Pattern, ...] = ("percent", "stride")


def thresholds_part(runs: Sequence[Run], found: Sequence[Source]) -> Part | None:
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
    if not grids:
        return None
    return Part(say("managed_report.thresholds_title"), say("managed_report.thresholds_note"), grids=tuple(grids))


def _thresholds_grid(title: str, answers: Mapping[tuple[Pattern, ManagedWay, ManagedWay], Overtaking]) -> Grid:
    keys = [(pattern, incumbent) for pattern in _PATTERNS for incumbent in WHOLE_COPIES]
    columns = tuple(
        Column(f"{name}\n{memory}", say("managed_report.against", what=name, memory=memory))
        for name, memory in (
            (say(f"managed_report.pattern_{pattern}"), kind_label(incumbent.memory)) for pattern, incumbent in keys
        )
    )
    rows = [
        Row(
            way_label(way),
            tuple(_threshold_cell(pattern, answers.get((pattern, other, way))) for pattern, other in keys),
        )
        for way in dict.fromkeys(way for _, _, way in answers)
    ]
    return Grid(title, columns, (Group("", tuple(rows)),), corner=say("managed_report.way"))


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


def whole_part(runs: Sequence[Run], found: Sequence[Source]) -> Part | None:
    """All of the array: both phases of every way, and the ratio to copying it from pageable."""
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
    if not grids:
        return None
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
