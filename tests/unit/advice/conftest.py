"""What tests of advice share: a run whose every cost is known, and what copies take in it."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

from isthmus.record import Run


@pytest.fixture(scope="session")
def run(
    synthetic: ModuleType,
    synthetic_breakeven: ModuleType,
    synthetic_batching: ModuleType,
    synthetic_strided: ModuleType,
    synthetic_managed: ModuleType,
) -> Run:
    cases = [
        *synthetic_breakeven.everything(),
        *synthetic_batching.h200_cases(),
        *synthetic_strided.h200_cases(),
        *synthetic_strided.grid(host="strided", device="contiguous", direction="h2d"),
        *synthetic_managed.cases(),
    ]
    made: Run = synthetic.run(cases)
    return made


@pytest.fixture
def seconds(synthetic_breakeven: ModuleType) -> Callable[..., float]:
    """What a copy takes on the synthetic machine."""

    def seconds(kind: str, direction: str, size: int) -> float:
        found: float = synthetic_breakeven.H200.copies[kind, direction].seconds(size)
        return found

    return seconds
