"""The one loop of all experiments: what is skipped, batched, prepared and visited, and what is recorded of it."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec
import pytest

from isthmus import _native
from isthmus.errors import CallFailed, DeviceAbsent, IsthmusError, OutOfMemory, Unsupported
from isthmus.experiment.engine.options import Effort, ModeName, Options
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import Collected, Companion, Rules
from isthmus.experiment.engine.sweep import Bench, Checks, Samples, Start, Sweep, Timed, checks_of, planned
from isthmus.machine.devices import open_device
from isthmus.record import GIB, KIB, MIB, Case

SIZES = (1, 2, 3, 4)
QUOTA = Quota(warmups=1, least=2, most=2, seconds=0.0)


def case_of(size: int) -> Case:
    return Case(experiment="echo", method="copy", host_memory="pinned", bytes=size)


@dataclass
class Log(Timed):
    """A timed case that writes down what is done with it."""

    checks: Checks = "first"
    wrong: str = ""
    calls: list[str] = field(default_factory=list)

    def poison(self) -> None:
        self.calls.append("poison")

    def warm_up(self, times: int) -> None:
        self.calls.append(f"warm up {times}")

    def run(self, quota: Quota) -> Samples:
        self.calls.append("run")
        return {"host_seconds": [1.0] * quota.least}

    def verify(self) -> str:
        self.calls.append("verify")
        return self.wrong


class Echo(Sweep):
    """Cases of four sizes; what is refused, how they are batched, and what times them."""

    def __init__(
        self, *, memory_bytes: int = GIB, refused: int = 0, by: int = 1, least: Exception | None = None
    ) -> None:
        super().__init__(open_device("host"), Options(), memory_bytes)
        self.refused, self.by, self.error = refused, by, least
        self.most, self.starts = GIB, dict[int, Start | str | IsthmusError]()
        self.buffers: list[_native.Buffer] = []

    def cases(self) -> Iterator[Case]:
        yield from map(case_of, SIZES)

    def why_not(self, case: Case) -> str | None:
        return "refused" if case.bytes == self.refused else None

    def shares(self, case: Case) -> Hashable:
        return case.bytes % self.by

    def groups(self, cases: Sequence[Case]) -> Sequence[Sequence[Case]]:
        return super().groups([case for case in cases if case.bytes <= self.memory_bytes])

    def prepare(self, cases: Sequence[Case]) -> Bench:
        if self.error and max(case.bytes for case in cases) > self.most:
            raise type(self.error)(*self.error.args)  # One that is kept would keep the device.
        return EchoBench(self)


class EchoBench(Bench):
    def __init__(self, echo: Echo) -> None:
        self._echo = echo

    def named(self, case: Case) -> Case:
        return msgspec.structs.replace(case, path="nvlink")

    def start(self, case: Case) -> Start | str:
        made = self._echo.starts.get(case.bytes, Log)
        if isinstance(made, IsthmusError):
            raise made
        return made

    def host_buffers(self) -> list[_native.Buffer]:
        return self._echo.buffers


def prepared(echo: Echo) -> tuple[list[int], dict[int, str]]:
    """The sizes of one batch that can be measured, and the reasons of the others."""
    (batch,) = planned(echo).batches
    made = batch.prepare()
    assert len(batch.cases) == len(made.subjects) + len(made.ended)
    notes = {case.bytes: case.note for (case,) in made.ended}
    assert all(case.skipped for (case,) in made.ended)
    return [subject.template.bytes for subject in made.subjects], notes


def visited(timed: Timed, visits: int = 1) -> Collected:
    echo = Echo()
    echo.starts[1] = lambda: timed
    subject = planned(echo).batches[0].prepare().subjects[0]
    collected = Collected(subject.template)
    for _ in range(visits):
        subject.visit(QUOTA, collected)
    return collected


def test_what_is_refused_is_skipped_and_the_rest_is_batched_by_what_it_shares() -> None:
    plan = planned(Echo(refused=3, by=2))
    assert [(case.bytes, case.note) for case in plan.skipped] == [(3, "refused")]
    assert [[subject.template.bytes for subject in batch.prepare().subjects] for batch in plan.batches] == [[1], [2, 4]]
    assert [(len(batch.cases), batch.weight) for batch in plan.batches] == [(1, 1.0), (2, 2.0)]
    assert len(plan.skipped) + sum(len(batch.cases) for batch in plan.batches) == len(SIZES)


def test_what_is_in_no_batch_exceeds_the_memory_of_the_run() -> None:
    plan = planned(Echo(memory_bytes=3))
    assert [case.bytes for case in plan.skipped] == [4]
    assert "--memory-budget allows more" in plan.skipped[0].note


def test_sweeps_follow_one_another_in_one_plan() -> None:
    plan = planned(Echo(refused=1), Echo(refused=2))
    assert [case.bytes for case in plan.skipped] == [1, 2]
    assert [len(batch.cases) for batch in plan.batches] == [3, 3]


def test_an_experiment_of_which_nothing_is_possible_has_no_batch() -> None:
    assert planned(Echo(memory_bytes=0)).batches == []


@pytest.mark.parametrize("lack", [OutOfMemory("no room"), Unsupported("not so large")])
def test_where_memory_lacks_the_largest_go_first(lack: IsthmusError) -> None:
    echo = Echo(least=lack)
    echo.most = 2
    assert prepared(echo) == ([1, 2], {4: str(lack), 3: str(lack)})
    echo.most = 0
    assert prepared(echo)[0] == []


@pytest.mark.parametrize(
    ("error", "note"), [(CallFailed("it is lost"), "failed: it is lost"), (DeviceAbsent("gone"), "gone")]
)
def test_a_device_that_fails_while_it_is_prepared_costs_the_batch(error: IsthmusError, note: str) -> None:
    echo = Echo(least=error)
    echo.most = 3
    assert prepared(echo) == ([], dict.fromkeys(SIZES, note))


def test_a_case_that_cannot_be_started_says_why_and_costs_no_other() -> None:
    echo = Echo()
    echo.starts |= {2: "no reach", 3: CallFailed("refused")}
    assert prepared(echo) == ([1, 4], {2: "no reach", 3: "failed: refused"})


def test_what_is_known_of_open_devices_is_in_every_case() -> None:
    echo = Echo()
    echo.starts |= {2: "no reach"}
    made = planned(echo).batches[0].prepare()
    assert {case.path for case in [*(subject.template for subject in made.subjects), made.ended[0][0]]} == {"nvlink"}


def test_the_record_has_where_host_memory_is() -> None:
    echo = Echo()
    echo.buffers = [echo.native.allocate("pinned", 4 * KIB), echo.native.allocate("device", 4 * KIB)]
    placement = planned(echo).batches[0].prepare().placement
    assert list(placement) == ["pinned"]
    assert sum(placement["pinned"].values()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("checks", "first", "second", "verified"),
    [
        ("first", ["poison", "warm up 1", "run", "verify"], ["warm up 1", "run"], "yes"),
        ("always", ["poison", "warm up 1", "run", "verify"], ["poison", "warm up 1", "run", "verify"], "yes"),
        ("never", ["warm up 1", "run"], ["warm up 1", "run"], "n/a"),
    ],
)
def test_data_is_poisoned_before_and_verified_after_a_run(
    checks: Checks, first: list[str], second: list[str], verified: str
) -> None:
    log = Log(checks)
    collected = visited(log, visits=2)
    assert log.calls == first + second
    assert collected.count == 2 * QUOTA.least
    assert collected.cases(Rules())[0].verified == verified


def test_wrong_data_ends_a_case_with_what_was_wrong() -> None:
    (case,) = visited(Log(wrong="wrong data: 1 of 2 words")).cases(Rules())
    assert (case.verified, case.note) == ("no", "wrong data: 1 of 2 words")


def test_devices_in_step_begin_once_all_is_prepared() -> None:
    echo, log = Echo(), Log()
    echo.starts[1] = lambda: log
    subject = planned(echo).batches[0].prepare().subjects[0]
    subject.visit(QUOTA, Collected(subject.template, begin=lambda: log.calls.append("begin")))
    assert log.calls == ["poison", "warm up 1", "begin", "run", "verify"]


def test_what_times_a_case_is_asked_for_in_every_visit() -> None:
    echo, made = Echo(), list[Log]()
    echo.starts[1] = lambda: made.append(Log()) or made[-1]  # type: ignore[func-returns-value]
    subject = planned(echo).batches[0].prepare().subjects[0]
    assert made == []
    collected = Collected(subject.template)
    subject.visit(QUOTA, collected)
    subject.visit(QUOTA, collected)
    assert [log.calls[0] for log in made] == ["poison", "warm up 1"]


def test_companions_and_what_a_run_knows_are_recorded() -> None:
    class Compiled(Log):
        def companions(self) -> Iterator[Companion]:
            yield Companion(case_of(7), "device_seconds", [0.5])

        def described(self, case: Case) -> Case:
            return msgspec.structs.replace(case, compiler="gcc")

    own, companion = visited(Compiled(), visits=2).cases(Rules())
    assert (own.compiler, own.bytes, companion.bytes) == ("gcc", 1, 7)
    assert companion.samples("device_seconds") == [0.5, 0.5]


def test_sizes_are_the_users_the_modes_or_those_of_devices_that_share_the_hosts_memory() -> None:
    efforts: dict[ModeName, Effort] = {
        "quick": Effort([1], 1, 1),
        "default": Effort([2], 1, 1),
        "full": Effort([3], 1, 1),
    }
    echo = Echo()
    assert (echo.sizes(efforts), echo.sizes(efforts, [5])) == ([2], [5])
    echo.options = Options(sizes=[9])
    assert echo.sizes(efforts, [5]) == [9]


def test_large_data_is_checked_once_and_small_data_in_every_visit() -> None:
    assert [checks_of(size) for size in (1, 16 * MIB, 16 * MIB + 1)] == ["always", "always", "first"]
