"""Timelines of pipelines: when each stage of each chunk was under way, as a picture and in letters."""

from collections.abc import Sequence

from isthmus.model import traced, way_words
from isthmus.record import Case, Run, Span, StageName, format_bytes, format_seconds
from isthmus.report import chart
from isthmus.report.chart import Axis, Drawn, Timeline
from isthmus.report.grid import Cell, Column, Grid, Group, Row
from isthmus.report.labels import kind_label, kind_rank, run_title
from isthmus.report.overlap_sources import Source, work_label
from isthmus.report.palette import numbered_look
from isthmus.report.section import Chart, Part

__all__ = ["timeline_parts"]

_LANES: dict[StageName, str] = {"in": "copy in", "work": "work", "out": "copy out"}
_LETTERS = 60
_IDLE = "."
_TITLE = "Timelines"
_NOTE = (
    "A typical pass of the fastest pipeline of several chunks, with events of the device around every stage of every "
    "chunk. A copy begins no earlier than the one before it of its kind ends, as on an engine that makes one at a "
    "time. Bars of work begin where their stream came to it: kernels of several streams may share the device or wait "
    "for each other, so these bars may overlap, and are a reconstruction."
)


def timeline_parts(runs: Sequence[Run], everything: Sequence[Source]) -> list[Part]:
    """The picture for the page and the letters for text; none where no run has a timeline."""
    cases = [(index, case) for index, run in enumerate(runs) for case in traced(run)]
    if not cases:
        return []
    cases.sort(key=lambda each: (each[1].bytes, kind_rank(each[1].host_memory), each[0]))
    charts = tuple(_chart(_title(runs, everything, index, case), case) for index, case in cases)
    letters = (
        "A digit is the last one of the number of the chunk that is under way, of several the one with most of that "
        "time, a point nothing."
    )
    grids = tuple(_grid(_title(runs, everything, index, case), case) for index, case in cases)
    return [Part(_TITLE, _NOTE, charts), Part(_TITLE, f"{_NOTE} {letters}", grids=grids, text_only=True)]


def _title(runs: Sequence[Run], everything: Sequence[Source], index: int, case: Case) -> str:
    way = way_words(case.host_memory, case.pieces or 1, case.streams or 1)
    works = [
        work_label(source.overlap)
        for source in everything
        if (source.index, source.overlap.bytes, source.overlap.ratio) == (index, case.bytes, case.work_ratio)
    ]
    title = ", ".join([kind_label(case.host_memory), format_bytes(case.bytes), way, *works[:1]])
    return f"{title}: {run_title(runs, index)}" if len(runs) > 1 else title


def _chart(title: str, case: Case) -> Chart:
    lanes = tuple(
        Drawn(name, numbered_look(place), tuple(_bar(name, span) for span in case.spans if span.stage == stage))
        for place, (stage, name) in enumerate(_LANES.items())
    )
    return Chart(
        title,
        f"Timeline of {title}: when each stage of each chunk was under way.",
        Timeline(lanes, Axis("time since the first stage began", (0.0, _total(case)), "linear", "seconds")),
    )


def _bar(lane: str, span: Span) -> chart.Row:
    took = format_seconds(span.end - span.begin)
    return chart.bar(lane, span.begin, span.end, chunk=str(span.chunk), begins=format_seconds(span.begin), takes=took)


def _total(case: Case) -> float:
    return max(span.end for span in case.spans)


def _grid(title: str, case: Case) -> Grid:
    total = _total(case)
    rows = []
    for stage, name in _LANES.items():
        spans = [span for span in case.spans if span.stage == stage]
        busy = _busy(spans) / total if total else 0.0
        rows.append(Row(name, (Cell(_letters(spans, total)), Cell(f"{100 * busy:.0f}"))))
    columns = (Column(f"0 to {format_seconds(total)}", f"0 to {format_seconds(total)}"), Column("busy\n%", "busy, %"))
    return Grid(f"Timeline: {title}", columns, (Group("", tuple(rows)),), corner="Stage")


def _busy(spans: Sequence[Span]) -> float:
    """Seconds in which at least one of the spans is under way."""
    seconds, end = 0.0, float("-inf")
    for span in sorted(spans, key=lambda span: span.begin):
        seconds += max(0.0, span.end - max(span.begin, end))
        end = max(end, span.end)
    return seconds


def _letters(spans: Sequence[Span], total: float) -> str:
    """For each of equal parts of the time the chunk that has most of it; of several the one that began first."""
    spans = sorted(spans, key=lambda span: (span.begin, span.end))
    return "".join(
        _letter(spans, place * total / _LETTERS, (place + 1) * total / _LETTERS) for place in range(_LETTERS)
    )


def _letter(spans: Sequence[Span], begin: float, end: float) -> str:
    most = max(spans, key=lambda span: min(span.end, end) - max(span.begin, begin), default=None)
    is_there = most is not None and min(most.end, end) > max(most.begin, begin)
    return str(most.chunk % 10) if most is not None and is_there else _IDLE
