"""Curves of overlap: speed-up against chunks with the bound, and shares of the bound for every work."""

from collections.abc import Callable, Iterator, Sequence

from isthmus.analysis.labels import kind_label
from isthmus.analysis.overlap.model import Overlap, PipelinePoint
from isthmus.analysis.overlap.sources import Source, case_labels, of_run, streams_label, work_label
from isthmus.document import chart
from isthmus.document.chart import Axis, Drawn, curves_chart
from isthmus.document.palette import Look, numbered_look
from isthmus.document.section import Chart, LegendEntry, Part
from isthmus.language import say
from isthmus.record import Interval, Run, format_bytes, format_seconds

__all__ = ["chart_parts"]

# Solid grey, which none of the first five numbers of streams has.
_BOUND_LOOK = numbered_look(5)


def chart_parts(runs: Sequence[Run], everything: Sequence[Source]) -> list[Part]:
    """Speed-up of the work to conclude from first, by streams; then shares of the bound, by work."""
    parts = [_speedup_part(runs, everything), _share_part(runs, everything)]
    return [part for part in parts if part.charts]


def _speedup_part(runs: Sequence[Run], everything: Sequence[Source]) -> Part:
    chosen = [source for source in everything if source.is_main]
    counts = sorted({streams for source in chosen for _, streams in source.overlap.points})
    looks = {streams_label(count): numbered_look(place) for place, count in enumerate(counts)}
    charts = tuple(
        _chart(runs, source, "overlap_report.speedup_label", _speedup_curves(source.overlap, looks))
        for source in chosen
    )
    drawn = tuple(each for each in charts if each)
    legend = tuple(
        LegendEntry(name, look) for name, look in {**looks, say("overlap_report.bound"): _BOUND_LOOK}.items()
    )
    note = say("overlap_report.speedup_note")
    return Part(say("overlap_report.speedup_part"), note, drawn, legend if drawn else ())


def _share_part(runs: Sequence[Run], everything: Sequence[Source]) -> Part:
    labels = case_labels(everything)
    looks = {label: numbered_look(place) for place, label in enumerate(labels.values())}
    groups: dict[tuple[int, str, int], list[Source]] = {}
    for source in everything:
        groups.setdefault((source.index, source.overlap.host_memory, source.overlap.bytes), []).append(source)
    drawn = []
    for group in groups.values():
        curves = [curve for source in group for curve in _share_curves(source.overlap, labels, looks)]
        if each := _chart(runs, group[0], "overlap_report.share_label", curves, (100.0, say("overlap_report.bound"))):
            drawn.append(each)
    legend = tuple(LegendEntry(name, look) for name, look in looks.items())
    note = say("overlap_report.share_note")
    return Part(say("overlap_report.share_part"), note, tuple(drawn), legend if drawn else ())


def _chart(
    runs: Sequence[Run], source: Source, label: str, curves: Sequence[Drawn], rule: tuple[float, str] | None = None
) -> Chart | None:
    points = [row for curve in curves for row in curve.rows]
    if not points:
        return None
    overlap = source.overlap
    named = [kind_label(overlap.host_memory), format_bytes(overlap.bytes), *([] if rule else [work_label(overlap)])]
    title = of_run(runs, source.index, named)
    axis = Axis(say("overlap_report.share_axis" if rule else "overlap_report.speedup_axis"), scale="linear")
    spec = curves_chart(curves, Axis(say("overlap_report.chunks_axis")), axis, rules=[rule] if rule else [])
    return Chart(title, say(label, title=title), spec)


def _speedup_curves(overlap: Overlap, looks: dict[str, Look]) -> list[Drawn]:
    curves = [
        Drawn(name, look, tuple(_rows(name, _on(overlap, name), lambda point: point.speedup, 1.0)))
        for name, look in looks.items()
    ]
    serial = overlap.serial
    if serial:
        bound_name = say("overlap_report.bound")
        bounds = {point.chunks: point.bound for point in overlap.points.values() if point.bound}
        rows = tuple(
            chart.row(bound_name, chunks, value, value, value, chunks=str(chunks), time=format_seconds(bound.median))
            for chunks, bound in sorted(bounds.items())
            if (value := serial.seconds.median / bound.median)
        )
        curves.append(Drawn(bound_name, _BOUND_LOOK, rows))
    return [curve for curve in curves if curve.rows]


def _share_curves(overlap: Overlap, labels: dict[float, str], looks: dict[str, Look]) -> list[Drawn]:
    name = labels[overlap.ratio]
    if overlap.best is None:
        return []
    points = [point for point in overlap.points.values() if point.streams == min(point.chunks, overlap.best.streams)]
    rows = tuple(_rows(name, points, lambda point: point.share, 100.0))
    return [Drawn(name, looks[name], rows)] if rows else []


def _on(overlap: Overlap, name: str) -> list[PipelinePoint]:
    return [point for point in overlap.points.values() if streams_label(point.streams) == name]


def _rows(
    name: str, points: Sequence[PipelinePoint], value: Callable[[PipelinePoint], Interval | None], scale: float
) -> Iterator[chart.Row]:
    for point in sorted(points, key=lambda point: point.chunks):
        if (found := value(point)) is None:
            continue
        yield chart.row(
            name,
            point.chunks,
            scale * found.median,
            scale * found.low,
            scale * found.high,
            chunks=str(point.chunks),
            streams=str(point.streams),
            time=format_seconds(point.seconds.median),
            **({"share": f"{100 * point.share.median:.0f} %"} if point.share else {}),
            **({"speed-up": f"{point.speedup.median:.2f}"} if point.speedup else {}),
        )
