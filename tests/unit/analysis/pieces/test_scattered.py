"""Surfaces of small pieces: which method is the fastest, from how many pieces on, and where the batch call jumps."""

import numpy as np
import pytest

from isthmus.analysis.pieces.cell import BATCHING
from isthmus.analysis.pieces.model import Surface, main_surfaces, piece_surfaces
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


def test_surfaces_stand_in_the_order_of_their_layouts_memory_and_direction(h200: Run) -> None:
    surfaces = piece_surfaces(h200, BATCHING)
    assert [(each.host_memory, each.direction, each.layouts[1]) for each in surfaces] == [
        ("pinned", "h2d", "scattered"),
        ("pinned", "d2h", "scattered"),
        ("pageable", "h2d", "scattered"),
        ("pageable", "d2h", "scattered"),
        ("pinned", "h2d", "contiguous"),
        ("pinned", "d2h", "contiguous"),
    ]
    assert {each.layouts[1] for each in main_surfaces(surfaces)} == {"scattered"}


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


def test_sizes_of_the_batch_call_alone_are_no_rows_of_the_map(h200: Run) -> None:
    surface = piece_surfaces(h200, BATCHING)[0]
    assert 24 * KIB not in surface.sizes
    assert set(surface.along_sizes(256, "batch")) >= {24 * KIB, 28 * KIB}


def test_methods_whose_intervals_overlap_are_as_fast() -> None:
    cost = synthetic_batching.Cost
    times = {"copies": cost(0, 1e-6, 1e12), "pack": cost(1e-5, 0, 1e12), "pack_threads": cost(1.001e-5, 0, 1e12)}
    surface = only(synthetic_batching.cases(times, [64], [16, 4096], noise=0.05))
    cell = surface.cells[64, 4096]
    assert {cell.fastest, *cell.as_fast} == {"pack", "pack_threads"}


def test_data_that_did_not_arrive_supports_nothing() -> None:
    random = np.random.default_rng(1)
    cases = [
        synthetic_batching.case("copies", 64, 16, 16e-6, random),
        synthetic_batching.case("kernel", 64, 16, 1e-6, random, verified="no"),
    ]
    cell = only(cases).cells[64, 16]
    assert (cell.fastest, set(cell.failed)) == ("copies", {"kernel"})


def test_an_incumbent_that_is_the_fastest_leads_the_next() -> None:
    cost = synthetic_batching.Cost
    surface = only(synthetic_batching.cases({"copies": cost(1e-5, 0, 1e12), "pack": cost(3e-5, 0, 1e12)}))
    lead = surface.cells[64, 16].lead
    assert lead
    assert lead.median == pytest.approx(3, rel=0.02)
    assert not surface.cells[64, 16].gains


def test_a_run_without_pieces_has_no_surface() -> None:
    assert piece_surfaces(synthetic.run([]), BATCHING) == []
    assert piece_surfaces(synthetic.run([synthetic_batching.refused("kernel", "no")]), BATCHING) == []


def test_a_kernel_on_mapped_memory_stands_beside_the_methods_of_pinned_memory() -> None:
    cost = synthetic_batching.Cost
    cases = synthetic_batching.cases({"copies": cost(0, 1e-6, 1e10)}, [64], [16, 256])
    cases += synthetic_batching.cases({"kernel": cost(1e-5, 0, 1e10)}, [64], [16, 256], memory="mapped")
    surface = only(cases)
    assert surface.host_memory == "pinned"
    assert surface.cells[64, 256].ranking == ("mapped_kernel", "copies")


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


def test_what_is_better_from_the_first_piece_on_is_always_better() -> None:
    cost = synthetic_batching.Cost
    times = {"copies": cost(5e-6, 2e-6, 1e13), "kernel": cost(3e-6, 0.1e-6, 1e13)}
    surface = only(synthetic_batching.cases(times, [64]))
    assert found(surface, 64, "kernel").state == "always"


def test_like_methods_have_no_break_even() -> None:
    cost = synthetic_batching.Cost
    times = {"copies": cost(5e-6, 2e-6, 1e13), "kernel": cost(5e-6, 2e-6, 1e13)}
    surface = only(synthetic_batching.cases(times, [64]))
    assert not found(surface, 64, "kernel").certain


def test_one_number_of_pieces_gives_no_break_even() -> None:
    cost = synthetic_batching.Cost
    times = {"copies": cost(5e-6, 2e-6, 1e13), "kernel": cost(3e-6, 0.1e-6, 1e13)}
    assert not count_thresholds(only(synthetic_batching.cases(times, [64], [256])), 0.02)


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
