"""Pairs of cases that differ by one element say what its alignment costs, and stay out of all else."""

from types import ModuleType

import numpy as np
import pytest

from isthmus.analysis.pieces.alignment import alignment_pairs, alignment_unit, natural_unit
from isthmus.analysis.pieces.cell import BATCHING, STRIDED
from isthmus.analysis.pieces.model import piece_cells, piece_surfaces
from isthmus.record import KIB, Case


@pytest.mark.parametrize(
    ("sizes", "unit"),
    [((4096,), 16), ((4104,), 8), ((4096, 4100), 4), ((4096, 4098), 2), ((75, 4096), 1), ((8, 16), 8)],
)
def test_the_unit_divides_all_sizes(sizes: tuple[int, ...], unit: int) -> None:
    assert alignment_unit(*sizes) == unit


@pytest.mark.parametrize(("size", "unit"), [(1, 1), (3, 2), (6, 4), (8, 8), (15, 8), (16, 16), (5000, 16)])
def test_the_natural_unit_is_the_largest_that_fits(size: int, unit: int) -> None:
    assert natural_unit(size) == unit


def pieces(synthetic_batching: ModuleType, seconds: dict[int, float], **fields: object) -> list[Case]:
    """Copies of 256 pieces, by their size."""
    random = np.random.default_rng(1)
    return [synthetic_batching.case("copies", size, 256, time, random, **fields) for size, time in seconds.items()]


def test_a_pair_is_a_size_and_the_one_that_is_an_element_smaller(
    synthetic: ModuleType, synthetic_batching: ModuleType
) -> None:
    times = {4 * KIB: 1e-4, 4 * KIB + 4: 1.5e-4, 4 * KIB + 1: 3e-4, KIB: 5e-5}
    pairs = alignment_pairs(synthetic.run(pieces(synthetic_batching, times)))
    assert {(pair.unit_bytes, pair.each_bytes) for pair in pairs} == {(4, 4 * KIB + 4), (1, 4 * KIB + 1)}
    by_unit = {pair.unit_bytes: pair for pair in pairs}
    assert by_unit[4].slowdown.median == pytest.approx(1.5, rel=0.02)
    assert by_unit[1].extra[0] == pytest.approx(2e-4 / 256, rel=0.02)


def test_odd_sizes_alone_are_sizes_like_others(synthetic: ModuleType, synthetic_batching: ModuleType) -> None:
    run = synthetic.run(pieces(synthetic_batching, {100: 1e-5, 1000: 2e-5}))
    assert alignment_pairs(run) == []
    assert piece_surfaces(run, BATCHING)[0].sizes == [100, 1000]


def test_reports_of_pieces_do_not_see_the_misaligned(synthetic: ModuleType, synthetic_batching: ModuleType) -> None:
    run = synthetic.run(pieces(synthetic_batching, {4 * KIB: 1e-4, 4 * KIB + 4: 1.5e-4}))
    assert piece_surfaces(run, BATCHING)[0].sizes == [4 * KIB]


def test_wrong_data_makes_no_pair(synthetic: ModuleType, synthetic_batching: ModuleType) -> None:
    cases = pieces(synthetic_batching, {4 * KIB: 1e-4})
    cases += pieces(synthetic_batching, {4 * KIB + 4: 1.5e-4}, verified="no")
    assert alignment_pairs(synthetic.run(cases)) == []


def test_rows_pair_with_those_whose_pitch_follows(synthetic: ModuleType, synthetic_strided: ModuleType) -> None:
    cases = synthetic_strided.grid({"section": lambda width, rows: 1e-5 * (1 + width % 16)}, [256, 264], [KIB])
    # As wide, but in rows of an array that has nothing to do with them.
    cases += synthetic_strided.grid({"section": lambda width, rows: 1e-5}, [256, 260], [KIB], pitch=32 * KIB)
    run = synthetic.run(cases)
    pairs = alignment_pairs(run)
    assert {(pair.each_bytes, pair.unit_bytes) for pair in pairs} == {(264, 8), (260, 4)}
    slow = next(pair for pair in pairs if pair.unit_bytes == 8)
    assert slow.slowdown.median == pytest.approx(9, rel=0.02)
    assert slow.layouts == ("contiguous", "strided")
    assert {cell.shape.width_bytes for cell in piece_cells(run, STRIDED)} == {256}
