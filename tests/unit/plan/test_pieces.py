"""Pieces are planned near the truth that drew a run, for the layouts and memory that were measured."""

import numpy as np
import pytest

from isthmus.plan import answer
from isthmus.record import KIB, PiecesNeed, Run
from tests.synthetic import batching as synthetic_batching
from tests.synthetic import runs as synthetic


@pytest.fixture(scope="module")
def h200() -> Run:
    return synthetic.run(synthetic_batching.h200_cases())


@pytest.mark.parametrize(("pieces", "size"), [(40, 704), (300, 9 * KIB), (2000, 3 * KIB), (5, 300 * KIB)])
def test_the_first_choice_is_the_fastest_and_takes_what_is_said(h200: Run, pieces: int, size: int) -> None:
    truths = {name: time(size, pieces) for name, time in synthetic_batching.H200.items()}
    plan = answer(h200, PiecesNeed(pieces, size, source="pinned"))
    first = plan.methods[0]
    assert truths[first.name] <= 1.1 * min(truths.values())
    assert first.seconds.median == pytest.approx(truths[first.name], rel=0.2)
    assert first.seconds.low <= first.seconds.median <= first.seconds.high
    assert [way.seconds.median for way in plan.methods] == sorted(way.seconds.median for way in plan.methods)


def test_threads_are_told_of_methods_that_pack_on_threads(h200: Run) -> None:
    ways = {way.name: way for way in answer(h200, PiecesNeed(64, KIB, source="pageable")).methods}
    assert ways["pack_threads"].options == {"threads": 8}
    assert ways["copies"].options == {}


def test_what_the_device_rules_out_is_unknown_with_the_reason(h200: Run) -> None:
    plan = answer(h200, PiecesNeed(64, KIB))
    assert plan.unknown["kernel"] == "kernels do not reach it"
    assert "kernel" not in {way.name for way in plan.methods}


def test_pieces_at_a_stride_cost_what_scattered_ones_do(h200: Run) -> None:
    scattered = answer(h200, PiecesNeed(64, KIB, source="pinned"))
    strided = answer(h200, PiecesNeed(64, KIB, source="pinned", host_layout="strided", device_layout="strided"))
    assert strided.methods == scattered.methods


def test_nothing_stands_for_other_layouts(h200: Run) -> None:
    plan = answer(h200, PiecesNeed(64, KIB, source="pinned", host_layout="contiguous"))
    assert not plan.methods
    assert "did not measure this layout" in plan.unpriced["copies"]


def test_beyond_the_grid_nothing_is_stretched(h200: Run) -> None:
    plan = answer(h200, PiecesNeed(200_000, 4 * KIB, source="pinned"))
    assert not plan.methods
    assert "far from this" in plan.unpriced["copies"]


def test_methods_that_move_by_units_have_no_time_where_pieces_are_not_aligned(h200: Run) -> None:
    plan = answer(h200, PiecesNeed(300, 5001, source="pinned"))
    assert "kernel" in plan.unpriced
    assert "copies" in {way.name for way in plan.methods}
    assert plan.fastest is None


def test_a_run_without_pieces_prices_nothing() -> None:
    plan = answer(synthetic.h200(), PiecesNeed(64, KIB))
    assert (plan.methods, plan.fastest) == ((), None)


def test_wrong_data_is_no_way() -> None:
    cases = synthetic_batching.h200_cases()
    spoiled = [
        synthetic_batching.case("kernel", each.width_bytes, each.pieces, 1e-9, np.random.default_rng(1), verified="no")
        if each.method == "kernel" and each.pieces and each.width_bytes and each.host_memory == "pinned"
        else each
        for each in cases
    ]
    plan = answer(synthetic.run(spoiled), PiecesNeed(64, KIB, source="pinned"))
    assert "kernel" not in {way.name for way in plan.methods}
    assert plan.unknown["kernel"] == "the data arrived wrong"
