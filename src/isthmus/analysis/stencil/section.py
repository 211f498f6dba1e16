"""The section on stencils: every method with its phases."""

from collections.abc import Mapping, Sequence

from isthmus.analysis.frame import section_of
from isthmus.analysis.labels import sources
from isthmus.analysis.published.measured import Measured
from isthmus.analysis.published.source import Series
from isthmus.analysis.published.table import published_parts
from isthmus.analysis.stencil.model import Stencil, stencils, way_of
from isthmus.analysis.stencil.scaling_charts import scaling_part
from isthmus.analysis.stencil.times import cells_of, phase_columns, times_part
from isthmus.analysis.stencil.words import stencil_words, way_title
from isthmus.document.grid import Grid, Group, Row, brief
from isthmus.document.section import Glance, Section
from isthmus.language import say
from isthmus.record import Run

_FASTEST = 5


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of stencils; None where that is nothing but skips."""
    known = published_parts(runs, "stencil", _managed_over_explicit)
    return section_of("stencil", (times_part(sources(runs, _on_most_ranks)), scaling_part(runs), *known))


def _managed_over_explicit(run: Run, series: Series) -> Mapping[int, Measured]:
    """The quotient of two methods by side, for squares in strips with halos of one column, as the paper has them."""
    over, under = ((str(method["method"]), str(method["host_memory"])) for method in (series.case, series.over))
    alike = [each for each in _on_most_ranks(run) if each.halo == 1 and each.down == 1 and each.is_square]
    target = 2 * run.settings.target_relative_half_width
    quotients = ((each.side, each.ratio(over, under)) for each in alike)
    return {side: Measured(value, value.relative_half_width > target) for side, value in quotients if value}


def _on_most_ranks(run: Run) -> list[Stencil]:
    """What has a table of its own; the others are points of curves."""
    everything = stencils(run)
    most = max((each.ranks for each in everything), default=0)
    return [each for each in everything if each.ranks == most]


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
