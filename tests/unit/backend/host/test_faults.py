"""Faults injected into the host backend: each call that can go wrong does so on demand, and says what it was doing."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from isthmus import _native
from isthmus.errors import CallFailed, OutOfMemory
from isthmus.machine.devices import open_device

SIZE = 4096
NONE = 2**64 - 1
HALF = (SIZE // 16, SIZE // 16)  # words that differ, and the first of them


class Bench:
    """A device with a fault, and each operation on it."""

    def __init__(self, fault: str = "") -> None:
        self.device = open_device(f"host:fault={fault}" if fault else "host").native
        self.memory = self.device.allocate("pinned", SIZE)
        self.on_device = self.device.allocate("device", SIZE)
        self.stream = _native.Stream(self.device)
        self.memory.fill_pattern(0, SIZE, 1)

    def allocate(self) -> None:
        self.device.allocate("pinned", SIZE)

    def copy(self) -> None:
        self.stream.copy(self.on_device, 0, self.memory, 0, SIZE)
        self.stream.synchronize()

    def kernel(self) -> None:
        self.stream.copy_by_kernel(self.on_device, 0, self.memory, 0, SIZE)
        self.stream.synchronize()

    def prefetch(self) -> None:
        managed = self.device.allocate("managed", SIZE)
        _native.create_transfer("prefetch", [("h2d", managed, None)], 0, SIZE, 1).poison()

    def set(self) -> None:
        self.on_device.set_bytes(0, SIZE, 0)

    def fill(self) -> None:
        self.on_device.fill_pattern(0, SIZE, 1)

    def verify(self) -> tuple[int, int]:
        return self.on_device.verify_pattern(0, SIZE, 1)

    def create_stream(self) -> None:
        _native.Stream(self.device)

    def event(self) -> None:
        _native.Event(self.device)

    def gate(self) -> None:
        self.stream.close_gate().open()

    def synchronize(self) -> None:
        self.stream.synchronize()


# Each operation with what does it, the number of the first such call after a bench is made, and the bytes it names.
OPERATIONS: dict[str, tuple[Callable[[Bench], object], int, int]] = {
    "allocate": (Bench.allocate, 3, SIZE),
    "copy": (Bench.copy, 1, SIZE),
    "kernel": (Bench.kernel, 1, SIZE),
    "prefetch": (Bench.prefetch, 1, SIZE),
    "set": (Bench.set, 1, SIZE),
    "fill": (Bench.fill, 1, SIZE),
    "verify": (Bench.verify, 1, SIZE),
    "stream": (Bench.create_stream, 3, 0),
    "event": (Bench.event, 1, 0),
    "gate": (Bench.gate, 1, 0),
    "synchronize": (Bench.synchronize, 1, 0),
}
COMMANDS = {name: OPERATIONS[name][0] for name in ("copy", "kernel", "fill", "set")}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(("kind", "error"), [("fail", CallFailed), ("out_of_memory", OutOfMemory)])
def test_a_call_fails_with_its_name_and_bytes(operation: str, kind: str, error: type[CallFailed]) -> None:
    call, number, size = OPERATIONS[operation]
    bench = Bench(f"{operation}:{kind}@{number}")
    with pytest.raises(CallFailed) as failure:
        call(bench)
    assert type(failure.value) is error
    assert f"{operation} failed for {size} bytes: fault injected" in str(failure.value)


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if name != "prefetch"])
def test_calls_before_the_fault_work_and_all_after_it_fail(operation: str) -> None:
    call, number, _ = OPERATIONS[operation]
    bench = Bench(f"{operation}:fail@{number + 2}")
    call(bench)
    call(bench)
    for _ in range(2):
        with pytest.raises(CallFailed):
            call(bench)


def test_what_an_allocation_was_for_is_part_of_the_message() -> None:
    with pytest.raises(OutOfMemory, match="4096 bytes of device memory: allocate failed"):
        open_device("host:fault=allocate:out_of_memory").native.allocate("device", SIZE)


def test_a_device_that_cannot_make_its_first_stream_cannot_be_opened() -> None:
    with pytest.raises(CallFailed, match="stream failed"):
        open_device("host:fault=stream:fail")


@pytest.mark.parametrize("operation", ["copy", "kernel", "fill"])
def test_half_a_command_passes_for_success_and_is_found_by_the_check(operation: str) -> None:
    bench = Bench(f"{operation}:partial")
    bench.on_device.set_bytes(0, SIZE, 0)
    COMMANDS[operation](bench)
    assert bench.verify() == HALF


def test_half_a_set_leaves_the_rest() -> None:
    bench = Bench("set:partial")
    bench.fill()
    bench.set()
    assert bench.verify() == (SIZE // 16, 0)


def test_half_a_check_misses_what_is_wrong_behind_it() -> None:
    bench = Bench("verify:partial")
    bench.fill()
    bench.on_device.set_bytes(SIZE - 1, 1, 0)
    assert bench.verify() == (0, NONE)
    bench.on_device.set_bytes(0, 1, 0)
    assert bench.verify() == (1, 0)


@pytest.mark.parametrize("way", ["h2d", "d2h"])
@pytest.mark.parametrize(("method", "kind", "operation"), [("copy", "pinned", "copy"), ("kernel", "mapped", "kernel")])
def test_a_timed_transfer_notices_half_a_command(way: str, method: str, kind: str, operation: str) -> None:
    # The third is the first that is neither a warm-up nor the first sample: not only the beginning is looked at.
    device = open_device(f"host:fault={operation}:partial@3").native
    memory, on_device = device.allocate(kind, SIZE), device.allocate("device", SIZE)
    (memory if way == "h2d" else on_device).fill_pattern(0, SIZE, 1 if way == "h2d" else 2)
    transfer = _native.create_transfer(method, [(way, memory, on_device)], 0, SIZE, 1)
    transfer.poison()
    transfer.run(1, 1, 1, 0)
    transfer.poison()
    transfer.run(0, 1, 1, 0)
    assert transfer.verify() == [HALF]


@pytest.mark.parametrize("operation", ["copy", "event", "gate", "synchronize"])
def test_a_timed_transfer_passes_a_failure_on(operation: str) -> None:
    device = open_device(f"host:fault={operation}:fail").native
    memory, on_device = device.allocate("pinned", SIZE), device.allocate("device", SIZE)
    with pytest.raises(CallFailed, match=f"{operation} failed"):
        _native.create_transfer("copy", [("h2d", memory, on_device)], 0, SIZE, 1).run(0, 1, 1, 0)


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if name != "prefetch"])
def test_a_slow_call_is_still_right(operation: str) -> None:
    call, number, _ = OPERATIONS[operation]
    bench = Bench(f"{operation}:slow@{number}")
    call(bench)
    if operation in {"copy", "kernel", "fill"}:
        assert bench.on_device.verify_pattern(0, SIZE, 1) == (0, NONE)
    elif operation == "set":
        assert bench.verify() == (SIZE // 8, 0)
    else:
        bench.copy()
        assert bench.verify() == (0, NONE)


@pytest.mark.parametrize("operation", ["fill", "set", "verify"])
def test_python_goes_on_while_a_call_waits(operation: str) -> None:
    call, number, _ = OPERATIONS[operation]
    bench = Bench(f"{operation}:slow@{number}")
    turns = 0
    with ThreadPoolExecutor(1) as executor:
        waiting = executor.submit(call, bench)
        while not waiting.done():
            turns += 1
            time.sleep(0)
        waiting.result()
    # A call that kept the interpreter would leave this thread no turn before it has ended.
    assert turns > 10


def test_nothing_is_under_way_when_the_second_direction_has_failed() -> None:
    """Freed while the first direction still copied, the memory would take the process down with it."""
    size = 64 * 1024 * 1024
    device = open_device("host:rate=1GB/s,fault=copy:fail@2").native
    sent, received = device.allocate("pinned", size), device.allocate("device", size)
    lanes: list[tuple[str, _native.Buffer, _native.Buffer | None]] = [
        ("h2d", sent, received),
        ("d2h", device.allocate("pinned", size), device.allocate("device", size)),
    ]
    sent.fill_pattern(0, size, 1)
    transfer = _native.create_transfer("copy", lanes, 0, size, 1)
    with pytest.raises(CallFailed):
        transfer.run(0, 1, 1, 0)
    # The copy that was under way has arrived.
    assert received.verify_pattern(0, size, 1) == (0, NONE)
