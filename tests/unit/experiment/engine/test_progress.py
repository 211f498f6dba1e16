"""How far a run has come, and how honest the time is that it says is left."""

from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from isthmus.commands._progress import _left
from isthmus.experiment.engine.options import Options
from isthmus.experiment.engine.progress import OVERHEAD, Estimate, Moment, Sampled, rate_of_last
from isthmus.experiment.engine.rounds import Clock as TimeLimit
from isthmus.experiment.engine.rounds import Quota, run_rounds
from isthmus.experiment.engine.sampling import Collected, Rules
from isthmus.experiment.measure import choose_experiments, measure
from isthmus.machine.devices import open_device
from isthmus.record import MIB, Case, read_run


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_from_the_first_second_the_time_left_is_that_of_all_budgets_and_what_comes_with_them() -> None:
    clock = Clock()
    estimate = Estimate([10.0, 20.0], clock)
    estimate.begin_batch()
    assert estimate.ends_at() == pytest.approx(100 + OVERHEAD * 30)


@pytest.mark.parametrize("pace", [0.5, 1.0, 3.0])
def test_a_run_s_own_pace_soon_counts_for_more(pace: float) -> None:
    clock = Clock()
    budgets = [20.0] * 10
    estimate = Estimate(budgets, clock)
    for _ in budgets[:-1]:
        estimate.begin_batch()
        clock.now += pace * 20
    estimate.begin_batch()
    assert estimate.ends_at() - clock.now == pytest.approx(pace * 20, rel=0.1)


def test_an_end_that_has_passed_is_now_and_what_comes_after() -> None:
    clock = Clock()
    estimate = Estimate([1.0, 1.0], clock)
    estimate.begin_batch()
    clock.now += 1000
    assert estimate.ends_at() == pytest.approx(clock.now + OVERHEAD)


def test_a_machine_too_slow_for_its_budget_says_so_from_its_first_samples() -> None:
    clock = Clock()
    estimate = Estimate([4.0, 4.0], clock)
    estimate.begin_batch()
    clock.now += 1
    estimate.begin_timing()
    estimate.sampled(0.01)
    assert estimate.ends_at() == pytest.approx(100 + OVERHEAD * 8), "one visit says nothing yet"
    clock.now += 6
    estimate.sampled(0.2)
    assert estimate.ends_at() == pytest.approx(101 + 30 + OVERHEAD * 4, rel=0.05)
    clock.now += 24
    estimate.sampled(1.0)
    assert estimate.ends_at() == pytest.approx(clock.now + OVERHEAD * 4)
    estimate.begin_batch()
    assert estimate.ends_at() > clock.now + 4 * 31 / 4 / 2, "the next batch is as slow"


class Slow:
    """A case of a machine on which each sample takes half a second by this clock."""

    def __init__(self, clock: Clock, size: int) -> None:
        self.template = Case(experiment="bandwidth", method="copy", direction="h2d", host_memory="pinned", bytes=size)
        self._clock = clock

    def visit(self, quota: Quota, collected: Collected) -> None:
        collected.begin()
        self._clock.now += 0.5 * quota.least
        collected.samples.setdefault("host_seconds", []).extend([0.5] * quota.least)


def test_a_run_counts_the_samples_that_each_case_needs() -> None:
    clock, rules, ends = Clock(), Rules(case_seconds=0.1), []
    estimate = Estimate([1.0], clock)
    estimate.begin_batch()
    subjects = [Slow(clock, 1 << power) for power in range(20)]
    visited = Sampled(len(subjects), rules, estimate, lambda _: ends.append(estimate.ends_at()))
    run_rounds(subjects, rules, TimeLimit(0.0, float("inf")), lambda _: None, Random(0), visited=visited)
    assert ends[len(ends) // 4] == pytest.approx(clock.now, rel=0.25), "the end is known from early on"
    assert ends[-1] == pytest.approx(clock.now)


def test_a_run_says_where_it_is_before_its_first_case_has_ended(tmp_path: Path) -> None:
    options = Options(mode="quick", sizes=[4096], memory=["pageable", "managed"], budget_seconds=0.2)
    moments: list[Moment] = []
    chosen = choose_experiments(["bandwidth", "latency"], options)
    path = measure(open_device("host"), options, chosen, tmp_path / "a.json", [], moments.append)
    first, last = moments[0], moments[-1]
    assert (first.experiment, first.number, first.experiments, first.ended) == (chosen[0].name, 1, 2, 0)
    assert first.rate is None
    # What this device cannot do is no part of what is to be done.
    assert 0 < last.ended == last.total <= len(read_run(path).cases)
    assert [moment.ended for moment in moments] == sorted(moment.ended for moment in moments)


@pytest.mark.parametrize(
    ("seconds", "text"), [(130.2, "· 2:10 left"), (59.6, "· 1:00 left"), (0.6, "· 0:01 left"), (-3, "")]
)
def test_time_left_is_in_minutes_and_never_below_nothing(seconds: float, text: str) -> None:
    assert _left(seconds) == text


def test_only_long_copies_one_way_have_a_rate() -> None:
    case = Case(experiment="bandwidth", method="copy", direction="h2d", host_memory="pinned", bytes=MIB)

    def rate(template: Case, *seconds: float) -> float | None:
        return rate_of_last(Collected(template, samples={"host_seconds": list(seconds)}))

    assert rate(case, 2e-3, 1e-3) == pytest.approx(MIB / 1e-3)
    assert rate(case) is None
    assert rate(replace(case, bytes=4096), 1e-3) is None
    assert rate(replace(case, direction=None), 1e-3) is None
