"""Copies between the memories of two devices: they arrive, or it is said beforehand why they cannot be made."""

from __future__ import annotations

import pytest

from isthmus import _native
from isthmus.errors import Unsupported
from isthmus.machine.devices import neighbours, open_device, probe

SIZE = 1024 * 1024 + 3
NONE = 2**64 - 1


@pytest.fixture(scope="session")
def other(spec: str) -> _native.Device:
    """Another device of the backend; where there is none, the same device opened a second time."""
    backends = probe()
    own = open_device(spec).description
    spare = [device.spec for device in neighbours(own, backends) if device.index != own.index]
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
    shared.run(0, 1, 1, 0, 60.0)
    assert shared.verify() == [(0, NONE)]


def test_devices_of_two_backends_do_not_copy_to_each_other() -> None:
    opened = [open_device(backend.devices[0].spec).native for backend in probe() if backend.devices]
    if len(opened) < 2:
        pytest.skip("one backend has devices")
    for one in opened:
        for another in opened:
            assert (one.why_no_peer(another) is None) == (one is another)
