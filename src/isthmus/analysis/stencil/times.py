"""The table of a stencil's methods: the total, its phases, MPI next to it, and managed over explicit memory."""

from collections.abc import Sequence

from isthmus.analysis.labels import kind_label
from isthmus.analysis.stencil.model import STENCIL_PHASES, Stencil, StencilWay
from isthmus.analysis.stencil.words import phase_words, way_label
from isthmus.document.grid import Cell, Column, Grid, Group, Row, failed, interval_cell, missing, skipped, time_cell
from isthmus.document.section import Part
from isthmus.language import say
from isthmus.record import Interval, Run

# What a stencil is called in headings, the run that it is of, and itself.
Found = tuple[str, Run, Stencil]

_MANAGED = "managed"


def times_part(sources: Sequence[Found]) -> Part:
    """One table for each square, a row for each method and kind of memory."""
    grids = [_grid(title, run, stencil) for title, run, stencil in sources]
    return Part(say("stencil_report.times_title"), say("stencil_report.times_note"), grids=tuple(grids))


def columns_of() -> tuple[Column, ...]:
    """What the cells of a method are."""
    return (
        Column(say("stencil_report.total"), say("stencil_report.total")),
        *(Column(name, name) for name in map(phase_words, STENCIL_PHASES)),
        Column("MPI", say("stencil_report.mpi")),
        Column(over := say("stencil_report.managed_heading"), over.replace("\n", "")),
    )


def _grid(title: str, run: Run, stencil: Stencil) -> Grid:
    rows: dict[str, list[Row]] = {}
    for method in stencil.methods:
        rows.setdefault(way_label(method[0]), []).append(Row(kind_label(method[1]), cells_of(run, stencil, method)))
    groups = tuple(Group(name, tuple(of_group)) for name, of_group in rows.items())
    return Grid(title, columns_of(), groups, say("stencil_report.memory"))


def cells_of(run: Run, stencil: Stencil, method: StencilWay) -> tuple[Cell, ...]:
    """The total of a method, its phases, and managed over explicit memory; or why there are none."""
    others = (missing(),) * (len(STENCIL_PHASES) + 2)
    if method in stencil.failed:
        return (failed(say("stencil_report.wrong")), *others)
    if method in stencil.skipped:
        return (skipped(stencil.skipped[method]), *others)
    point = stencil.points[method]
    phases = [_phase(point.phases.get(phase)) for phase in STENCIL_PHASES]
    quotient = stencil.managed_over_explicit(method[0]) if method[1] == _MANAGED else None
    samples = say("stencil_report.samples", count=point.samples)
    total = time_cell(point.seconds, wide=not point.converged, detail=samples)
    return (total, *phases, _phase(point.mpi), ratio_cell(run, quotient))


def _phase(seconds: Interval | None) -> Cell:
    return time_cell(seconds) if seconds else missing()


def ratio_cell(run: Run, value: Interval | None) -> Cell:
    """A quotient of two totals."""
    if value is None:
        return missing()
    # Two figures went into it, each known as well as the run aimed at.
    return interval_cell(value, wide=value.relative_half_width > 2 * run.settings.target_relative_half_width)
