"""What tests of advice share: a run whose every cost is known, and what copies take in it."""

from collections.abc import Callable

import pytest

from isthmus.record import Run
from tests.synthetic import batching, breakeven, managed, strided
from tests.synthetic import runs as synthetic


@pytest.fixture(scope="session")
def run() -> Run:
    cases = [
        *breakeven.everything(),
        *batching.h200_cases(),
        *strided.h200_cases(),
        *strided.grid(host="strided", device="contiguous", direction="h2d"),
        *managed.cases(),
    ]
    return synthetic.run(cases)


@pytest.fixture
def seconds() -> Callable[..., float]:
    """What a copy takes on the synthetic machine."""

    def seconds(kind: str, direction: str, size: int) -> float:
        return breakeven.H200.copies[kind, direction].seconds(size)

    return seconds
