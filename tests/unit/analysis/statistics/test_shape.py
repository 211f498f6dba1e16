"""Plateau, half-rate size, latency and spread against runs whose truth is known."""

import pytest

from isthmus.analysis.statistics.curve import Curve, bandwidth_curves
from isthmus.analysis.statistics.shape import half_size, latency, plateau, spread
from isthmus.record import KIB, MIB
from tests.synthetic import runs as synthetic

PINNED = ("copy", "h2d", "pinned")


def curve_of(rates: dict[int, float]) -> Curve:
    """A curve with exactly these rates at these sizes, ten equal samples each."""
    cases = []
    for size, rate in rates.items():
        cases += synthetic.cases({PINNED: synthetic.Truth(0.0, rate, noise=0.0)}, [size], samples=10)
    (curve,) = bandwidth_curves(synthetic.run(cases))
    return curve


@pytest.mark.parametrize(("latency_seconds", "rate"), [(7.4e-6, 55.4e9), (2e-5, 3.2e9), (1.5e-6, 400e9)])
def test_plateau_and_half_size_of_latency_and_rate(latency_seconds: float, rate: float) -> None:
    truth = synthetic.Truth(latency_seconds, rate, noise=0.005)
    (curve,) = bandwidth_curves(synthetic.run(synthetic.cases({PINNED: truth})))
    settled, half, small = plateau(curve), half_size(curve), latency(curve)
    assert settled
    assert settled.rate.median == pytest.approx(rate, rel=0.01)
    assert settled.rate.low < settled.rate.median < settled.rate.high
    assert half
    # Where the transfer takes twice its latency; straight lines in logarithms between powers of two cost some percent.
    assert half.bytes == pytest.approx(latency_seconds * rate, rel=0.08)
    assert small
    assert small.median == pytest.approx(latency_seconds, rel=0.02)


def test_plateau_begins_where_the_sizes_stay_within_five_percent() -> None:
    curve = curve_of({1 * MIB: 50e9, 2 * MIB: 96e9, 4 * MIB: 98e9, 8 * MIB: 100e9, 16 * MIB: 100e9})
    settled = plateau(curve)
    assert settled
    assert (settled.from_bytes, settled.to_bytes) == (2 * MIB, 16 * MIB)
    assert settled.rate.median == pytest.approx(100e9)


def test_one_outlier_among_the_largest_sizes_moves_no_plateau() -> None:
    curve = curve_of(dict.fromkeys(synthetic.SEED_SWEEP, 100e9) | {synthetic.SEED_SWEEP[-4]: 20e9})
    settled = plateau(curve)
    assert settled
    assert settled.rate.median == pytest.approx(100e9)


def test_a_curve_whose_largest_size_disagrees_has_not_settled() -> None:
    rates = dict.fromkeys(synthetic.SEED_SWEEP, 10e9)
    assert plateau(curve_of(rates | {synthetic.SEED_SWEEP[-1]: 13e9})) is None
    assert plateau(curve_of({4 * MIB: 5.7e9, 16 * MIB: 5.8e9, 64 * MIB: 7.7e9})) is None


def test_two_outliers_are_no_outliers() -> None:
    rates = dict.fromkeys(synthetic.SEED_SWEEP, 10e9) | dict.fromkeys(synthetic.SEED_SWEEP[-6::4], 3e9)
    assert plateau(curve_of(rates)) is None


def test_sizes_that_disagree_have_no_plateau() -> None:
    curve = curve_of({MIB: 10e9, 2 * MIB: 3e9, 4 * MIB: 10e9, 8 * MIB: 5e9})
    assert plateau(curve) is None
    assert half_size(curve) is None


def test_a_curve_that_still_rises_has_no_plateau() -> None:
    curve = curve_of({KIB << power: 1e9 * 2**power for power in range(6)})
    assert plateau(curve) is None


def test_one_size_is_no_plateau() -> None:
    curve = curve_of({64 * MIB: 10e9})
    assert plateau(curve) is None


def test_half_size_of_a_curve_that_begins_above_it_is_an_upper_bound() -> None:
    half = half_size(curve_of({160 * MIB: 25e9, 320 * MIB: 25e9, 480 * MIB: 25e9}))
    assert half
    assert half.at_most
    assert half.bytes == 160 * MIB


def test_half_size_lies_between_its_neighbours_in_logarithms() -> None:
    rates = {KIB: 1e9, 4 * KIB: 4e9, 16 * KIB: 4e9, 64 * KIB: 4e9}
    half = half_size(curve_of(rates))
    assert half
    assert half.bytes == pytest.approx(2 * KIB)


def test_latency_without_small_sizes_is_unknown() -> None:
    assert latency(curve_of({8 * KIB: 1e9, MIB: 1e9})) is None


def test_repeats_of_a_steady_method_differ_by_its_noise() -> None:
    truth = synthetic.Truth(7e-6, 55e9, noise=0.003)
    (curve,) = bandwidth_curves(synthetic.run(synthetic.cases({PINNED: truth}, samples=60)))
    # 3.29 sigma lie between the 5th and the 95th percentile.
    assert spread(curve) == pytest.approx(1 + 3.29 * 0.003, abs=0.003)


def test_repeats_that_flip_differ_by_that() -> None:
    truth = synthetic.Truth(7e-6, 10e9, flips=(1.0, 2.0))
    (curve,) = bandwidth_curves(synthetic.run(synthetic.cases({PINNED: truth}, samples=40)))
    assert spread(curve) == pytest.approx(2.0, rel=0.02)


def test_small_transfers_say_nothing_about_repeats() -> None:
    assert spread(curve_of({KIB: 1e9, 2 * KIB: 2e9})) is None
