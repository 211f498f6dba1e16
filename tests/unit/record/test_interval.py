"""The interval of a median holds what it promises: exactly by binomial counts, and in simulation."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.record import LEAST_SAMPLES, Interval, median_interval


def ranks(count: int) -> tuple[int, int]:
    """Which order statistics of `count` samples the interval takes, from 0."""
    interval = median_interval([float(rank) for rank in range(count)])
    return int(interval.low), int(interval.high)


def coverage(count: int, low: int, high: int) -> Fraction:
    """How often the median of any continuous distribution lies between these order statistics, exactly."""
    return Fraction(sum(math.comb(count, below) for below in range(low + 1, high + 1)), 2**count)


@pytest.mark.parametrize("count", [*range(6, 80), 100, 101, 999, 1000])
def test_coverage_is_at_least_95_percent_and_a_narrower_one_would_not_be(count: int) -> None:
    low, high = ranks(count)
    assert low == count - 1 - high
    assert coverage(count, low, high) >= Fraction(95, 100)
    # Symmetric, with at most 2.5 % on each side: one rank further in leaves more than that outside.
    tail = Fraction(sum(math.comb(count, below) for below in range(low + 2)), 2**count)
    assert tail > Fraction(25, 1000)


# Tabulated in textbooks on nonparametric statistics for 95 %.
@pytest.mark.parametrize(("count", "expected"), [(6, (0, 5)), (8, (0, 7)), (9, (1, 7)), (10, (1, 8)), (20, (5, 14))])
def test_known_ranks(count: int, expected: tuple[int, int]) -> None:
    assert ranks(count) == expected


@pytest.mark.parametrize("samples", [[5.0], [4.0, 6.0]])
def test_one_or_two_samples_have_no_interval(samples: list[float]) -> None:
    interval = median_interval(samples)
    assert interval == (5.0, 5.0, 5.0)
    assert not interval.is_known


@pytest.mark.parametrize("count", range(3, LEAST_SAMPLES))
def test_too_few_samples_give_their_whole_range(count: int) -> None:
    assert ranks(count) == (0, count - 1)
    assert coverage(count, 0, count - 1) < Fraction(95, 100)


def test_the_least_number_is_the_first_that_suffices() -> None:
    assert coverage(LEAST_SAMPLES, 0, LEAST_SAMPLES - 1) >= Fraction(95, 100)


def test_the_order_of_the_samples_does_not_matter() -> None:
    assert median_interval([3.0, 1.0, 2.0, 4.0]) == Interval(2.5, 1.0, 4.0)


def test_no_samples_have_no_median() -> None:
    with pytest.raises(ValueError, match="at least one sample"):
        median_interval([])


def test_half_width_is_relative_to_the_median() -> None:
    assert Interval(10.0, 9.8, 10.2).relative_half_width == pytest.approx(0.02)
    assert Interval(10.0, 10.0, 10.0).relative_half_width == 0
    assert Interval(0.0, 0.0, 0.0).relative_half_width == math.inf


@given(st.lists(st.floats(min_value=1e-9, max_value=1e3), min_size=1, max_size=200))
def test_the_interval_encloses_its_median_and_lies_within_the_samples(samples: list[float]) -> None:
    interval = median_interval(samples)
    assert min(samples) <= interval.low <= interval.median <= interval.high <= max(samples)
    assert interval.is_known == (interval.low != interval.high)
    if len(samples) >= 3:
        assert {interval.low, interval.high} <= set(samples)


@pytest.mark.parametrize("count", [10, 25])
def test_simulated_runs_find_the_true_median(count: int) -> None:
    """Skewed like transfer times: a log-normal, whose median is known."""
    random = np.random.default_rng(20260101)
    trials = random.lognormal(mean=np.log(7e-6), sigma=0.5, size=(2000, count))
    intervals = [median_interval(trial.tolist()) for trial in trials]
    hits = sum(interval.low <= 7e-6 <= interval.high for interval in intervals)
    assert hits >= 0.94 * len(intervals)
