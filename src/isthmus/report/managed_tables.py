"""Where each way beats copying the whole array, and what all of it costs: the paper's answers beside a run's."""

from collections.abc import Mapping, Sequence

from isthmus.model import (
    PAPER_BOTH_RATIO,
    PAPER_PERCENT,
    PAPER_STRIDE,
    PAPER_WHOLE_RATIO,
    WHOLE_COPIES,
    ManagedWay,
    Movement,
    Overtaking,
    PaperFigure,
    Pattern,
    about_bytes,
    managed_answer,
    overtakings,
    paper_figures,
    ratio,
)
from isthmus.record import Run, format_bytes
from isthmus.report.grid import Cell, Column, Grid, Group, Row, interval_cell, time_cell
from isthmus.report.labels import run_title
from isthmus.report.managed_labels import MISSING, Source, movement_title, way_label
from isthmus.report.section import Part

__all__ = ["paper_part", "thresholds_part", "whole_part"]

_THRESHOLDS_NOTE = (
    "Up to which share (≤) and from which stride on (≥) a way beats copying the whole array, from pageable and from "
    "pinned memory. Never and always: in the whole range measured. ?: this run cannot tell."
)
_WHOLE_NOTE = (
    "In: copy in and the device's computing. Out: copy out and the CPU's adding up. The paper prints ratios; "
    "its explicit way copies from pageable memory."
)
_PAPER_NOTE = "IPSJ SIG Technical Report 2020-HPC-177 No. 13: 8 GiB, Tesla V100, PCI Express 3.0, OpenACC."
_PAPER_RATIOS = {
    "copy all, pageable": 1.0,
    "on demand": PAPER_WHOLE_RATIO,
    "both (managed, with directives)": PAPER_BOTH_RATIO,
}
_PATTERNS: Mapping[Pattern, str] = {"percent": "share", "stride": "stride"}


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
            grids.append(_thresholds_grid(f"Thresholds, {movement_title(runs, chosen[0])}", answers))
    return Part("Where a way beats copying the whole array", _THRESHOLDS_NOTE, grids=tuple(grids)) if grids else None


def _thresholds_grid(title: str, answers: Mapping[tuple[Pattern, ManagedWay, ManagedWay], Overtaking]) -> Grid:
    keys = [(pattern, incumbent) for pattern in _PATTERNS for incumbent in WHOLE_COPIES]
    columns = tuple(
        Column(f"{name}\n{incumbent.memory}", f"{name}, against {incumbent.memory}")
        for name in _PATTERNS.values()
        for incumbent in WHOLE_COPIES
    )
    rows = [
        Row(
            way_label(way),
            tuple(_threshold_cell(pattern, answers.get((pattern, other, way))) for pattern, other in keys),
        )
        for way in dict.fromkeys(way for _, _, way in answers)
    ]
    paper = Row(
        "on demand",
        (Cell(f"≤ {PAPER_PERCENT} %"), MISSING, Cell(f"≥ {format_bytes(PAPER_STRIDE)}"), MISSING),
    )
    return Grid(title, columns, (Group("", tuple(rows)), Group("the paper's, on a V100", (paper,))), corner="Way")


def _threshold_cell(pattern: Pattern, answer: Overtaking | None) -> Cell:
    if answer is None:
        return MISSING
    threshold = answer.threshold
    words = managed_answer(pattern, threshold)
    match threshold.state:
        case "from" | "up_to":
            number = f"{threshold.value:.2g} %" if pattern == "percent" else about_bytes(threshold.value)
            text = f"{'≥' if threshold.state == 'from' else '≤'} {number}"
        case "cannot_tell":
            return Cell("?", state="missing", detail=words)
        case _:
            text = threshold.state
    return Cell(text, state="ok" if threshold.certain else "wide", detail=words)


def whole_part(runs: Sequence[Run], found: Sequence[Source]) -> Part | None:
    """The paper's table of all of the array: both phases of every way, and the ratio to copying it from pageable."""
    columns = (
        Column("total", "total"),
        Column("in", "in"),
        Column("out", "out"),
        Column("times\ncopy all", "times copy all, pageable"),
    )
    grids = []
    for index, movement in found:
        rows = _whole_rows(movement)
        if movement.pattern == "percent" and rows:
            title = f"All of it touched, {movement_title(runs, (index, movement))}"
            paper = tuple(Row(name, (*[MISSING] * 3, Cell(f"{value:.2f}"))) for name, value in _PAPER_RATIOS.items())
            grids.append(Grid(title, columns, (Group("", rows), Group("the paper's, on a V100", paper)), corner="Way"))
    return Part("All of the array touched", _WHOLE_NOTE, grids=tuple(grids)) if grids else None


def _whole_rows(movement: Movement) -> tuple[Row, ...]:
    plain = movement.at(WHOLE_COPIES[0], 100)
    rows = []
    for way, points in movement.curves.items():
        point = points.get(100)
        if point:
            against = MISSING
            if plain:
                against = Cell("1.00") if point is plain else interval_cell(ratio(point.seconds, plain.seconds))
            cells = time_cell(point.seconds, wide=not point.converged), time_cell(point.into), time_cell(point.out)
            rows.append(Row(way_label(way), (*cells, against)))
    return tuple(rows)


def paper_part(runs: Sequence[Run]) -> Part | None:
    """The paper's figures one by one, and why this machine's are others, as far as its own figures say."""
    columns = (
        Column("V100", "V100"),
        Column("here", "here", prose=True),
        Column("what the figures say", "what the figures say", prose=True),
    )
    grids = [
        Grid(run_title(runs, index), columns, (Group("", tuple(map(_paper_row, rows))),), corner="Figure")
        for index, run in enumerate(runs)
        if (rows := paper_figures(run))
    ]
    return Part("What changed since the paper's V100", _PAPER_NOTE, grids=tuple(grids)) if grids else None


def _paper_row(figure: PaperFigure) -> Row:
    return Row(figure.name, (Cell(figure.published), Cell(figure.here), Cell(figure.why)))
