"""Timelines of pipelines: when each stage of each chunk was under way, as a picture and in letters."""

from collections.abc import Sequence

from isthmus.analysis.labels import kind_label, kind_rank
from isthmus.analysis.overlap.model import traced
from isthmus.analysis.overlap.sources import Source, columns, of_run, work_label
from isthmus.analysis.overlap.words import way_words
from isthmus.document import chart
from isthmus.document.chart import Axis, Drawn, Timeline
from isthmus.document.grid import Cell, Column, Grid, Group, Row
from isthmus.document.palette import numbered_look
from isthmus.document.section import Chart, Part
from isthmus.language import say, sentences
from isthmus.record import Case, Run, Span, StageName, format_bytes, format_seconds

__all__ = ["timeline_parts"]

_STAGES: tuple[StageName, ...] = ("in", "work", "out")
_LETTERS = 60
_IDLE = "."


def timeline_parts(runs: Sequence[Run], everything: Sequence[Source]) -> list[Part]:
    """The picture for the page and the letters for text; none where no run has a timeline."""
    cases = [(index, case) for index, run in enumerate(runs) for case in traced(run)]
    if not cases:
        return []
    cases.sort(key=lambda each: (each[1].bytes, kind_rank(each[1].host_memory), each[0]))
    charts = tuple(_chart(_title(runs, everything, index, case), case) for index, case in cases)
    grids = tuple(_grid(_title(runs, everything, index, case), case) for index, case in cases)
    title, note = say("overlap_report.timelines"), say("overlap_report.timelines_note")
    lettered = sentences([note, say("overlap_report.timelines_letters")])
    return [Part(title, note, charts), Part(title, lettered, grids=grids, text_only=True)]


def _title(runs: Sequence[Run], everything: Sequence[Source], index: int, case: Case) -> str:
    way = way_words(case.host_memory, case.pieces or 1, case.streams or 1)
    works = [
        work_label(source.overlap)
        for source in everything
        if (source.index, source.overlap.bytes, source.overlap.ratio) == (index, case.bytes, case.work_ratio)
    ]
    return of_run(runs, index, [kind_label(case.host_memory), format_bytes(case.bytes), way, *works[:1]])


def _chart(title: str, case: Case) -> Chart:
    lanes = tuple(
        Drawn(name, numbered_look(place), tuple(_bar(name, span) for span in case.spans if span.stage == stage))
        for place, (stage, name) in enumerate(_lanes().items())
    )
    axis = Axis(say("overlap_report.timeline_axis"), (0.0, _total(case)), "linear", "seconds")
    return Chart(title, say("overlap_report.timeline_label", title=title), Timeline(lanes, axis))


def _lanes() -> dict[StageName, str]:
    return {stage: say(f"overlap_report.lane_{stage}") for stage in _STAGES}


def _bar(lane: str, span: Span) -> chart.Row:
    took = format_seconds(span.end - span.begin)
    return chart.bar(lane, span.begin, span.end, chunk=str(span.chunk), begins=format_seconds(span.begin), takes=took)


def _total(case: Case) -> float:
    return max(span.end for span in case.spans)


def _grid(title: str, case: Case) -> Grid:
    total = _total(case)
    rows = []
    for stage, name in _lanes().items():
        spans = [span for span in case.spans if span.stage == stage]
        busy = _busy(spans) / total if total else 0.0
        rows.append(Row(name, (Cell(_letters(spans, total)), Cell(f"{100 * busy:.0f}"))))
    span = say("common.range", low="0", high=format_seconds(total))
    heads = (Column(span, span), *columns(["busy"]))
    title, corner = say("overlap_report.timeline", title=title), say("overlap_report.corner_stage")
    return Grid(title, heads, (Group("", tuple(rows)),), corner=corner)


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
