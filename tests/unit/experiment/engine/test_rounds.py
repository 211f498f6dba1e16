"""The rounds, with subjects whose samples are scripted: who is visited, in which order, and when it ends."""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

import msgspec
import pytest

from isthmus.errors import CallFailed, DeviceAbsent, OutOfMemory, Unsupported
from isthmus.experiment.engine.rounds import Clock, Quota, hard_limit, run_rounds
from isthmus.experiment.engine.sampling import Collected, Rules
from isthmus.record import GIB, LEAST_SAMPLES, Case

FOREVER = Clock(float("inf"), float("inf"))
PAST = Clock(float("-inf"), float("-inf"))
# The case's own limit of time would make the number of visits depend on the machine.
RULES = Rules(case_seconds=float("inf"), most_samples=60, short_seconds=0.0)
VISITS = RULES._replace(short_seconds=0.0005)

# What a subject does on a visit: give times in turn, or raise.
Script = Callable[[int], float]


class Subject:
    """Gives samples by a script, and writes down that and how it was visited."""

    def __init__(self, name: str, script: Script, log: list[str], wrong_from: int | None = None) -> None:
        self.template = Case(experiment="test", method=name, direction="h2d", host_memory="pinned", bytes=8)
        self.quotas: list[Quota] = []
        self._script = script
        self._log = log
        self._wrong_from = wrong_from

    def visit(self, quota: Quota, collected: Collected) -> None:
        self.quotas.append(quota)
        self._log.append(self.template.method)
        samples = collected.samples.setdefault("host_seconds", [])
        for _ in range(quota.least):
            samples.append(self._script(len(samples)))
        collected.verified = True
        if self._wrong_from is not None and len(samples) >= self._wrong_from:
            collected.wrong = "wrong data h2d: 1 of 1 8-byte words differ, the first at byte 0"


def steady(_: int) -> float:
    return 1e-6


def erratic(number: int) -> float:
    return 1e-6 if number % 2 else 9e-6


def nearly_steady(number: int) -> float:
    """Settles with a few samples more than the least number."""
    return (1.0, 0.978, 1.022)[number % 3] * 1e-6


def raising(error: BaseException, at: int = 0) -> Script:
    def script(number: int) -> float:
        if number >= at:
            raise error
        return 1e-6

    return script


def run(subjects: Sequence[Subject], clock: Clock = FOREVER, seed: int = 1, rules: Rules = RULES) -> dict[str, Case]:
    """Runs the rounds; gives the finished cases by name in the order in which they ended."""
    finished: list[Case] = []
    run_rounds(subjects, rules, clock, finished.extend, random.Random(seed))
    assert max(Counter(case.method for case in finished).values(), default=1) == 1
    return {case.method: case for case in finished}


def count(case: Case) -> int:
    return len(case.samples("host_seconds"))


def test_nothing_to_measure_is_nothing_measured() -> None:
    assert run([]) == {}


def test_every_subject_gets_its_least_number_of_samples_and_ends_once() -> None:
    log: list[str] = []
    cases = run([Subject(name, steady, log) for name in "abcdef"])
    assert {name: count(case) for name, case in cases.items()} == dict.fromkeys("abcdef", RULES.least_samples)
    assert {case.verified for case in cases.values()} == {"yes"}


def test_an_erratic_subject_is_visited_until_the_most_samples() -> None:
    log: list[str] = []
    cases = run([Subject("a", steady, log), Subject("b", erratic, log)])
    assert count(cases["a"]) == RULES.least_samples
    assert count(cases["b"]) >= RULES.most_samples
    assert list(cases) == ["a", "b"]


def rounds_of(log: Iterable[str], size: int) -> list[tuple[str, ...]]:
    names = list(log)
    return [tuple(names[at : at + size]) for at in range(0, len(names), size)]


def orders(seed: int) -> list[tuple[str, ...]]:
    log: list[str] = []
    run([Subject(name, steady, log) for name in "abcdefgh"], seed=seed)
    return rounds_of(log, 8)


def test_each_round_visits_all_that_are_open_in_an_order_drawn_anew() -> None:
    first, second = orders(seed=1)
    assert sorted(first) == sorted(second) == list("abcdefgh")
    assert first != second


def test_the_seed_alone_decides_the_order() -> None:
    assert orders(seed=1) == orders(seed=1)
    assert orders(seed=1) != orders(seed=2)


def test_compared_subjects_alternate() -> None:
    log: list[str] = []
    run([Subject("a", erratic, log), Subject("b", erratic, log)])
    # In two rounds running, one subject comes at most twice in succession.
    assert max(len(list(group)) for _, group in groupby(log)) <= 2


def test_wrong_data_end_a_subject_at_once() -> None:
    log: list[str] = []
    cases = run([Subject("a", steady, log, wrong_from=1), Subject("b", steady, log)])
    assert log.count("a") == 1
    assert (cases["a"].verified, count(cases["a"])) == ("no", RULES.visit_samples)
    assert "the first at byte 0" in cases["a"].note
    assert cases["b"].verified == "yes"


