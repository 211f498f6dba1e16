"""The section on stencils: what was measured and what was not, the paper's figures beside ours."""

import io
from types import ModuleType

import msgspec
import pytest

from isthmus.analysis.stencil.model import stencils
from isthmus.analysis.stencil.section import section
from isthmus.document.grid import Cell, Grid
from isthmus.document.section import Part, Section
from isthmus.record import Run
from isthmus.report import runs_document
from isthmus.report.renderers import html, markdown, terminal


@pytest.fixture(scope="module")
def paper(synthetic: ModuleType, synthetic_stencil: ModuleType) -> Run:
    return synthetic.run(synthetic_stencil.cases())  # type: ignore[no-any-return]


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


def test_a_run_without_a_stencil_has_no_section(synthetic: ModuleType, synthetic_stencil: ModuleType) -> None:
    assert section([synthetic.h200()]) is None
    assert section([synthetic.run([synthetic_stencil.skip(64, ("gpu_pack", "managed"), "no")])]) is None


def test_every_way_stands_with_its_phases(paper: Run) -> None:
    small, large = part(made(paper), "Time of all iterations").grids
    assert small.title == "30720 x 30720 points, halos 1 wide, 2 ranks (1 x 2) on 2 devices"
    total = cell(large, "CPU packs, whole array", "pageable", "total")
    assert float(total.text) == pytest.approx(40, rel=0.01)
    assert total.unit == "s"
    assert cell(large, "CPU packs, whole array", "pageable", "copies").unit == "s"
    assert cell(large, "CPU packs, columns", "managed", "copies").state == "missing"
    mpi = cell(large, "GPU packs", "pageable", "MPI, not in the total")
    assert float(mpi.text) == pytest.approx(40, rel=0.01)
    assert mpi.unit == "ms"
    ratio = cell(small, "GPU packs", "managed", "managed/explicit")
    assert float(ratio.text) == pytest.approx(1.03, rel=0.01)


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


def test_what_was_not_measured_is_said(synthetic: ModuleType, synthetic_stencil: ModuleType) -> None:
    phases = (1.0, 0.1, 0.1, 0.1, 0.1)
    run = synthetic.run(
        [
            synthetic_stencil.case(64, ("gpu_pack", "pinned"), phases),
            synthetic_stencil.case(64, ("gpu_pack", "pageable"), phases, verified="no"),
            synthetic_stencil.skip(64, ("cpu_whole", "managed"), "no pages move here"),
        ]
    )
    [grid] = part(made(run), "Time of all iterations").grids
    assert cell(grid, "GPU packs", "pageable", "total").state == "failed"
    skipped = cell(grid, "CPU packs, whole array", "managed", "total")
    assert (skipped.state, skipped.detail) == ("skipped", "no pages move here")
    assert not any(each.title == "Beside the paper" for each in made(run).parts), "neither comparison was measured"


def test_every_format_shows_the_section(paper: Run) -> None:
    for write, expected in (
        (html.write, "Time of all iterations"),
        (markdown.write, "managed / explicit, the CPU packs"),
        (terminal.write, "A: 61440 x 61440 points, halos 1 wide"),
    ):
        out = io.StringIO()
        write(runs_document([paper, paper]), out)
        assert expected in " ".join(out.getvalue().split())
