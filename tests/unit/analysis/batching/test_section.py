"""The section on small pieces: maps and tables hold what was measured, say what was not, and fit a terminal."""

import io
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

from isthmus.analysis.batching.section import section
from isthmus.document.chart import Spec, Tiles
from isthmus.document.grid import Cell, Grid
from isthmus.document.section import Part, Section
from isthmus.record import KIB, MIB, Run
from isthmus.report import runs_document
from isthmus.report.renderers import terminal


@pytest.fixture(scope="module")
def h200(synthetic: ModuleType, synthetic_batching: ModuleType) -> Run:
    return synthetic.run(synthetic_batching.h200_cases())  # type: ignore[no-any-return]


def made(*runs: Run) -> Section:
    found = section(runs)
    assert found
    return found


def part(found: Section, title: str) -> Part:
    return next(each for each in found.parts if each.title.startswith(title))


def cell(grid: Grid, row: str, column: str, group: int = 0) -> Cell:
    (index,) = [index for index, each in enumerate(grid.columns) if each.name == column]
    (found,) = [each for each in grid.groups[group].rows if each.heading == row]
    return found.cells[index]


def test_a_run_without_pieces_has_no_section(synthetic: ModuleType, synthetic_batching: ModuleType) -> None:
    bandwidth = synthetic.cases({("copy", "h2d", "pinned"): synthetic.Truth(8e-6, 50e9)}, [MIB])
    assert section([synthetic.run(bandwidth)]) is None
    assert section([synthetic.run([synthetic_batching.refused("kernel", "no memory")])]) is None


def test_parts(h200: Run) -> None:
    assert [each.title for each in made(h200).parts] == [
        "The fastest method",
        "The fastest method: other memory, layouts and pitches",
        "When the copy loop is worth replacing",
        "The cliff of the batch call",
        "How the pieces lie",
        "Rate by size",
        "All rates, GB/s",
    ]


def test_a_cell_of_the_map_names_method_rate_and_gain(h200: Run) -> None:
    grids = part(made(h200), "The fastest").grids
    assert [grid.title for grid in grids] == [
        f"{way}, {memory}, scattered on both sides" for memory in ("pinned", "pageable") for way in ("H2D", "D2H")
    ]
    found = cell(grids[0], "4 KiB", "4096 pieces")
    assert found.text.startswith("kernel 49.")
    assert found.text.endswith(" x31")
    assert "copy loop 1.57 GB/s" in found.detail
    # Where the loop was not measured there is no gain.
    assert " x" not in cell(grids[0], "64 B", "65536 pieces").text
    assert cell(grids[0], "1 MiB", "4096 pieces").state == "missing"
    assert "24 KiB" not in [row.heading for row in grids[0].groups[0].rows]


def test_a_tie_is_marked(synthetic: ModuleType, synthetic_batching: ModuleType) -> None:
    cost = synthetic_batching.Cost
    times = {"copies": cost(0, 1e-6, 1e12), "pack": cost(1e-5, 0, 1e12), "graph": cost(1.001e-5, 0, 1e12)}
    (grid,) = part(made(synthetic.run(synthetic_batching.cases(times, [64], noise=0.05))), "The fastest").grids
    assert cell(grid, "64 B", "4096 pieces").text.startswith("≈")
    assert not cell(grid, "64 B", "1 piece").text.startswith("≈")


def test_the_map_has_a_tile_for_each_measured_cell(h200: Run) -> None:
    found = part(made(h200), "The fastest")
    spec = found.charts[0].spec
    assert isinstance(spec, Tiles)
    assert spec.across == ("1", "16", "256", "4096", "65536")
    assert spec.down[0] == "64 B"
    tiles = [row for kind in spec.kinds for row in kind.rows]
    assert len({(row["x"], row["y"]) for row in tiles}) == len(tiles) == 31
    (tile,) = [row for row in tiles if (row["x"], row["y"]) == ("4096", "4 KiB")]
    assert tile["kind"] == "kernel"
    assert tile["text"].startswith("49.")
    drawn = {kind.name for chart in found.charts for kind in chart.spec.kinds}  # type: ignore[union-attr]
    assert drawn == {entry.name for entry in found.legend}


def test_break_even_numbers_stand_in_a_table(h200: Run) -> None:
    grids = part(made(h200), "When the copy loop").grids
    assert len(grids) == 4
    assert cell(grids[2], "4 KiB", "pack on threads").text == "7"
    assert cell(grids[2], "1 MiB", "pack on threads").text == "never"
    assert "kernel" not in [column.name for column in grids[2].columns]


def test_fewer_pieces_than_measured_are_not_vouched_for(synthetic: ModuleType, synthetic_batching: ModuleType) -> None:
    cost = synthetic_batching.Cost
    times = {"copies": cost(5e-6, 2e-6, 1e13), "kernel": cost(3e-6, 0.1e-6, 1e13)}
    made_from = {
        counts: synthetic.run(synthetic_batching.cases(times, [64], counts)) for counts in ((16, 256), (1, 256))
    }
    texts = {
        counts: cell(part(made(run), "When the copy loop").grids[0], "64 B", "kernel").text
        for counts, run in made_from.items()
    }
    assert texts == {(16, 256): "≤ 16", (1, 256): "always"}


