"""Memory and streams of callers: what the driver knows of them, views of them, and streams that wait for the host."""

from __future__ import annotations

import ctypes
import gc
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from isthmus import _native
from isthmus.errors import UsageError

Allocate = Callable[..., _native.Buffer]

SIZE = 256 * 1024 + 3
POISON = 0xA5


def address_of(array: np.ndarray) -> int:
    address: int = array.ctypes.data
    return address


@pytest.fixture
def latched(device: _native.Device) -> None:
    """Skips where streams cannot be held by a latch."""
    if reason := device.why_no_latch():
        pytest.skip(reason)


@pytest.fixture
def has_addresses(device: _native.Device) -> bool:
    """Whether device memory is known by addresses, and the driver can be asked about them."""
    backend: str = device.info["backend"]
    return backend != "opencl"


def is_pattern(memory: _native.Buffer, seed: int) -> bool:
    return memory.verify_pattern(0, SIZE, seed)[0] == 0


@pytest.mark.parametrize("kind", ["pageable", "pinned", "managed", "device"])
def test_borrowed_memory_moves_both_ways(
    device: _native.Device, stream: _native.Stream, allocate: Allocate, kind: str
) -> None:
    owner = allocate(kind, SIZE)
    owner.set_bytes(0, SIZE, POISON)
    other = allocate("pinned" if kind == "device" else "device", SIZE)
    other.fill_pattern(0, SIZE, 3)
    view = device.borrow(kind, owner.handle, SIZE)
    assert (view.kind, view.bytes, view.handle) == (kind, SIZE, owner.handle)
    stream.copy(view, 0, other, 0, SIZE)
    stream.synchronize()
    assert is_pattern(owner, 3)
    other.set_bytes(0, SIZE, POISON)
    stream.copy(other, 0, view, 0, SIZE)
    stream.synchronize()
    assert is_pattern(other, 3)
    # The owner's memory is there after the view is gone.
    del view
    gc.collect()
    assert is_pattern(owner, 3)


def test_a_part_of_numpys_memory_moves_and_nothing_beside_it(
    device: _native.Device, stream: _native.Stream, allocate: Allocate
) -> None:
    array = np.full(SIZE + 200, POISON, np.uint8)
    on_device = allocate("device", SIZE)
    on_device.fill_pattern(0, SIZE, 5)
    view = device.borrow("pageable", address_of(array) + 100, SIZE)
    stream.copy(view, 7, on_device, 7, SIZE - 20)
    stream.synchronize()
    expected = allocate("pageable", SIZE)
    expected.fill_pattern(0, SIZE, 5)
    assert array[107 : 100 + SIZE - 13].tobytes() == expected.read(7, SIZE - 20)
    assert set(array[:107].tolist()) == set(array[100 + SIZE - 13 :].tolist()) == {POISON}


