"""The table of methods on what H200s took, asked of spots whose row and column are kept from it."""

from pathlib import Path

import pytest

from isthmus.analysis.batching.model import batching_tables
from isthmus.analysis.pieces.method_table import HeldOut, held_out, share_within
from isthmus.record import read_run


@pytest.fixture(scope="module")
def spots(repository: Path) -> list[HeldOut]:
    """Every spot with neighbours, asked of a table without its row and its column."""
    runs = [read_run(path) for path in sorted((repository / "results").glob("h200-batching*.json.gz"))]
    assert len(runs) > 1
    return [spot for table in batching_tables(runs).values() for spot in held_out(table)]


def test_the_chosen_method_is_within_a_tenth_of_the_fastest(spots: list[HeldOut]) -> None:
    assert len(spots) >= 60
    assert len({spot.fastest for spot in spots}) > 2, "one method for all would be no choice"
    assert share_within(spots, 1.1) >= 0.95


def test_no_choice_is_far_from_the_fastest(spots: list[HeldOut]) -> None:
    assert max(spot.slowdown for spot in spots) < 2
