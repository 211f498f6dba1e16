"""Shares of the bound by chunks and streams."""

from collections.abc import Iterable, Mapping, Sequence

from isthmus.analysis.labels import kind_label, run_label
from isthmus.analysis.overlap.model import Overlap, PipelinePoint
from isthmus.analysis.overlap.sources import Source, base_words, case_labels, joined, ratio_cell, streams_label
from isthmus.document.grid import Cell, Column, Grid, Group, Row
from isthmus.document.section import Part
from isthmus.document.states import failed, missing, skipped
from isthmus.language import say, sentences
from isthmus.record import Run, format_bytes, format_seconds

__all__ = ["share_parts"]


def share_parts(runs: Sequence[Run], everything: Sequence[Source]) -> list[Part]:
    """Of the work to conclude from first, then on the page alone of the other work."""
    labels = case_labels(everything)
    main = _grids(runs, [source for source in everything if source.is_main], labels)
    rest = _grids(runs, [source for source in everything if not source.is_main], labels)
    note = sentences(
        [say("overlap_report.shares_note"), say("overlap_report.shares_work", base=base_words(everything))]
    )
    parts = [Part(say("overlap_report.shares"), note, grids=main)] if main else []
    return parts + ([Part(say("overlap_report.shares_other"), grids=rest, page_only=True)] if rest else [])


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
            groups.append(Group(joined([kind_label(kind), labels[ratio], "%"]), rows))
        title, corner = say("overlap_report.shares_grid", size=format_bytes(size)), say("overlap_report.corner_chunks")
        grids.append(Grid(title, columns, tuple(groups), corner=corner))
    return tuple(grids)


def _all_ways(overlap: Overlap) -> Iterable[tuple[int, int]]:
    return (*overlap.points, *overlap.failed, *overlap.skipped)


def _cell(source: Source | None, chunks: int, streams: int) -> Cell:
    if source is None:
        return missing()
    way = chunks, streams
    if way in source.overlap.failed:
        return failed(say("overlap_report.failed_detail"))
    if way in source.overlap.skipped:
        return skipped(source.overlap.skipped[way])
    point = source.overlap.points.get(way)
    if point is None:
        return missing()
    return ratio_cell(source, point.share, 100.0, detail=_told(point))


def _told(point: PipelinePoint) -> str:
    time, samples = format_seconds(point.seconds.median), say("overlap_report.samples", count=point.samples)
    if point.bound is None:
        return joined([time, samples])
    return say("overlap_report.told", time=time, bound=format_seconds(point.bound.median), samples=samples)