@pytest.mark.parametrize(
    ("kind", "known"),
    [
        ("pageable", "pageable"),
        ("pinned", "pinned"),
        ("pinned_portable", "pinned"),
        ("write_combined", "pinned"),
        ("registered", "pinned"),
        ("managed", "managed"),
        ("device", "device"),
    ],
)
def test_an_address_is_identified_with_its_range(
    device: _native.Device, has_addresses: bool, allocate: Allocate, kind: str, known: str
) -> None:
    if not has_addresses and known in ("pinned", "device"):
        pytest.skip("OpenCL cannot be asked about addresses")
    buffer = allocate(kind, SIZE)
    address = buffer.handle
    on_device = device.info["index"] if known in ("managed", "device") else -1
    for place in (0, 1, SIZE // 2, SIZE - 1):
        found, where, begin, end = device.identify(address + place)
        assert (found, where) == (known, on_device)
        # Drivers round sizes up, and may not know how far locked memory goes.
        assert begin <= address + place < end or (begin, end) == (0, 0)
        if known in ("managed", "device"):
            assert begin <= address
            assert address + SIZE <= end


def test_what_the_driver_does_not_know_is_pageable_and_leaves_no_error_behind(
    device: _native.Device, stream: _native.Stream, allocate: Allocate
) -> None:
    array = np.zeros(SIZE, np.uint8)
    for address in (address_of(array), 4096, 2**64 - 1):
        assert device.identify(address)[:2] == ("pageable", -1)
    memory, on_device = allocate("pinned", SIZE), allocate("device", SIZE)
    memory.fill_pattern(0, SIZE, 1)
    stream.copy(on_device, 0, memory, 0, SIZE)
    stream.synchronize()
    assert is_pattern(on_device, 1)


@pytest.mark.parametrize("kind", ["pinned", "managed", "device"])
def test_memory_that_was_given_back_is_not_known_any_more(
    device: _native.Device, has_addresses: bool, allocate: Allocate, kind: str
) -> None:
    if not has_addresses and kind != "managed":
        pytest.skip("OpenCL cannot be asked about addresses")
    # Of a size that allocators do not keep for the next who asks.
    buffer = allocate(kind, 64 << 20)
    address = buffer.handle
    assert device.identify(address)[0] == kind
    del buffer
    gc.collect()
    assert device.identify(address)[:2] == ("pageable", -1)


def test_what_cannot_be_borrowed_is_a_usage_error(device: _native.Device, allocate: Allocate) -> None:
    buffer = allocate("pinned", SIZE)
    with pytest.raises(UsageError, match="pageable, pinned, managed or device, not write_combined"):
        device.borrow("write_combined", buffer.handle, SIZE)
    with pytest.raises(UsageError, match="has an address, not 0"):
        device.borrow("pageable", 0, SIZE)


def test_a_borrowed_stream_is_the_owners(device: _native.Device, allocate: Allocate, latched: None) -> None:
    owner = _native.Stream(device)
    borrowed = _native.Stream.borrow(device, owner.handle)
    assert borrowed.handle == owner.handle
    memory, on_device = allocate("pinned", SIZE), allocate("device", SIZE)
    memory.fill_pattern(0, SIZE, 1)
    event = _native.Event(device)
    latch = owner.close_latch()
    borrowed.copy(on_device, 0, memory, 0, SIZE)
    borrowed.record(event)
    assert not event.has_passed()
    latch.open()
    owner.synchronize()
    assert event.has_passed()
    assert is_pattern(on_device, 1)
    # Dropping the view leaves the owner's stream.
    del borrowed
    gc.collect()
    owner.copy(on_device, 0, memory, 0, SIZE)
    owner.synchronize()


def test_default_streams_can_be_borrowed_where_there_are_some(device: _native.Device, allocate: Allocate) -> None:
    backend = device.info["backend"]
    if backend == "opencl":
        with pytest.raises(UsageError, match="no default queue"):
            _native.Stream.borrow(device, 0)
        return
    memory, on_device = allocate("pinned", SIZE), allocate("device", SIZE)
    for seed, handle in enumerate((0, 1, 2) if backend == "cuda" else (0,)):
        stream = _native.Stream.borrow(device, handle)
        memory.fill_pattern(0, SIZE, seed)
        stream.copy(on_device, 0, memory, 0, SIZE)
        stream.synchronize()
        assert is_pattern(on_device, seed)


def test_two_views_of_the_default_stream_are_one_stream(
    device: _native.Device, allocate: Allocate, latched: None
) -> None:
    if device.info["backend"] == "opencl":
        pytest.skip("OpenCL has no default queue")
    first, second = _native.Stream.borrow(device, 0), _native.Stream.borrow(device, 0)
    event = _native.Event(device)
    latch = first.close_latch()
    second.record(event)
    assert not event.has_passed()
    latch.open()
    second.synchronize()
    assert event.has_passed()


def test_no_stream_of_the_host_backend_has_a_made_up_handle(device: _native.Device) -> None:
    if device.info["backend"] != "host":
        pytest.skip("drivers cannot tell")
    with pytest.raises(UsageError, match="no stream of the host backend has this handle"):
        _native.Stream.borrow(device, 4096)
    gone = _native.Stream(device)
    handle = gone.handle
    del gone
    gc.collect()
    with pytest.raises(UsageError, match="no stream of the host backend has this handle"):
        _native.Stream.borrow(device, handle)


def test_a_stream_of_another_context_is_a_usage_error(device: _native.Device) -> None:
    if device.info["backend"] != "opencl":
        pytest.skip("one device has one context")
    program = OpenClProgram(device, context_of_its_own=True)
    queue = program.create_queue(0)
    with pytest.raises(UsageError, match="belongs to another context"):
        _native.Stream.borrow(device, queue)
    program.release_queue(queue)


class OpenClProgram:
    """Calls of OpenCL in the context of a device, as another library makes them: through the table of its driver."""

    def __init__(self, device: _native.Device, context_of_its_own: bool = False) -> None:
        self.context = ctypes.c_void_p(device.context_handle)
        self.table = ctypes.cast(self.context, ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p))).contents
        self.device = ctypes.c_void_p()
        context_devices, size = 0x1081, ctypes.sizeof(self.device)
        get_info = self._function(8, ctypes.c_int, ctypes.c_uint, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p)
        assert get_info(self.context, context_devices, size, ctypes.byref(self.device), None) == 0
        if context_of_its_own:
            pointers = [ctypes.c_void_p] * 4
            create = self._function(4, ctypes.c_void_p, ctypes.c_uint, *pointers)
            self.context = ctypes.c_void_p(create(None, 1, ctypes.byref(self.device), None, None, None))

    def _function(self, place: int, result: type, *parameters: type) -> Callable[..., Any]:
        return ctypes.CFUNCTYPE(result, ctypes.c_void_p, *parameters)(self.table[place] or 0)

    def create_queue(self, properties: int) -> int:
        create = self._function(9, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_void_p)
        return int(create(self.context, self.device, properties, None) or 0)

    def create_buffer(self, size: int) -> int:
        create = self._function(14, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p)
        return int(create(self.context, 1, size, None, None) or 0)

    def release_queue(self, handle: int) -> None:
        assert self._function(11, ctypes.c_int)(handle) == 0

    def release_buffer(self, handle: int) -> None:
        assert self._function(18, ctypes.c_int)(handle) == 0


