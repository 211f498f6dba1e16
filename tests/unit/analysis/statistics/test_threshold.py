"""Where one curve falls below another: every kind of answer, and when there is none."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from isthmus.analysis.statistics.resample import DRAWS, Draws
from isthmus.analysis.statistics.threshold import MOST_USES, size_threshold, uses_threshold

SIZES = [1 << power for power in range(10, 21)]


def curve(values: Sequence[float], noise: float = 0.0, seed: int = 1) -> Draws:
    """One row for each value: itself, and draws around it."""
    random = np.random.default_rng(seed)
    draws = np.array(values)[:, np.newaxis] * random.lognormal(0.0, noise, (len(values), 1 + DRAWS))
    draws[:, 0] = values
    return draws


def power(factor: float, exponent: float) -> list[float]:
    return [factor * size**exponent for size in SIZES]


def scaled(ratios: Sequence[float]) -> list[float]:
    """Times in proportion to size, times a factor for each size."""
    return [ratio * size for ratio, size in zip(ratios, SIZES, strict=True)]


def test_the_crossing_of_two_power_laws_is_exact() -> None:
    # 1e-6 * s ** 0.5 and 1e-8 * s ** 0.9 meet where s ** 0.4 is 100, at a size that was not measured.
    found = size_threshold(SIZES, curve(power(1e-8, 0.9)), curve(power(1e-6, 0.5)))
    assert found.state == "from"
    assert found.value == pytest.approx(100**2.5)
    assert (found.low, found.high) == (found.value, found.value)
    assert found.certain
    assert found.crossings == 1
    assert max(found.slower) < found.value < min(found.faster)


def test_the_other_way_round_the_challenger_wins_up_to_there() -> None:
    found = size_threshold(SIZES, curve(power(1e-6, 0.5)), curve(power(1e-8, 0.9)))
    assert found.state == "up_to"
    assert found.value == pytest.approx(100**2.5)


@pytest.mark.parametrize(("factor", "state"), [(2.0, "always"), (0.5, "never")])
def test_one_curve_below_the_other_everywhere(factor: float, state: str) -> None:
    found = size_threshold(SIZES, curve(power(factor, 1.0), 0.01), curve(power(1.0, 1.0), 0.01, seed=2))
    assert found.state == state
    assert found.certain
    assert (found.first, found.last) == (SIZES[0], SIZES[-1])
    assert (found.faster if state == "always" else found.slower) == tuple(SIZES)


def test_the_interval_encloses_the_truth_and_grows_with_the_noise() -> None:
    widths = []
    for noise in (0.003, 0.03):
        found = size_threshold(SIZES, curve(power(1e-8, 0.9), noise), curve(power(1e-6, 0.5), noise, seed=2))
        assert found.low < 100**2.5 < found.high
        assert found.certain
        widths.append(found.high / found.low)
    assert widths[1] > widths[0] > 1


def test_curves_that_cannot_be_told_apart_have_no_threshold() -> None:
    found = size_threshold(SIZES, curve(power(1.0, 1.0), 0.02), curve(power(1.0, 1.0), 0.02, seed=2))
    assert found.state == "cannot_tell"
    assert math.isnan(found.value)
    assert (found.faster, found.slower) == ((), ())


def test_a_threshold_at_the_end_of_the_range_may_lie_beyond_it() -> None:
    ratios = [1.5] * 9 + [1.2, 0.999]
    found = size_threshold(SIZES, curve(power(1.0, 1.0), 0.01), curve(scaled(ratios), 0.01, 2))
    assert found.state == "from"
    assert SIZES[-2] < found.low < SIZES[-1]
    assert math.isinf(found.high)
    assert not found.certain


def test_several_crossings_give_the_last_one_and_say_so() -> None:
    # Faster at the small sizes, slower at the middle ones, faster for good from the eighth on.
    ratios = [0.5] * 3 + [2.0] * 4 + [0.5] * 4
    found = size_threshold(SIZES, curve(power(1.0, 1.0), 0.01), curve(scaled(ratios), 0.01, 2))
    assert found.state == "from"
    assert SIZES[6] < found.value < SIZES[7]
    assert found.crossings == 2


def test_noise_around_a_tie_is_no_second_crossing() -> None:
    ratios = [2.0] * 5 + [1.0, 1.0] + [0.5] * 4
    found = size_threshold(SIZES, curve(power(1.0, 1.0), 0.02), curve(scaled(ratios), 0.02, 2))
    assert found.crossings == 1
    assert SIZES[4] < found.low <= found.high < SIZES[7]


def test_a_single_size_decides_for_itself_alone() -> None:
    assert size_threshold([1024], curve([2.0]), curve([1.0])).state == "always"
    assert size_threshold([1024], curve([1.0], 0.1), curve([1.0], 0.1, 2)).state == "cannot_tell"


USES = [1, 2, 10, MOST_USES]


def gains(at_one: float, for_each: float, noise: float = 0.0) -> Draws:
    """What is gained by each number of uses, with an uncertainty in what each use gains."""
    random = np.random.default_rng(7)
    each = for_each * random.lognormal(0.0, noise, 1 + DRAWS)
    each[0] = for_each
    return np.array([at_one + (uses - 1) * each for uses in USES])


@pytest.mark.parametrize(
    ("at_one", "for_each", "state", "value"),
    [
        (-100.0, 7.0, "from", 16.0),  # -100 + 15 * 7 is the first that is positive.
        (-100.0, 10.0, "from", 12.0),  # With 11 uses nothing is gained yet.
        (-1.0, 10.0, "from", 2.0),
        (1.0, 10.0, "always", 0.0),
        (-1.0, -10.0, "never", math.inf),
        (100.0, -7.0, "up_to", 15.0),
        (100.0, -10.0, "up_to", 10.0),
    ],
)
def test_the_least_number_of_uses_is_whole(at_one: float, for_each: float, state: str, value: float) -> None:
    found = uses_threshold(USES, gains(at_one, for_each))
    assert (found.state, found.value) == (state, value)
    assert found.certain


def test_the_number_of_uses_has_an_interval() -> None:
    found = uses_threshold(USES, gains(-1000.0, 7.0, noise=0.1))
    assert found.value == 144
    assert 110 < found.low < 125
    assert 165 < found.high < 185


@pytest.mark.parametrize(
    "times", [[2.7, 1.7, 1.6, 1.4], [2.7, 2.5, 1.6, 1.4], [2.7, 2.401, 1.6, 1.4], [2.7, 2.399, 1.6, 1.4]]
)
@pytest.mark.parametrize("strides", [[4, 16, 196, 372], [4, 180, 196, 372], [4, 8, 200, 400]])
def test_between_sizes_that_are_far_apart_the_answer_is_a_measured_one(times: list[float], strides: list[int]) -> None:
    sizes = [stride << 10 for stride in strides]
    answer = size_threshold(sizes, curve([2.4] * 4, 0.001), curve(times, 0.001, seed=2), farthest_apart=4)
    if answer.state == "cannot_tell":
        assert 2.39 < times[1] < 2.41, "only where one size may be on either side"
        return
    assert answer.state == "from"
    first = next(size for size in sizes if answer.value <= size)
    last = max(size for size in sizes if size < first)
    if first > 4 * last:
        assert answer.value == first
    assert answer.low <= answer.value <= answer.high
    for end in (answer.low, answer.high):
        inside = [(a, b) for a, b in pairwise(sizes) if a < end < b]
        assert all(b <= 4 * a for a, b in inside), "no end within a gap"


def test_up_to_a_measured_size() -> None:
    sizes = [4 << 10, 180 << 10, 372 << 10]
    answer = size_threshold(sizes, curve([2.4] * 3, 0.001), curve([1.7, 2.7, 2.9], 0.001, seed=2), farthest_apart=4)
    assert (answer.state, answer.value, answer.low, answer.high) == ("up_to", 4 << 10, 4 << 10, 180 << 10)
