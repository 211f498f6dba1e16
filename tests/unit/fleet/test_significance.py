"""The statistics on made residuals whose truth is known."""

import math
from functools import partial

import numpy as np
import pytest

from isthmus.fleet import significance
from isthmus.fleet.significance import named_devices

slow_p_values = partial(significance.slow_p_values, unseen=[0.03] * 20)


def test_p_values_of_what_is_normal_are_uniform() -> None:
    residuals = np.random.default_rng(1).normal(0, 0.02, (1, 20_000))
    p = slow_p_values(residuals)[0]
    for share in (0.02, 0.01, 0.001):
        assert np.mean(p < share) == pytest.approx(share, abs=4 * math.sqrt(share / 20_000))


@pytest.mark.thorough
@pytest.mark.parametrize("devices", [3, 4, 8, 30, 300])
@pytest.mark.parametrize(("noise", "unseen"), [(0.002, 0.03), (0.03, 0.03), (0.1, 0.1)])
def test_hardly_anybody_is_named_where_nobody_is_slow(devices: int, noise: float, unseen: float) -> None:
    random = np.random.default_rng([2, devices])
    rounds = 200
    wrong = 0
    for _ in range(rounds):
        p = significance.slow_p_values(random.normal(0, noise, (20, devices)), [unseen] * 20)
        wrong += bool(named_devices(p)[0].any())
    # A round names somebody with the stated rate of one in a thousand.
    assert wrong <= 3


@pytest.mark.parametrize("devices", [4, 8, 30, 3000])
def test_who_is_slow_is_named_with_the_kinds(devices: int) -> None:
    random = np.random.default_rng(3)
    residuals = random.normal(0, 0.01, (20, devices))
    residuals[:8, 1] += math.log(1.6)
    named, slow = named_devices(slow_p_values(residuals))
    assert np.flatnonzero(named).tolist() == [1]
    assert slow[:8, 1].all()
    assert not slow[8:, 1].any()
    assert not np.delete(slow, 1, axis=1).any()


def test_slow_devices_do_not_hide_one_another() -> None:
    residuals = np.random.default_rng(4).normal(0, 0.01, (10, 100))
    residuals[:, :30] += 0.3
    named, _ = named_devices(slow_p_values(residuals))
    assert np.flatnonzero(named).tolist() == list(range(30))


def test_fast_devices_are_not_named() -> None:
    residuals = np.random.default_rng(5).normal(0, 0.01, (10, 100))
    residuals[:, 0] -= 0.5
    assert not named_devices(slow_p_values(residuals))[0].any()


@pytest.mark.parametrize("shape", [(0, 0), (3, 0), (0, 3), (2, 1), (2, 2)])
def test_too_few_are_not_judged(shape: tuple[int, int]) -> None:
    named, slow = named_devices(slow_p_values(np.ones(shape)))
    assert named.shape == shape[1:]
    assert not named.any()
    assert slow.shape == shape


def test_what_was_not_measured_is_nobodys_fault() -> None:
    residuals = np.random.default_rng(6).normal(0, 0.01, (4, 50))
    residuals[0, :] = np.nan
    residuals[:, 7] = np.nan
    residuals[1:3, 9] = [0.5, np.nan]
    named, slow = named_devices(slow_p_values(residuals))
    assert np.flatnonzero(named).tolist() == [9]
    assert np.argwhere(slow).tolist() == [[1, 9]]
