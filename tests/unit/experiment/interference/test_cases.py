"""Copies beside other work: what is planned where, that turns are taken, and that what cannot be done says why."""

from typing import Any

import pytest

from isthmus import _native
from isthmus.errors import CallFailed, UsageError
from isthmus.experiment.interference import cases as interference
from isthmus.machine.devices import open_device
from isthmus.record import KIB, MIB


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interference, "_SHARED_LOADS", {"compute": 64 * KIB, "memory": MIB, "thread": 64 * KIB})
    monkeypatch.setattr(interference, "_WORK_SECONDS", 0.001)


def made(device: _native.Device, method: str = "copy", **changed: Any) -> _native.Timed:
    given: dict[str, Any] = {
        "neighbour": "compute",
        "load": device.allocate("device", 64 * KIB),
        "method": method,
        "to": device.allocate("device", 64 * KIB),
        "from_": device.allocate("pinned", 64 * KIB),
        "bytes": 64 * KIB,
        "seed": 3,
        "seconds": 1e-4,
    }
    given["from_"].fill_pattern(0, 64 * KIB, 3)
    return _native.create_interference(**given | changed)


@pytest.mark.parametrize("method", ["copy", "kernel"])
def test_what_arrived_is_checked(method: str) -> None:
    device = open_device("host").native
    beside = made(device, method)
    beside.poison()
    assert beside.verify()[0][0] == 64 * KIB // 8
    beside.run(0, 1, 1, 0.0)
    assert beside.verify()[0][0] == 0


def test_copies_by_the_library_beside_those_of_another_device() -> None:
    own, other = open_device("host").native, open_device("host").native
    to, source = other.allocate("device", 64 * KIB), other.allocate("pinned", 64 * KIB)
    source.fill_pattern(0, 64 * KIB, 9)
    given: dict[str, Any] = {"neighbour": "copies", "load": to, "load_source": source}
    session = _native.Session(own, None, 0)
    beside = made(own, "isthmus", **given, session=session)
    beside.poison()
    samples = beside.run(0, 2, 2, 0.0)
    assert beside.verify()[0][0] == 0
    assert min(samples["alone_seconds"] + samples["beside_seconds"] + samples["host_seconds"]) > 0
    assert to.verify_pattern(0, 64 * KIB, 9)[0] == 0
    # Only a session goes by another device; both ends of the neighbour's copies are its own.
    for wrong in ({"method": "copy", **given}, {"method": "isthmus", "session": session, **given, "load_source": None}):
        with pytest.raises(UsageError):
            made(own, **wrong)
    mixed = given | {"load_source": own.allocate("pinned", 64 * KIB)}
    with pytest.raises(UsageError, match="different devices"):
        made(own, "isthmus", **mixed, session=session)


def test_copies_that_fail_end_the_turn() -> None:
    device = open_device("host:fault=copy:fail").native
    with pytest.raises(CallFailed):
        made(device).run(0, 1, 1, 0.0)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"method": "magic"}, "no method 'magic'"),
        ({"neighbour": "nobody"}, "no neighbour 'nobody'"),
        ({"method": "isthmus"}, "need a session"),
        ({"bytes": 0}, "at least one byte"),
        ({"bytes": 128 * KIB}, "bytes"),
        ({"seconds": 0.0}, "some time"),
    ],
)
def test_what_makes_no_sense_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        made(open_device("host").native, **changed)


def test_both_sides_on_the_device_are_refused() -> None:
    device = open_device("host").native
    with pytest.raises(UsageError, match="between host memory and the device"):
        made(device, from_=device.allocate("device", 64 * KIB))
