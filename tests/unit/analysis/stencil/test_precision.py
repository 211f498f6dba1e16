"""The section on stencils: figures and quotients that are known less well than the run meant are marked."""

import msgspec
import pytest

from isthmus.analysis.stencil.model import stencils
from isthmus.analysis.stencil.section import section
from isthmus.document.grid import Cell, Grid
from isthmus.document.section import Part, Section
from isthmus.record import Run
from tests.synthetic import runs as synthetic
from tests.synthetic import stencil as synthetic_stencil


@pytest.fixture(scope="module")
def paper() -> Run:
    return synthetic.run(synthetic_stencil.cases())


def made(*runs: Run) -> Section:
    found = section(runs)
    assert found
    return found


def part(found: Section, title: str) -> Part:
    return next(each for each in found.parts if each.title == title)


def cell(grid: Grid, group: str, row: str, column: str) -> Cell:
    (index,) = [index for index, each in enumerate(grid.columns) if each.name == column]
    (rows,) = [each.rows for each in grid.groups if each.title == group]
    (found,) = [each for each in rows if each.heading == row]
    return found.cells[index]


def aiming_at(run: Run, target: float) -> Run:
    """The same run, had it been asked to know its figures within `target`."""
    return msgspec.structs.replace(
        run, settings=msgspec.structs.replace(run.settings, target_relative_half_width=target)
    )


@pytest.mark.parametrize(("above", "state"), [(1.001, "ok"), (0.999, "wide")])
def test_a_figure_known_less_well_than_the_run_meant_is_marked(paper: Run, above: float, state: str) -> None:
    """Two figures went into a quotient, which is known within twice what each of them is."""
    large = stencils(paper)[1]
    total = large.points["gpu_pack", "managed"].seconds.relative_half_width
    [_, grid] = part(made(aiming_at(paper, total * above)), "Time of all iterations").grids
    assert cell(grid, "GPU packs", "managed", "total").state == state

    quotient = large.managed_over_explicit("gpu_pack")
    assert quotient
    run = aiming_at(paper, quotient.relative_half_width / 2 * above)
    [_, grid] = part(made(run), "Time of all iterations").grids
    assert cell(grid, "GPU packs", "managed", "managed/explicit").state == state

    beside = large.ratio(("cpu_columns", "managed"), ("cpu_whole", "pageable"))
    assert beside
    run = aiming_at(paper, beside.relative_half_width / 2 * above)
    [grid] = part(made(run), "Beside figures published elsewhere").grids
    (cells,) = (
        row.cells
        for group in grid.groups
        if group.title == "managed / explicit, the CPU packs"
        for row in group.rows
        if row.heading == "61440 x 61440"
    )
    assert cells[1].state == state
