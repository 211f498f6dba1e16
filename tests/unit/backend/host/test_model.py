"""What the host backend pretends: the words of its model, the device memory it has, and the link between."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from isthmus import _native
from isthmus.errors import OutOfMemory, UsageError
from isthmus.machine.devices import open_device
from isthmus.record import GIB, KIB, MIB

RATE = "a rate such as rate=25GB/s"
TIME = "a time such as latency=8us"
SIZE = "a size such as memory=2GiB"
FAULT = "fault=OPERATION:KIND[@CALL], where OPERATION is allocate, borrow, identify, copy, section, "
PARTS = "rate=, h2d=, d2h=, latency=, memory=, locked= or fault="


@pytest.mark.parametrize(
    ("spec", "wrong", "expected"),
    [
        ("rate", "rate", RATE),
        ("rate=", "rate=", RATE),
        ("rate=fast", "rate=fast", RATE),
        ("rate=-1GB/s", "rate=-1GB/s", RATE),
        ("rate=25Gb/s", "rate=25Gb/s", RATE),
        ("rate=25 GB/s", "rate=25 GB/s", RATE),
        ("rate=inf", "rate=inf", RATE),
        ("h2d=nan", "h2d=nan", RATE),
        ("d2h=1e999", "d2h=1e999", RATE),
        ("latency=8min", "latency=8min", TIME),
        ("latency=nan", "latency=nan", TIME),
        ("latency=1e300s", "latency=1e300s", TIME),
        ("memory=2GB", "memory=2GB", SIZE),
        ("memory=inf", "memory=inf", SIZE),
        ("memory=1e30", "memory=1e30", SIZE),
        ("memory=-1", "memory=-1", SIZE),
        ("locked=some", "locked=some", SIZE),
        ("fault=copy", "fault=copy", FAULT),
        ("fault=copy:", "fault=copy:", FAULT),
        ("fault=cpoy:fail", "fault=cpoy:fail", FAULT),
        ("fault=copy:explode", "fault=copy:explode", FAULT),
        ("fault=copy:fail@", "fault=copy:fail@", FAULT),
        ("fault=copy:fail@0", "fault=copy:fail@0", FAULT),
        ("fault=copy:fail@-1", "fault=copy:fail@-1", FAULT),
        ("fault=copy:fail@2x", "fault=copy:fail@2x", FAULT),
        ("fault=copy:fail@99999999999999999999", "fault=copy:fail@99999999999999999999", FAULT),
        ("speed=3", "speed=3", PARTS),
        ("Rate=3", "Rate=3", PARTS),
        ("rate=25GB/s,,latency=8us", "", PARTS),
        ("latency=8us,rate=quick,memory=1", "rate=quick", RATE),
    ],
)
def test_a_word_that_is_wrong_is_named_with_what_was_expected(spec: str, wrong: str, expected: str) -> None:
    with pytest.raises(UsageError) as refusal:
        open_device(f"host:{spec}")
    assert str(refusal.value).startswith(f"host device: cannot read '{wrong}'; expected {expected}")


@pytest.mark.parametrize(
    ("spec", "size"),
    [
        ("memory=4096", 4096),
        ("memory=4096B", 4096),
        ("memory=1.5KiB", 1536),
        ("memory=64MiB", 64 * MIB),
        ("memory=2GiB", 2 * GIB),
        ("rate=25GB/s,memory=1KiB,latency=8us", KIB),
        ("memory=2GiB,memory=1KiB", KIB),
        ("", 16 * GIB),
    ],
)
def test_device_memory_is_as_large_as_it_says(spec: str, size: int) -> None:
    device = open_device(f"host:{spec}").native
    assert device.free_bytes() == size
    assert device.info["memory_bytes"] == size


def test_rates_and_times_are_read_in_their_units(repository: Path, run_cpp: Callable[..., str]) -> None:
    check = Path(__file__).with_name("model_check.cpp")
    assert run_cpp(check, repository / "native" / "backend" / "host" / "model.cpp") == "as written\n"


def test_device_memory_is_used_up_and_given_back() -> None:
    device = open_device("host:memory=10KiB").native
    first, second = device.allocate("device", 4096), device.allocate("device", 4096)
    assert device.free_bytes() == 2048
    with pytest.raises(
        OutOfMemory, match="4096 bytes of device memory: the modelled device has 2048 bytes free; 4096 were asked for"
    ):
        device.allocate("device", 4096)
    assert device.free_bytes() == 2048
    del first
    assert device.free_bytes() == 6144
    third = device.allocate("device", 6144)
    assert device.free_bytes() == 0
    assert (second.bytes, third.bytes) == (4096, 6144)


def test_host_memory_is_not_counted() -> None:
    device = open_device("host:memory=1KiB").native
    assert device.allocate("pinned", 64 * KIB).bytes == 64 * KIB
    assert device.free_bytes() == KIB


def test_every_device_that_is_opened_counts_for_itself() -> None:
    spec = "host:memory=8KiB,fault=copy:fail@2"
    for device in [open_device(spec).native, open_device(spec).native]:
        memory, on_device = device.allocate("pinned", 8 * KIB), device.allocate("device", 8 * KIB)
        stream = _native.Stream(device)
        stream.copy(on_device, 0, memory, 0, 8 * KIB)
        stream.synchronize()
