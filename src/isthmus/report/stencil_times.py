"""The table of a stencil's ways: the total, its phases, MPI beside it, and managed over explicit memory."""

from collections.abc import Sequence

from isthmus.model import STENCIL_PHASES, Stencil, StencilWay, capitalised, phase_words, way_label
from isthmus.record import Interval, Run
from isthmus.report.grid import Cell, Column, Grid, Group, Row, interval_cell, time_cell
from isthmus.report.labels import kind_label
from isthmus.report.section import Part

__all__ = ["MISSING", "Found", "ratio_cell", "times_part"]

MISSING = Cell("-", state="missing", detail="not measured")
# What a stencil is called in headings, the run that it is of, and itself.
Found = tuple[str, Run, Stencil]

_MANAGED = "managed"
_NOTE = (
    "Total: computing, packing, copies and unpacking. Each phase is that of the rank that it takes longest, so that "
    "they may sum up to more. On managed memory, pages that move on demand do so within the phase that touches them. "
    "Managed/explicit: the total over that of the fastest explicit kind of memory for the same way."
)


def times_part(found: Sequence[Found]) -> Part:
    """One table for each square, a row for each way and kind of memory."""
    columns = [Column("total", "total")]
    columns += [
        Column(phase_words(phase).replace("ing", "-\ning") if len(phase_words(phase)) > 8 else phase_words(phase), name)
        for phase in STENCIL_PHASES
        for name in [phase_words(phase)]
    ]
    columns += [Column("MPI", "MPI, not in the total"), Column("managed/\nexplicit", "managed/explicit")]
    grids = [_grid(title, run, stencil, columns) for title, run, stencil in found]
    return Part("Time of all iterations", _NOTE, grids=tuple(grids))


def _grid(title: str, run: Run, stencil: Stencil, columns: Sequence[Column]) -> Grid:
    groups: dict[str, list[Row]] = {}
    for way in stencil.ways:
        groups.setdefault(way_label(way[0]), []).append(Row(kind_label(way[1]), _cells(run, stencil, way)))
    return Grid(
        capitalised(title), tuple(columns), tuple(Group(name, tuple(rows)) for name, rows in groups.items()), "Memory"
    )


def _cells(run: Run, stencil: Stencil, way: StencilWay) -> tuple[Cell, ...]:
    others = (MISSING,) * (len(STENCIL_PHASES) + 2)
    if way in stencil.failed:
        return (Cell("failed", state="failed", detail="the result was wrong"), *others)
    if way in stencil.skipped:
        return (Cell("skipped", state="skipped", detail=stencil.skipped[way]), *others)
    point = stencil.points[way]
    phases = [_phase(point.phases.get(phase)) for phase in STENCIL_PHASES]
    quotient = stencil.managed_over_explicit(way[0]) if way[1] == _MANAGED else None
    total = time_cell(point.seconds, wide=not point.converged, detail=f"{point.samples} samples, verified yes")
    return (total, *phases, _phase(point.mpi), ratio_cell(run, quotient))


def _phase(seconds: Interval | None) -> Cell:
    return time_cell(seconds) if seconds else MISSING


def ratio_cell(run: Run, value: Interval | None) -> Cell:
    """A quotient of two totals."""
    if value is None:
        return MISSING
    # Two figures went into it, each known as well as the run aimed at; no width at all is that of one sample.
    is_single = value.low == value.high
    return interval_cell(
        value, wide=is_single or value.relative_half_width > 2 * run.settings.target_relative_half_width
    )
