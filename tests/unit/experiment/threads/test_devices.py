"""Several devices at once, with devices of the host backend in the place of cards."""

from collections.abc import Callable, Sequence

import pytest

from isthmus import _native
from isthmus.experiment.engine.batch import Planned
from isthmus.experiment.engine.options import Options
from isthmus.experiment.engine.sweep import planned
from isthmus.experiment.threads.cases import DIRECTIONS, DeviceSweep
from isthmus.experiment.threads.concurrent import undivided
from isthmus.machine.devices import OpenDevice
from isthmus.record import GIB, KIB, Case, Device

TRANSFERS = [undivided("pinned", direction, 64 * KIB) for direction in DIRECTIONS]
PLENTY = 8 * GIB

Machine = Callable[..., list[Case]]


@pytest.fixture
def measured(ended: Callable[[Planned], list[Case]], first_of_cards: Callable[..., _native.Device]) -> Machine:
    """All cases of a machine whose cards are these models of the host backend, of which the run is on the first."""

    def measure(*models: str, transfers: Sequence[Case] = TRANSFERS, memory_bytes: int = PLENTY) -> list[Case]:
        descriptions = [Device(backend="cuda", index=index, name="GPU") for index in range(len(models))]
        first = OpenDevice(first_of_cards(*models), descriptions[0])
        return ended(planned(DeviceSweep(first, Options(), memory_bytes, descriptions, transfers)))

    return measure


def places(cases: Sequence[Case]) -> set[tuple[str, int | None, str, str]]:
    return {(case.direction or "", case.devices, case.target, case.peer) for case in cases}


def test_each_device_alone_and_all_at_once(measured: Machine) -> None:
    cases = measured("host", "host", "host")
    specs = ["cuda:0", "cuda:1", "cuda:2"]
    expected: set[tuple[str, int | None, str, str]] = {
        (way, devices, target, "") for way in DIRECTIONS for devices in (1, 3) for target in specs
    }
    expected |= {(way, 3, "", "") for way in DIRECTIONS}
    assert len(cases) == len(expected)
    assert places(cases) == expected
    for case in cases:
        assert (case.verified, case.note) == ("yes", "")
        assert len(case.samples("host_seconds")) == 2
    # All together are as late as the last of them.
    for way in DIRECTIONS:
        of_way = [case for case in cases if case.direction == way and case.devices == 3]
        [whole] = [case.samples("host_seconds") for case in of_way if not case.target]
        ends = [case.samples("host_seconds") for case in of_way if case.target]
        assert all(max(times) <= all_of_them for *times, all_of_them in zip(*ends, whole, strict=True))


def test_a_device_that_cannot_be_opened_costs_the_cases_it_has_part_in(measured: Machine) -> None:
    cases = measured("host", "lost", "host")
    skipped = [case for case in cases if case.skipped]
    assert {case.note for case in skipped} == {"cuda:1: it has fallen off the bus"}
    assert places(skipped) == {
        (way, devices, target, "") for way in DIRECTIONS for devices, target in ((1, "cuda:1"), (3, ""))
    }
    assert {case.verified for case in cases if not case.skipped} == {"yes"}


def test_a_device_without_room_costs_its_cases_with_the_reason(measured: Machine) -> None:
    cases = measured("host", "host:memory=0")
    skipped = [case for case in cases if case.skipped]
    assert all("the modelled device has 0 bytes free" in case.note for case in skipped)
    assert ("h2d", 1, "cuda:0", "") not in places(skipped)
    assert {("h2d", 1, "cuda:1", ""), ("h2d", 2, "", "")} <= places(skipped)


def test_a_device_that_fails_fails_its_own_cases_and_is_named(measured: Machine) -> None:
    cases = measured("host", "host:fault=copy:fail", transfers=TRANSFERS[:1])
    failed = {(case.devices, case.target, case.peer): case.note for case in cases if case.skipped}
    assert set(failed) == {(1, "cuda:1", ""), (2, "", "")}
    assert failed[2, "", ""].startswith("failed: cuda:1 h2d, 65536 bytes, thread 1 of 4: copy failed for")
