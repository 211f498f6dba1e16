"""The table of a stencil's methods: the total, its phases, MPI next to it, and managed over explicit memory."""

from collections.abc import Sequence

from isthmus.analysis.figures import cell_of, quotient_cell
from isthmus.analysis.labels import Source, kind_label
from isthmus.analysis.statistics.curve import Point
from isthmus.analysis.stencil.model import STENCIL_PHASES, Stencil, StencilWay
from isthmus.analysis.stencil.words import phase_words, stencil_words, way_label
from isthmus.document.grid import Cell, Column, Grid, Row, missing, time_cell
from isthmus.document.pivot import groups_of
from isthmus.document.section import Part
from isthmus.language import say

_MANAGED = "managed"


def times_part(measured: Sequence[Source[Stencil]]) -> Part:
    """One table for each square, a row for each method and kind of memory."""
    grids = tuple(map(_grid, measured))
    return Part(say("stencil_report.times_title"), say("stencil_report.times_note"), grids=grids)


def phase_columns() -> tuple[Column, ...]:
    """What the cells of a method are."""
    return (
        Column(say("stencil_report.total"), say("stencil_report.total")),
        *(Column(name, name) for name in map(phase_words, STENCIL_PHASES)),
        Column("MPI", say("stencil_report.mpi")),
        Column(over := say("stencil_report.managed_heading"), over.replace("\n", "")),
    )


def _grid(source: Source[Stencil]) -> Grid:
    stencil = source.value
    rows = (
        (way_label(method[0]), Row(kind_label(method[1]), cells_of(stencil, method, source.target)))
        for method in stencil.methods
    )
    return Grid(source.lettered(stencil_words(stencil)), phase_columns(), groups_of(rows), say("stencil_report.memory"))


def cells_of(stencil: Stencil, method: StencilWay, target: float) -> tuple[Cell, ...]:
    """The total of a method, its phases, and managed over explicit memory; or why there are none."""
    total, point = cell_of(stencil.figures[method], _total), stencil.points.get(method)
    if point is None:
        return (total, *(missing(),) * (len(STENCIL_PHASES) + 2))
    phases = (time_cell(point.phases.get(phase)) for phase in (*STENCIL_PHASES, "mpi_seconds"))
    quotient = stencil.managed_over_explicit(method[0]) if method[1] == _MANAGED else None
    return (total, *phases, quotient_cell(quotient, target))


def _total(point: Point) -> Cell:
    samples = say("stencil_report.samples", count=len(point.samples))
    return time_cell(point.seconds, wide=not point.settled, detail=samples)