@pytest.mark.parametrize(
    ("error", "note"),
    [
        (CallFailed("copy failed for 8 bytes"), "failed: copy failed for 8 bytes"),
        (OutOfMemory("8 bytes of pinned memory"), "8 bytes of pinned memory"),
        (Unsupported("the device cannot prefetch"), "the device cannot prefetch"),
        (DeviceAbsent("it was unplugged"), "it was unplugged"),
    ],
)
def test_a_subject_that_cannot_be_measured_is_skipped_with_the_reason_and_the_rest_goes_on(
    error: Exception, note: str
) -> None:
    log: list[str] = []
    cases = run([Subject("a", raising(error), log), Subject("b", steady, log)])
    assert (cases["a"].skipped, cases["a"].note, cases["a"].series) == (True, note, [])
    assert log.count("a") == 1
    assert count(cases["b"]) == RULES.least_samples


def test_a_failure_after_some_samples_gives_them_up() -> None:
    cases = run([Subject("a", raising(CallFailed("copy failed"), at=RULES.visit_samples), [])])
    assert (cases["a"].skipped, cases["a"].note) == (True, "failed: copy failed")


def test_an_error_that_nobody_raises_on_purpose_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        run([Subject("a", raising(ZeroDivisionError()), [])])


def test_an_interruption_finishes_what_was_measured_and_goes_on() -> None:
    log: list[str] = []
    finished: list[Case] = []
    interrupted = Subject("interrupted", raising(KeyboardInterrupt(), at=RULES.visit_samples), log)
    subjects = [Subject("a", erratic, log), interrupted, Subject("b", erratic, log)]
    with pytest.raises(KeyboardInterrupt):
        run_rounds(subjects, RULES, FOREVER, finished.extend, random.Random(3))
    # Each was visited once before the second round, in which the interruption came.
    assert {case.method for case in finished} == {"a", "interrupted", "b"}
    by_name = {case.method: case for case in finished}
    assert by_name["interrupted"].note == f"only {RULES.visit_samples} samples: the run was interrupted"
    assert not any(case.skipped for case in finished)


def test_an_interruption_leaves_out_what_has_no_samples() -> None:
    finished: list[Case] = []
    with pytest.raises(KeyboardInterrupt):
        run_rounds([Subject("a", raising(KeyboardInterrupt()), [])], RULES, FOREVER, finished.extend, random.Random(3))
    assert finished == []


def test_when_the_hard_deadline_has_passed_nothing_is_visited_and_each_says_why() -> None:
    log: list[str] = []
    cases = run([Subject(name, steady, log) for name in "ab"], clock=PAST)
    assert log == []
    for case in cases.values():
        assert case.skipped
        assert "the time for this experiment was up before its turn; --time allows more" in case.note


def test_the_deadline_leaves_every_subject_its_least_number_of_samples() -> None:
    log: list[str] = []
    late = Clock(deadline=float("-inf"), hard_deadline=float("inf"))
    cases = run([Subject("a", steady, log), Subject("b", erratic, log)], clock=late)
    assert {name: count(case) for name, case in cases.items()} == dict.fromkeys("ab", RULES.least_samples)
    assert not any(case.note or case.skipped for case in cases.values())


def test_the_hard_limit_grows_with_the_time_and_leaves_short_runs_what_slow_machines_need() -> None:
    assert [hard_limit(seconds) for seconds in (0.1, 1.0, 40.0)] == [20.0, 20.0, 120.0]


def test_a_time_that_was_asked_for_is_kept_if_a_slow_machine_can_measure_anything_in_it() -> None:
    assert [hard_limit(seconds, asked=True) for seconds in (0.1, 19.0, 40.0)] == [20.0, 20.0, 40.0]


class Large(Subject):
    """Too large for a first visit to take its least number of samples without a look at what one takes."""

    def __init__(self, name: str, script: Script, log: list[str]) -> None:
        super().__init__(name, script, log)
        self.template = msgspec.structs.replace(self.template, bytes=GIB)


def test_slow_cases_each_have_a_first_sample_before_any_has_a_second() -> None:
    log: list[str] = []
    cases = run([Large(name, lambda _: 1.5, log) for name in "abc"])
    assert [set(each) for each in rounds_of(log, 3)] == [set("abc")] * LEAST_SAMPLES
    assert {count(case) for case in cases.values()} == {LEAST_SAMPLES}


@pytest.mark.parametrize(("seconds", "each"), [(1e9, 1.0), (2.0, 0.5)])
def test_a_first_visit_takes_no_more_than_its_part_of_the_time(seconds: float, each: float) -> None:
    subjects = [Large(name, lambda _: 0.2, []) for name in "abcd"]
    now = time.monotonic()
    run(subjects, clock=Clock(now + seconds, now + seconds))
    assert [subject.quotas[0].seconds for subject in subjects] == pytest.approx([each] * 4, abs=0.1)


