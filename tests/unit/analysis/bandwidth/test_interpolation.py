"""Held-out sizes: how far times between measured sizes are off."""

import pytest

from isthmus.analysis.bandwidth.findings import checked_curves
from isthmus.record import KIB, Interval, Run
from tests.synthetic import runs as synthetic

PINNED = ("copy", "h2d", "pinned")
POWERS = tuple(1 << power for power in range(31))


def held_out(run: Run) -> dict[int, tuple[Interval, Interval]]:
    """By size, what was measured and what the others predict."""
    return {
        curve.points[at].bytes: (curve.points[at].seconds, predictor.without(at).at(curve.points[at].bytes).seconds)
        for curve, predictor, places in checked_curves(run)
        for at in places
    }


def test_every_size_between_two_others_is_held_out() -> None:
    run: Run = synthetic.run(synthetic.cases({PINNED: synthetic.Truth(7e-6, 55e9)}))
    assert [*held_out(run)] == [size for size in POWERS[1:-1] if size >= 4 * KIB]


def test_steady_copies_are_predicted_well_and_erratic_ones_are_not() -> None:
    steady = held_out(synthetic.run(synthetic.cases({PINNED: synthetic.Truth(7e-6, 55e9)}))).values()
    assert max(abs(predicted.median / measured.median - 1) for measured, predicted in steady) < 0.01
    truth = synthetic.Truth(7e-6, 10e9, 0.05, swings=(1.0, 1.1, 1.8))
    erratic = held_out(synthetic.run(synthetic.cases({PINNED: truth}))).values()
    assert max(abs(predicted.median / measured.median - 1) for measured, predicted in erratic) > 0.3
    inside = sum(predicted.low <= measured.median <= predicted.high for measured, predicted in erratic)
    assert inside > 0.8 * len(erratic)


def test_the_held_out_size_is_no_part_of_its_prediction() -> None:
    made = synthetic.cases({PINNED: synthetic.Truth(7e-6, 55e9, 1e-9)})
    made[20] = synthetic.cases({PINNED: synthetic.Truth(7e-6, 5.5e9, 1e-9)}, POWERS[20:21])[0]
    measured, predicted = held_out(synthetic.run(made))[POWERS[20]]
    assert predicted.median == pytest.approx(7e-6 + POWERS[20] / 55e9, rel=1e-3)
    assert measured.median == pytest.approx(7e-6 + POWERS[20] / 5.5e9, rel=1e-3)
