"""The section on latency: one table of the steps that were measured."""

from collections.abc import Sequence

from isthmus.analysis.frame import section_of
from isthmus.analysis.labels import run_title
from isthmus.analysis.latency.model import Step, steps
from isthmus.analysis.phrases import memory_label
from isthmus.document.grid import Cell, Column, Grid, Group, Row, interval_cell, time_cell
from isthmus.document.section import Part, Section
from isthmus.language import say
from isthmus.record import Run, format_bytes


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of it; None where that is nothing but skips."""
    groups = [
        Group(run_title(runs, index) if len(runs) > 1 else "", tuple(map(_row, timed)))
        for index, run in enumerate(runs)
        if (timed := steps(run))
    ]
    if not groups:
        return None
    columns = tuple(Column(say(key := f"latency_report.column_{name}"), say(key)) for name in _COLUMNS)
    grid = Grid(say("latency_report.grid"), columns, tuple(groups), corner=say("latency_report.step"))
    return section_of("latency", [Part(say("latency_report.grid"), grids=(grid,))])


_COLUMNS = ("done", "queued", "rate")


def _row(step: Step) -> Row:
    where = step.ends or (memory_label(step.memory) if step.memory else "")
    words = {"memory": where, "size": format_bytes(step.bytes)}
    queued = time_cell(step.queued) if step.queued else Cell("")
    rate = interval_cell(step.rate, scale=1e-9) if step.rate else Cell("")
    return Row(
        say(f"latency_report.step_{step.method}", **words), (time_cell(step.seconds, wide=step.wide), queued, rate)
    )
