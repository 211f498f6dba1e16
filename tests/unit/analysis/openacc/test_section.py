"""The section on OpenACC programs: its tables, what stands beside the paper's, and what is missing."""

from __future__ import annotations

import io
from types import ModuleType

import pytest

from isthmus.analysis.openacc.section import section
from isthmus.document.grid import Grid, Row
from isthmus.record import Run
from isthmus.report import runs_document, write


def grids(runs: list[Run]) -> dict[str, Grid]:
    found = section(runs)
    assert found is not None
    return {grid.title: grid for part in found.parts for grid in part.grids}


def row(grid: Grid, heading: str, group: int = 0) -> Row:
    return next(row for row in grid.groups[group].rows if row.heading == heading)


def text(found: Row) -> list[str]:
    return [f"{cell.text} {cell.unit}".strip() for cell in found.cells]


def test_every_way_over_directives(synthetic: ModuleType, synthetic_openacc: ModuleType) -> None:
    grid = grids([synthetic.run(synthetic_openacc.everything(both=True))])["Whole arrays, each way"]
    assert [each.heading for each in grid.groups[0].rows] == ["explicit", "automatic", "both", "native"]
    assert text(row(grid, "explicit")) == ["134 ms", "180 ms", "314 ms", "1.00"]
    assert text(row(grid, "automatic"))[3:] == ["1.46"]
    assert text(row(grid, "both"))[3:] == ["1.46"]
    assert text(row(grid, "native"))[3:] == ["0.97"]


def test_parts_of_arrays(synthetic: ModuleType, synthetic_openacc: ModuleType) -> None:
    grid = grids([synthetic.run(synthetic_openacc.everything())])["Arrays touched in part"]
    assert [each.heading for each in grid.groups[0].rows] == [
        "10 % of 1 GiB",
        "100 % of 1 GiB",
        "a double every 4 KiB of 1 GiB",
    ]
    assert text(row(grid, "10 % of 1 GiB"))[2:] == ["0.41", "-"]


def test_stencils_have_their_phases(synthetic: ModuleType, synthetic_openacc: ModuleType) -> None:
    grid = grids([synthetic.run(synthetic_openacc.everything())])["Stencils with a halo through host memory"]
    assert [group.title for group in grid.groups] == [
        "4096 stencil, halo 1, CPU pack",
        "4096 stencil, halo 1, GPU pack",
    ]
    assert text(row(grid, "explicit"))[:5] == ["100 ms", "10.0 ms", "400 ms", "10.0 ms", "520 ms"]


def test_runs_are_told_apart(synthetic: ModuleType, synthetic_openacc: ModuleType) -> None:
    runs = [synthetic.run(synthetic_openacc.everything(both=both), name=str(both)) for both in (False, True)]
    found = grids(runs)
    assert [group.title for group in found["Whole arrays, each way"].groups] == [
        "100 % of 1 GiB, A",
        "100 % of 1 GiB, B",
    ]
    assert len(found["Stencils with a halo through host memory"].groups) == 4


def test_a_run_of_skips_has_no_section(synthetic: ModuleType, synthetic_openacc: ModuleType) -> None:
    assert section([synthetic.run([synthetic_openacc.skip("contiguous_both", "a reason")])]) is None
    assert section([]) is None


@pytest.mark.parametrize("how", ["terminal", "markdown", "html"])
def test_every_format_shows_it(synthetic: ModuleType, synthetic_openacc: ModuleType, how: str) -> None:
    written = io.StringIO()
    write(runs_document([synthetic.run(synthetic_openacc.everything())]), how, written)
    for words in ("OpenACC programs", "Whole arrays, each way", "Stencils", "1.44", "g++ 12.2.0"):
        assert words in written.getvalue()
