"""Copies and accesses between devices, with devices of the host backend in the place of cards."""

from collections.abc import Callable, Sequence
from itertools import combinations, permutations

import pytest

from isthmus import _native
from isthmus.experiment.engine import links
from isthmus.experiment.engine.batch import Planned
from isthmus.experiment.engine.options import ModeName, Options
from isthmus.experiment.peers import cases as peers
from isthmus.experiment.peers.cases import _METHODS as METHODS
from isthmus.machine import devices
from isthmus.machine.devices import OpenDevice, open_device
from isthmus.record import GIB, KIB, MIB, Case, Device

PLENTY = 8 * GIB
PORTS = {"0000:01:00.0": "0000:00:01.0", "0000:02:00.0": "0000:00:01.0", "0000:03:00.0": "0000:00:02.0"}

Machine = Callable[..., list[Case]]


@pytest.fixture
def measured(
    monkeypatch: pytest.MonkeyPatch,
    ended: Callable[[Planned], list[Case]],
    first_of_cards: Callable[..., _native.Device],
) -> Machine:
    """All cases of a machine whose cards are these models of the host backend, of which the run is on the first."""

    def measure(
        *models: str,
        sizes: Sequence[int] = (4 * KIB, 64 * KIB),
        mode: ModeName = "default",
        memory_bytes: int = PLENTY,
        together: bool = False,
    ) -> list[Case]:
        names = [
            Device(backend="cuda", index=index, name="GPU", pci_address=f"0000:{index + 1:02}:00.0")
            for index in range(len(models))
        ]
        monkeypatch.setattr(peers, "neighbours", lambda *_: names)
        monkeypatch.setattr(links, "pci_root_port", PORTS.get)
        first = OpenDevice(first_of_cards(*models), names[0])
        return ended(peers.plan(first, Options(mode=mode, sizes=sizes, together=together), memory_bytes))

    return measure


def specs(count: int) -> list[str]:
    return [f"cuda:{index}" for index in range(count)]


def ends(cases: Sequence[Case], direction: str, devices: int | None = None) -> list[tuple[str, str]]:
    return sorted(
        {(case.target, case.peer) for case in cases if (case.direction, case.devices) == (direction, devices)}
    )


def test_every_pair_one_way_and_both_one_to_all_and_all_to_one(measured: Machine) -> None:
    cases = measured("host", "host", "host")
    three = specs(3)
    assert {case.verified for case in cases} == {"yes"}
    for method in METHODS:
        of_method = [case for case in cases if case.method == method]
        large = [case for case in of_method if case.bytes == 64 * KIB]
        assert ends(large, "peer") == sorted(permutations(three, 2))
        assert ends(large, "both") == sorted(combinations(three, 2))
        assert ends(large, "peer", 2) == sorted(permutations(three, 2))
        assert ends(large, "peer", 3) == sorted([*((spec, "") for spec in three), *(("", spec) for spec in three)])
        # Smaller ones from the run's own device.
        assert ends([case for case in of_method if case.bytes == 4 * KIB], "peer") == [
            ("cuda:0", "cuda:1"),
            ("cuda:0", "cuda:2"),
        ]
    assert {(case.target, case.peer) for case in cases if case.method == "access"} == set(permutations(three, 2))
    moved = {case.moved_bytes for case in cases if case.devices == 3}
    assert moved == {2 * 64 * KIB}


def test_both_ways_end_with_the_later_of_them(measured: Machine) -> None:
    cases = measured("host", "host")
    for method in METHODS:
        [whole] = [case for case in cases if (case.method, case.direction) == (method, "both")]
        each = [case for case in cases if case.method == method and case.devices == 2 and case.target and case.peer]
        assert len(each) == 2
        assert whole.bytes_moved == 2 * each[0].bytes_moved
        pairs = zip(*(case.samples("device_seconds") for case in [whole, *each]), strict=True)
        assert all(together >= one * 0.999 for together, one, _ in pairs)


def cases_of(count: int, sizes: Sequence[int], mode: ModeName, monkeypatch: pytest.MonkeyPatch) -> list[Case]:
    """The copies that are planned between so many devices."""
    names = [Device(backend="cuda", index=index, name="GPU") for index in range(count)]
    monkeypatch.setattr(peers, "neighbours", lambda *_: names)
    sweep = peers.PairSweep(OpenDevice(open_device("host").native, names[0]), Options(mode=mode, sizes=sizes), PLENTY)
    return [case for case in sweep.cases() if case.method != "access"]


