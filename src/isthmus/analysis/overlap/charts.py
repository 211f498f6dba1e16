"""Speed-up against chunks with the bound, and timelines: when each stage of each chunk was in progress."""

from collections.abc import Iterator, Sequence

from isthmus.analysis.charts import legend_of
from isthmus.analysis.labels import Source, kind_label, sources
from isthmus.analysis.overlap.findings import multiple_digits, way_words
from isthmus.analysis.overlap.model import STAGES, Overlap, traced
from isthmus.document import chart
from isthmus.document.chart import Axis, Drawn, Timeline, curves_chart
from isthmus.document.palette import Look, numbered_look
from isthmus.document.section import Chart, Part
from isthmus.language import capitalised, say
from isthmus.record import Case, Interval, Run, Span, format_bytes, format_seconds, kind_rank

# Solid grey, which none of the first five numbers of streams has.
_BOUND_LOOK = numbered_look(5)


def speedup_part(chosen: Sequence[Source[Overlap]]) -> Part:
    """A chart for each of these pipelines, a curve for each number of streams."""
    counts = sorted({streams for each in chosen for _, streams in each.value.points})
    looks = {streams: numbered_look(place) for place, streams in enumerate(counts)}
    axes = Axis(say("overlap_report.chunks")), Axis(say("overlap_report.heading_speedup"), scale="linear")
    heading = capitalised(axes[1].title)
    charts = []
    for each in chosen:
        if curves := list(_curves(each.value, looks)):
            work = say("overlap.work", x=multiple_digits(each.value))
            title = each.titled(_title(each.value.host_memory, each.value.bytes, work))
            charts.append(Chart(title, f"{heading}: {title}", curves_chart(curves, *axes)))
    legend = {say("overlap.streams", count=streams): look for streams, look in looks.items()}
    legend[say("overlap_report.heading_bound")] = _BOUND_LOOK
    return Part(heading, charts=tuple(charts), legend=legend_of(legend))


def _curves(overlap: Overlap, looks: dict[int, Look]) -> Iterator[Drawn]:
    points = sorted(overlap.points.values(), key=lambda point: point.chunks)
    for streams, look in looks.items():
        name = say("overlap.streams", count=streams)
        rows = tuple(
            chart.row(
                name, point.chunks, point.speedup, chunks=str(point.chunks), time=format_seconds(point.seconds.median)
            )
            for point in points
            if point.streams == streams and point.speedup
        )
        if rows:
            yield Drawn(name, look, rows)
    serial, name = overlap.serial, say("overlap_report.heading_bound")
    bounds = {point.chunks: point.bound.median for point in points if point.bound}
    if serial and bounds:
        rows = tuple(
            chart.row(name, chunks, Interval(value, value, value), chunks=str(chunks), time=format_seconds(bound))
            for chunks, bound in bounds.items()
            for value in [serial.seconds.median / bound]
        )
        yield Drawn(name, _BOUND_LOOK, rows)


def timeline_part(runs: Sequence[Run]) -> Part | None:
    """When each stage of each chunk was in progress; None where no run has a timeline."""
    cases = sources(runs, traced)
    cases.sort(key=lambda each: (each.value.bytes, kind_rank(each.value.host_memory), each.index))
    charts = tuple(map(_timeline, cases))
    return Part(say("overlap_report.timelines"), say("overlap_report.timelines_note"), charts) if charts else None


def _title(host_memory: str, size: int, rest: str) -> str:
    return say("common.comma").join([kind_label(host_memory), format_bytes(size), rest])


def _timeline(source: Source[Case]) -> Chart:
    case = source.value
    method = way_words(case.host_memory, case.pieces or 1, case.streams or 1)
    title = source.titled(_title(case.host_memory, case.bytes, method))
    lanes = tuple(
        Drawn(name, numbered_look(place), tuple(_bar(name, span) for span in case.spans if span.stage == stage))
        for place, stage in enumerate(STAGES)
        for name in [say(f"overlap_report.heading_{stage}")]
    )
    axis = Axis(say("overlap_report.timeline_axis"), (0.0, max(span.end for span in case.spans)), "linear", "seconds")
    return Chart(title, f"{say('overlap_report.timelines')}: {title}", Timeline(lanes, axis))


def _bar(lane: str, span: Span) -> chart.Row:
    took = format_seconds(span.end - span.begin)
    return chart.bar(lane, span.begin, span.end, chunk=str(span.chunk), begins=format_seconds(span.begin), takes=took)
