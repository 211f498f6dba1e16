"""Cases that are misaligned by one element stay out of what is said of pieces and rows."""

from typing import Any

import numpy as np
import pytest

from isthmus.analysis.pieces.cell import BATCHING, STRIDED
from isthmus.analysis.pieces.model import alignment_unit, natural_unit, piece_cells, piece_surfaces
from isthmus.record import KIB, Case
from tests.synthetic import batching as synthetic_batching
from tests.synthetic import runs as synthetic
from tests.synthetic import strided as synthetic_strided


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
