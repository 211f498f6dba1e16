"""The table that puts the rates of a published sweep of pageable and pinned copies beside those of the runs."""

from collections.abc import Sequence

from isthmus.analysis.bandwidth.published import published_rates
from isthmus.analysis.labels import kind_label, run_label
from isthmus.analysis.phrases import range_text, times
from isthmus.document.grid import Cell, Column, Grid, Group, Row
from isthmus.document.states import missing
from isthmus.language import say
from isthmus.record import Run

__all__ = ["published_grid"]


def published_grid(runs: Sequence[Run]) -> Grid | None:
    """Ranges over the sizes, published and of each run; None where no run has such sizes."""
    found = [(run_label(runs, index), rates) for index, run in enumerate(runs) if (rates := published_rates(run))]
    if not found:
        return None
    rates_rows, gain_rows = [], []
    for entries in zip(*(rates for _, rates in found), strict=True):
        first = entries[0]
        way = first.direction.upper()
        name = say("bandwidth_report.kind_way", kind=kind_label(first.memory), way=way)
        measured = [_range(each.measured) for each in entries]
        rates_rows.append(Row(name, (_range(first.published), *measured)))
        if first.published_gain:
            gains = [_times(each.measured_gain) for each in entries]
            name = say("bandwidth_report.pinned_over_pageable", way=way)
            gain_rows.append(Row(name, (_times(first.published_gain), *gains)))
    published, here = say("bandwidth_report.column_published"), say("bandwidth_report.column_here")
    return Grid(
        say("bandwidth_report.published_grid"),
        (Column(published, published), *(Column(here, here, label) for label, _ in found)),
        (Group("", tuple(rates_rows)), Group(say("bandwidth_report.gain_group"), tuple(gain_rows))),
        corner=say("bandwidth_report.corner_copies"),
    )


def _range(rates: tuple[float, float] | None) -> Cell:
    return Cell(range_text(*rates)) if rates else missing()


def _times(factors: tuple[float, float] | None) -> Cell:
    return Cell(times(*factors)) if factors else missing()
