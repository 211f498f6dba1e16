"""Lines by stretches of sizes: latency, rate and breakpoints of series whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.analysis.statistics.resample import DRAWS, Draws
from isthmus.analysis.statistics.segments import breakpoints, fit_segments
from isthmus.record import KIB, MIB

POWERS = tuple(1 << power for power in range(31))


def known(seconds: list[float], noise: float = 0.0, seed: int = 1) -> Draws:
    """Medians that are off by `noise`, each with draws that are off from it by 0.1 %."""
    random = np.random.default_rng(seed)
    medians = np.array(seconds) * random.lognormal(0.0, noise, len(seconds))
    draws = medians[:, np.newaxis] * random.lognormal(0.0, 0.001, (len(seconds), DRAWS))
    return np.hstack([medians[:, np.newaxis], draws])


def test_one_line_gives_its_latency_and_rate() -> None:
    (segment,) = fit_segments(POWERS, known([6e-6 + size / 50e9 for size in POWERS]))
    assert (segment.from_bytes, segment.to_bytes) == (1, POWERS[-1])
    assert segment.latency.median == pytest.approx(6e-6, rel=1e-6)
    assert segment.rate is not None
    assert segment.rate.median == pytest.approx(50e9, rel=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_noise_makes_no_breakpoints_and_the_intervals_hold_the_truth(seed: int) -> None:
    seconds = known([6e-6 + size / 50e9 for size in POWERS], noise=0.04, seed=seed)
    (segment,) = fit_segments(POWERS, seconds)
    assert segment.scatter == pytest.approx(0.04, rel=0.4)
    assert segment.rate is not None
    # Twice as wide as stated: of eight intervals of 95 %, one may well miss.
    for interval, truth in ((segment.latency, 6e-6), (segment.rate, 50e9)):
        assert 2 * interval.low - interval.median <= truth <= 2 * interval.high - interval.median


def test_a_change_of_protocol_is_found_where_it_is() -> None:
    """Copied through a buffer up to 64 KiB, and by the device itself beyond."""
    small = [6e-6 + size / 3e9 for size in POWERS if size <= 64 * KIB]
    large = [12e-6 + size / 55e9 for size in POWERS if size > 64 * KIB]
    first, second = segments = fit_segments(POWERS, known(small + large, noise=0.01))
    assert breakpoints(segments) == [(64 * KIB, 128 * KIB)]
    assert first.latency.median == pytest.approx(6e-6, rel=0.05)
    assert second.latency.median == pytest.approx(12e-6, rel=0.1)
    assert first.rate is not None
    assert second.rate is not None
    assert first.rate.median == pytest.approx(3e9, rel=0.1)
    assert second.rate.median == pytest.approx(55e9, rel=0.05)


def test_three_protocols_are_told_apart() -> None:
    seconds = [5e-6 if size <= 4 * KIB else 20e-6 + size / 5e9 if size <= 4 * MIB else size / 12e9 for size in POWERS]
    assert breakpoints(fit_segments(POWERS, known(seconds))) == [(4 * KIB, 8 * KIB), (4 * MIB, 8 * MIB)]


def test_flat_times_have_no_rate() -> None:
    (segment,) = fit_segments((1, 2, 4, 8), known([5e-6] * 4))
    assert segment.rate is None
    assert segment.latency.median == pytest.approx(5e-6)


def test_equal_steps_of_large_sizes_are_no_special_case() -> None:
    sizes = tuple(range(160 * MIB, 3040 * MIB + 1, 160 * MIB))
    (segment,) = fit_segments(sizes, known([1e-5 + size / 55e9 for size in sizes]))
    assert segment.rate is not None
    assert segment.rate.median == pytest.approx(55e9, rel=1e-3)


@pytest.mark.parametrize("count", [1, 2])
def test_few_sizes_make_one_segment(count: int) -> None:
    sizes = (MIB, 4 * MIB)[:count]
    (segment,) = fit_segments(sizes, known([1e-5 + size / 10e9 for size in sizes]))
    assert segment.at(sizes[-1])[0] == pytest.approx(1e-5 + sizes[-1] / 10e9, rel=1e-6)
    assert segment.at(8 * MIB)[0] >= segment.at(sizes[-1])[0]


def test_nothing_cannot_be_fitted() -> None:
    with pytest.raises(ValueError, match="at least one size"):
        fit_segments((), np.empty((0, 1 + DRAWS)))


@given(st.lists(st.floats(1e-7, 1e3), min_size=1, max_size=24))
def test_no_line_has_a_negative_part_whatever_the_times(seconds: list[float]) -> None:
    sizes = POWERS[: len(seconds)]
    segments = fit_segments(sizes, known(seconds))
    assert all((each.fixed >= 0).all() and (each.per_byte >= 0).all() for each in segments)
    assert segments[0].from_bytes == sizes[0]
    assert segments[-1].to_bytes == sizes[-1]
    assert all(high == 2 * low for low, high in breakpoints(segments))
