"""Copies in and out at once, without work, of each kind of memory."""

from collections.abc import Sequence

from isthmus.analysis.labels import kind_label, kind_rank, run_label
from isthmus.analysis.overlap.exchange import Exchange, exchanges
from isthmus.analysis.overlap.sources import columns
from isthmus.analysis.overlap.words import way_words
from isthmus.document.grid import Cell, Grid, Group, Row, time_cell
from isthmus.document.section import Part
from isthmus.document.states import missing
from isthmus.language import say
from isthmus.record import Run, format_bytes, format_seconds

__all__ = ["exchange_part"]


def exchange_part(runs: Sequence[Run]) -> Part | None:
    """Copies both ways at once of each memory; None where the runs have none."""
    found = [(index, run, each) for index, run in enumerate(runs) for each in exchanges(run)]
    if not found:
        return None
    groups = []
    for size in sorted({each.bytes for _, _, each in found}):
        of_size = sorted((row for row in found if row[2].bytes == size), key=lambda row: kind_rank(row[2].host_memory))
        rows = tuple(_row(runs, index, run, each) for index, run, each in of_size)
        groups.append(Group(say("overlap_report.each_way", size=format_bytes(size)), rows))
    title, corner = say("overlap_report.exchange_grid"), say("overlap_report.corner_memory")
    grid = Grid(title, columns(_COLUMNS), tuple(groups), corner=corner)
    return Part(say("overlap_report.exchange"), say("overlap_report.exchange_note"), grids=(grid,))


_COLUMNS = ("in_alone", "out_alone", "one_by_one", "at_once", "ideal", "hidden", "engines")


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
        Cell(str(engines)) if engines else missing(),
    )
    return Row(f"{kind_label(each.host_memory)}{' ' + label if label else ''}", cells)
