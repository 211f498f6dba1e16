"""The section on sections of arrays: known ones first, maps, curves, crossovers; what is missing says so."""

from __future__ import annotations

import io
from types import ModuleType

import pytest

from isthmus.analysis.strided.section import section
from isthmus.document.chart import Spec, Tiles
from isthmus.document.grid import Cell, Grid
from isthmus.document.section import Part, Section
from isthmus.record import KIB, Run
from isthmus.report import runs_document
from isthmus.report.renderers import terminal


@pytest.fixture(scope="module")
def full(synthetic: ModuleType, synthetic_strided: ModuleType) -> Run:
    return synthetic.run(synthetic_strided.h200_cases())  # type: ignore[no-any-return]


def made(*runs: Run) -> Section:
    found = section(runs)
    assert found
    return found


def part(found: Section, title: str) -> Part:
    return next(each for each in found.parts if each.title == title)


def cell(grid: Grid, group: str, row: str, column: str) -> Cell:
    (index,) = [index for index, each in enumerate(grid.columns) if each.name == column]
    (rows,) = [each.rows for each in grid.groups if each.title.startswith(group)]
    (found,) = [each for each in rows if each.heading == row]
    return found.cells[index]


def test_a_run_without_sections_has_no_section(synthetic: ModuleType, synthetic_strided: ModuleType) -> None:
    assert section([synthetic.run([])]) is None
    skipped = synthetic_strided.skip(synthetic_strided.case("section", 1e-5, 8, KIB, pitch=16), "too large")
    assert section([synthetic.run([skipped])]) is None


def test_parts(full: Run) -> None:
    assert [each.title for each in made(full).parts] == [
        "Sections that programs know",
        "Other widths and sides of known sections",
        "Time with padded rows on the device over time with tight ones",
        "The fastest method",
        "When the driver copy is worth replacing",
        "Rate by size",
        "All times",
    ]


def test_the_column_with_every_method_side_by_side(full: Run) -> None:
    (grid,) = part(made(full), "Sections that programs know").grids
    alone = "A column of 30720 doubles, contiguous on the host"
    kernel = cell(grid, alone, "D2H, pinned", "kernel")
    assert (kernel.text, kernel.unit) == ("14.8", "us")
    assert float(cell(grid, alone, "D2H, pinned", "driver copy").text) == pytest.approx(51.5, rel=0.01)
    assert cell(grid, alone, "D2H, pinned", "fastest").text == "kernel x3.5"
    titles = [group.title for group in grid.groups]
    assert titles[0].endswith(": 240 KiB")
    assert titles[1].endswith(": 240 KiB, whole span 1000 MiB")


def test_a_method_that_layouts_rule_out_says_so(full: Run) -> None:
    (grid,) = part(made(full), "Sections that programs know").grids
    whole = cell(grid, "A column of 30720 doubles, contiguous on the host", "D2H, pinned", "whole span")
    assert (whole.state, whole.detail) == ("missing", "its layouts leave nothing for this method to do")


def test_skipped_and_failed_cells(synthetic: ModuleType, synthetic_strided: ModuleType) -> None:
    (left,) = synthetic_strided.column({"batch": 1e-5})
    cases = [
        *synthetic_strided.column({"section": 50e-6}),
        *synthetic_strided.column({"kernel": 15e-6, "batch": 1e-5}, verified="no"),
    ]
    cases[-1] = synthetic_strided.skip(left, "no such call")
    (grid,) = part(made(synthetic.run(cases)), "Sections that programs know").grids
    assert cell(grid, "A column", "D2H, pinned", "kernel").state == "failed"
    assert cell(grid, "A column", "D2H, pinned", "fastest").text == "driver copy"
    # No column for what was measured nowhere.
    assert "batch call" not in [column.name for column in grid.columns]


def test_maps_show_the_fastest_method_and_how_far_ahead(full: Run) -> None:
    fastest = part(made(full), "The fastest method")
    grid = fastest.grids[1]
    assert grid.title == "D2H, pinned, contiguous on the host, strided on the device"
    assert cell(grid, "", "8 B", "32768 rows").text == "kernel x5.1"
    assert cell(grid, "", "4 KiB", "32768 rows").text == "driver copy x1.1"
    tiles = fastest.charts[0].spec
    assert isinstance(tiles, Tiles)
    assert tiles.across == ("32", "1024", "32768")
    assert tiles.down[0] == "1 B"
    assert sum(len(kind.rows) for kind in tiles.kinds) == 6 * 3


def test_curves_are_of_the_most_rows(full: Run) -> None:
    charts = part(made(full), "Rate by size").charts
    of_grid = [chart for chart in charts if "D2H" in chart.title]
    assert [chart.title.split(",")[0] for chart in of_grid] == ["1024 rows", "32768 rows"]
    spec = of_grid[0].spec
    assert isinstance(spec, Spec)
    assert {curve.name for curve in spec.curves} == {"driver copy", "copy loop", "device pack", "kernel"}
    driver = next(curve for curve in spec.curves if curve.name == "driver copy")
    assert [row["x"] for row in driver.rows] == [1, 8, 64, 256, KIB, 4 * KIB]


def test_from_how_many_rows_on_another_method_pays(full: Run) -> None:
    grids = part(made(full), "When the driver copy is worth replacing").grids
    rows = next(grid for grid in grids if grid.title.startswith("D2H"))
    # 7 us + 2.5 ns a row = 9 us + (0.1 + 8 / 51) ns a row: between two points, so interpolated in logarithms.
    assert 500 < int(cell(rows, "", "8 B", "kernel").text.split()[0]) < KIB
    assert cell(rows, "", "4 KiB", "device pack").text == "never"


def test_two_runs_keep_their_tables_apart(full: Run) -> None:
    titles = [grid.title for grid in part(made(full, full), "The fastest method").grids]
    assert len(titles) == 4
    assert len(set(titles)) == 4
    (known,) = part(made(full, full), "Sections that programs know").grids
    assert [row.heading for row in known.groups[0].rows] == ["D2H, pinned A", "D2H, pinned B"]


def test_tables_fit_a_terminal(full: Run) -> None:
    out = io.StringIO()
    terminal.write(runs_document([full]), out, width=80)
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert any("kernel x3.5" in line for line in lines)
