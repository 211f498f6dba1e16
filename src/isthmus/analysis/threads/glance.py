"""Threads at a glance: rates by the number of threads that copy slices, for each kind of memory and way."""

from isthmus.analysis.labels import kind_label
from isthmus.analysis.phrases import way_name
from isthmus.analysis.statistics.curve import ONE_WAY
from isthmus.analysis.threads.model import ThreadCurve, most_complete, reference_bytes, thread_curves
from isthmus.document.grid import Cell, Column, Grid, Group, Row, brief, interval_cell, missing, spread
from isthmus.document.section import Glance
from isthmus.language import say
from isthmus.record import Run, format_bytes

_MOST = 6


def glance(run: Run) -> Glance | None:
    """One direction at a time, of one size; None where no threads were measured."""
    curves = [curve for curve in thread_curves(run) if curve.points and curve.direction in ONE_WAY]
    size = reference_bytes(curves)
    if size is None:
        return None
    subjects: dict[tuple[str, str], list[ThreadCurve]] = {}
    for curve in curves:
        if curve.bytes == size:
            subjects.setdefault((curve.host_memory, curve.direction), []).append(curve)
    chosen = [most_complete(same) for same in subjects.values()]
    counts = sorted({count for curve in chosen for count in curve.points})
    rows = tuple(
        Row(str(counts[at]), tuple(_cell(curve, counts[at]) for curve in chosen)) for at in spread(len(counts), _MOST)
    )
    columns = tuple(
        Column(f"{kind_label(curve.host_memory)}\n{way_name(curve.direction)}", kind_label(curve.host_memory))
        for curve in chosen
    )
    title = say("threads_report.glance", size=format_bytes(size))
    return Glance((Grid(title, columns, (Group("", rows),), say("threads_report.corner_threads")),))


def _cell(curve: ThreadCurve, count: int) -> Cell:
    point = curve.points.get(count)
    return brief(interval_cell(point.rate, scale=1e-9, wide=not point.converged)) if point else missing()
