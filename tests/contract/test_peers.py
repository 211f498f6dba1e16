"""Copies between the memories of two devices: they arrive, or it is said beforehand why they cannot be made."""

from __future__ import annotations

import pytest

from isthmus import _native
from isthmus.errors import Unsupported, UsageError
from isthmus.machine.devices import neighbours, open_device, path_between, probe

SIZE = 1024 * 1024 + 3
NONE = 2**64 - 1


@pytest.fixture(scope="session")
def other(spec: str) -> _native.Device:
    """Another device of the backend; where there is none, the same device opened a second time."""
    own = open_device(spec).description
    spare = [device.spec for device in neighbours(own) if device.index != own.index]
    return open_device(spare[0] if spare else spec).native


def test_a_device_has_no_objection_to_itself(device: _native.Device) -> None:
    assert device.why_no_peer(device) is None


def test_what_is_copied_between_devices_arrives_or_is_refused_with_the_reason(
    device: _native.Device, other: _native.Device
) -> None:
    source, destination = device.allocate("device", SIZE), other.allocate("device", SIZE)
    source.fill_pattern(0, SIZE, 7)
    reason = device.why_no_peer(other)
    if reason is not None:
        assert len(reason.split()) > 3
        with pytest.raises(Unsupported) as refused:
            _native.create_transfer("copy", [("h2d", source, destination)], 0, SIZE, 7)
        assert reason in str(refused.value)
        with pytest.raises(Unsupported):
            _native.create_concurrent([("there", source, destination, 7, None)], SIZE, 2, True, 0, False)
        return
    for _ in range(2):
        transfer = _native.create_transfer("copy", [("h2d", source, destination)], 0, SIZE, 7)
        transfer.poison()
        assert transfer.verify() == [(-(-SIZE // 8), 0)]
        assert len(transfer.run(1, 2, 2, 0)["host_seconds"]) == 2
        assert transfer.verify() == [(0, NONE)]
    # The source is as it was, and both devices still do their own work.
    assert source.verify_pattern(0, SIZE, 7) == (0, NONE)
    shared = _native.create_concurrent([("there", source, destination, 7, None)], SIZE, 4, True, 4096, False)
    shared.poison()
    shared.run(0, 1, 1, 0)
    assert shared.verify() == [(0, NONE)]


Lane = tuple[str, _native.Buffer, _native.Buffer, int, bool]


def lane(source: _native.Buffer, destination: _native.Buffer, seed: int, is_read: bool = False) -> Lane:
    source.fill_pattern(0, SIZE, seed)
    return "there", source, destination, seed, is_read


@pytest.mark.parametrize("by_kernel", [False, True], ids=["engine", "kernel"])
@pytest.mark.parametrize("is_read", [False, True], ids=["write", "read"])
def test_copies_at_once_arrive_whoever_makes_them(
    device: _native.Device, other: _native.Device, by_kernel: bool, is_read: bool
) -> None:
    """Both ways between two devices, beside one within the first."""
    here = [device.allocate("device", SIZE) for _ in range(4)]
    there = [other.allocate("device", SIZE) for _ in range(2)]
    lanes = [lane(here[0], there[0], 1, is_read), lane(there[1], here[1], 2, is_read), lane(here[2], here[3], 3)]
    if reason := device.why_no_peer(other) or (device.why_no_peer_reach(other) if by_kernel else None):
        with pytest.raises(Unsupported) as refused:
            _native.create_peer_copies(lanes, SIZE, 3, by_kernel)
        assert reason in str(refused.value)
        return
    copies = _native.create_peer_copies(lanes, SIZE, 3, by_kernel)
    copies.poison()
    assert copies.verify() == [(-(-SIZE // 8), 0)] * 3
    samples = copies.run(1, 4, 4, 0)
    assert copies.verify() == [(0, NONE)] * 3
    assert [len(each) for each in copies.lanes] == [4, 4, 4]
    # All end with the last of them; events that lie apart by less than a clock's step are level.
    for whole, *each in zip(samples["device_seconds"], *copies.lanes, strict=True):
        assert whole > 0
        assert whole >= each[0] * 0.999
    # What was copied from is as it was.
    assert [lane[1].verify_pattern(0, SIZE, lane[3]) for lane in lanes] == [(0, NONE)] * 3


def test_copies_between_host_and_device_run_beside_each_other(device: _native.Device) -> None:
    """Both ways over the link, as hosts' links are measured at once."""
    memory = [device.allocate(kind, SIZE) for kind in ("pinned", "device", "device", "pinned")]
    copies = _native.create_peer_copies([lane(memory[0], memory[1], 1), lane(memory[2], memory[3], 2)], SIZE, 2, False)
    copies.poison()
    copies.run(0, 2, 2, 0)
    assert copies.verify() == [(0, NONE)] * 2


def test_copies_that_make_no_sense_are_refused(device: _native.Device) -> None:
    on_device, pinned = device.allocate("device", SIZE), device.allocate("pinned", SIZE)
    there = ("there", on_device, device.allocate("device", SIZE), 1, False)
    for lanes, size, copies in (([], SIZE, 1), ([there], 0, 1), ([there], SIZE, 0), ([there], 2 * SIZE, 1)):
        with pytest.raises(UsageError):
            _native.create_peer_copies(lanes, size, copies, False)
    with pytest.raises(UsageError, match="one side of here must be device memory"):
        _native.create_peer_copies([("here", pinned, pinned, 1, False)], SIZE, 1, False)


def test_what_lies_between_devices_is_said_or_not_known(device: _native.Device, other: _native.Device) -> None:
    found = _native.read_peer(device, other)
    assert set(found) == {"has_nvlink", "nvlinks", "ancestor"}
    assert not found["nvlinks"] or found["has_nvlink"]
    kind = path_between(device, other).partition(" ")[0]
    assert (kind == "") == (device.why_no_peer(other) is not None)
    assert kind in ("", "nvlink", "pcie", "host", "peer")


def test_devices_of_two_backends_do_not_copy_to_each_other() -> None:
    opened = [open_device(backend.devices[0].spec).native for backend in probe() if backend.devices]
    if len(opened) < 2:
        pytest.skip("one backend has devices")
    for one in opened:
        for another in opened:
            assert (one.why_no_peer(another) is None) == (one is another)