def test_what_the_medians_alone_say_has_a_question_mark(synthetic: ModuleType, synthetic_batching: ModuleType) -> None:
    """The loop is a little faster with any number of pieces, by less than its samples vary at the largest."""
    cost = synthetic_batching.Cost
    loop, kernel = cost(5e-6, 1e-6, 1e13), cost(9e-6, 1e-6, 1e13)
    found = synthetic_batching.cases({"copies": loop, "kernel": kernel}, [64], [1, 16, 256], noise=0.006)
    (grid,) = part(made(synthetic.run(found)), "When the copy loop").grids
    answer = cell(grid, "64 B", "kernel")
    assert (answer.text, answer.state) == ("never?", "wide")


def test_the_cliff_has_its_rates_and_its_place(h200: Run) -> None:
    (grid,) = part(made(h200), "The cliff").grids
    assert float(cell(grid, "24 KiB", "H2D, pinned").text) == pytest.approx(5.43, rel=0.02)
    assert float(cell(grid, "28 KiB", "H2D, pinned").text) == pytest.approx(44.7, rel=0.02)


def test_layouts_stand_beside_each_other_where_there_are_several(h200: Run, synthetic_batching: ModuleType) -> None:
    typical, smaller = part(made(h200), "How the pieces lie").grids
    assert (typical.title, smaller.title) == ("Fastest for 4096 pieces of 4 KiB", "Fastest for 256 pieces of 4 KiB")
    assert cell(typical, "scattered on both sides", "H2D, pageable").text.startswith("pack on threads 41.")
    contiguous = "scattered on the host, contiguous on the device"
    assert cell(typical, contiguous, "H2D, pageable").state == "missing"
    assert cell(typical, contiguous, "H2D, pinned").text.startswith("kernel 49.")


def test_curves_are_of_the_numbers_of_pieces_with_most_sizes(h200: Run) -> None:
    charts = part(made(h200), "Rate by").charts
    assert [chart.title.split(",")[0] for chart in charts[:2]] == ["256 pieces", "4096 pieces"]
    spec = charts[0].spec
    assert isinstance(spec, Spec)
    (batch,) = [curve for curve in spec.curves if curve.name == "batch call"]
    assert {row["x"] for row in batch.rows} >= {24 * KIB, 28 * KIB}
    assert [text for _, text in spec.rules] == ["link 63.0 GB/s"]


def test_all_rates_have_skipped_and_failed_ones(synthetic: ModuleType, synthetic_batching: ModuleType) -> None:
    cost = synthetic_batching.Cost
    cases = synthetic_batching.cases({"copies": cost(0, 1e-6, 1e10), "pack": cost(1e-5, 0, 1e10)}, [64], [16, 65536])
    cases.append(synthetic_batching.case("kernel", 64, 16, 1e-6, np.random.default_rng(1), verified="no"))
    cases.append(synthetic_batching.case("kernel", 64, 65536, 1e-3, np.random.default_rng(1)))
    found = part(made(synthetic.run(cases)), "All rates, GB/s")
    assert found.page_only
    (grid,) = found.grids
    assert [group.title for group in grid.groups] == ["16 pieces", "65536 pieces"]
    assert cell(grid, "64 B", "kernel", 0).state == "failed"
    assert cell(grid, "64 B", "copy loop", 1).state == "skipped"
    assert "one by one" in cell(grid, "64 B", "copy loop", 1).detail
    assert float(cell(grid, "64 B", "pack", 1).text) == pytest.approx(9.77, rel=0.02)


def test_a_single_method_has_no_map(synthetic: ModuleType, synthetic_batching: ModuleType) -> None:
    cost = synthetic_batching.Cost
    run = synthetic.run(synthetic_batching.cases({"pack": cost(1e-5, 0, 1e10)}))
    assert [each.title for each in made(run).parts] == ["Rate by size", "All rates, GB/s"]


def test_several_runs_are_told_apart(h200: Run) -> None:
    grids = part(made(h200, h200), "The fastest").grids
    assert len({grid.title for grid in grids}) == len(grids) == 8
    assert grids[0].title.endswith(": A: NVIDIA H200 (cuda:0), run synthetic")


@pytest.mark.parametrize("format_name", ["markdown", "html", "csv"])
def test_every_format_writes_it(h200: Run, format_name: str, rendered: Callable[..., str]) -> None:
    text = rendered(format_name, h200)
    assert "batching" in text if format_name == "csv" else "Many small pieces" in text


def test_it_fits_a_terminal(h200: Run) -> None:
    out = io.StringIO()
    terminal.write(runs_document([h200]), out, width=100)
    assert max(map(len, out.getvalue().splitlines())) <= 100
    assert "kernel 49." in out.getvalue()