def test_queues_and_buffers_of_an_opencl_program_are_retained_and_used(
    device: _native.Device, allocate: Allocate
) -> None:
    if device.info["backend"] != "opencl":
        pytest.skip("not OpenCL")
    program = OpenClProgram(device)
    queue, buffer = program.create_queue(0), program.create_buffer(SIZE)
    stream, view = _native.Stream.borrow(device, queue), device.borrow("device", buffer, SIZE)
    # The views hold references of their own.
    program.release_queue(queue)
    program.release_buffer(buffer)
    memory, back = allocate("pinned", SIZE), allocate("pinned", SIZE, POISON)
    memory.fill_pattern(0, SIZE, 4)
    stream.copy(view, 0, memory, 0, SIZE)
    stream.copy(back, 0, view, 0, SIZE)
    stream.synchronize()
    assert is_pattern(back, 4)


def test_a_queue_that_keeps_no_order_is_a_usage_error(device: _native.Device) -> None:
    if device.info["backend"] != "opencl":
        pytest.skip("not OpenCL")
    program = OpenClProgram(device)
    queue = program.create_queue(properties=1)
    with pytest.raises(UsageError, match="pass one that keeps the order"):
        _native.Stream.borrow(device, queue)
    program.release_queue(queue)


@pytest.mark.parametrize("handle", [1, 8, 4096, 1 << 20, (1 << 47) - 8, (1 << 63) + 8, (1 << 64) - 8])
def test_a_handle_that_no_object_has_is_a_usage_error(device: _native.Device, handle: int) -> None:
    if device.info["backend"] != "opencl":
        pytest.skip("not OpenCL")
    with pytest.raises(UsageError, match="not a cl_command_queue"):
        _native.Stream.borrow(device, handle)
    with pytest.raises(UsageError, match="not a cl_mem"):
        device.borrow("device", handle, SIZE)


