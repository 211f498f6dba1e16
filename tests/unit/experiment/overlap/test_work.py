"""Calibrated work on devices whose truth is known: right rounds where they exist, and a reason where they do not."""

from collections.abc import Callable

import pytest

from isthmus.experiment.overlap.pipelines import MOST_ROUNDS, Work, calibrate, nearest_to_one

COPY = 1e-3
RATIOS = (0.1, 0.3, 1, 3, 10)


def gpu(rounds: int) -> float:
    """Reading and writing the words takes as long as 60 rounds; every call takes 3 us."""
    return 3e-6 + max(60, rounds) * 1.1e-6


def cpu(rounds: int) -> float:
    """One round takes longer than a copy."""
    return 1.6e-3 + 0.8e-3 * rounds


def test_every_ratio_is_met_on_a_gpu() -> None:
    for work in calibrate(gpu, COPY, RATIOS):
        assert not work.why_not
        assert gpu(work.rounds) / COPY == pytest.approx(work.ratio, rel=0.05)
        assert work.reached == pytest.approx(gpu(work.rounds) / COPY)


def test_ratios_below_one_round_are_out_of_reach_and_say_so() -> None:
    works = {work.ratio: work for work in calibrate(cpu, COPY, RATIOS)}
    for ratio in (0.1, 0.3, 1):
        assert works[ratio].why_not == "even one round of the work takes 2.40 times as long as a copy"
    for ratio in (3, 10):
        assert not works[ratio].why_not
        assert cpu(works[ratio].rounds) / COPY == pytest.approx(ratio, rel=0.2)


def test_a_step_that_jumps_over_a_ratio_is_out_of_reach() -> None:
    [work] = calibrate(lambda rounds: 0.5e-3 if rounds < 7 else 4e-3, COPY, [1])
    assert work.why_not.startswith("no number of rounds of the work takes that long; the nearest, ")


def test_a_device_that_never_takes_that_long_is_asked_only_so_often() -> None:
    asked: list[int] = []

    def idle(rounds: int) -> float:
        asked.append(rounds)
        return 2e-6

    [work] = calibrate(idle, COPY, [10])
    assert work.why_not == f"{MOST_ROUNDS} rounds of the work take only 0.002 times as long as a copy"
    assert max(asked) == MOST_ROUNDS
    assert len(asked) < 20


@pytest.mark.parametrize(("device", "nearest"), [(gpu, 1), (cpu, 3)])
def test_the_main_work_is_the_reachable_one_nearest_to_a_copy(device: Callable[[int], float], nearest: float) -> None:
    main = nearest_to_one(calibrate(device, COPY, RATIOS))
    assert main
    assert main.ratio == nearest


def test_without_any_work_in_reach_there_is_no_main_one() -> None:
    assert nearest_to_one([Work(1, 1, 5.0, "even one round takes 5 times as long")]) is None
    assert nearest_to_one([]) is None
