"""Surfaces of pieces and rows: grids, thresholds, padding and the jump of the batch call; the misaligned stay out."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from isthmus.analysis.pieces.cell import BATCHING, STRIDED, Cell
from isthmus.analysis.pieces.model import Surface, alignment_unit, natural_unit, piece_cells, piece_surfaces
from isthmus.analysis.pieces.tables import batch_cliff, count_thresholds
from isthmus.analysis.pieces.words import shape_words
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.record import KIB, Case, Run
from tests.synthetic import batching as synthetic_batching
from tests.synthetic import runs as synthetic
from tests.synthetic import strided as synthetic_strided


def only(cases: list[Case]) -> Surface:
    (surface,) = piece_surfaces(synthetic.run(cases), BATCHING)
    return surface


@pytest.fixture(scope="module")
def h200() -> Run:
    return synthetic.run(synthetic_batching.h200_cases())


def test_a_surface_knows_what_the_truth_is(h200: Run) -> None:
    surface = piece_surfaces(h200, BATCHING)[0]
    cell = surface.cells[4 * KIB, 4096]
    assert cell.threads == 8
    assert cell.fastest == "kernel"
    assert cell.best.rate.median == pytest.approx(49.4e9, rel=0.02)
    assert cell.gain
    assert cell.gain.low < 31.4 < cell.gain.high
    assert cell.lead == cell.gain
    assert not cell.as_fast
    assert surface.refused == {"device_pack": "the pieces lie apart in host memory"}
    assert surface.typical is cell
    # The loop was not measured there, so there is no gain to tell; what was is compared all the same.
    many = surface.cells[64, 65536]
    assert many.gain is None
    assert many.fastest == "kernel"
    assert set(many.skipped) == {"waited_copies", "copies", "graph", "batch"}


def found(surface: Surface, size: int, method: str) -> Threshold:
    return count_thresholds(surface, 0.02)[size, method]


def test_break_even_counts_enclose_the_truth() -> None:
    """A loop of 2 us a piece against 10 us once and 0.1 us a piece: equal at 5.26 pieces, so from 6 on."""
    cost = synthetic_batching.Cost
    times = {"copies": cost(0, 2e-6, 1e13), "pack": cost(10e-6, 0.1e-6, 1e13), "batch": cost(1e-3, 3e-6, 1e13)}
    surface = only(synthetic_batching.cases(times, [64]))
    pack = found(surface, 64, "pack")
    assert (pack.state, pack.value) == ("from", 6)
    assert pack.low <= 6 <= pack.high
    assert found(surface, 64, "batch").state == "never"
    assert (pack.first, pack.last) == (1, 4096), "beyond, the loop was not measured"


def test_the_cliff_lies_where_larger_pieces_take_less_time(h200: Run) -> None:
    surface = piece_surfaces(h200, BATCHING)[0]
    cliff = batch_cliff(surface)
    assert cliff
    assert (cliff.below, cliff.above, cliff.pieces) == (24 * KIB, 28 * KIB, 256)
    # 256 (1.0 us + 24 KiB at 7 GB/s) against 256 (0.1 us + 28 KiB at 55 GB/s), each with 5 us once.
    assert cliff.gain.median == pytest.approx(1.1598e-3 / 0.164e-3, rel=0.02)


def test_a_rate_that_grows_with_the_size_is_no_cliff() -> None:
    """A fixed cost for each piece makes the rate rise as steeply as the size does, and never more."""
    cost = synthetic_batching.Cost
    times = {"copies": cost(0, 2e-6, 55e9), "batch": cost(5e-6, 1e-6, 55e9)}
    assert batch_cliff(only(synthetic_batching.cases(times))) is None


def test_noise_makes_no_cliff() -> None:
    cost = synthetic_batching.Cost
    times = {"copies": cost(0, 2e-6, 55e9), "batch": cost(5e-6, 1e-6, 1e13)}
    assert batch_cliff(only(synthetic_batching.cases(times, noise=0.1))) is None


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


@pytest.mark.parametrize(
    ("sizes", "unit"),
    [((4096,), 16), ((4104,), 8), ((4096, 4100), 4), ((4096, 4098), 2), ((75, 4096), 1), ((8, 16), 8)],
)
def test_the_unit_divides_all_sizes(sizes: tuple[int, ...], unit: int) -> None:
    assert alignment_unit(*sizes) == unit


@pytest.mark.parametrize(("size", "unit"), [(1, 1), (3, 2), (6, 4), (8, 8), (15, 8), (16, 16), (5000, 16)])
def test_the_natural_unit_is_the_largest_that_fits(size: int, unit: int) -> None:
    assert natural_unit(size) == unit


def pieces(seconds: dict[int, float], **fields: Any) -> list[Case]:
    """Copies of 256 pieces, by their size."""
    random = np.random.default_rng(1)
    return [synthetic_batching.case("copies", size, 256, time, random, **fields) for size, time in seconds.items()]


def test_odd_sizes_alone_are_sizes_like_others() -> None:
    run = synthetic.run(pieces({100: 1e-5, 1000: 2e-5}))
    assert piece_surfaces(run, BATCHING)[0].sizes == [100, 1000]


def test_reports_of_pieces_do_not_see_the_misaligned() -> None:
    run = synthetic.run(pieces({4 * KIB: 1e-4, 4 * KIB + 4: 1.5e-4}))
    assert piece_surfaces(run, BATCHING)[0].sizes == [4 * KIB]


def test_rows_stay_out_beside_those_whose_pitch_follows() -> None:
    cases = synthetic_strided.grid({"section": lambda width, rows: 1e-5 * (1 + width % 16)}, [256, 264], [KIB])
    # As wide, but in rows of an array that has nothing to do with them.
    cases += synthetic_strided.grid({"section": lambda width, rows: 1e-5}, [256, 260], [KIB], pitch=32 * KIB)
    run = synthetic.run(cases)
    assert {cell.shape.width_bytes for cell in piece_cells(run, STRIDED)} == {256}
