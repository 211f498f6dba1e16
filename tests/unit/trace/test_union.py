"""Unions of intervals: their length, what lies before a moment, and what they leave free."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isthmus.trace import Union, union

PAIRS = st.lists(st.tuples(st.integers(0, 60), st.integers(-3, 20)), max_size=12)


def of(pairs: list[tuple[int, int]]) -> Union:
    starts = np.array([start for start, _ in pairs], np.int64)
    return union(starts, starts + np.array([length for _, length in pairs], np.int64))


def covered(pairs: list[tuple[int, int]]) -> set[int]:
    """The same by counting every nanosecond."""
    return {moment for start, length in pairs for moment in range(start, start + length)}


def test_overlapping_and_touching_intervals_become_one() -> None:
    found = of([(10, 5), (0, 4), (12, 8), (20, 2), (30, 0)])
    assert found.begin.tolist() == [0, 10]
    assert found.end.tolist() == [4, 22]


@given(PAIRS)
def test_the_length_is_that_of_all_moments_covered(pairs: list[tuple[int, int]]) -> None:
    assert of(pairs).length == len(covered(pairs))


@given(PAIRS)
def test_what_lies_before_a_moment(pairs: list[tuple[int, int]]) -> None:
    moments = np.arange(-2, 90)
    expected = [sum(each < moment for each in covered(pairs)) for moment in moments]
    assert np.broadcast_to(of(pairs).before(moments), moments.shape).tolist() == expected


@given(PAIRS, st.integers(0, 40), st.integers(0, 60))
def test_gaps_are_the_rest(pairs: list[tuple[int, int]], start: int, length: int) -> None:
    gaps = of(pairs).gaps(start, start + length)
    free = set(range(start, start + length)) - covered(pairs)
    assert gaps.length == len(free)
    assert all(int(each) in free for each in gaps.begin)


@given(PAIRS, PAIRS, PAIRS)
def test_what_two_unions_cover_of_an_interval(
    some: list[tuple[int, int]], others: list[tuple[int, int]], asked: list[tuple[int, int]]
) -> None:
    left = of(some).without(of(others))
    assert (left.begin[1:] > left.end[:-1]).all()
    begin = np.array([start for start, _ in asked], np.float64)
    found = left.covered(begin, begin + [length for _, length in asked])
    assert found.tolist() == [len((covered(some) - covered(others)) & covered([each])) for each in asked]
