"""The section on stencils: every method with its phases."""

from collections.abc import Mapping, Sequence

from isthmus.analysis.figures import cell_of, quotient_cell
from isthmus.analysis.labels import Source, sources
from isthmus.analysis.phrases import memory_label
from isthmus.analysis.published.source import Measured, Series
from isthmus.analysis.published.table import published_parts
from isthmus.analysis.statistics.curve import Point
from isthmus.analysis.stencil.model import (
    STENCIL_PHASES,
    Stencil,
    StencilWay,
    on_most_ranks,
    phase_words,
    stencil_words,
    stencils,
    way_label,
    way_of,
    way_title,
)
from isthmus.document.grid import Cell, Column, Grid, Group, Row, brief, missing, time_cell
from isthmus.document.pivot import groups_of
from isthmus.document.section import Glance, Part, Section, section_of
from isthmus.language import say
from isthmus.record import Run

_FASTEST = 5
_MANAGED = "managed"


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of stencils; None where that is nothing but skips."""
    known = published_parts(runs, "stencil", _managed_over_explicit)
    return section_of("stencil", (times_part(sources(runs, stencils)), *known))


def _managed_over_explicit(run: Run, series: Series) -> Mapping[int, Measured]:
    """The quotient of two methods by side, for squares in strips with halos of one column, as the paper has them."""
    over, under = ((str(method["method"]), str(method["host_memory"])) for method in (series.case, series.over))
    alike = [each for each in on_most_ranks(run) if each.halo == 1 and each.down == 1 and each.is_square]
    target = 2 * run.settings.target_relative_half_width
    quotients = ((each.side, each.ratio(over, under)) for each in alike)
    return {side: Measured(value, value.relative_half_width > target) for side, value in quotients if value}


def glance(run: Run) -> Glance | None:
    """Totals with their phases, the fastest first; None where no stencil was measured."""
    measured = [each for each in stencils(run) if each.points]
    if not measured:
        return None
    main = max(measured, key=lambda each: (each.ranks, each.side * each.columns, -each.halo))
    methods = list(map(way_of, main.ranking))
    rows = [
        Row(way_title(method), tuple(map(brief, cells_of(main, method, run.settings.target_relative_half_width))))
        for method in dict.fromkeys((*methods[:_FASTEST], methods[-1]))
    ]
    grid = Grid(stencil_words(main), phase_columns(), (Group("", tuple(rows)),), say("stencil_report.memory"))
    return Glance((grid,))


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
        (way_label(method[0]), Row(memory_label(method[1]), cells_of(stencil, method, source.target)))
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
