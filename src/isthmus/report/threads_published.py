"""The figures of the first published run of this experiment beside those of this machine."""

from collections.abc import Sequence

from isthmus.model import (
    PUBLISHED_RATES,
    REFERENCE_BYTES,
    ThreadCurve,
    link_rate,
    most_complete,
    published_share,
    thread_curves,
)
from isthmus.record import MIB, Run, format_bytes
from isthmus.report.grid import Cell, Column, Grid, Group, Row
from isthmus.report.labels import DIRECTIONS, direction_title, kind_heading, kind_label, kind_rank, run_label
from isthmus.report.section import Part
from isthmus.report.threads_labels import threads_label
from isthmus.report.threads_rates import MISSING, point_cell

__all__ = ["published_part"]

_NOTE = (
    "SpursEngine: cellspe.matrix.jp, ordinary memory of 64 MiB, a slice for each persistent thread, PCI Express 1.0 x1 "
    "with 250 MB/s each way by theory. Its rates as printed, one measurement each; its program divides by 2^20, so "
    "they are MiB/s, and the share of theory counts them as that. This machine: the same transfer in GB/s and as a "
    "share of its link's theoretical rate, of twice that both ways."
)


def published_part(runs: Sequence[Run]) -> Part | None:
    """A table for each direction; None where no run has the size of the published ones."""
    columns = [
        (index, run, kind)
        for kind in sorted({curve.host_memory for run in runs for curve in _same(run)}, key=kind_rank)
        for index, run in enumerate(runs)
        if any(curve.host_memory == kind for curve in _same(run))
    ]
    if not columns:
        return None
    heads = [Column("Spurs-\nEngine\nMB/s", "SpursEngine, MB/s"), Column("of\ntheory", "of theory")]
    for index, _, kind in columns:
        label = run_label(runs, index)
        heads.append(Column(f"{kind_heading(kind)}\nGB/s", f"{kind_label(kind)}, GB/s", label))
        heads.append(Column("of\nlink", "of link", label))
    groups = []
    for direction in DIRECTIONS:
        ours = {
            (index, kind): curve
            for index, run, kind in columns
            for curve in _same(run)
            if (curve.direction, curve.host_memory) == (direction, kind)
        }
        if direction in PUBLISHED_RATES and ours:
            rows = _rows(direction, [(run, ours.get((index, kind))) for index, run, kind in columns])
            groups.append(Group(direction_title(direction), tuple(rows)))
    grid = Grid(
        f"This machine beside a SpursEngine, {format_bytes(REFERENCE_BYTES)}",
        tuple(heads),
        tuple(groups),
        corner="Threads",
    )
    return Part(title="Beside the first published figures", note=_NOTE, grids=(grid,))


def _same(run: Run) -> list[ThreadCurve]:
    """For each kind and direction a curve that divides the same transfer in the same way: a slice for each thread."""
    found: dict[tuple[object, ...], list[ThreadCurve]] = {}
    for curve in thread_curves(run):
        if (curve.method, curve.bytes, curve.slicing) == ("workers", REFERENCE_BYTES, "slices"):
            found.setdefault(curve.subject, []).append(curve)
    return [most_complete(curves) for curves in found.values()]


def _rows(direction: str, ours: Sequence[tuple[Run, ThreadCurve | None]]) -> list[Row]:
    published = PUBLISHED_RATES[direction]
    counts = sorted({*published, *(count for _, curve in ours if curve for count in curve.points)})
    return [
        Row(
            threads_label(direction, count),
            (
                Cell(f"{published[count] / MIB:.0f}") if count in published else MISSING,
                Cell(f"{100 * published_share(direction, count):.0f} %") if count in published else MISSING,
                *(cell for run, curve in ours for cell in _cells(run, curve, count)),
            ),
        )
        for count in counts
    ]


def _cells(run: Run, curve: ThreadCurve | None, count: int) -> tuple[Cell, Cell]:
    point = curve.points.get(count) if curve else None
    limit = link_rate(run, both=bool(curve and curve.direction == "both"))
    share = Cell(f"{100 * point.rate.median / limit:.0f} %") if point and limit else MISSING
    return point_cell(point), share
