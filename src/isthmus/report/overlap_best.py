"""The best pipeline of each kind of memory and work, beside its bound and the stages that make it."""

from collections.abc import Sequence

from isthmus.model import way_words
from isthmus.record import Run, format_bytes, format_seconds
from isthmus.report.grid import Cell, Column, Grid, Group, Row, time_cell
from isthmus.report.labels import kind_label, run_label
from isthmus.report.overlap_sources import MISSING, Source, base_words, ratio_cell, work_label
from isthmus.report.section import Part

__all__ = ["best_part"]

_NOTE = (
    "Best: chunks on streams of the fastest pipeline. Serial: one chunk, one stage after the other. Share: the "
    "bound over the time, 100 % where nothing is left to gain. Alone: the fastest way measured, whole or in chunks."
)


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
        columns = [Column(heading, name) for heading, name in _COLUMNS]
        grids.append(Grid(f"Best pipelines, {format_bytes(size)}", tuple(columns), tuple(groups), corner="Work"))
    note = f"{_NOTE} Work: its time alone as a multiple of {base_words(everything)}."
    return Part("Best chunks and streams", note, grids=tuple(grids)) if grids else None


_COLUMNS = (
    ("best", "best"),
    ("time", "time"),
    ("serial", "serial"),
    ("speed-\nup", "speed-up"),
    ("bound", "bound"),
    ("share\n%", "share, %"),
    ("in\nalone", "in alone"),
    ("work\nalone", "work alone"),
    ("out\nalone", "out alone"),
)


def _row(runs: Sequence[Run], source: Source) -> Row:
    overlap, best = source.overlap, source.overlap.best
    assert best is not None
    label = run_label(runs, source.index)
    way = way_words(overlap.host_memory, best.chunks, best.streams)
    serial = overlap.serial
    cells = (
        Cell(f"{best.chunks} on {best.streams}", detail=way),
        time_cell(best.seconds, wide=not best.converged, detail=f"{best.samples} samples"),
        time_cell(serial.seconds, wide=not serial.converged) if serial else MISSING,
        ratio_cell(source, best.speedup),
        Cell(format_seconds(best.bound.median)) if best.bound else MISSING,
        ratio_cell(source, best.share, 100.0),
        *(
            Cell(format_seconds(alone.median)) if (alone := overlap.alone.get(stage)) else MISSING
            for stage in ("in", "work", "out")
        ),
    )
    return Row(f"{work_label(overlap).removeprefix('work ')}{' ' + label if label else ''}", cells)
