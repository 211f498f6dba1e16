"""Whether threads gain: certain gains are found with their size and end, noise is none, and doubt is said."""

from collections.abc import Callable

import pytest

from isthmus.analysis.threads.gain import Gain, enough_threads, gain_findings, thread_gains
from isthmus.analysis.threads.model import thread_curves
from isthmus.record import Run
from tests.synthetic import runs as synthetic
from tests.synthetic import threads as synthetic_threads

# MiB/s that the program of cellspe.matrix.jp measured on PCI Express 1.0 x1, H2D, with 1 to 16 threads.
SPURS_ENGINE = {1: 145.079269, 2: 162.067934, 4: 162.874685, 8: 162.870955, 16: 162.853548}


def gains(run: Run) -> list[Gain]:
    return thread_gains(thread_curves(run))


def test_the_first_published_figures_gain_with_two_threads_and_no_more() -> None:
    rates = {("h2d", "pageable"): lambda threads: SPURS_ENGINE[threads] * 1.048576e-3}
    cases = synthetic_threads.cases(rates, counts=SPURS_ENGINE, noise=0.005)
    (gain,) = gains(synthetic.run(cases))
    assert gain.answer == "yes"
    assert gain.enough == 2


@pytest.mark.parametrize("noise", [0.001, 0.01])
def test_a_flat_curve_gains_nothing(noise: float) -> None:
    cases = synthetic_threads.cases({("h2d", "pageable"): lambda threads: 6.9 - 0.02 * threads}, noise=noise)
    (gain,) = gains(synthetic.run(cases))
    assert (gain.answer, gain.enough) == ("no", 1)
    assert gain.most < 1.05


def test_noise_leaves_room_for_a_gain_and_that_is_said() -> None:
    cases = synthetic_threads.cases({("h2d", "pageable"): lambda threads: 6.5}, noise=0.2)
    (gain,) = gains(synthetic.run(cases))
    assert gain.answer == "cannot tell"
    assert gain.most > 1.05


def test_noise_that_leaves_little_room_is_an_answer() -> None:
    cases = synthetic_threads.cases({("h2d", "pageable"): lambda threads: 6.5}, noise=0.06)
    (gain,) = gains(synthetic.run(cases))
    assert gain.answer == "no"
    assert 1.05 < gain.most <= 1.25


def test_noise_alone_is_seldom_a_gain() -> None:
    ways = synthetic_threads
    everything = (ways.SHARED, ways.OWN, ways.CHUNKS, ways.OWN_CHUNKS)
    flat = {("h2d", "pageable"): lambda threads: 6.5}
    answers = [gains(synthetic.run(ways.cases(flat, everything, noise=0.1, seed=seed)))[0].answer for seed in range(60)]
    assert answers.count("yes") <= 3


def test_a_certain_gain_too_small_to_matter_is_none() -> None:
    cases = synthetic_threads.cases({("d2h", "pinned"): lambda threads: 50 + (threads > 1)}, noise=1e-4)
    (gain,) = gains(synthetic.run(cases))
    assert (gain.answer, gain.enough) == ("no", 1)


def test_the_plainest_way_that_is_unbeaten_speaks() -> None:
    ways = synthetic_threads
    rising = {("h2d", "pageable"): lambda threads: min(7.0 * threads, 28.0)}
    better = {("h2d", "pageable"): lambda threads: min(9.0 * threads, 36.0)}
    alike = ways.cases(rising, (ways.SHARED, ways.OWN, ways.CHUNKS))
    (gain,) = gains(synthetic.run(alike))
    assert (gain.curve.streams, gain.curve.slicing, gain.enough) == ("shared", "slices", 4)
    (gain,) = gains(synthetic.run([*ways.cases(rising), *ways.cases(better, [ways.OWN], counts=ways.COUNTS[1:])]))
    assert (gain.curve.streams, gain.enough) == ("own", 4)


def test_chunks_are_measured_against_one_whole_copy() -> None:
    """One thread that copies chunk by chunk is slow; that more threads make up for it is no gain."""
    ways = synthetic_threads
    whole = {("h2d", "pinned"): lambda threads: 55.0}
    chunked = {("h2d", "pinned"): lambda threads: 30.0 if threads == 1 else 55.0}
    (gain,) = gains(synthetic.run([*ways.cases(whole), *ways.cases(chunked, [ways.CHUNKS])]))
    assert gain.answer == "no"


def test_more_threads_than_are_good_are_no_gain() -> None:
    falling = {("h2d", "pinned"): lambda threads: 55.0 if threads < 16 else 40.0}
    (gain,) = gains(synthetic.run(synthetic_threads.cases(falling)))
    assert gain.answer == "no"


def test_enough_is_the_last_of_a_rising_curve() -> None:
    rising = {("h2d", "pageable"): lambda threads: 3.0 * threads}
    (curve,) = thread_curves(synthetic.run(synthetic_threads.cases(rising)))
    assert enough_threads(curve.points) == 32


def test_without_one_thread_or_without_more_nothing_is_compared() -> None:
    flat = {("h2d", "pinned"): lambda threads: 55.0}
    assert gains(synthetic.run(synthetic_threads.cases(flat, counts=[1]))) == []
    assert gains(synthetic.run(synthetic_threads.cases(flat, counts=[2, 4]))) == []
    assert gains(synthetic.run(synthetic_threads.cases(flat, [synthetic_threads.SPAWN]))) == []


def test_a_way_with_few_numbers_of_threads_does_not_speak_for_one_with_all() -> None:
    ways = synthetic_threads
    rates = {("h2d", "pageable"): lambda threads: min(7.0 * threads, 28.0)}
    cases = ways.cases(rates, [ways.SHARED], counts=[8, 32]) + ways.cases(rates, [ways.OWN])
    (gain,) = gains(synthetic.run(cases))
    assert (gain.curve.streams, gain.enough) == ("own", 4)


def test_one_point_of_many_that_gains_is_taken_for_chance() -> None:
    ways = synthetic_threads
    flat = ways.cases({("h2d", "pinned"): lambda threads: 50.0}, [ways.OWN], counts=[1, 4, 16])
    lone = ways.cases({("h2d", "pinned"): lambda threads: 60.0}, [ways.CHUNKS], counts=[4])
    (gain,) = gains(synthetic.run([*flat, *lone]))
    assert gain.answer == "cannot tell"
    assert gain.curve.slicing == "slices"
    assert gain.most == pytest.approx(1.2, rel=0.02)


def test_threads_that_slow_a_copy_down_are_named() -> None:
    """As D2H of pageable memory on an H200: half the rate with 32 threads."""
    run = synthetic.run(synthetic_threads.cases({("d2h", "pageable"): lambda threads: 14.3 / (1 + threads / 32)}))
    most = max(gains(run)[0].points)
    slowdown = gains(run)[0].slowdown
    assert slowdown
    assert slowdown[0] == most
    assert slowdown[1] == pytest.approx((1 + 1 / 32) / (1 + most / 32), rel=0.02)
    (found,) = gain_findings(run, gains(run))
    assert f"{most} threads move" in found.text
    assert found.text.endswith("times the best.")


@pytest.mark.parametrize("rate", [lambda _: 6.5, lambda threads: 6.9 - 0.02 * threads])
def test_nothing_is_called_a_slowdown_that_is_small(rate: Callable[[int], float]) -> None:
    run = synthetic.run(synthetic_threads.cases({("h2d", "pageable"): rate}, noise=0.01))
    assert gains(run)[0].slowdown is None
    assert "the best" not in gain_findings(run, gains(run))[0].text
