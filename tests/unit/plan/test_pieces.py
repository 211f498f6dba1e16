"""Pieces are planned near the truth that drew a run, for the layouts and memory that were measured."""

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
