"""Latency: one table of the steps that were measured, and what an access and a launch take."""

from collections.abc import Mapping, Sequence

from isthmus.analysis.figures import Figure, figures
from isthmus.analysis.labels import run_title
from isthmus.analysis.phrases import link_rate, memory_label, memory_name
from isthmus.analysis.published.source import Measured, Series
from isthmus.analysis.published.table import published_parts
from isthmus.document.finding import Finding
from isthmus.document.grid import Cell, Column, Grid, Group, Row, interval_cell, time_cell
from isthmus.document.section import Part, Section, section_of
from isthmus.language import say, sentences
from isthmus.record import Case, Run, format_bytes, format_seconds, kind_rank, median_interval

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


def findings(run: Run) -> list[Finding]:
    """At most one each about accesses and launches; the table has the other steps."""
    timed = steps(run)
    launch, fuse = _launch(timed)
    texts = {"latency_access": (_access(timed), ""), "latency_launch": (launch, fuse)}
    return [Finding("note", topic, text, do=(fix,)) for topic, (text, fix) in texts.items() if text]


def takeaway(run: Run) -> Finding | None:
    """What a launch and an access take; None where neither was measured."""
    candidates = findings(run)
    does = sentences(each.text for each in candidates)
    return (
        Finding("note", "latency", does, do=(sentences(do for each in candidates for do in each.do),))
        if candidates
        else None
    )


def _access(timed: Sequence[Figure]) -> str:
    times = [
        f"{ends(each.case) or memory_name(each.case.host_memory)} {format_seconds(each.seconds.median)}"
        for each in timed
        if each.case.method == "access" and each.seconds
    ]
    return say("latency.access", times=say("common.comma").join(times)) if times else ""


def _launch(timed: Sequence[Figure]) -> tuple[str, str]:
    """What a launch takes, and what to do about it."""
    for each in timed:
        calls = each.case.samples("enqueue_seconds")
        if each.case.method == "launch" and calls and each.seconds:
            queued, done = format_seconds(median_interval(calls).median), format_seconds(each.seconds.median)
            return say("latency.launch", queued=queued, done=done), say("latency.fuse", done=done)
    return "", ""
