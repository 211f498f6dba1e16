"""Sections of arrays on synthetic runs: grids, thresholds and padding are what went in."""

from collections.abc import Sequence
from typing import Any

import pytest

from isthmus.analysis.pieces.cell import STRIDED, Cell
from isthmus.analysis.pieces.model import Surface, piece_cells, piece_surfaces
from isthmus.analysis.pieces.tables import count_thresholds
from isthmus.analysis.pieces.words import shape_words
from isthmus.analysis.strided import paddings
from isthmus.record import KIB, Run
from tests.synthetic import runs as synthetic
from tests.synthetic import strided as synthetic_strided


@pytest.fixture(scope="module")
def full() -> Run:
    return synthetic.run(synthetic_strided.h200_cases())


def cells_of(run: Run) -> Sequence[Cell]:
    return piece_cells(run, STRIDED)


def only_grid(run: Run, direction: str = "d2h") -> Surface:
    (grid,) = [grid for grid in piece_surfaces(run, STRIDED) if grid.direction == direction]
    return grid


def test_a_grid_holds_every_width_and_number_of_rows(full: Run) -> None:
    grid = only_grid(full)
    assert grid.pitch_bytes is None
    assert grid.sizes == [1, 8, 64, 256, KIB, 4 * KIB]
    assert grid.counts == [32, KIB, 32 * KIB]
    assert grid.methods == ["section", "copies", "device_pack", "kernel"]
    assert grid.cells[8, 32].fastest == "section"
    assert grid.cells[8, 32 * KIB].fastest == "kernel"
    gain = grid.cells[8, 32 * KIB].gain
    truth = 88.92e-6 / (9e-6 + 32768 * (0.1e-9 + 8 / 51e9))
    assert gain
    assert gain.median == pytest.approx(truth, rel=0.01)


@pytest.mark.parametrize(
    ("width", "rows", "fields", "words"),
    [
        (8, 2050, {"pitch": 16400}, "a halo of 2050 x 1 doubles"),
        (32, 2050, {"pitch": 16400}, "a halo of 2050 x 4 doubles"),
        (8, 64, {"pitch": 512, "slices": 64}, "a face of 64 x 64 doubles"),
        (496, 62, {"pitch": 512, "slices": 62}, "a box of 62 x 62 x 62 doubles"),
        (500, 62, {"pitch": 512, "slices": 62}, "3844 rows of 500 B"),
        (8, 4096, {"pitch": 32 * KIB}, "4096 rows of 8 B"),
        (24, 1, {"pitch": 48}, "1 row of 24 B"),
    ],
)
def test_sections_in_words(width: int, rows: int, fields: dict[str, Any], words: str) -> None:
    (cell,) = cells_of(synthetic.run([synthetic_strided.case("section", 1e-5, width, rows, **fields)]))
    assert shape_words(cell) == words


def test_from_so_many_rows_on(full: Run) -> None:
    kernel = count_thresholds(only_grid(full), 0.02)[8, "kernel"]
    # 7 us + 2.5 ns a row = 9 us + (0.1 + 8 / 51) ns a row: between two points, so interpolated in logarithms.
    assert kernel.state == "from"
    assert 500 < kernel.value < KIB
    never = count_thresholds(only_grid(full), 0.02)[4 * KIB, "device_pack"]
    assert (never.state, never.last) == ("never", 32 * KIB)


def test_padded_rows_against_tight_ones(full: Run) -> None:
    pairs = paddings(cells_of(full))
    assert {pair.padded.direction for pair in pairs} == {"d2h", "h2d"}
    for pair in pairs:
        assert pair.padded.shape.device_pitch_bytes == 512
        assert pair.slowdowns["section"].median == pytest.approx(45 / 40, rel=0.01)
