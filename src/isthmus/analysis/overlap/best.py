"""The best pipeline of each kind of memory and work, beside its bound and the stages that make it."""

from collections.abc import Sequence

from isthmus.analysis.labels import kind_label, run_label
from isthmus.analysis.overlap.sources import Source, base_words, columns, ratio_cell, work_multiple
from isthmus.analysis.overlap.words import way_words
from isthmus.document.grid import Cell, Grid, Group, Row, time_cell
from isthmus.document.section import Part
from isthmus.document.states import missing
from isthmus.language import say, sentences
from isthmus.record import Run, format_bytes, format_seconds

__all__ = ["best_part"]


def best_part(runs: Sequence[Run], everything: Sequence[Source]) -> Part | None:
    """One table a size, a row for each memory, work and run; None where no pipeline of several chunks was measured."""
    found = [source for source in everything if source.overlap.best]
    grids = []
    for size in sorted({source.overlap.bytes for source in found}):
        of_size = [source for source in found if source.overlap.bytes == size]
        groups = [
            Group(
                kind_label(kind),
                tuple(_row(runs, source) for source in of_size if source.overlap.host_memory == kind),
            )
            for kind in dict.fromkeys(source.overlap.host_memory for source in of_size)
        ]
        title = say("overlap_report.best_grid", size=format_bytes(size))
        grids.append(Grid(title, columns(_COLUMNS), tuple(groups), corner=say("overlap_report.corner_work")))
    note = sentences([say("overlap_report.best_note"), say("overlap_report.best_work", base=base_words(everything))])
    return Part(say("overlap_report.best"), note, grids=tuple(grids)) if grids else None


_COLUMNS = ("best", "time", "serial", "speedup", "bound", "share", "in_alone", "work_alone", "out_alone")


def _row(runs: Sequence[Run], source: Source) -> Row:
    overlap, best = source.overlap, source.overlap.best
    assert best is not None
    label = run_label(runs, source.index)
    way = way_words(overlap.host_memory, best.chunks, best.streams)
    serial = overlap.serial
    cells = (
        Cell(say("overlap_report.chunks_on", chunks=best.chunks, streams=best.streams), detail=way),
        time_cell(best.seconds, wide=not best.converged, detail=say("overlap_report.samples", count=best.samples)),
        time_cell(serial.seconds, wide=not serial.converged) if serial else missing(),
        ratio_cell(source, best.speedup),
        Cell(format_seconds(best.bound.median)) if best.bound else missing(),
        ratio_cell(source, best.share, 100.0),
        *(
            Cell(format_seconds(alone.median)) if (alone := overlap.alone.get(stage)) else missing()
            for stage in ("in", "work", "out")
        ),
    )
    return Row(f"{work_multiple(overlap)}{' ' + label if label else ''}", cells)
