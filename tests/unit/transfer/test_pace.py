"""When a neighbour's link is left to others: `pace_check.cpp` does the checking."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def test_a_link_that_others_use_is_left_to_them_and_used_again_afterwards(run_cpp: Callable[..., str]) -> None:
    assert run_cpp(Path(__file__).with_name("pace_check.cpp")) == "as described\n"
