"""The managed experiment on the host backend: its points and bounds, what visits yield, what is left out and why."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import msgspec
import numpy as np
import pytest

from isthmus import _native
from isthmus.errors import OutOfMemory
from isthmus.experiment.engine.batch import Planned
from isthmus.experiment.engine.doubles import Doubles, initial_sum, initialise
from isthmus.experiment.engine.options import Options
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.managed import cases as managed
from isthmus.experiment.managed import granularity
from isthmus.experiment.managed.cases import ManagedSweep, plan
from isthmus.experiment.managed.points import touched
from isthmus.machine.devices import OpenDevice, open_device
from isthmus.record import GIB, KIB, MIB, Case

QUOTA = Quota(warmups=0, least=2, most=2, seconds=0)
QUICK = Options("quick", sizes=[2 * MIB])


class Native:
    """The host's device, with refusals and figures of another one."""

    def __init__(self, **answers: object) -> None:
        self._native = open_device("host").native
        self._answers = answers

    def __getattr__(self, name: str) -> object:
        if name in self._answers:
            return lambda *_: self._answers[name]
        return getattr(self._native, name)


def device_with(*, shares: bool = True, **answers: object) -> OpenDevice:
    host = open_device("host")
    description = msgspec.structs.replace(host.description, shares_host_memory=shares)
    return host._replace(native=Native(**answers), description=description)  # type: ignore[arg-type]


Visit = Callable[..., list[Case]]


@pytest.fixture
def visited(ended: Callable[[Planned], list[Case]]) -> Visit:
    """The cases of the first batch, measured."""
    return lambda device, options: ended(Planned(plan(device, options, GIB).batches[:1]))


def refusals(device: OpenDevice, options: Options = QUICK, memory_bytes: int = GIB) -> dict[str, set[str]]:
    """By reason the ways that it keeps from being measured; how pages move has tests of its own."""
    found: dict[str, set[str]] = {}
    for case in plan(device, options, memory_bytes).skipped:
        assert case.skipped
        if not case.method.startswith("counted_"):
            found.setdefault(case.note, set()).add(case.method)
    return found


@pytest.mark.parametrize("count", [1, 3343, 3344, 1 << 17, (1 << 20) + 5])
def test_the_initial_sum_is_that_of_the_array(count: int) -> None:
    array = np.zeros(count)
    with ThreadPoolExecutor(3) as pool:
        initialise(array, pool, 3)
    assert (array == np.arange(count) % 3343).all()
    assert initial_sum(count) == array.sum()


def array_case(method: str, fraction: float | None = None, stride: int | None = None) -> Case:
    return Case(
        experiment="managed", method=method, host_memory="managed", bytes=MIB, fraction=fraction, stride_bytes=stride
    )


def test_doubles_that_are_touched_are_counted() -> None:
    assert touched(array_case("managed", 1.0)) == MIB // 8
    assert touched(array_case("managed", 0.01)) == MIB // 8 // 100
    assert touched(array_case("managed", stride=4 * KIB)) == 256
    # The last stretch is cut short, but has its first double.
    assert touched(array_case("managed", stride=396 * KIB)) == 3


def test_visits_time_both_phases_and_check_every_sum(visited: Visit) -> None:
    cases = visited(open_device("host"), QUICK)
    assert {case.method for case in cases} >= {"explicit_whole", "explicit_touched", "managed", "mapped", "system"}
    for case in cases:
        assert case.verified == "yes", case.note
        assert (case.fraction is None) != (case.stride_bytes is None)
        total, into, out = (case.samples(metric) for metric in ("host_seconds", "in_seconds", "out_seconds"))
        assert len(total) == 2
        assert total == [one + other for one, other in zip(into, out, strict=True)]


def test_an_array_is_at_most_half_of_the_hosts_memory_for_the_run() -> None:
    pageable = QUICK._replace(memory=["pageable"])
    found = refusals(device_with(shares=False), pageable, 4 * MIB - 1)
    assert [reason for reason in found if "host memory that this run may take" in reason]
    assert not refusals(device_with(shares=False), pageable, 4 * MIB)


def test_advice_needs_an_array_of_its_own_within_the_budget() -> None:
    managed = QUICK._replace(memory=["managed", "pageable"])
    for why, copies in ((None, 3), ("no advice", 2)):
        device = device_with(shares=False, why_no_advice=why, why_no_migration="pages stay")
        over = "host memory that this run may take"
        assert not [reason for reason in refusals(device, managed, copies * 2 * MIB) if over in reason]
        assert [reason for reason in refusals(device, managed, copies * 2 * MIB - 1) if over in reason]


def test_what_advice_warmed_is_thrown_away_for_others_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Advice works on memory of its own, so that it makes nothing ready for the array that others share."""
    buffers = managed.allocate(open_device("host"), MIB, ["managed"])
    samples: list[str] = []

    def sample(self: managed.MovedArray, array: _native.Buffer) -> tuple[float, float, float]:
        samples.append(self._case.method)
        return 1.0, 1.0, self._expected

    monkeypatch.setattr(managed.MovedArray, "_sample", sample)
    for method in ("read_mostly", "managed", "managed"):
        timed = managed.MovedArray(array_case(method, 1.0), buffers)
        timed.warm_up(0)
        timed.run(QUOTA)
    assert samples == ["read_mostly"] * 3 + ["managed"] * 3 + ["managed"] * 2


@pytest.fixture
def filled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many elements were filled each time, of arrays that are all large enough to be changed back."""
    counts: list[int] = []

    def fill(array: Doubles, pool: ThreadPoolExecutor, threads: int) -> None:
        counts.append(len(array))
        initialise(array, pool, threads)

    monkeypatch.setattr(managed, "_CHANGED_BACK_BYTES", 0)
    monkeypatch.setattr(managed, "initialise", fill)
    return counts


