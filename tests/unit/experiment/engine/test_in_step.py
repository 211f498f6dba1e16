"""Devices in step visit the same cases at the same time; who dies, hangs or has other cases keeps nobody waiting."""

from __future__ import annotations

import itertools
import random
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence

import pytest

from isthmus.errors import CallFailed
from isthmus.experiment.engine import in_step
from isthmus.experiment.engine.in_step import Pace, join
from isthmus.experiment.engine.rounds import Clock, Quota, run_rounds
from isthmus.experiment.engine.sampling import Collected, Rules
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

    def __init__(self, name: str, device: Device, before: Work, during: Work, sample: float) -> None:
        self.template = Case(experiment="test", method=name, direction="h2d", host_memory="pinned", bytes=8)
        self._device = device
        self._before = before
        self._during = during
        self._sample = sample

    def visit(self, quota: Quota, collected: Collected) -> None:
        self._device.spent.append(collected.seconds)
        self._before()
        collected.begin()
        self._during()
        collected.samples.setdefault("host_seconds", []).extend([self._sample] * quota.least)
        collected.verified = True
        self._device.visits.append((self.template.method, quota.least))


class Device(threading.Thread):
    """What one process of a machine would do with these cases at this pace."""

    def __init__(
        self,
        pace: Pace,
        names: Sequence[str],
        seed: int,
        before: Work = nothing,
        during: Work = nothing,
        sample: float = 1e-6,
    ) -> None:
        super().__init__(daemon=True)
        # Which cases it visited in turn, for how many samples.
        self.visits: list[tuple[str, int]] = []
        # What its cases had taken when they were visited.
        self.spent: list[float] = []
        self.finished: list[Case] = []
        self.rules = RULES
        self._pace = pace
        self._seed = seed
        self._subjects = [Subject(name, self, before, during, sample) for name in names]

    def run(self) -> None:
        run_rounds(self._subjects, self.rules, FOREVER, self.finished.extend, random.Random(self._seed), self._pace)

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
        paces.append(join(name, others=True))
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
    paces = [joined(), joined()]
    leader, follower = Device(paces[0], "abc", 0), Device(paces[1], "bcd", 1)
    run_all([leader, follower])
    assert [pace.partly_alone for pace in paces] == [False, True], "the second measures by itself what the first lacks"
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
def test_one_that_hangs_is_left_behind_and_the_others_stay_in_step(
    joined: Join, who: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A follower that is ready before the leader waits as long as the leader waits for the one that hangs."""
    monkeypatch.setattr(in_step, "_PATIENCE_SECONDS", 1.0)
    paces = [joined() for _ in range(3)]
    wakes = threading.Event()

    def hang() -> None:
        wakes.wait(HANGS_SECONDS)

    def be_late() -> None:
        time.sleep(0.05)

    works = [be_late, nothing, nothing]
    works[who] = hang
    devices = [Device(pace, "ab", at, work) for at, (pace, work) in enumerate(zip(paces, works, strict=True))]
    for device in devices:
        device.start()
    others = [device for at, device in enumerate(devices) if at != who]
    for device in others:
        device.join(HANGS_SECONDS)
        assert device.measured == {"a": 10, "b": 10}
    if who:
        assert others[0].visits == others[1].visits
        assert [pace.lost for pace in paces] == [False, False, False]
    wakes.set()
    devices[who].join(HANGS_SECONDS)
    assert devices[who].measured == {"a": 10, "b": 10}
    assert [pace.lost for pace in paces] == ([True, True, True] if who == 0 else [False, True, False])


class Batches(threading.Thread):
    """What one process would do with one batch after the other."""

    def __init__(self, pace: Pace, batches: Sequence[str], seed: int) -> None:
        super().__init__(daemon=True)
        self.devices = [Device(pace, names, seed) for names in batches]
        self._pace = pace

    def run(self) -> None:
        for index, device in enumerate(self.devices):
            self._pace.enter((0, index))
            device.run()

    @property
    def measured(self) -> dict[str, int]:
        """As that of a device, of all batches."""
        return {name: count for device in self.devices for name, count in device.measured.items()}


@pytest.mark.parametrize("who", ["leader", "follower"])
def test_batches_that_are_cut_differently_come_together_again(joined: Join, who: str) -> None:
    whole, cut = ["abcd", "efgh", "ijkl"], ["ab", "efgh", "ijkl", "cd"]
    paces = [joined(), joined()]
    told = [cut, whole] if who == "leader" else [whole, cut]
    processes = [Batches(pace, batches, seed) for seed, (pace, batches) in enumerate(zip(paces, told, strict=True))]
    for process in processes:
        process.start()
    processes[who == "leader"].join(HANGS_SECONDS)
    paces[who == "leader"].close()  # As at the end of its process.
    processes[who != "leader"].join(HANGS_SECONDS)
    for process in processes:
        assert not process.is_alive()
        assert process.measured == dict.fromkeys("abcdefghijkl", 10)
    for index in (1, 2):
        assert processes[0].devices[index].visits == processes[1].devices[index].visits


def test_waiting_for_others_counts_for_no_case(joined: Join, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one comes late to every visit; what a case may take is for its own samples."""
    paces, clock, waits = [joined(), joined()], [0.0], threading.Semaphore(0)
    meet, meetings = paces[0]._meet, itertools.count()  # type: ignore[attr-defined]

    def wait_for_the_other() -> None:
        if next(meetings):  # They meet once before the first visit.
            waits.release()
        meet()

    def come_late() -> None:
        # The clock goes on while the leader waits, and only then.
        assert waits.acquire(timeout=HANGS_SECONDS)
        clock[0] += 10

    monkeypatch.setattr(paces[0], "_meet", wait_for_the_other)
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    leader, follower = Device(paces[0], "a", 0), Device(paces[1], "a", 1, come_late)
    follower.start()
    leader.start()
    for device in (leader, follower):
        device.join(HANGS_SECONDS)
        assert not device.is_alive()
    assert leader.spent == [0, 0]
    assert paces[0].waited == 20


def test_what_is_a_little_faster_needs_no_more_samples_than_the_leader(joined: Join) -> None:
    """From 5 ms on six samples are enough: those of the other, just below, would be taken without company."""
    paces = [joined(), joined()]
    leader, follower = Device(paces[0], "ab", 0, sample=0.0051), Device(paces[1], "ab", 1, sample=0.0049)
    run_all([leader, follower])
    assert leader.visits == follower.visits
    assert leader.measured == follower.measured
    assert all(not case.note for case in follower.finished)


def test_one_alone_waits_for_nobody_and_visits_as_short_as_ever(joined: Join) -> None:
    pace = joined()
    device = Device(pace, "ab", 0)
    run_all([device])
    assert device.measured == {"a": 10, "b": 10}
    assert pace.visit_seconds == 0


def test_a_name_that_another_user_has_is_left_alone(joined: Join, monkeypatch: pytest.MonkeyPatch) -> None:
    leader = joined()
    monkeypatch.setattr("os.getuid", lambda: 12345)
    other = joined()
    assert not other.follows
    assert other.lost
    leader.tell(None, None)  # Whoever asked is not let in.
    assert leader.visit_seconds == 0


@pytest.mark.parametrize("others", [False, True])
def test_a_name_without_anybody_behind_it_is_given_up(name: str, others: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_step, "_CONNECT_NAP_SECONDS", 0.0)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as bound:
        bound.bind(f"\0isthmus-{name}")
        pace = join(name, others)
    assert not pace.follows
    assert pace.lost == others


def test_more_than_the_queue_holds_do_not_wait(joined: Join, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_step, "_MOST_FOLLOWERS", 1)
    monkeypatch.setattr(in_step, "_CONNECT_SECONDS", 0.1)
    paces = [joined() for _ in range(4)]
    assert [pace.follows for pace in paces].count(True) in (1, 2), "as many as wait, and one more"
    assert paces[-1].lost
