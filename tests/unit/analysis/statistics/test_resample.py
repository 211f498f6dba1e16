"""Bootstrap medians: distributed like medians of resamples, the same every time."""

import numpy as np
import pytest

from isthmus.analysis.statistics.resample import DRAWS, interval_of, resampled_medians


@pytest.mark.parametrize("count", [2, 3, 6, 7, 20, 41])
def test_draws_are_distributed_like_medians_of_resamples(count: int) -> None:
    random = np.random.default_rng(3)
    samples = random.lognormal(0.0, 0.3, count)
    draws = resampled_medians([list(samples)] * 100, seed=1)[:, 1:].ravel()
    plain = np.median(random.choice(samples, (draws.size, count)), axis=1)
    # Compared are shares below a value, since the values themselves are few.
    for value in np.quantile(samples, [0.1, 0.3, 0.5, 0.7, 0.9]):
        assert (draws <= value).mean() == pytest.approx((plain <= value).mean(), abs=0.02)


def test_the_first_column_is_the_median_and_rows_do_not_depend_on_each_other() -> None:
    found = resampled_medians([[3.0, 1.0, 2.0], [10.0, 20.0]])
    assert found.shape == (2, 1 + DRAWS)
    assert list(found[:, 0]) == [2.0, 15.0]
    assert set(found[0, 1:]) == {1.0, 2.0, 3.0}
    assert set(found[1, 1:]) == {10.0, 15.0, 20.0}


def test_a_seed_gives_the_same_draws_and_another_seed_others() -> None:
    series = [[1.0, 2.0, 3.0, 4.0, 5.0]]
    assert np.array_equal(resampled_medians(series, seed=4), resampled_medians(series, seed=4))
    assert not np.array_equal(resampled_medians(series, seed=4), resampled_medians(series, seed=5))


def test_no_median_is_known_better_than_it_is_said_to_be() -> None:
    steady = resampled_medians([[2.0] * 20], known_within=0.05)
    assert steady[0, 0] == 2.0
    _, low, high = interval_of(steady[0])
    assert low == pytest.approx(1.9, rel=0.01)
    assert high == pytest.approx(2.1, rel=0.01)
    # A spread that is there anyway hardly grows by it.
    wide = [list(np.linspace(1.0, 3.0, 21))]
    widths = [
        high - low for _, low, high in (interval_of(resampled_medians(wide, known_within=k)[0]) for k in (0.0, 0.05))
    ]
    assert widths[1] == pytest.approx(widths[0], rel=0.15)


def test_nothing_to_resample() -> None:
    assert resampled_medians([]).shape == (0, 1 + DRAWS)
    with pytest.raises(ValueError, match="at least one sample"):
        resampled_medians([[1.0], []])


def test_an_interval_holds_its_estimate() -> None:
    draws = np.concatenate([[5.0], np.linspace(1.0, 2.0, DRAWS)])
    median, low, high = interval_of(draws)
    assert (median, high) == (5.0, 5.0)
    assert low == pytest.approx(1.025)
