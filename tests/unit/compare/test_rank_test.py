"""The rank test against counting every order, and the correction for many tests."""

import itertools

import numpy as np
import pytest

from isthmus.compare.spread import corrected, rank_test


def by_counting(first: list[float], second: list[float]) -> float:
    """The share of all ways to split the samples whose U is as far from its mean."""
    both = first + second

    def distance(chosen: tuple[int, ...]) -> float:
        rest = [both[i] for i in range(len(both)) if i not in chosen]
        u = sum((both[i] > other) + (both[i] == other) / 2 for i in chosen for other in rest)
        return abs(u - len(chosen) * len(rest) / 2)

    observed = distance(tuple(range(len(first))))
    splits = list(itertools.combinations(range(len(both)), len(first)))
    return sum(distance(split) >= observed for split in splits) / len(splits)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 3), (4, 6), (6, 4), (5, 5)])
def test_it_is_exact_for_few_samples(n: int, m: int) -> None:
    random = np.random.default_rng(n * 10 + m)
    for _ in range(5):
        first, second = random.normal(0, 1, n).tolist(), random.normal(0.8, 1, m).tolist()
        assert rank_test(first, second) == pytest.approx(by_counting(first, second))


def test_the_example_of_a_textbook() -> None:
    """Times to diagnosis of diabetes, five men against four women: U = 17, p = 1/9."""
    assert rank_test([19, 22, 16, 29, 24], [20, 11, 17, 12]) == pytest.approx(1 / 9)


def test_many_samples_and_ties_are_near_to_counting() -> None:
    first, second = [1.0, 2, 2, 3, 4, 4, 5], [2.0, 4, 5, 5, 6, 6, 7]
    assert rank_test(first, second) == pytest.approx(by_counting(first, second), abs=0.015)
    random = np.random.default_rng(1)
    exact = rank_test(random.normal(0, 1, 25).tolist(), (many := random.normal(0.5, 1, 25)).tolist())
    random = np.random.default_rng(1)
    normal = rank_test([*random.normal(0, 1, 25).tolist(), 100.0, -100.0], many.tolist())
    assert normal == pytest.approx(exact, abs=0.05)


def test_equal_samples_show_nothing() -> None:
    assert rank_test([1.0] * 8, [1.0] * 30) == 1.0
    assert rank_test([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]) == 1.0


def test_it_is_the_same_both_ways_and_small_for_samples_apart() -> None:
    first, second = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [7.0, 8.0, 9.0, 10.0, 11.0, 12.0]
    assert rank_test(first, second) == rank_test(second, first) == pytest.approx(2 / 924)


def test_no_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="both sides"):
        rank_test([], [1.0])


def test_the_correction_is_that_of_benjamini_and_hochberg() -> None:
    assert corrected([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.02, 0.04, 0.04, 0.02])
    assert corrected([1.0, 0.9]).tolist() == [1.0, 1.0]
    assert corrected([]).tolist() == []


def test_of_tests_that_see_nothing_hardly_any_is_significant() -> None:
    p = np.random.default_rng(3).uniform(0, 1, 2000)
    assert (p < 0.05).sum() > 50
    assert (corrected(p) < 0.05).sum() == 0
