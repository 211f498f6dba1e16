"""Devices in step visit the same cases at the same time; who dies, hangs or has other cases keeps nobody waiting."""

from __future__ import annotations

import random
import socket
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence

import pytest

from isthmus.errors import CallFailed
from isthmus.experiment import in_step
from isthmus.experiment.in_step import ALONE, Pace, join
from isthmus.experiment.rounds import Clock, Quota, run_rounds
from isthmus.experiment.sampling import Collected, Rules
from isthmus.record import Case

FOREVER = Clock(float("inf"), float("inf"))
RULES = Rules(case_seconds=float("inf"), most_samples=30, short_seconds=0.0)
HANGS_SECONDS = 60


Join = Callable[[], Pace]
Work = Callable[[], None]


def nothing() -> None:
    pass


class Subject:
    """Gives steady samples; calls `before` to prepare, and `during` when it has begun."""

    def __init__(self, name: str, log: list[tuple[str, int]], before: Work, during: Work) -> None:
        self.template = Case(experiment="test", method=name, direction="h2d", host_memory="pinned", bytes=8)
        self._log = log
        self._before = before
        self._during = during

    def visit(self, quota: Quota, collected: Collected) -> None:
        self._before()
        collected.begin()
        self._during()
        collected.samples.setdefault("host_seconds", []).extend([1e-6] * quota.least)
        collected.verified = True
        self._log.append((self.template.method, quota.least))


class Device(threading.Thread):
    """What one process of a machine would do with these cases at this pace."""

    def __init__(
        self, pace: Pace, names: Sequence[str], seed: int, before: Work = nothing, during: Work = nothing
    ) -> None:
        super().__init__(daemon=True)
        # Which cases it visited in turn, for how many samples.
        self.visits: list[tuple[str, int]] = []
        self.finished: list[Case] = []
        self._pace = pace
        self._seed = seed
        self._subjects = [Subject(name, self.visits, before, during) for name in names]

    def run(self) -> None:
        run_rounds(self._subjects, RULES, FOREVER, self.finished.extend, random.Random(self._seed), self._pace)

    @property
    def measured(self) -> dict[str, int]:
        """How many samples each finished case has."""
        return {case.method: len(case.samples("host_seconds")) if case.series else 0 for case in self.finished}


@pytest.fixture
def name() -> str:
    return f"test-{uuid.uuid4().hex}"


@pytest.fixture
def joined(name: str) -> Iterator[Join]:
    """Joins under the name, as a process would, and leaves at the end."""
    paces: list[Pace] = []

    def join_here() -> Pace:
        paces.append(join(name))
        return paces[-1]

    yield join_here
    for pace in paces:
        pace.close()


def run_all(devices: Sequence[Device]) -> None:
    for device in devices:
        device.start()
    for device in devices:
        device.join(HANGS_SECONDS)
        assert not device.is_alive()


def test_the_first_leads_and_all_take_their_samples_at_the_same_time(joined: Join) -> None:
    paces = [joined() for _ in range(3)]
    assert [pace.follows for pace in paces] == [False, True, True]
    prepared: list[None] = []
    inside = threading.Barrier(3)
    ready_when_begun: list[int] = []

    def prepare() -> None:
        prepared.append(None)

    def sample() -> None:
        ready_when_begun.append(len(prepared))
        inside.wait(HANGS_SECONDS)  # Breaks unless all are at it.

    devices = [Device(pace, "abcd", seed, prepare, sample) for seed, pace in enumerate(paces)]
    run_all(devices)
    first, *others = devices
    assert {name for name, _ in first.visits} == set("abcd")
    for other in others:
        assert other.visits == first.visits
        assert other.measured == first.measured == dict.fromkeys("abcd", 10)
    # Nobody began before all three were prepared.
    assert ready_when_begun == [3 * (1 + at // 3) for at in range(3 * len(first.visits))]


def test_two_batches_one_after_the_other(joined: Join) -> None:
    paces = [joined(), joined()]
    for _ in range(2):
        devices = [Device(pace, "ab", seed) for seed, pace in enumerate(paces)]
        run_all(devices)
        assert devices[0].visits == devices[1].visits


def test_cases_that_only_some_have(joined: Join) -> None:
    leader, follower = Device(joined(), "abc", 0), Device(joined(), "bcd", 1)
    run_all([leader, follower])
    assert leader.measured == dict.fromkeys("abc", 10)
    assert follower.measured == dict.fromkeys("bcd", 10)
    assert [visit for visit in leader.visits if visit[0] != "a"] == [each for each in follower.visits if each[0] != "d"]


@pytest.mark.parametrize("who", ["leader", "follower"])
def test_a_case_that_fails_on_one_of_them(joined: Join, who: str) -> None:
    def fail() -> None:
        raise CallFailed("cuMemcpy failed")

    paces = [joined(), joined()]
    works = [fail if who == role else nothing for role in ("leader", "follower")]
    devices = [Device(pace, "ab", seed, work) for seed, (pace, work) in enumerate(zip(paces, works, strict=True))]
    run_all(devices)
    failed, other = devices if who == "leader" else devices[::-1]
    assert failed.measured == {"a": 0, "b": 0}
    assert other.measured == {"a": 10, "b": 10}, "what it could not do in step it did by itself"


class Gone(BaseException):
    """As a process that is killed."""


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("who", [0, 1])
def test_the_others_go_on_where_one_is_killed(joined: Join, who: int) -> None:
    paces = [joined() for _ in range(3)]
    visits = 0

    def die() -> None:
        nonlocal visits
        visits += 1
        if visits == 3:
            paces[who].close()  # As the kernel does for a process that is gone.
            raise Gone

    devices = [Device(pace, "abcd", at, die if at == who else nothing) for at, pace in enumerate(paces)]
    run_all(devices)
    for at, device in enumerate(devices):
        if at != who:
            assert device.measured == dict.fromkeys("abcd", 10)


@pytest.mark.parametrize("who", [0, 1])
def test_one_that_hangs_is_left_behind(joined: Join, who: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_step, "_PATIENCE_SECONDS", 0.2)
    paces = [joined(), joined()]
    wakes = threading.Event()

    def hang() -> None:
        wakes.wait(HANGS_SECONDS)

    devices = [Device(pace, "ab", at, hang if at == who else nothing) for at, pace in enumerate(paces)]
    for device in devices:
        device.start()
    devices[1 - who].join(HANGS_SECONDS)
    assert devices[1 - who].measured == {"a": 10, "b": 10}
    wakes.set()
    devices[who].join(HANGS_SECONDS)
    assert devices[who].measured == {"a": 10, "b": 10}


def test_one_alone_waits_for_nobody_and_visits_as_short_as_ever(joined: Join) -> None:
    pace = joined()
    device = Device(pace, "ab", 0)
    run_all([device])
    assert device.measured == {"a": 10, "b": 10}
    assert pace.visit_seconds == 0


def test_a_name_that_another_user_has_is_left_alone(joined: Join, monkeypatch: pytest.MonkeyPatch) -> None:
    leader = joined()
    monkeypatch.setattr("os.getuid", lambda: 12345)
    assert joined() is ALONE
    leader.over()  # Whoever asked is not let in.
    assert leader.visit_seconds == 0


def test_a_name_without_anybody_behind_it_is_given_up(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_step, "_CONNECT_NAP_SECONDS", 0.0)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as bound:
        bound.bind(f"\0isthmus-{name}")
        assert join(name) is ALONE