def test_a_quick_run_of_two_leaves_out_what_two_cannot_show_and_of_many_the_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of_two = cases_of(2, [MIB], "quick", monkeypatch)
    assert len(of_two) == len(METHODS) * 3
    assert all(case.target and case.peer for case in of_two)
    of_many = cases_of(3, [MIB], "quick", monkeypatch)
    assert {case.method for case in of_many} == {"copy_write", "kernel_write"}
    assert any(not case.target for case in of_many)


@pytest.mark.parametrize("size", [1, 4 * KIB, 128 * MIB, 512 * MIB, GIB])
@pytest.mark.parametrize("devices", [2, 8])
def test_a_sample_has_several_copies_and_not_too_many(size: int, devices: int) -> None:
    copies = peers.copies_of(size, devices)
    assert 2 <= copies <= 64
    assert copies * size <= max(2 * GIB, 64 * size)


def test_a_device_that_cannot_be_opened_costs_the_cases_it_has_part_in(measured: Machine) -> None:
    cases = measured("host", "lost", "host", together=True)
    skipped = [case for case in cases if case.skipped]
    assert {case.note for case in skipped} == {"cuda:1: it has fallen off the bus"}
    kept = [case for case in cases if not case.skipped]
    assert ends(kept, "peer") == [("cuda:0", "cuda:2"), ("cuda:2", "cuda:0")]
    assert not any("cuda:1" in (case.target, case.peer) for case in kept)
    # One and all are nothing without it.
    assert {case.devices for case in kept if case.method != "link"} == {None, 2}
    assert {case.devices for case in kept if case.method == "link"} == {1}


def test_devices_that_do_not_copy_to_each_other_are_skipped_with_the_reason(measured: Machine) -> None:
    """As two of OpenCL, each of which has a context of its own."""
    if not any(backend.devices for backend in devices.probe() if backend.name == "opencl"):
        pytest.skip("needs an OpenCL device")
    cases = measured("host", "opencl:0")
    assert all(case.skipped for case in cases)
    assert {case.note for case in cases} == {"the other device is not a host device"}
    assert {case.path for case in cases} == {""}


def test_a_device_without_room_costs_its_cases_with_the_reason(measured: Machine) -> None:
    cases = measured("host", "host:memory=0")
    assert all("the modelled device has 0 bytes free" in case.note for case in cases if case.skipped)
    assert not [case for case in cases if not case.skipped and case.method != "access"]


def test_a_device_that_fails_is_named_by_its_copies(measured: Machine) -> None:
    cases = measured("host", "host:fault=copy:fail", sizes=[4 * KIB])
    failed = {(case.method, case.target, case.peer) for case in cases if case.skipped and case.direction == "peer"}
    # Those that it makes itself: its writes, and its reads of the other one.
    assert ("copy_write", "cuda:1", "cuda:0") in failed
    assert ("copy_read", "cuda:0", "cuda:1") in failed
    assert ("copy_write", "cuda:0", "cuda:1") not in failed
    assert ("kernel_write", "cuda:1", "cuda:0") not in failed
    notes = [case.note for case in cases if case.skipped and case.method != "access"]
    assert all(note.startswith("failed: cuda:") and "copy failed for" in note for note in notes)


def test_half_a_copy_is_wrong_data_and_says_whose(measured: Machine) -> None:
    cases = measured("host:fault=copy:partial", "host", sizes=[64 * KIB])
    wrong = {
        (case.method, case.target, case.peer): case for case in cases if case.verified == "no" and not case.devices
    }
    case = wrong["copy_write", "cuda:0", "cuda:1"]
    assert case.note.startswith("wrong data cuda:0 to cuda:1: 4096 of 8192 8-byte words differ")
    assert ("copy_write", "cuda:1", "cuda:0") not in wrong
    assert not any(method.startswith("kernel") for method, _, _ in wrong)


def test_hosts_links_alone_below_a_root_port_and_all(measured: Machine) -> None:
    cases = [
        case for case in measured("host", "host", "host", sizes=[64 * KIB], together=True) if case.method == "link"
    ]
    assert {case.verified for case in cases} == {"yes"}
    for way in ("h2d", "d2h", "both"):
        found = sorted((case.devices, case.neighbour, case.target) for case in cases if case.direction == way)
        assert found == sorted(
            [
                *((1, "", spec) for spec in specs(3)),
                *((2, "0000:00:01.0", spec) for spec in ("", "cuda:0", "cuda:1")),
                *((3, "", spec) for spec in ("", *specs(3))),
            ]
        )
    sums = {case.direction: case.moved_bytes for case in cases if case.devices == 3 and not case.target}
    assert sums == {"h2d": 3 * 64 * KIB, "d2h": 3 * 64 * KIB, "both": 6 * 64 * KIB}
