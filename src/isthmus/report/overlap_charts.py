"""Curves of overlap: speed-up against chunks with the bound, and shares of the bound for every work."""

from collections.abc import Callable, Iterator, Sequence

from isthmus.model import Overlap, PipelinePoint
from isthmus.record import Interval, Run, format_bytes, format_seconds
from isthmus.report import chart
from isthmus.report.chart import Axis, Drawn, curves_chart
from isthmus.report.labels import kind_label, run_title
from isthmus.report.overlap_sources import Source, case_labels, streams_label, work_label
from isthmus.report.palette import Look, numbered_look
from isthmus.report.section import Chart, LegendEntry, Part

__all__ = ["chart_parts"]

_BOUND = "bound"
# Solid grey, which none of the first five numbers of streams has.
_BOUND_LOOK = numbered_look(5)
_CHUNKS = "chunks"


def chart_parts(runs: Sequence[Run], everything: Sequence[Source]) -> list[Part]:
    """Speed-up of the work to conclude from first, by streams; then shares of the bound, by work."""
    parts = [_speedup_part(runs, everything), _share_part(runs, everything)]
    return [part for part in parts if part.charts]


def _speedup_part(runs: Sequence[Run], everything: Sequence[Source]) -> Part:
    chosen = [source for source in everything if source.is_main]
    counts = sorted({streams for source in chosen for _, streams in source.overlap.points})
    looks = {streams_label(count): numbered_look(place) for place, count in enumerate(counts)}
    charts = tuple(_chart(runs, source, "Speed-up", _speedup_curves(source.overlap, looks)) for source in chosen)
    drawn = tuple(each for each in charts if each)
    legend = tuple(LegendEntry(name, look) for name, look in {**looks, _BOUND: _BOUND_LOOK}.items())
    note = "How many times as fast as one stage after the other; the bound is that of stages that run at once."
    return Part("Speed-up against chunks", note, drawn, legend if drawn else ())


def _share_part(runs: Sequence[Run], everything: Sequence[Source]) -> Part:
    labels = case_labels(everything)
    looks = {label: numbered_look(place) for place, label in enumerate(labels.values())}
    groups: dict[tuple[int, str, int], list[Source]] = {}
    for source in everything:
        groups.setdefault((source.index, source.overlap.host_memory, source.overlap.bytes), []).append(source)
    drawn = []
    for group in groups.values():
        curves = [curve for source in group for curve in _share_curves(source.overlap, labels, looks)]
        if each := _chart(runs, group[0], "Share of the bound", curves, rule=(100.0, _BOUND)):
            drawn.append(each)
    legend = tuple(LegendEntry(name, look) for name, look in looks.items())
    note = "For each amount of work the number of streams with the fastest pipeline."
    return Part("Share of the bound against chunks", note, tuple(drawn), legend if drawn else ())


def _chart(
    runs: Sequence[Run], source: Source, what: str, curves: Sequence[Drawn], rule: tuple[float, str] | None = None
) -> Chart | None:
    points = [row for curve in curves for row in curve.rows]
    if not points:
        return None
    overlap = source.overlap
    title = f"{kind_label(overlap.host_memory)}, {format_bytes(overlap.bytes)}"
    title += "" if rule else f", {work_label(overlap)}"
    if len(runs) > 1:
        title += f": {run_title(runs, source.index)}"
    axis = Axis("share of the bound, %" if rule else "times as fast", scale="linear")
    spec = curves_chart(curves, Axis(_CHUNKS), axis, rules=[rule] if rule else [])
    return Chart(title, f"{what} against chunks, {title}; its figures are in the tables.", spec)


def _speedup_curves(overlap: Overlap, looks: dict[str, Look]) -> list[Drawn]:
    curves = [
        Drawn(name, look, tuple(_rows(name, _on(overlap, name), lambda point: point.speedup, 1.0)))
        for name, look in looks.items()
    ]
    serial = overlap.serial
    if serial:
        bounds = {point.chunks: point.bound for point in overlap.points.values() if point.bound}
        rows = tuple(
            chart.row(_BOUND, chunks, value, value, value, chunks=str(chunks), time=format_seconds(bound.median))
            for chunks, bound in sorted(bounds.items())
            if (value := serial.seconds.median / bound.median)
        )
        curves.append(Drawn(_BOUND, _BOUND_LOOK, rows))
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
