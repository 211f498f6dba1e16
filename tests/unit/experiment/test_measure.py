"""How a run keeps its time: experiments of scripted cases, by a clock that they alone move."""

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from isthmus.experiment.engine.batch import Batch, Planned, Planner, Prepared
from isthmus.experiment.engine.options import Effort, Options
from isthmus.experiment.engine.progress import Moment
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import TIME_UP, Collected
from isthmus.experiment.measure import measure, most_seconds
from isthmus.machine.devices import open_device
from isthmus.record import GIB, LEAST_SAMPLES, Case, read_run

BUDGET = 100.0


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock)
    return clock


class Slow:
    """A case whose samples take 2 seconds each."""

    def __init__(self, clock: Clock, template: Case) -> None:
        self.template = template
        self._clock = clock

    def visit(self, quota: Quota, collected: Collected) -> None:
        collected.begin()
        self._clock.now += 2.0 * quota.least
        collected.samples.setdefault("host_seconds", []).extend([2.0] * quota.least)


def planner(clock: Clock, counts: dict[str, int], preparing: float = 0.0) -> Planner:
    """An experiment of batches with so many cases, the first of which counts nine times as much as each other one."""

    def prepared(cases: Sequence[Case]) -> Prepared:
        clock.now += preparing
        return Prepared([Slow(clock, case) for case in cases])

    batches = []
    for place, (name, count) in enumerate(counts.items()):
        plain = Case(experiment="bandwidth", method=name, direction="h2d", host_memory="pinned", bytes=GIB)
        cases = [replace(plain, bytes=GIB + number) for number in range(count)]
        batches.append(Batch(cases, 1.0 if place else 9.0, partial(prepared, cases)))
    return Planner("bandwidth", {"default": Effort([], BUDGET, 1.0)}, lambda *_: Planned(batches))


def samples(path: Path, method: str) -> Sequence[int]:
    return [len(case.samples("host_seconds")) for case in read_run(path).cases if case.method == method]


@pytest.mark.parametrize("asked", [True, False])
def test_a_time_that_was_asked_for_is_kept_and_shared_by_the_batches(clock: Clock, tmp_path: Path, asked: bool) -> None:
    options = Options(budget_seconds=BUDGET if asked else None)
    chosen = [planner(clock, {"copy": 20, "sum": 2})]
    assert most_seconds(chosen, options) == (BUDGET if asked else None)
    began = clock.now
    path = measure(open_device("host"), options, chosen, tmp_path / "a.json", [], lambda _: None)
    copies, sums = samples(path, "copy"), samples(path, "sum")
    assert len(copies) == 20
    if asked:
        assert BUDGET - 4 <= clock.now - began <= BUDGET
        assert max(copies) - min(copies) <= 1, "every case has its second sample before any has its third"
        assert min(sums) >= 2, "the larger batch has left the other its part"
    else:
        # The least number of samples matters more than the time that a mode should take.
        assert [*copies, *sums] == [LEAST_SAMPLES] * 22


def test_nothing_is_prepared_once_the_time_is_up_and_no_more_time_is_shown_as_left(
    clock: Clock, tmp_path: Path
) -> None:
    chosen = [planner(clock, {"copy": 2, "sum": 2, "late": 2}, preparing=0.7 * BUDGET), planner(clock, {"next": 1})]
    moments: list[tuple[float, Moment]] = []
    began, options = clock.now, Options(budget_seconds=BUDGET)
    path = measure(
        open_device("host"),
        options,
        chosen,
        tmp_path / "a.json",
        [],
        lambda moment: moments.append((clock.now, moment)),
    )
    late = [case for case in read_run(path).cases if case.method == "late"]
    assert [case.note for case in late] == [TIME_UP] * 2
    assert all(case.skipped for case in late)
    assert all(samples(path, name) for name in ("copy", "next"))
    assert clock.now - began < 3 * 0.7 * BUDGET, "the third batch is not prepared"
    first = [(now, each.ends_at) for now, each in moments if each.number == 1]
    assert all(ends_at <= max(began + BUDGET, now) + BUDGET for now, ends_at in first)
    assert max(ends_at for _, ends_at in first) > began + BUDGET, "the time of the next experiment is shown"
    assert (moments[-1][1].ended, moments[-1][1].total) == (7, 7)