def moved(buffers: managed.Buffers, *cases: Case) -> list[str]:
    """What is wrong with each case after a visit."""
    wrong = []
    for case in cases:
        timed = managed.MovedArray(case, buffers)
        timed.warm_up(0)
        timed.run(QUOTA)
        wrong.append(timed.verify())
    return wrong


def test_large_arrays_are_filled_once_and_what_the_device_changed_is_changed_back(filled: list[int]) -> None:
    buffers = managed.allocate(open_device("host"), MIB, ["managed"])
    cases = [array_case("managed", 1.0), array_case("managed", stride=4 * KIB), array_case("managed", 0.3)]
    cases += [array_case("explicit_touched", stride=396 * KIB), array_case("explicit_whole", 1.0)]
    assert moved(buffers, *cases) == [""] * len(cases)
    assert filled == [MIB // 8]
    # Advice leaves pages on the device that adding up has read.
    advised = managed.MovedArray(array_case("read_mostly", 0.3), buffers)
    for _ in range(2):
        advised._fill(buffers.arrays["managed"])
    assert filled == [MIB // 8] * 3


def test_an_array_that_did_not_add_up_is_filled_anew_and_what_spoils_it_is_seen(filled: list[int]) -> None:
    buffers = managed.allocate(open_device("host"), MIB, ["managed"])
    case = array_case("managed", stride=4 * KIB)
    assert moved(buffers, case) == [""]
    # The device never touches the second element.
    buffers.arrays["managed"].host_array().view(np.float64)[1] += 5
    expected = initial_sum(MIB // 8) + 256
    wrong = f"wrong data: the array adds up to {expected + 5:.0f} in place of {expected:.0f}"
    assert moved(buffers, case, case) == [wrong, ""]
    assert filled == [MIB // 8] * 2


def test_probes_of_pages_keep_their_seconds_whatever_arrays_could_take() -> None:
    options = Options(sizes=[8 * GIB], memory=["managed"], strides=[4 * KIB, 8 * KIB], budget_seconds=100.0)
    device = device_with(shares=False, why_no_migration=None, free_bytes=64 * GIB)
    arrays, *pages = plan(device, options, 64 * GIB).batches
    alone = granularity.plan(device, options, 64 * GIB).batches
    assert sum(batch.weight for batch in pages) == sum(batch.weight for batch in alone)
    assert arrays.weight + sum(batch.weight for batch in pages) <= 100.0 + 1e-9


def test_odd_sizes_and_arrays_of_one_stride_are_left_out() -> None:
    found = refusals(open_device("host"), QUICK._replace(sizes=[MIB + 1], memory=["pageable"]))
    assert list(found) == [f"{MIB + 1} bytes are not a whole number of 8-byte doubles"]
    found = refusals(open_device("host"), QUICK._replace(sizes=[256 * KIB], memory=["pageable"]))
    assert list(found) == ["a stride of 256 KiB leaves the device fewer than two doubles of 256 KiB"]
    assert not refusals(open_device("host"), QUICK._replace(sizes=[256 * KIB + 8], memory=["pageable"]))


def test_memory_that_cannot_be_had_ends_its_cases_alone(monkeypatch: pytest.MonkeyPatch, visited: Visit) -> None:
    device = device_with()
    allocate = open_device("host").native.allocate

    def refuse(kind: str, size: int) -> object:
        if kind == "pinned":
            raise OutOfMemory("no more locked memory")
        return allocate(kind, size)

    monkeypatch.setattr(device.native, "allocate", refuse, raising=False)
    stream = _native.Stream(open_device("host").native)
    monkeypatch.setattr(_native, "Stream", lambda _: stream)
    cases = visited(device, QUICK._replace(memory=["pinned", "pageable"]))
    assert {case.note for case in cases if case.host_memory == "pinned"} == {"no more locked memory"}
    assert all(case.verified == "yes" for case in cases if case.host_memory == "pageable")


def test_without_the_devices_own_memory_nothing_is_measured(monkeypatch: pytest.MonkeyPatch, visited: Visit) -> None:
    device = device_with()

    def refuse(kind: str, size: int) -> object:
        raise OutOfMemory(f"no {size} bytes of {kind} memory")

    monkeypatch.setattr(device.native, "allocate", refuse, raising=False)
    cases = visited(device, QUICK._replace(memory=["pinned"]))
    assert cases
    assert {case.note for case in cases} == {f"no {2 * MIB} bytes of device memory"}


def test_chosen_parts_are_those_of_access_on_demand_against_one_whole_copy() -> None:
    options = Options(sizes=[2 * MIB], percents=[10, 60], strides=[4 * KIB, 8 * KIB])
    chosen = ManagedSweep(open_device("host"), options, GIB).cases()
    measured = {(case.method, case.host_memory, case.fraction, case.stride_bytes) for case in chosen}
    assert measured == {
        *(("managed", "managed", fraction, None) for fraction in (0.1, 0.6)),
        *(("managed", "managed", None, stride) for stride in (4 * KIB, 8 * KIB)),
        *(("explicit_whole", kind, 0.6, None) for kind in ("pageable", "pinned")),
    }
    chosen = ManagedSweep(open_device("host"), options._replace(percents=[]), GIB).cases()
    whole = {(case.fraction, case.stride_bytes) for case in chosen if case.method == "explicit_whole"}
    assert whole == {(None, 4 * KIB)}
