"""The pipelines that a report shows, with the runs that they are of, and how their figures are written."""

from collections.abc import Sequence
from dataclasses import dataclass

from isthmus.model import Overlap, larger_overlaps, main_overlaps, memory_name, multiple_digits, overlaps
from isthmus.record import Interval, Run
from isthmus.report.grid import Cell, interval_cell
from isthmus.report.labels import kind_rank

__all__ = ["MISSING", "Source", "base_words", "case_labels", "ratio_cell", "sources", "streams_label", "work_label"]

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
        mains = main_overlaps(everything)
        main = {id(each) for each in (*mains, *larger_overlaps(everything, mains))}
        found += [Source(index, run, each, id(each) in main) for each in everything]
    return sorted(found, key=lambda source: (kind_rank(source.overlap.host_memory), source.overlap.ratio, source.index))


def work_label(overlap: Overlap) -> str:
    """``work 0.31 x``, the work's time as a multiple of a copy's; ``work meant 0.3 x`` where it was not measured."""
    meant = "meant " if overlap.work.multiple is None else ""
    return f"work {meant}{multiple_digits(overlap.work)} x"


def case_labels(everything: Sequence[Source]) -> dict[float, str]:
    """Of every ratio the work's label, or ``work meant 0.3 x`` where runs or sizes differ in what it took."""
    labels: dict[float, set[str]] = {}
    for source in everything:
        labels.setdefault(source.overlap.ratio, set()).add(work_label(source.overlap))
    every = [label for found in labels.values() for label in found]
    # Two labels that read alike would draw two curves as one.
    is_clear = all(len(found) == 1 for found in labels.values()) and len(set(every)) == len(every)
    return {ratio: labels[ratio].pop() if is_clear else f"work meant {ratio:g} x" for ratio in sorted(labels)}


def base_words(everything: Sequence[Source]) -> str:
    """``the slower copy of pinned memory``: what the work is given as a multiple of."""
    bases = dict.fromkeys(memory_name(base) for source in everything if (base := source.overlap.work.base))
    return f"the slower copy of {' or '.join(bases)}" if bases else "the slower copy"


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
