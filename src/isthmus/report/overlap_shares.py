"""Shares of the bound by chunks and streams."""

from collections.abc import Iterable, Mapping, Sequence

from isthmus.model import Overlap, PipelinePoint
from isthmus.record import Run, format_bytes, format_seconds
from isthmus.report.grid import Cell, Column, Grid, Group, Row
from isthmus.report.labels import kind_label, run_label
from isthmus.report.overlap_sources import MISSING, Source, base_words, case_labels, ratio_cell, streams_label
from isthmus.report.section import Part

__all__ = ["share_parts"]

_TITLE = "Share of the bound, by chunks and streams"
_NOTE = (
    "The bound over the time, in %: 100 is as fast as stages that run at once can be. Streams of staged memory "
    "are threads."
)


def share_parts(runs: Sequence[Run], everything: Sequence[Source]) -> list[Part]:
    """Of the work to conclude from first, then on the page alone of the other work."""
    labels = case_labels(everything)
    main = _grids(runs, [source for source in everything if source.is_main], labels)
    rest = _grids(runs, [source for source in everything if not source.is_main], labels)
    note = f"{_NOTE} Work is a multiple of {base_words(everything)}."
    parts = [Part(_TITLE, note, grids=main)] if main else []
    return parts + ([Part(f"{_TITLE}: other work", grids=rest, page_only=True)] if rest else [])


def _grids(runs: Sequence[Run], chosen: Sequence[Source], labels: Mapping[float, str]) -> tuple[Grid, ...]:
    """One for each size: chunks down, streams and runs across, a group for each memory and work."""
    grids = []
    for size in sorted({source.overlap.bytes for source in chosen}):
        of_size = [source for source in chosen if source.overlap.bytes == size]
        ways = sorted({(streams, source.index) for source in of_size for _, streams in _all_ways(source.overlap)})
        columns = tuple(
            Column(streams_label(streams).replace(" ", "\n"), streams_label(streams), run_label(runs, index))
            for streams, index in ways
        )
        groups = []
        for kind, ratio in dict.fromkeys((each.overlap.host_memory, each.overlap.ratio) for each in of_size):
            of_run = {
                each.index: each for each in of_size if (each.overlap.host_memory, each.overlap.ratio) == (kind, ratio)
            }
            chunks = sorted({chunks for each in of_run.values() for chunks, _ in _all_ways(each.overlap)})
            rows = tuple(
                Row(str(count), tuple(_cell(of_run.get(index), count, streams) for streams, index in ways))
                for count in chunks
            )
            groups.append(Group(f"{kind_label(kind)}, {labels[ratio]}, %", rows))
        grids.append(Grid(f"Share of the bound, {format_bytes(size)}", columns, tuple(groups), corner="Chunks"))
    return tuple(grids)


def _all_ways(overlap: Overlap) -> Iterable[tuple[int, int]]:
    return (*overlap.points, *overlap.failed, *overlap.skipped)


def _cell(source: Source | None, chunks: int, streams: int) -> Cell:
    if source is None:
        return MISSING
    way = chunks, streams
    if way in source.overlap.failed:
        return Cell("failed", state="failed", detail="the results that came back were wrong")
    if way in source.overlap.skipped:
        return Cell("skipped", state="skipped", detail=source.overlap.skipped[way])
    point = source.overlap.points.get(way)
    if point is None:
        return MISSING
    return ratio_cell(source, point.share, 100.0, detail=_told(point))


def _told(point: PipelinePoint) -> str:
    bound = f" where the bound is {format_seconds(point.bound.median)}" if point.bound else ""
    return f"{format_seconds(point.seconds.median)}{bound}, {point.samples} samples"