_ITSELF = 7


@pytest.mark.parametrize("word", [0, 1, 1 << 20, (1 << 64) - 1, _ITSELF])
def test_memory_that_holds_no_object_is_a_usage_error(device: _native.Device, word: int) -> None:
    if device.info["backend"] != "opencl":
        pytest.skip("not OpenCL")
    words = (ctypes.c_uint64 * 64)(*[word] * 64)
    if word == _ITSELF:
        words[:] = [ctypes.addressof(words)] * 64  # where a loader would look for functions, and find what it can read
    for address in (ctypes.addressof(words), ctypes.addressof(words) + 1):
        with pytest.raises(UsageError, match="not a cl_command_queue"):
            _native.Stream.borrow(device, address)
        with pytest.raises(UsageError, match="not a cl_mem"):
            device.borrow("device", address, SIZE)


def test_a_buffer_of_another_context_or_too_small_is_a_usage_error(device: _native.Device) -> None:
    if device.info["backend"] != "opencl":
        pytest.skip("memory has addresses")
    program = OpenClProgram(device, context_of_its_own=True)
    other = program.create_buffer(SIZE)
    with pytest.raises(UsageError, match="belongs to another context"):
        device.borrow("device", other, SIZE)
    program.release_buffer(other)
    mine = device.allocate("device", SIZE)
    with pytest.raises(UsageError, match=f"has {SIZE} bytes"):
        device.borrow("device", mine.handle, SIZE + 1)


def test_a_latch_holds_its_own_stream_back_and_no_other(
    device: _native.Device, stream: _native.Stream, allocate: Allocate, latched: None
) -> None:
    source = allocate("device", SIZE)
    source.fill_pattern(0, SIZE, 1)
    held, free = allocate("pinned", SIZE, POISON), allocate("pinned", SIZE, POISON)
    other = _native.Stream(device)
    for _ in range(3):  # also with words that were used before
        held.set_bytes(0, SIZE, POISON)
        latch = stream.close_latch()
        stream.copy(held, 0, source, 0, SIZE)
        other.copy(free, 0, source, 0, SIZE)
        other.synchronize()
        assert is_pattern(free, 1)
        assert held.read(0, SIZE) == bytes([POISON]) * SIZE
        latch.open()
        latch.open()
        stream.synchronize()
        assert is_pattern(held, 1)


def test_a_latch_opens_itself_when_it_is_dropped(device: _native.Device, stream: _native.Stream, latched: None) -> None:
    event = _native.Event(device)
    latch = stream.close_latch()
    stream.record(event)
    assert not event.has_passed()
    del latch
    gc.collect()
    stream.synchronize()
    assert event.has_passed()


def test_a_latch_is_opened_by_another_thread_while_one_waits(
    device: _native.Device, stream: _native.Stream, latched: None
) -> None:
    latch = stream.close_latch()
    with ThreadPoolExecutor(1) as executor:
        waiting = executor.submit(stream.synchronize)
        latch.open()
        assert waiting.result() is None


def created(device: _native.Device, priority: int) -> tuple[int, ctypes.CDLL]:
    """A stream of a CUDA program with this priority, the ordinary one being 0 and the highest clamped."""
    cuda = ctypes.CDLL("libcuda.so.1")
    before = device.enter()
    handle = ctypes.c_void_p()
    non_blocking = 1
    assert cuda.cuStreamCreateWithPriority(ctypes.byref(handle), non_blocking, priority) == 0
    device.leave(before)
    return handle.value or 0, cuda


