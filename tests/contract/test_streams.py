"""Order within a stream, independence between streams, gates that hold one back, and events."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from isthmus import _native

Allocate = Callable[..., _native.Buffer]

SIZE = 256 * 1024 + 3
POISON = 0xA5


@pytest.fixture
def two_sources(allocate: Allocate) -> tuple[_native.Buffer, _native.Buffer]:
    """Device memory with the patterns of seeds 1 and 2."""
    first, second = allocate("device", SIZE), allocate("device", SIZE)
    first.fill_pattern(0, SIZE, 1)
    second.fill_pattern(0, SIZE, 2)
    return first, second


def is_pattern(memory: _native.Buffer, seed: int) -> bool:
    return memory.verify_pattern(0, SIZE, seed)[0] == 0


def is_poison(memory: _native.Buffer) -> bool:
    return memory.read(0, SIZE) == bytes([POISON]) * SIZE


def test_the_later_of_two_copies_wins(
    stream: _native.Stream, allocate: Allocate, two_sources: tuple[_native.Buffer, _native.Buffer]
) -> None:
    memory = allocate("pinned", SIZE, POISON)
    for last in (1, 2, 1):
        for seed in (3 - last, last):
            stream.copy(memory, 0, two_sources[seed - 1], 0, SIZE)
        stream.synchronize()
        assert is_pattern(memory, last)


def test_a_copy_sees_what_the_one_before_it_brought(stream: _native.Stream, allocate: Allocate) -> None:
    source, destination = allocate("pinned", SIZE), allocate("pinned", SIZE, POISON)
    on_device, also_on_device = allocate("device", SIZE, 0), allocate("device", SIZE, 0)
    source.fill_pattern(0, SIZE, 4)
    stream.copy(on_device, 0, source, 0, SIZE)
    stream.copy(also_on_device, 0, on_device, 0, SIZE)
    stream.copy(destination, 0, also_on_device, 0, SIZE)
    stream.synchronize()
    assert is_pattern(destination, 4)


def test_a_closed_gate_holds_its_own_stream_back_and_no_other(
    device: _native.Device,
    stream: _native.Stream,
    allocate: Allocate,
    two_sources: tuple[_native.Buffer, _native.Buffer],
) -> None:
    other = _native.Stream(device)
    held, free = allocate("pinned", SIZE, POISON), allocate("pinned", SIZE, POISON)
    gate = stream.close_gate()
    stream.copy(held, 0, two_sources[0], 0, SIZE)
    other.copy(free, 0, two_sources[1], 0, SIZE)
    other.synchronize()
    assert is_pattern(free, 2)
    assert is_poison(held)
    gate.open()
    stream.synchronize()
    assert is_pattern(held, 1)


def test_a_closed_gate_holds_a_copy_to_the_device_back(
    device: _native.Device, stream: _native.Stream, allocate: Allocate
) -> None:
    memory, on_device, seen = allocate("pinned", SIZE), allocate("device", SIZE), allocate("pinned", SIZE)
    memory.fill_pattern(0, SIZE, 1)
    on_device.set_bytes(0, SIZE, POISON)
    other = _native.Stream(device)
    gate = stream.close_gate()
    stream.copy(on_device, 0, memory, 0, SIZE)
    other.copy(seen, 0, on_device, 0, SIZE)
    other.synchronize()
    assert is_poison(seen)
    gate.open()
    stream.synchronize()
    assert is_pattern(on_device, 1)


def test_a_gate_opens_itself_when_it_is_dropped(
    stream: _native.Stream, allocate: Allocate, two_sources: tuple[_native.Buffer, _native.Buffer]
) -> None:
    memory = allocate("pinned", SIZE, POISON)
    gate = stream.close_gate()
    stream.copy(memory, 0, two_sources[0], 0, SIZE)
    assert is_poison(memory)
    del gate
    stream.synchronize()
    assert is_pattern(memory, 1)


def test_a_gate_may_be_opened_twice_and_the_next_one_closes_again(
    stream: _native.Stream, allocate: Allocate, two_sources: tuple[_native.Buffer, _native.Buffer]
) -> None:
    memory = allocate("pinned", SIZE, POISON)
    for seed in (1, 2):
        memory.set_bytes(0, SIZE, POISON)
        gate = stream.close_gate()
        stream.copy(memory, 0, two_sources[seed - 1], 0, SIZE)
        assert is_poison(memory)
        gate.open()
        gate.open()
        stream.synchronize()
        assert is_pattern(memory, seed)


def test_synchronize_waits_for_the_gate_and_lets_other_threads_run(
    stream: _native.Stream, allocate: Allocate, two_sources: tuple[_native.Buffer, _native.Buffer]
) -> None:
    memory = allocate("pinned", SIZE, POISON)
    gate = stream.close_gate()
    stream.copy(memory, 0, two_sources[0], 0, SIZE)
    begun = threading.Event()

    def wait() -> bool:
        begun.set()
        stream.synchronize()
        return is_pattern(memory, 1)

    with ThreadPoolExecutor(1) as executor:
        waiting = executor.submit(wait)
        begun.wait()
        # Reached only if the waiting thread has let go of the interpreter.
        gate.open()
        assert waiting.result()


def test_events_are_in_the_order_of_the_stream(
    device: _native.Device, stream: _native.Stream, allocate: Allocate
) -> None:
    memory, on_device = allocate("pinned", SIZE), allocate("device", SIZE)
    events = [_native.Event(device) for _ in range(3)]
    for event in events:
        stream.record(event)
        stream.copy(on_device, 0, memory, 0, SIZE)
    stream.synchronize()
    first, second, third = events
    assert first.seconds_until(second) >= 0
    assert second.seconds_until(third) >= 0
    assert first.seconds_until(third) >= first.seconds_until(second)
    assert first.seconds_until(first) == 0
    assert third.seconds_until(first) <= 0


def test_events_of_two_streams_share_a_clock(device: _native.Device) -> None:
    streams = [_native.Stream(device), _native.Stream(device)]
    events = [_native.Event(device), _native.Event(device)]
    for stream, event in zip(streams, events, strict=True):
        stream.record(event)
        stream.synchronize()
    assert events[0].seconds_until(events[1]) >= 0


def test_an_event_may_be_recorded_again(device: _native.Device, stream: _native.Stream) -> None:
    moving, fixed = _native.Event(device), _native.Event(device)
    stream.record(moving)
    stream.record(fixed)
    stream.synchronize()
    assert moving.seconds_until(fixed) >= 0
    stream.record(moving)
    stream.synchronize()
    assert fixed.seconds_until(moving) >= 0


def test_an_event_passes_when_its_stream_is_done(
    device: _native.Device, stream: _native.Stream, allocate: Allocate
) -> None:
    memory, on_device = allocate("pinned", SIZE), allocate("device", SIZE)
    event = _native.Event(device)
    for _ in range(2):  # also one that is recorded again
        gate = stream.close_gate()
        stream.copy(on_device, 0, memory, 0, SIZE)
        stream.record(event)
        assert not event.has_passed()
        gate.open()
        until = time.monotonic() + 60
        while not event.has_passed() and time.monotonic() < until:
            time.sleep(0)
        assert event.has_passed()
        stream.synchronize()


def test_threads_do_not_disturb_each_other(device: _native.Device, allocate: Allocate) -> None:
    start = threading.Barrier(8)

    def work(seed: int) -> list[tuple[int, int]]:
        stream = _native.Stream(device)
        source, destination = device.allocate("pinned", SIZE), device.allocate("pinned", SIZE)
        on_device = device.allocate("device", SIZE)
        found = []
        start.wait()
        for repeat in range(4):
            source.fill_pattern(0, SIZE, 10 * seed + repeat)
            stream.copy(on_device, 0, source, 0, SIZE)
            stream.copy(destination, 0, on_device, 0, SIZE)
            stream.synchronize()
            found.append(on_device.verify_pattern(0, SIZE, 10 * seed + repeat))
            found.append(destination.verify_pattern(0, SIZE, 10 * seed + repeat))
        return found

    with ThreadPoolExecutor(8) as executor:
        results = list(executor.map(work, range(8)))
    assert results == [[(0, 2**64 - 1)] * 8] * 8
