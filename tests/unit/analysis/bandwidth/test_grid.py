"""The tables as data: units, decimals, marks, summaries."""

from types import ModuleType

import msgspec
import pytest

from isthmus.analysis.bandwidth.findings import findings
from isthmus.analysis.bandwidth.grid import grids
from isthmus.analysis.statistics.curve import bandwidth_curves
from isthmus.analysis.statistics.line import fixed_and_rate
from isthmus.document.grid import Cell, Grid
from isthmus.record import KIB, MIB, Case, Series

PINNED, PAGEABLE = ("copy", "h2d", "pinned"), ("copy", "h2d", "pageable")


def cell(grid: Grid, row: str, column: str) -> Cell:
    (index,) = [index for index, each in enumerate(grid.columns) if each.name == column]
    (found,) = [each for group in grid.groups for each in group.rows if each.heading == row]
    return found.cells[index]


def exact(times: list[float], size: int) -> Case:
    series = [Series(metric="host_seconds", samples=times)]
    return Case(experiment="bandwidth", method="copy", direction="h2d", host_memory="pinned", bytes=size, series=series)


def test_small_sizes_are_times_and_large_ones_rates(synthetic: ModuleType) -> None:
    (grid,) = grids([synthetic.run([exact([8e-6] * 10, 32 * KIB), exact([1e-4] * 10, MIB)])])
    assert [group.title for group in grid.groups[:2]] == ["time to completion, us", "rate, GB/s"]
    assert cell(grid, "32 KiB", "pinned").text == "8.00"
    assert cell(grid, "1 MiB", "pinned").text == "10.5"


@pytest.mark.parametrize(
    ("microseconds", "text", "half"),
    [
        ((0.5, 0.55, 0.6), "0.55", "0.05"),
        ((9.8, 9.9, 10.0), "9.90", "0.10"),
        ((54.0, 55.0, 57.0), "55.0", "1.5"),
        ((990.0, 1000.0, 1020.0), "1000", "15"),
        ((0.04, 0.05, 0.06), "0.0500", "0.0100"),
    ],
)
def test_interval_has_the_decimals_of_its_median(
    synthetic: ModuleType, microseconds: tuple[float, ...], text: str, half: str
) -> None:
    (grid,) = grids([synthetic.run([exact([time * 1e-6 for time in microseconds], 1)])])
    found = cell(grid, "1 B", "pinned")
    assert (found.text, found.half_width) == (text, half)


def test_states_of_cells(synthetic: ModuleType) -> None:
    steady = synthetic.cases({PINNED: synthetic.Truth(8e-6, 50e9)}, [MIB, 2 * MIB, 4 * MIB])
    steady[1] = msgspec.structs.replace(steady[1], verified="no")
    noisy = synthetic.cases({PAGEABLE: synthetic.Truth(8e-6, 5e9, noise=0.5)}, [MIB])
    skipped = synthetic.skips(PAGEABLE, [2 * MIB], "no memory left")
    (grid,) = grids([synthetic.run([*steady, *noisy, *skipped])])
    assert cell(grid, "1 MiB", "pinned").state == "ok"
    assert cell(grid, "2 MiB", "pinned").state == "failed"
    assert cell(grid, "1 MiB", "pageable, driver").state == "wide"
    assert cell(grid, "2 MiB", "pageable, driver") == Cell("skipped", state="skipped", detail="no memory left")
    assert cell(grid, "4 MiB", "pageable, driver").state == "missing"


def test_both_ways_says_sum_and_its_share_is_of_both_links(synthetic: ModuleType) -> None:
    run = synthetic.run(
        synthetic.cases({("copy", "both", "pinned"): synthetic.Truth(0.0, 63e9)}, [64 * MIB, 128 * MIB])
    )
    (grid,) = grids([run])
    assert "sum" in grid.title
    assert cell(grid, "of link", "pinned").text == "50 %"


def test_summary_without_a_link_has_no_share(synthetic: ModuleType) -> None:
    run = synthetic.run(synthetic.cases({PINNED: synthetic.Truth(8e-6, 5e9)}), device=synthetic.cpu_device())
    (grid,) = grids([run])
    assert [row.heading for row in grid.groups[-1].rows] == ["settles", "half at", "fit, us", "fit"]


def test_line_finds_latency_and_rate(synthetic: ModuleType) -> None:
    run = synthetic.run(synthetic.cases({PINNED: synthetic.Truth(8e-6, 50e9)}))
    (curve,) = bandwidth_curves(run)
    fitted = fixed_and_rate(curve)
    assert fitted
    for interval, truth in zip(fitted, (8e-6, 50e9), strict=True):
        assert interval.median == pytest.approx(truth, rel=0.02)
        assert interval.low <= truth <= interval.high
        assert interval.relative_half_width < 0.05


def test_line_needs_three_sizes(synthetic: ModuleType) -> None:
    (curve,) = bandwidth_curves(synthetic.run(synthetic.cases({PINNED: synthetic.Truth(8e-6, 50e9)}, [MIB, 2 * MIB])))
    assert fixed_and_rate(curve) is None


def test_duplex_has_a_table_of_its_own(synthetic: ModuleType) -> None:
    truths = {PINNED: synthetic.Truth(8e-6, 50e9), ("duplex", "h2d", "pinned"): synthetic.Truth(8e-6, 45e9)}
    copy, duplex = grids([synthetic.run(synthetic.cases(truths))])
    assert [column.name for column in copy.columns] == ["pinned"]
    assert [column.name for column in duplex.columns] == ["pinned, H2D"]
    assert "device's clock" in duplex.title


def test_columns_of_several_runs_stand_beside_each_other(synthetic: ModuleType) -> None:
    truths = {PINNED: synthetic.Truth(8e-6, 50e9), PAGEABLE: synthetic.Truth(8e-6, 5e9)}
    run = synthetic.run(synthetic.cases(truths))
    (grid,) = grids([run, run])
    assert [(column.name, column.run) for column in grid.columns] == [
        ("pageable, driver", "A"),
        ("pageable, driver", "B"),
        ("pinned", "A"),
        ("pinned", "B"),
    ]


def test_nothing_measured_is_no_table(synthetic: ModuleType) -> None:
    assert grids([synthetic.run([])]) == []
    assert grids([synthetic.run(synthetic.skips(PINNED, [1], "no memory"))]) == []


def test_the_library_stands_beside_the_driver_under_names_of_their_own(synthetic: ModuleType) -> None:
    truths = {
        PAGEABLE: synthetic.Truth(8e-6, 5e9),
        ("isthmus", "h2d", "pageable"): synthetic.Truth(8e-6, 25e9),
        ("copy", "d2h", "untouched"): synthetic.Truth(8e-6, 2e9),
        ("isthmus", "d2h", "untouched"): synthetic.Truth(8e-6, 8e9),
    }
    run = synthetic.run(synthetic.cases(truths))
    names = [[column.name for column in grid.columns] for grid in grids([run])]
    assert names == [["pageable, driver", "pageable, isthmus"], ["untouched, driver", "untouched, isthmus"]]
    (found,) = [finding for finding in findings(run) if finding.topic == "pageable_isthmus"]
    assert "5.0x H2D" in found.text
    assert "4.0x D2H" in found.text
    # What is concluded of pageable memory stays what the driver does.
    assert "25" not in next(finding.text for finding in findings(run) if finding.topic == "pageable")
