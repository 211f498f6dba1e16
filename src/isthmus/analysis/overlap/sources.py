"""The pipelines that a report shows, with the runs that they are of, and how their figures are written."""

from collections.abc import Sequence
from dataclasses import dataclass

from isthmus.analysis.labels import kind_rank, run_title
from isthmus.analysis.overlap.model import Overlap, larger_overlaps, main_overlaps, overlaps
from isthmus.analysis.overlap.words import multiple_digits
from isthmus.analysis.phrases import memory_name
from isthmus.document.grid import Cell, Column, interval_cell
from isthmus.document.states import missing
from isthmus.language import enumerated, say
from isthmus.record import Interval, Run

__all__ = [
    "Source",
    "base_words",
    "case_labels",
    "columns",
    "joined",
    "of_run",
    "ratio_cell",
    "sources",
    "streams_label",
    "work_label",
    "work_multiple",
]


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
    return say("overlap_report.work", multiple=work_multiple(overlap))


def work_multiple(overlap: Overlap) -> str:
    """``0.31 x``; ``meant 0.3 x`` where it was not measured."""
    meant = overlap.work.multiple is None
    return say("overlap_report.multiple_meant" if meant else "overlap_report.multiple", x=multiple_digits(overlap.work))


def case_labels(everything: Sequence[Source]) -> dict[float, str]:
    """Of every ratio the work's label, or ``work meant 0.3 x`` where runs or sizes differ in what it took."""
    labels: dict[float, set[str]] = {}
    for source in everything:
        labels.setdefault(source.overlap.ratio, set()).add(work_label(source.overlap))
    every = [label for found in labels.values() for label in found]
    # Two labels that read alike would draw two curves as one.
    is_clear = all(len(found) == 1 for found in labels.values()) and len(set(every)) == len(every)
    return {ratio: labels[ratio].pop() if is_clear else _meant(ratio) for ratio in sorted(labels)}


def _meant(ratio: float) -> str:
    return say("overlap_report.work", multiple=say("overlap_report.multiple_meant", x=f"{ratio:g}"))


def base_words(everything: Sequence[Source]) -> str:
    """``the slower copy of pinned memory``: what the work is given as a multiple of."""
    bases = dict.fromkeys(memory_name(base) for source in everything if (base := source.overlap.work.base))
    if not bases:
        return say("overlap_report.base")
    return say("overlap_report.base_of", memory=enumerated(list(bases), "or"))


def streams_label(count: int) -> str:
    """``1 stream``, ``4 streams``."""
    return say("overlap.streams", count=count)


def joined(words: Sequence[str]) -> str:
    """``pinned, 64 MiB, work 2 x``."""
    return say("common.comma").join(words)


def of_run(runs: Sequence[Run], index: int, words: Sequence[str]) -> str:
    """What the words name, and of which run where there are several."""
    title = joined(words)
    return f"{title}: {run_title(runs, index)}" if len(runs) > 1 else title


def columns(names: Sequence[str]) -> tuple[Column, ...]:
    """Columns with a short heading of up to two lines and a whole name."""
    return tuple(Column(say(f"overlap_report.heading_{name}"), say(f"overlap_report.column_{name}")) for name in names)


def ratio_cell(source: Source, value: Interval | None, scale: float = 1.0, detail: str = "") -> Cell:
    """A quotient of two times, times `scale`."""
    if value is None:
        return missing()
    # Two figures went into it, each known as well as the run aimed at.
    wide = value.relative_half_width > 2 * source.run.settings.target_relative_half_width
    return interval_cell(value, scale=scale, wide=wide, detail=detail)
