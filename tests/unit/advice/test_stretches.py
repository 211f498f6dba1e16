"""Sets of moments: against counting moment by moment."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isthmus.advice.stretches import Seconds, union

_INTERVALS = st.lists(st.tuples(st.integers(-5, 30), st.integers(-5, 30)), max_size=12)


def held(intervals: list[tuple[int, int]]) -> set[int]:
    """The whole seconds that begin within an interval."""
    return {moment for begin, end in intervals for moment in range(begin, end)}


def columns(intervals: list[tuple[int, int]]) -> tuple[Seconds, Seconds]:
    pairs = np.array(intervals, np.float64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


@given(_INTERVALS, _INTERVALS, _INTERVALS)
def test_moments_are_counted_once(
    some: list[tuple[int, int]], others: list[tuple[int, int]], asked: list[tuple[int, int]]
) -> None:
    first, second = union(*columns(some)), union(*columns(others))
    assert first.length == len(held(some))
    left = first.without(second)
    assert left.length == len(held(some) - held(others))
    assert (left.begin[1:] > left.end[:-1]).all()
    found = left.covered(*columns(asked))
    expected = [len((held(some) - held(others)) & held([each])) for each in asked]
    assert found.tolist() == expected
