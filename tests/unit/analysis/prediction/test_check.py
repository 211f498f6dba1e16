"""Held-out sizes: how far predictions are off, and that noise is told from truth."""

from __future__ import annotations

from types import ModuleType

import pytest

from isthmus.analysis.prediction.check import PREDICTED_FROM, errors_of, prediction_checks, prediction_errors
from isthmus.record import Interval

PINNED = ("copy", "h2d", "pinned")
POWERS = tuple(1 << power for power in range(31))


def test_every_size_between_two_others_is_held_out(synthetic: ModuleType) -> None:
    (check,) = prediction_checks(synthetic.run(synthetic.cases({PINNED: synthetic.Truth(7e-6, 55e9)})))
    assert [size.bytes for size in check.held_out] == [size for size in POWERS[1:-1] if size >= PREDICTED_FROM]


def test_steady_copies_are_predicted_well(synthetic: ModuleType) -> None:
    errors = prediction_errors(prediction_checks(synthetic.run(synthetic.cases({PINNED: synthetic.Truth(7e-6, 55e9)}))))
    assert errors is not None
    assert errors.good
    assert errors.sufficient
    assert errors.high < 0.005


def test_erratic_copies_are_not_and_their_intervals_say_so(synthetic: ModuleType) -> None:
    truth = synthetic.Truth(7e-6, 10e9, 0.05, swings=(1.0, 1.1, 1.8))
    errors = prediction_errors(prediction_checks(synthetic.run(synthetic.cases({PINNED: truth}))))
    assert errors is not None
    assert not errors.good
    assert errors.high > 0.3
    assert errors.enclosed >= 0.85


def test_the_held_out_size_is_no_part_of_its_prediction(synthetic: ModuleType) -> None:
    made = synthetic.cases({PINNED: synthetic.Truth(7e-6, 55e9, 1e-9)})
    made[20] = synthetic.cases({PINNED: synthetic.Truth(7e-6, 5.5e9, 1e-9)}, POWERS[20:21])[0]
    (check,) = prediction_checks(synthetic.run(made))
    odd = next(size for size in check.held_out if size.bytes == POWERS[20])
    assert odd.predicted.median == pytest.approx(7e-6 + POWERS[20] / 55e9, rel=1e-3)
    assert odd.seconds.median == pytest.approx(7e-6 + POWERS[20] / 5.5e9, rel=1e-3)


def test_what_the_measurement_cannot_tell_from_right_is_counted_apart() -> None:
    measured = [Interval(10.0, 9.0, 12.0), Interval(10.0, 9.9, 10.1)]
    errors = errors_of([(each, Interval(11.5, 11.0, 12.0)) for each in measured])
    assert errors is not None
    assert errors.unresolved == 0.5
    assert errors.median == pytest.approx(0.15)


def test_what_arrived_wrong_is_neither_predicted_nor_predicted_from(synthetic: ModuleType) -> None:
    made = synthetic.run(synthetic.cases({PINNED: synthetic.Truth(7e-6, 55e9)}, verified="no"))
    assert prediction_checks(made) == []


@pytest.mark.parametrize("sizes", [POWERS[20:21], POWERS[20:22]])
def test_too_few_sizes_leave_nothing_to_check(synthetic: ModuleType, sizes: tuple[int, ...]) -> None:
    made = synthetic.run(synthetic.cases({PINNED: synthetic.Truth(7e-6, 55e9)}, sizes))
    assert prediction_errors(prediction_checks(made)) is None


def test_an_empty_run_has_nothing_to_check(synthetic: ModuleType) -> None:
    assert prediction_checks(synthetic.run([])) == []
    assert prediction_errors([]) is None
