"""Surfaces of small pieces: which method is the fastest, from how many pieces on, and where the batch call jumps."""

import pytest

from isthmus.analysis.pieces.cell import BATCHING
from isthmus.analysis.pieces.model import Surface, piece_surfaces
from isthmus.analysis.pieces.tables import batch_cliff, count_thresholds
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.record import KIB, Case, Run
from tests.synthetic import batching as synthetic_batching
from tests.synthetic import runs as synthetic


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
