"""The section on latency: one table of the steps that were measured."""

from collections.abc import Mapping, Sequence

from isthmus.analysis.figures import Figure, figures
from isthmus.analysis.frame import section_of
from isthmus.analysis.labels import run_title
from isthmus.analysis.phrases import link_rate, memory_label
from isthmus.analysis.published.source import Measured, Series
from isthmus.analysis.published.table import published_parts
from isthmus.document.grid import Cell, Column, Grid, Group, Row, interval_cell, time_cell
from isthmus.document.section import Part, Section
from isthmus.language import say
from isthmus.record import Case, Run, format_bytes, kind_rank, median_interval

_METHODS = ("access", "launch", "event", "query", "wait", "copy")
_COLUMNS = ("done", "queued", "rate")


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
    parts = [Part(say("latency_report.grid"), grids=(grid,)), *published_parts(runs, "latency", _device_memory)]
    return section_of("latency", parts)


def _device_memory(run: Run, series: Series) -> Mapping[int, Measured]:
    """The rate of the largest copy within the device, or how many times that of the link it is."""
    copies = [each for each in steps(run) if each.case.method == "copy" and each.case.host_memory == "device"]
    rate = max(copies, key=lambda each: each.case.bytes).rate if copies else None
    link = link_rate(run)
    if rate is None or (series.quantity == "times" and link is None):
        return {}
    return {0: Measured(rate.scaled(1 / link) if series.quantity == "times" and link else rate)}


def steps(run: Run) -> list[Figure]:
    """The steps of the table that have a time, in its order."""
    timed = [each for each in figures(run, "latency") if each.seconds and each.case.method in _METHODS]
    return sorted(
        timed, key=lambda each: (_METHODS.index(each.case.method), kind_rank(each.case.host_memory), each.case.bytes)
    )


def ends(case: Case) -> str:
    """The two devices of an access to a peer's memory; empty for other steps."""
    return f"{case.target} - {case.peer}" if case.peer else ""


def _row(figure: Figure) -> Row:
    """The time until a step has ended, what of it its caller spends, and of a copy the rate."""
    case, calls = figure.case, figure.case.samples("enqueue_seconds")
    where = ends(case) or (memory_label(case.host_memory) if case.host_memory else "")
    done = time_cell(figure.seconds, wide=figure.wide) if figure.seconds else Cell("")
    queued = time_cell(median_interval(calls)) if calls and case.method == "launch" else Cell("")
    rate = interval_cell(figure.rate, scale=1e-9) if figure.rate and case.method == "copy" else Cell("")
    heading = say(f"latency_report.step_{case.method}", memory=where, size=format_bytes(case.bytes))
    return Row(heading, (done, queued, rate))
