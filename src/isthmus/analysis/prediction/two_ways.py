"""How much longer copies of one direction take while the other one runs."""

from collections.abc import Sequence

from isthmus.analysis.bandwidth.two_ways import two_ways
from isthmus.analysis.labels import kind_label, run_title
from isthmus.analysis.statistics.curve import ONE_WAY
from isthmus.document.grid import Column, Grid, Group, Row, interval_cell
from isthmus.document.states import missing
from isthmus.language import say
from isthmus.record import KIB, MIB, Run, format_bytes, kind_rank

__all__ = ["two_ways_grid"]

# From where a copy is more than its latency, in steps that show where it changes.
_SIZES = (64 * KIB, MIB, 16 * MIB, 256 * MIB)


def two_ways_grid(runs: Sequence[Run], index: int) -> Grid | None:
    """A row for each kind of memory and direction of one run; None where both ways were not measured."""
    found = sorted(two_ways(runs[index]), key=lambda each: kind_rank(each.host_memory))
    sizes = [size for size in _SIZES if any(size in each.sizes for each in found)]
    if not sizes:
        return None
    columns = tuple(Column(format_bytes(size).replace(" ", "\n"), format_bytes(size)) for size in sizes)
    rows = []
    for each in found:
        for way in ONE_WAY:
            cells = (interval_cell(each.slowdown(way, size)) if size in each.sizes else missing() for size in sizes)
            name = say("prediction_report.two_ways_row", memory=kind_label(each.host_memory), way=way.upper())
            rows.append(Row(name, tuple(cells)))
    title = say("prediction_report.two_ways_part") if len(runs) == 1 else run_title(runs, index)
    return Grid(title, columns, (Group("", tuple(rows)),), corner=say("prediction_report.memory"))
