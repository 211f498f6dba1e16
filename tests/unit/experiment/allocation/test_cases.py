"""The allocation experiment on the host backend: its cases, its first calls, and memory that runs out on the way."""

from collections.abc import Callable

import pytest

from isthmus.errors import CallFailed
from isthmus.experiment.allocation.cases import FIRST_BYTES, measure_first_calls, plan
from isthmus.experiment.engine.batch import Planned
from isthmus.experiment.engine.options import Options
from isthmus.machine.devices import OpenDevice, open_device
from isthmus.record import GIB, KIB, MIB, Case

Steady = Callable[..., list[Case]]


@pytest.fixture
def steady(ended: Callable[[Planned], list[Case]]) -> Steady:
    """All cases but the first calls."""

    def steady(device: OpenDevice, options: Options) -> list[Case]:
        batches, skipped = plan(device, options, GIB)
        return ended(Planned(batches[1:], skipped))

    return steady


def test_the_limit_on_locked_memory_skips_what_exceeds_it_and_the_sweep_goes_on(steady: Steady) -> None:
    device = open_device("host:locked=8MiB")
    options = Options(sizes=[MIB, 16 * MIB, 4 * MIB], memory=["pinned", "registered", "touched_registered", "pageable"])
    for _ in range(2):  # Once more: what failed must not have taken any of the limit.
        cases = steady(device, options)
        skipped = {(case.host_memory, case.bytes) for case in cases if case.skipped}
        assert skipped == {(kind, 16 * MIB) for kind in ("pinned", "registered", "touched_registered")}
        notes = [case.note for case in cases if case.skipped]
        assert all("16777216 bytes of" in note and "limit leaves 8388608 bytes to be locked" in note for note in notes)
        assert {case.bytes for case in cases if case.series and case.host_memory == "pageable"} == set(options.sizes)


def test_where_there_is_room_for_one_block_and_not_for_many_one_is_measured(steady: Steady) -> None:
    device = open_device("host:memory=1MiB")
    before = device.native.free_bytes()
    cases = steady(device, Options(sizes=[64 * KIB, 768 * KIB], memory=["device"]))
    assert not any(case.skipped for case in cases)
    assert device.native.free_bytes() == before


def test_first_calls_are_made_in_a_process_of_their_own() -> None:
    seconds, calls = measure_first_calls(open_device("host"), ["malloc", "pinned"])
    assert seconds > 0
    assert list(calls) == ["malloc", "pinned"]
    for phases in calls.values():
        assert isinstance(phases, dict)
        assert set(phases) == {"allocate", "touch", "free"}


def test_a_first_call_that_fails_says_so_and_the_others_are_made() -> None:
    device = open_device("host:locked=4KiB")
    _, calls = measure_first_calls(device, ["pinned", "pageable"])
    assert "bytes to be locked" in str(calls["pinned"])
    assert isinstance(calls["pageable"], dict)


def test_a_process_that_cannot_open_the_device_is_a_failure_with_its_words() -> None:
    device = open_device("host")._replace(model="rate=fast")
    with pytest.raises(CallFailed, match="cannot read 'rate=fast'"):
        measure_first_calls(device, ["malloc"])
    [first] = plan(device, Options(sizes=[4096], memory=["malloc"]), GIB).batches[0].prepare().ended
    assert first[0].skipped
    assert first[0].note.startswith("failed: ")


def test_first_calls_are_rows_of_one_sample() -> None:
    planned = plan(open_device("host"), Options(sizes=[4096], memory=["pinned"]), GIB)
    opening, *others = [case for cases in planned.batches[0].prepare().ended for case in cases]
    assert (opening.method, opening.bytes, opening.host_memory) == ("open_device", 0, "")
    assert [case.method for case in others] == ["first_allocate", "first_touch", "first_free"]
    assert {case.bytes for case in others} == {FIRST_BYTES}
    assert {len(case.samples("host_seconds")) for case in (opening, *others)} == {1}
