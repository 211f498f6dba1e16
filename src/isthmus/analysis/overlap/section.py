"""The section on overlap: the best pipelines, how near all come to their bound, timelines."""

from collections.abc import Iterator, Sequence

from isthmus.analysis.figures import cell_of, legend_of, quotient_cell
from isthmus.analysis.labels import Source, run_label, sources
from isthmus.analysis.overlap.findings import multiple_digits, way_words
from isthmus.analysis.overlap.model import STAGES, Overlap, PipelinePoint, main_overlaps, overlaps, traced
from isthmus.analysis.phrases import memory_label
from isthmus.analysis.statistics.curve import Point
from isthmus.document import chart
from isthmus.document.chart import Axis, Drawn, Look, Timeline, curves_chart, numbered_look
from isthmus.document.grid import Cell, Grid, Group, Row, excerpt, missing, time_cell
from isthmus.document.pivot import columns_of, groups_of, rows_of, word_column
from isthmus.document.section import Chart, Glance, Part, Section, section_of
from isthmus.grouping import grouped
from isthmus.language import capitalised, say
from isthmus.record import Case, Interval, Run, Span, format_bytes, format_seconds, kind_rank

_BEST = ("ways", "time", "serial", "speedup", "bound", "share", *STAGES)
# Rows and columns of a first screen.
_MOST, _COLUMNS = 6, 5

_Overlaps = Sequence[Source[Overlap]]
# Solid grey, which none of the first five numbers of streams has.
_BOUND_LOOK = numbered_look(5)


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of overlap; None where that is nothing but skips."""
    everything, mains = _sorted(sources(runs, overlaps)), _sorted(sources(runs, _mains))
    # When each stage of each chunk was in progress; None where no run has a timeline.
    cases = sources(runs, traced)
    cases.sort(key=lambda each: (each.value.bytes, kind_rank(each.value.host_memory), each.index))
    charts = tuple(map(_timeline, cases))
    parts = [
        Part(say("overlap_report.best"), say("overlap_report.best_note"), grids=_best_grids(everything)),
        Part(say("overlap_report.shares"), say("overlap_report.shares_note"), grids=_shares_grids(mains)),
        speedup_part(mains),
        Part(say("overlap_report.timelines"), say("overlap_report.timelines_note"), charts) if charts else None,
    ]
    return section_of("overlap", parts, ("work", "bound"))


def glance(run: Run) -> Glance | None:
    """The best pipelines, with work that takes about as long as copies; None where no pipeline was measured."""
    grids = _best_grids(_sorted(sources([run], _mains)))
    return Glance((excerpt(grids[0], _MOST, columns=range(_COLUMNS)),)) if grids else None


def _mains(run: Run) -> Sequence[Overlap]:
    return main_overlaps(overlaps(run))


def _sorted(of: _Overlaps) -> _Overlaps:
    return sorted(of, key=lambda each: (kind_rank(each.value.host_memory), each.value.ratio, each.index))


def _best_grids(everything: _Overlaps) -> tuple[Grid, ...]:
    """One table a size, a row for each memory, work and run; none where no pipeline of several chunks was measured."""
    by_size = grouped(((each, best) for each in everything if (best := each.value.best)), lambda of: of[0].value.bytes)
    corner = capitalised(say("overlap_report.heading_work"))
    return tuple(
        Grid(
            _sized(say("overlap_report.best"), size),
            columns_of(say(f"overlap_report.heading_{name}") for name in _BEST),
            groups_of((memory_label(each.value.host_memory), _best_row(each, best)) for each, best in by_size[size]),
            corner,
        )
        for size in sorted(by_size)
    )


def _best_row(source: Source[Overlap], best: PipelinePoint) -> Row:
    overlap, serial = source.value, source.value.serial
    cells = (
        Cell(f"{best.chunks} x {best.streams}", detail=way_words(overlap.host_memory, best.chunks, best.streams)),
        time_cell(best.seconds, wide=not best.converged),
        time_cell(serial.seconds, wide=not serial.converged) if serial else missing(),
        quotient_cell(best.speedup, source.target),
        _plain_cell(best.bound),
        quotient_cell(best.share, source.target, scale=100.0),
        *(_plain_cell(overlap.alone.get(stage)) for stage in STAGES),
    )
    return Row(f"{multiple_digits(overlap)}x {source.label}".rstrip(), cells)


def _shares_grids(chosen: _Overlaps) -> tuple[Grid, ...]:
    """A table for each size: chunks down, streams and runs across, groups by memory and work."""
    grids = []
    by_size = grouped(chosen, lambda each: each.value.bytes)
    for size in sorted(by_size):
        across = sorted({(streams, each.index) for each in by_size[size] for _, streams in each.value.figures})
        columns = (
            word_column(say("overlap.streams", count=streams), run_label(chosen[0].runs, index))
            for streams, index in across
        )
        groups = []
        for (kind, ratio), alike in grouped(by_size[size], lambda of: (of.value.host_memory, of.value.ratio)).items():
            of_run = {each.index: each for each in alike}
            rows = rows_of(
                sorted({chunks for each in alike for chunks, _ in each.value.figures}),
                str,
                [(streams, of_run.get(index)) for streams, index in across],
                lambda column, chunks: _share_cell(column[1], (chunks, column[0])),
            )
            title = say("common.comma").join([memory_label(kind), say("overlap.work", x=f"≈{ratio:g}")])
            groups.append(Group(title, rows))
        corner = capitalised(say("overlap_report.chunks"))
        grids.append(Grid(_sized(say("overlap_report.shares"), size), tuple(columns), tuple(groups), corner))
    return tuple(grids)


def _share_cell(source: Source[Overlap] | None, place: tuple[int, int]) -> Cell:
    if source is None:
        return missing()
    overlap, target = source.value, source.target

    def share(point: Point) -> Cell:
        detail = format_seconds(point.seconds.median)
        return quotient_cell(overlap.points[place].share, target, scale=100.0, detail=detail)

    return cell_of(overlap.figures.get(place), share)


def _sized(title: str, size: int) -> str:
    return say("common.comma").join([title, format_bytes(size)])


def _plain_cell(seconds: Interval | None) -> Cell:
    return Cell(format_seconds(seconds.median)) if seconds else missing()


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


def _title(host_memory: str, size: int, rest: str) -> str:
    return say("common.comma").join([memory_label(host_memory), format_bytes(size), rest])


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
