"""The tables of bandwidth: decimals, and the line through times."""

import pytest

from isthmus.analysis.bandwidth.section import grids
from isthmus.analysis.statistics.curve import bandwidth_curves
from isthmus.analysis.statistics.shape import fixed_and_rate
from isthmus.document.grid import Cell, Grid, cells_of
from isthmus.record import KIB, MIB, Case, Series
from tests.synthetic import runs as synthetic

PINNED, PAGEABLE = ("copy", "h2d", "pinned"), ("copy", "h2d", "pageable")


def cell(grid: Grid, row: str, column: str) -> Cell:
    (index,) = [index for index, each in enumerate(grid.columns) if each.name == column]
    (found,) = [each for group in grid.groups for each in group.rows if each.heading == row]
    return found.cells[index]


def exact(times: list[float], size: int) -> Case:
    series = [Series(metric="host_seconds", samples=times)]
    return Case(experiment="bandwidth", method="copy", direction="h2d", host_memory="pinned", bytes=size, series=series)


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
def test_interval_has_the_decimals_of_its_median(microseconds: tuple[float, ...], text: str, half: str) -> None:
    (grid,) = grids([synthetic.run([exact([time * 1e-6 for time in microseconds], 1)])])
    found = cell(grid, "1 B", "pinned")
    assert (found.text, found.half_width) == (text, half)


def test_line_finds_latency_and_rate() -> None:
    run = synthetic.run(synthetic.cases({PINNED: synthetic.Truth(8e-6, 50e9)}))
    (curve,) = bandwidth_curves(run)
    fitted = fixed_and_rate(curve)
    assert fitted
    for interval, truth in zip(fitted, (8e-6, 50e9), strict=True):
        assert interval.median == pytest.approx(truth, rel=0.02)
        assert interval.low <= truth <= interval.high
        assert interval.relative_half_width < 0.05


def test_three_sizes_off_any_line_have_no_fit() -> None:
    """One of them moves ten times as slowly: the rate of the line would be anything, ±499999998 as was printed."""
    made = synthetic.cases({PINNED: synthetic.Truth(8e-6, 50e9)}, [MIB, 2 * MIB])
    made += synthetic.cases({PINNED: synthetic.Truth(8e-6, 5e9)}, [512 * KIB])
    (curve,) = bandwidth_curves(synthetic.run(made))
    assert len(curve.points) == 3
    assert fixed_and_rate(curve) is None
    (grid,) = grids([synthetic.run(made)])
    assert not any("±" in each.half_width or len(each.half_width) > 6 for each in cells_of(grid))