# One alone, and with as many queues of the hardware as conftest asks for: beside four that are held with copies behind
# them, with 8 queues, real hardware lets no other go on.
@pytest.mark.parametrize("priority", [0, -1, -100])
def test_a_held_stream_with_copies_behind_it_keeps_no_other_back(
    device: _native.Device, allocate: Allocate, latched: None, priority: int
) -> None:
    is_cuda = device.info["backend"] == "cuda"
    if not is_cuda and priority != 0:
        pytest.skip("priorities are CUDA's")
    others = [_native.Stream(device) for _ in range(8)]
    # All is got before the stream is held, and each has its own memory.
    places = [(allocate("device", SIZE), allocate("pinned", SIZE, POISON)) for _ in others]
    for seed, (source, _) in enumerate(places):
        source.fill_pattern(0, SIZE, seed)
    there, back = allocate("device", SIZE), allocate("pinned", SIZE)
    events, behind = [_native.Event(device) for _ in others], _native.Event(device)
    if is_cuda:
        handle, cuda = created(device, priority)
        stream = _native.Stream.borrow(device, handle)
    else:
        stream = _native.Stream(device)
    latch = stream.close_latch()
    stream.copy(there, 0, back, 0, SIZE)
    stream.copy(back, 0, there, 0, SIZE)
    stream.record(behind)
    for other, event, (source, destination) in zip(others, events, places, strict=True):
        other.copy(destination, 0, source, 0, SIZE)
        other.copy(source, 0, destination, 0, SIZE)
        other.record(event)
    until = time.monotonic() + 60
    while not all(event.has_passed() for event in events) and time.monotonic() < until:
        time.sleep(0.001)
    went_on = [event.has_passed() for event in events]
    held = not behind.has_passed()
    latch.open()
    stream.synchronize()
    assert behind.has_passed()
    assert (went_on, held) == ([True] * len(others), True)
    assert all(is_pattern(destination, seed) for seed, (_, destination) in enumerate(places))
    if is_cuda:
        del stream
        assert cuda.cuStreamDestroy_v2(ctypes.c_void_p(handle)) == 0


def test_one_stream_waits_for_another_by_an_event(
    device: _native.Device, stream: _native.Stream, allocate: Allocate, latched: None
) -> None:
    memory, on_device, back = allocate("pinned", SIZE), allocate("device", SIZE), allocate("pinned", SIZE, POISON)
    memory.fill_pattern(0, SIZE, 1)
    on_device.set_bytes(0, SIZE, POISON)
    later = _native.Stream(device)
    event, last = _native.Event(device), _native.Event(device)
    latch = stream.close_latch()
    stream.copy(on_device, 0, memory, 0, SIZE)
    stream.record(event)
    later.wait(event)
    later.copy(back, 0, on_device, 0, SIZE)
    later.record(last)
    assert not last.has_passed()
    latch.open()
    later.synchronize()
    assert is_pattern(back, 1)


def test_a_wait_is_for_the_record_before_it(device: _native.Device, stream: _native.Stream, latched: None) -> None:
    later = _native.Stream(device)
    event = _native.Event(device)
    stream.record(event)
    later.wait(event)
    latch = stream.close_latch()
    stream.record(event)
    later.synchronize()  # does not wait for the second
    assert not event.has_passed()
    latch.open()
    stream.synchronize()
    assert event.has_passed()


def test_leaving_makes_current_again_what_was_before(device: _native.Device) -> None:
    def enter_twice() -> tuple[int, int, int]:
        before = device.enter()
        within = device.enter()
        device.leave(within)
        device.leave(before)
        after = device.enter()
        device.leave(after)
        return before, within, after

    # A thread of its own, where nothing is current yet.
    with ThreadPoolExecutor(1) as executor:
        before, within, after = executor.submit(enter_twice).result()
    assert before == after == 0
    if device.info["backend"] == "cuda":
        assert within == device.context_handle


def test_latches_are_many(device: _native.Device, stream: _native.Stream, latched: None) -> None:
    event = _native.Event(device)
    for _ in range(200):
        latches = [stream.close_latch() for _ in range(5)]
        stream.record(event)
        assert not event.has_passed()
        for latch in latches:
            latch.open()
        until = time.monotonic() + 60
        while not event.has_passed() and time.monotonic() < until:
            time.sleep(0)
        assert event.has_passed()
