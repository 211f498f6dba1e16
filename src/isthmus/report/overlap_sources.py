"""The pipelines that a report shows, with the runs that they are of, and how their figures are written."""

from collections.abc import Sequence
from dataclasses import dataclass

from isthmus.model import Overlap, main_overlaps, overlaps
from isthmus.record import Interval, Run
from isthmus.report.grid import Cell, interval_cell
from isthmus.report.labels import kind_rank

__all__ = ["MISSING", "Source", "ratio_cell", "sources", "streams_label", "work_label"]

MISSING = Cell("-", state="missing", detail="not measured")


@dataclass(frozen=True)
class Source:
    """Pipelines of one kind of memory, size and work, with the run that they are of.

    `is_main` says whether conclusions rest on them first.
    """

    index: int
    run: Run
    overlap: Overlap
    is_main: bool


def sources(runs: Sequence[Run]) -> list[Source]:
    """Everything that the runs hold, by kind of memory, work and run."""
    found = []
    for index, run in enumerate(runs):
        everything = overlaps(run)
        mains = {id(each) for each in main_overlaps(everything)}
        found += [Source(index, run, each, id(each) in mains) for each in everything]
    return sorted(found, key=lambda source: (kind_rank(source.overlap.host_memory), source.overlap.ratio, source.index))


def work_label(ratio: float) -> str:
    """``work 0.3 x``: the work's time as a multiple of a copy's."""
    return f"work {ratio:g} x"


def streams_label(count: int) -> str:
    """``1 stream``, ``4 streams``."""
    return f"{count} stream{'' if count == 1 else 's'}"


def ratio_cell(source: Source, value: Interval | None, scale: float = 1.0, detail: str = "") -> Cell:
    """A quotient of two times, times `scale`."""
    if value is None:
        return MISSING
    # Two figures went into it, each known as well as the run aimed at.
    wide = value.relative_half_width > 2 * source.run.settings.target_relative_half_width
    return interval_cell(value, scale=scale, wide=wide, detail=detail)
