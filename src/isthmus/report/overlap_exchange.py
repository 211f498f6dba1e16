"""Copies in and out at once, without work, of each kind of memory."""

from collections.abc import Sequence

from isthmus.model import Exchange, exchanges, way_words
from isthmus.record import Run, format_bytes, format_seconds
from isthmus.report.grid import Cell, Column, Grid, Group, Row, time_cell
from isthmus.report.labels import kind_label, kind_rank, run_label
from isthmus.report.overlap_sources import MISSING
from isthmus.report.section import Part

__all__ = ["exchange_part"]

_NOTE = (
    "Data goes in and comes out in chunks without any work. Ideal: neither direction slows the other. Hidden: how much "
    "is saved of what the ideal saves; 100 % where both run at once, 0 % where they take turns, less where they hinder "
    "each other."
)


def exchange_part(runs: Sequence[Run]) -> Part | None:
    """Copies both ways at once of each memory; None where the runs have none."""
    found = [(index, run, each) for index, run in enumerate(runs) for each in exchanges(run)]
    if not found:
        return None
    columns = tuple(Column(heading, name) for heading, name in _COLUMNS)
    groups = []
    for size in sorted({each.bytes for _, _, each in found}):
        of_size = sorted((row for row in found if row[2].bytes == size), key=lambda row: kind_rank(row[2].host_memory))
        rows = tuple(_row(runs, index, run, each) for index, run, each in of_size)
        groups.append(Group(f"{format_bytes(size)} each way", rows))
    grid = Grid("Copies in and out at once", columns, tuple(groups), corner="Memory")
    return Part("Both ways at once", _NOTE, grids=(grid,))


_COLUMNS = (
    ("in\nalone", "in alone"),
    ("out\nalone", "out alone"),
    ("one by\none", "one by one"),
    ("both at\nonce", "both at once"),
    ("ideal", "ideal"),
    ("hidden\n%", "hidden, %"),
    ("copy\nengines", "copy engines, as the driver says"),
)


def _row(runs: Sequence[Run], index: int, run: Run, each: Exchange) -> Row:
    engines = run.fingerprint.device.copy_engines
    label = run_label(runs, index)
    # Around nothing hidden, a width relative to it would say nothing.
    wide = each.hidden.high - each.hidden.low > 0.2
    hidden = f"{100 * each.hidden.median:.0f}", f"{50 * (each.hidden.high - each.hidden.low):.0f}"
    cells = (
        Cell(format_seconds(each.into.median)),
        Cell(format_seconds(each.out.median)),
        Cell(format_seconds(each.into.median + each.out.median)),
        time_cell(each.seconds, wide=not each.converged, detail=way_words(each.host_memory, each.chunks, each.streams)),
        Cell(format_seconds(each.bound.median)),
        Cell(*hidden, state="wide" if wide else "ok"),
        Cell(str(engines)) if engines else MISSING,
    )
    return Row(f"{kind_label(each.host_memory)}{' ' + label if label else ''}", cells)
