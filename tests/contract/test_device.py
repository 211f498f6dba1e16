"""What a device says of itself, which memory it has or refuses, and that running out of it breaks nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from isthmus import _native
from isthmus.errors import CallFailed, OutOfMemory, Unsupported, UsageError
from isthmus.experiment.bandwidth.cases import MEMORY_KINDS
from isthmus.record import Backend

Allocate = Callable[..., _native.Buffer]

KINDS = (*MEMORY_KINDS, "device")
# Beyond the address space of today's processors and the memory of any device.
GIGANTIC = 1 << 48


def test_a_backend_has_a_device_or_says_what_it_looked_for(backend: Backend) -> None:
    if not backend.devices:
        assert backend.looked_for
        assert backend.absent_because
        assert backend.install
        pytest.skip(f"no {backend.name} device to run the suite on: {backend.absent_because}")
    numbers = [device.index for device in backend.devices]
    assert numbers == sorted(set(numbers))
    # Of those that cannot be used beside them.
    assert bool(backend.absent_because) == bool(backend.install)


def test_it_describes_itself(device: _native.Device, spec: str) -> None:
    info = device.info
    assert spec.startswith(info["backend"])
    assert info["index"] == (int(spec.rpartition(":")[2]) if info["backend"] != "host" else 0)
    assert info["name"]
    assert info["vendor"]
    assert info["name"] == info["name"].strip()
    assert isinstance(info["shares_host_memory"], bool)
    assert set(info["link"]) == {"generation", "width", "max_generation", "max_width", "replays"}
    assert all(isinstance(value, str) for item in info["conditions"].items() for value in item)
    # The driver's own version is NVML's to tell, which need not be there.
    assert bool(info["api_version"]) == (info["backend"] != "host")


def test_free_memory_is_part_of_all_memory(device: _native.Device) -> None:
    assert 0 < device.free_bytes() <= device.info["memory_bytes"]


@pytest.mark.parametrize("kind", KINDS)
def test_memory_of_each_kind_is_given_or_refused_with_the_reason(device: _native.Device, kind: str) -> None:
    reason = device.why_not(kind)
    if reason is None:
        buffer = device.allocate(kind, 4096)
        assert (buffer.kind, buffer.bytes) == (kind, 4096)
    else:
        with pytest.raises(Unsupported) as refused:
            device.allocate(kind, 4096)
        assert reason in str(refused.value)


def test_there_is_device_memory_and_something_to_copy_it_to(device: _native.Device) -> None:
    assert [device.why_not(kind) for kind in ("pageable", "pinned", "device")] == [None, None, None]


def test_a_reason_not_to_prefetch_is_a_sentence(device: _native.Device) -> None:
    reason = device.why_no_prefetch()
    assert reason is None or len(reason.split()) > 3
    if device.info["shares_host_memory"]:
        assert reason is not None


def test_an_unknown_kind_is_a_usage_error(device: _native.Device) -> None:
    for ask in (device.why_not, device.copy_blocks, lambda kind: device.allocate(kind, 1)):
        with pytest.raises(UsageError, match="no memory kind 'pined'"):
            ask("pined")


# Managed memory is left out: asked for more than the card has, a driver may hang the GPU.
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "managed"])
def test_running_out_of_memory_leaves_the_device_working(device: _native.Device, allocate: Allocate, kind: str) -> None:
    before = allocate(kind, 4096, 0x5A)
    with pytest.raises(OutOfMemory) as failure:
        device.allocate(kind, GIGANTIC)
    assert f"{GIGANTIC} bytes of {kind} memory" in str(failure.value)

    after = allocate(kind, 4096)
    after.fill_pattern(0, 4096, 1)
    assert after.verify_pattern(0, 4096, 1)[0] == 0
    assert before.verify_pattern(0, 4096, 1)[0] == 512


@pytest.mark.parametrize("kind", ["pageable", "device"])
def test_a_size_that_no_address_space_has_is_refused(device: _native.Device, kind: str) -> None:
    # Some drivers call that a lack of memory and some a wrong argument.
    with pytest.raises((UsageError, CallFailed)):
        device.allocate(kind, 2**64 - 1)