def test_slow_cases_come_last_in_a_round_that_the_time_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []
    monkeypatch.setattr(time, "monotonic", lambda: float(len(log)))
    large = [Large(name, lambda _: 1.5, log) for name in "uvwxyz"]
    cases = run([*large, *(Subject(name, steady, log) for name in "abc")], clock=Clock(5.0, 5.0))
    assert sorted(log[:3]) == ["a", "b", "c"]
    assert sum(case.skipped for case in cases.values()) == 4
    assert not any(cases[name].skipped for name in "abc")


def test_large_cases_that_are_not_slow_have_half_of_their_samples_in_a_visit() -> None:
    subject = Large("a", lambda _: 0.2, [])
    run([subject])
    first, second = subject.quotas
    # Visits here take the least number alone.
    assert (first.least, first.most) == (1, LEAST_SAMPLES // 2)
    assert second.least == LEAST_SAMPLES - 1
    assert [each.least_of_own for each in (first, second)] == [LEAST_SAMPLES // 2, LEAST_SAMPLES - 1]


def test_no_visit_begins_that_would_end_after_the_hard_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []
    monkeypatch.setattr(time, "monotonic", lambda: 4.0 * len(log))
    # Two rounds of two take 16 seconds; of the third the first visit ends at 20.
    cases = run([Large(name, lambda _: 4.0, log) for name in "ab"], clock=Clock(21.0, 21.0))
    assert len(log) == 5
    assert sorted(count(case) for case in cases.values()) == [2, 3]


def test_the_hard_deadline_ends_a_case_with_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    # A clock that moves by one with every visit, in place of the machine's.
    log: list[str] = []
    monkeypatch.setattr(time, "monotonic", lambda: float(len(log)))
    cases = run([Subject(name, steady, log) for name in "abc"], clock=Clock(3.0, 3.0))
    assert sorted(log) == list("abc")
    for case in cases.values():
        assert count(case) == RULES.visit_samples
        assert case.note == f"only {RULES.visit_samples} samples: the time was up; --time allows more"


def test_what_cannot_settle_in_the_time_left_gives_way_to_what_can(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []
    monkeypatch.setattr(time, "monotonic", lambda: float(len(log)))

    subjects = [Subject("hopeless", erratic, log), Subject("hopeful", nearly_steady, log)]
    cases = run(subjects, clock=Clock(40.0, 1000.0))
    assert count(cases["hopeless"]) == RULES.least_samples
    assert count(cases["hopeful"]) > RULES.least_samples


def test_the_deadline_is_heeded_within_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []
    monkeypatch.setattr(time, "monotonic", lambda: float(len(log)))
    # Two rounds of three visits give each its least number. By what samples have cost, two more visits would fit.
    run([Subject(name, nearly_steady, log) for name in "abc"], clock=Clock(6.9, 1000.0))
    assert len(log) == 7


def test_a_visit_never_asks_for_more_than_is_allowed() -> None:
    log: list[str] = []
    subjects = [Subject("a", erratic, log), Subject("b", steady, log)]
    run(subjects)
    for subject in subjects:
        for quota in subject.quotas:
            assert 1 <= quota.least <= quota.most <= RULES.most_samples
            assert quota.warmups >= 0
            assert quota.seconds >= 0
        # The first visit warms up what is slow only once.
        assert subject.quotas[0].warmups == max(quota.warmups for quota in subject.quotas) > 0


def test_short_cases_settle_over_several_visits_and_long_ones_need_not() -> None:
    log: list[str] = []
    subjects = [Subject("short", steady, log), Subject("long", lambda _: 0.01, log)]
    cases = run(subjects, rules=VISITS)
    visits = Counter(log)
    assert visits["short"] == VISITS.least_visits
    assert visits["long"] < VISITS.least_visits
    assert {case.verified for case in cases.values()} == {"yes"}


def test_the_first_visits_of_a_short_case_leave_samples_to_the_others() -> None:
    log: list[str] = []
    subject = Subject("short", steady, log)
    run([subject], rules=VISITS)
    for visit, quota in enumerate(subject.quotas):
        assert quota.least >= VISITS.visit_samples
        assert quota.most <= VISITS.most_samples // (VISITS.least_visits - visit)


def test_visits_that_are_due_do_not_outlast_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []
    monkeypatch.setattr(time, "monotonic", lambda: float(len(log)))
    # Each has its least number of samples after two visits, when the time is up.
    cases = run([Subject(name, steady, log) for name in "ab"], clock=Clock(3.9, 1000.0), rules=VISITS)
    assert Counter(log) == {"a": 2, "b": 2}
    assert {count(case) for case in cases.values()} == {VISITS.least_samples}
