"""Predictions of sizes that were not measured: exact where the truth is straight, honest where it is not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.analysis.bandwidth.prediction import Predictor, curve_predictor
from isthmus.analysis.statistics.curve import bandwidth_curves
from isthmus.analysis.statistics.resample import DRAWS
from isthmus.record import GIB, KIB, MIB
from tests.synthetic import runs as synthetic

POWERS = tuple(1 << power for power in range(31))
PINNED = ("copy", "h2d", "pinned")

# A power of two and its neighbours' middle, within the sizes of POWERS and beyond them.
SIZES = st.one_of(st.integers(1, GIB), st.integers(1, 40 * GIB))


def series(sizes: tuple[int, ...], seconds: list[float]) -> Predictor:
    """Times that are known exactly."""
    return Predictor(sizes, np.repeat(np.array(seconds)[:, np.newaxis], 1 + DRAWS, axis=1))


def affine(latency: float, rate: float, sizes: tuple[int, ...] = POWERS) -> Predictor:
    return series(sizes, [latency + size / rate for size in sizes])


@given(SIZES)
def test_a_latency_and_a_rate_are_predicted_exactly_and_for_certain(size: int) -> None:
    found = affine(6e-6, 50e9).at(size)
    assert found.seconds.median == pytest.approx(6e-6 + size / 50e9, rel=1e-6)
    assert found.seconds.relative_half_width < 1e-6
    assert found.beyond == ("above" if size > GIB else "")


def test_sides_of_the_range_are_said() -> None:
    found = affine(6e-6, 50e9, (4 * KIB, 64 * KIB, MIB))
    assert [found.at(size).beyond for size in (1, 4 * KIB, 5000, MIB, MIB + 1)] == ["below", "", "", "", "above"]


def test_measured_sizes_are_predicted_as_they_were_measured() -> None:
    seconds = [5e-6, 9e-6, 8e-6, 30e-6, 31e-6]
    found = series(POWERS[:5], seconds)
    assert [found.at(size).seconds.median for size in POWERS[:5]] == seconds


@given(st.lists(st.floats(1e-6, 1e-3), min_size=2, max_size=20), st.data())
def test_between_two_sizes_it_stays_between_their_times(seconds: list[float], data: st.DataObject) -> None:
    sizes = tuple(4**power for power in range(len(seconds)))
    index = data.draw(st.integers(0, len(sizes) - 2))
    size = data.draw(st.integers(sizes[index], sizes[index + 1]))
    low, high = sorted(seconds[index : index + 2])
    assert low * (1 - 1e-9) <= series(sizes, seconds).at(size).seconds.median <= high * (1 + 1e-9)


@given(st.lists(st.floats(1e-6, 1e-3), min_size=1, max_size=20), SIZES)
def test_no_time_is_negative_or_none_at_all(seconds: list[float], size: int) -> None:
    found = series(POWERS[5 : 5 + len(seconds)], seconds).at(size)
    assert 0 < found.seconds.low <= found.seconds.median <= found.seconds.high
    assert (found.draws > 0).all()


@given(st.lists(st.floats(1e-6, 1e-3), min_size=1, max_size=12), SIZES, SIZES)
def test_rising_times_give_rising_predictions(seconds: list[float], one: int, other: int) -> None:
    found = series(POWERS[4 : 4 + len(seconds)], sorted(seconds))
    first, second = (found.at(size).seconds.median for size in sorted((one, other)))
    assert first <= second * (1 + 1e-9)


def test_intervals_are_as_wide_as_held_out_sizes_were_off() -> None:
    """Each size carries an error of its own, of which its samples show nothing."""
    random = np.random.default_rng(3)
    hits = []
    for _ in range(40):
        off = random.lognormal(0.0, 0.05, len(POWERS))
        found = series(POWERS, [(6e-6 + size / 50e9) * each for size, each in zip(POWERS, off, strict=True)])
        size = float(np.exp(random.uniform(np.log(4 * KIB), np.log(GIB))))
        seconds = found.at(size).seconds
        hits.append(seconds.low <= (6e-6 + size / 50e9) * random.lognormal(0.0, 0.05) <= seconds.high)
    assert sum(hits) >= 36


def test_errors_of_single_sizes_weigh_less_than_on_the_straight_line_between_two() -> None:
    random = np.random.default_rng(7)
    sizes = POWERS[12::2]
    missed, straight = [], []
    for _ in range(100):
        seconds = [(6e-6 + size / 50e9) * random.lognormal(0.0, 0.05) for size in sizes]
        found = series(sizes, seconds)
        for index in range(1, len(sizes) - 2):
            size = 2 * sizes[index]
            truth = 6e-6 + size / 50e9
            missed.append(found.at(size).seconds.median / truth - 1)
            straight.append(float(np.interp(size, sizes, seconds)) / truth - 1)
    assert np.std(missed) < 0.9 * np.std(straight)


def test_a_jump_beside_two_sizes_does_not_leave_their_times() -> None:
    """A protocol that changes after 64 KiB costs the sizes below nothing."""
    seconds = [5e-6 + size / 10e9 + (size > 64 * KIB) * 100e-6 for size in POWERS]
    found = series(POWERS, seconds).at(48 * KIB).seconds.median
    assert found == pytest.approx(5e-6 + 48 * KIB / 10e9, rel=0.15)
    assert seconds[15] <= found <= seconds[16]


def test_errors_are_those_of_sizes_held_out() -> None:
    random = np.random.default_rng(8)
    seconds = [(6e-6 + size / 50e9) * random.lognormal(0.0, 0.1) for size in POWERS]
    found = series(POWERS, seconds)
    held_out = [found.without(index).at(POWERS[index]).seconds.median for index in range(1, len(POWERS) - 1)]
    assert found.errors == pytest.approx(np.log(np.array(held_out) / seconds[1:-1]))


def test_an_interval_grows_with_the_distance_from_the_measured_sizes() -> None:
    random = np.random.default_rng(4)
    found = series(POWERS, [(6e-6 + size / 50e9) * random.lognormal(0.0, 0.05) for size in POWERS])
    widths = [found.at(size).seconds.relative_half_width for size in (GIB, 2 * GIB, 16 * GIB)]
    assert widths == sorted(widths)
    assert widths[2] > 1.5 * widths[0]


def test_beyond_the_range_it_goes_on_without_a_jump() -> None:
    found = series((MIB, 2 * MIB, 4 * MIB, 8 * MIB), [2e-5, 4e-5, 9e-5, 15e-5])
    assert found.at(8 * MIB + 1).seconds.median == pytest.approx(15e-5, rel=1e-5)
    assert found.at(MIB - 1).seconds.median == pytest.approx(2e-5, rel=1e-5)


@pytest.mark.parametrize("sizes", [(MIB,), (MIB, 4 * MIB)])
def test_one_or_two_sizes_predict_too(sizes: tuple[int, ...]) -> None:
    found = series(sizes, [size / 10e9 for size in sizes])
    assert found.at(16 * MIB).seconds.median == pytest.approx(16 * MIB / 10e9)
    assert found.at(MIB).seconds.median == pytest.approx(MIB / 10e9)


def test_with_nothing_to_check_against_the_interval_reaches_towards_both_neighbours() -> None:
    found = affine(1e-5, 10e9, (MIB, 4 * MIB)).at(2 * MIB)
    assert found.seconds.relative_half_width > 0.1


def test_the_same_data_give_the_same_interval() -> None:
    random = np.random.default_rng(5)
    seconds = [6e-6 * random.lognormal(0.0, 0.1) for _ in POWERS]
    assert series(POWERS, seconds).at(3000) == series(POWERS, seconds).at(3000)


def test_a_curve_is_predicted_from_its_samples() -> None:
    made = synthetic.run(synthetic.cases({PINNED: synthetic.Truth(7e-6, 55e9)}))
    found = curve_predictor(bandwidth_curves(made)[0]).at(3 * MIB)
    assert found.seconds.median == pytest.approx(7e-6 + 3 * MIB / 55e9, rel=0.01)
    assert found.seconds.low < 7e-6 + 3 * MIB / 55e9 < found.seconds.high


def test_a_curve_without_points_predicts_nothing() -> None:
    made = synthetic.run(synthetic.cases({PINNED: synthetic.Truth(7e-6, 55e9)}, verified="no"))
    with pytest.raises(ValueError, match="at least one measured size"):
        curve_predictor(bandwidth_curves(made)[0])
