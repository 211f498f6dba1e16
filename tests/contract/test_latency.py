"""Single steps: hops through memory end where they must, and launches, events and waits yield the samples asked for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from isthmus import _native
from isthmus.errors import OutOfMemory, Unsupported, UsageError
from isthmus.machine.devices import open_device
from isthmus.record import KIB, MIB

Allocate = Callable[..., _native.Buffer]

SIZE = 64 * KIB
KINDS = ("pinned", "mapped", "managed", "device", "pageable", "registered")
FEW = (1, 2, 3, 0.0)
NONE = 2**64 - 1


def reachable(device: _native.Device, kind: str) -> None:
    if reason := device.why_no_reach(kind):
        pytest.skip(reason)


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_chase_ends_where_its_chain_leads(
    device: _native.Device, allocate: Allocate, kind: str, shuffled: bool
) -> None:
    reachable(device, kind)
    memory = allocate(kind, SIZE + 8)
    for stride, hops in [(256, 1), (256, SIZE // 256), (256, 1000), (4096, 17), (8, 5)]:
        chase = _native.create_chase(device, memory, 8, SIZE, stride, hops, shuffled)
        samples = chase.run(*FEW)["device_seconds"]
        assert len(samples) == 2
        assert all(sample >= 0 for sample in samples)
        assert chase.verify() == [(0, NONE)]


def test_what_a_chase_reads_is_what_memory_holds_at_the_time(device: _native.Device, allocate: Allocate) -> None:
    kind = "mapped" if device.why_not("mapped") is None else "pinned"
    reachable(device, kind)
    memory = allocate(kind, SIZE)
    chase = _native.create_chase(device, memory, 0, SIZE, 256, 1)
    memory.write(0, (2 * 256).to_bytes(8, "little"))
    chase.run(*FEW)
    assert chase.verify() == [(1, 0)]


def test_a_chase_that_was_not_run_has_no_end(device: _native.Device, allocate: Allocate) -> None:
    chase = _native.create_chase(device, allocate("device", SIZE), 0, SIZE, 256, 1)
    with pytest.raises(UsageError, match="not been run"):
        chase.verify()


@pytest.mark.parametrize("kind", KINDS)
def test_memory_out_of_reach_is_refused_with_the_reason(device: _native.Device, allocate: Allocate, kind: str) -> None:
    reason = device.why_no_reach(kind)
    if reason is None:
        pytest.skip("kernels reach it")
    with pytest.raises(Unsupported) as refused:
        _native.create_chase(device, allocate(kind, SIZE), 0, SIZE, 256, 10)
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("offset", "size", "stride", "hops"),
    [(0, SIZE, 256, 0), (0, SIZE, 0, 1), (0, SIZE, 12, 1), (4, 512, 256, 1), (0, 511, 256, 1), (0, SIZE + 8, 256, 1)],
)
def test_no_chain_is_no_chase(
    device: _native.Device, allocate: Allocate, offset: int, size: int, stride: int, hops: int
) -> None:
    with pytest.raises(UsageError):
        _native.create_chase(device, allocate("device", SIZE), offset, size, stride, hops)


def test_a_thread_chases_through_a_peers_memory_or_it_is_said_why_not(device: _native.Device, spec: str) -> None:
    peer = open_device(spec).native
    memory = peer.allocate("device", SIZE)
    if reason := device.why_no_peer_reach(peer):
        with pytest.raises(Unsupported) as refused:
            _native.create_chase(device, memory, 0, SIZE, 256, 100)
        assert reason in str(refused.value)
        return
    chase = _native.create_chase(device, memory, 0, SIZE, 256, 100)
    chase.run(*FEW)
    assert chase.verify() == [(0, NONE)]
    assert device.why_no_peer_reach(device) is None


def test_a_hop_takes_the_latency_of_the_host_backends_model() -> None:
    device = open_device("host:latency=20us").native
    chase = _native.create_chase(device, device.allocate("pinned", SIZE), 0, SIZE, 256, 50)
    assert all(20e-6 <= sample < 1 for sample in chase.run(*FEW)["device_seconds"])
    assert chase.verify() == [(0, NONE)]


def test_a_chase_that_ends_half_way_is_noticed() -> None:
    device = open_device("host:fault=chase:partial").native
    chase = _native.create_chase(device, device.allocate("pinned", SIZE), 0, SIZE, 256, 50)
    chase.run(*FEW)
    assert chase.verify() == [(1, 0)]


def test_a_launch_that_fails_is_an_error() -> None:
    with pytest.raises(OutOfMemory, match="launch failed"):
        _native.time_launches(open_device("host:fault=launch:out_of_memory").native, *FEW)


def test_launches_end_after_they_were_enqueued(device: _native.Device) -> None:
    samples = _native.time_launches(device, 2, 5, 5, 0.0)
    assert len(samples["enqueue_seconds"]) == len(samples["host_seconds"]) == 5
    both = zip(samples["enqueue_seconds"], samples["host_seconds"], strict=True)
    assert all(0 < enqueue <= host for enqueue, host in both)


def test_events_and_waits_yield_their_samples(device: _native.Device) -> None:
    events = _native.time_events(device, 1, 4, 4, 0.0)
    assert len(events["host_seconds"]) == len(events["device_seconds"]) == 4
    assert min(events["host_seconds"]) > 0
    assert min(events["device_seconds"]) >= 0
    waits = _native.time_waits(device, 1, 4, 4, 0.0)
    assert len(waits["synchronize_seconds"]) == len(waits["query_seconds"]) == 4
    assert min(waits["synchronize_seconds"] + waits["query_seconds"]) > 0


@pytest.mark.parametrize(("seconds", "count"), [(0.0, 2), (10.0, 7)])
def test_samples_are_taken_until_the_time_is_spent(device: _native.Device, seconds: float, count: int) -> None:
    assert len(_native.time_waits(device, 0, 2, 7, seconds)["query_seconds"]) == count


@pytest.mark.parametrize("size", [8, 4096, MIB + 3])
def test_copies_within_a_device_are_timed_and_arrive(device: _native.Device, allocate: Allocate, size: int) -> None:
    source, destination = allocate("device", size), allocate("device", size)
    source.fill_pattern(0, size, 3)
    transfer = _native.create_transfer("copy", [("h2d", source, destination)], 0, size, 3)
    transfer.poison()
    assert transfer.verify()[0][0] > 0
    samples = transfer.run(*FEW)
    assert len(samples["host_seconds"]) == 2
    assert samples["device_seconds"]
    assert transfer.verify() == [(0, NONE)]
