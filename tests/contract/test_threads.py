"""Every call from many threads at once: nothing is lost, mixed up or left waiting, and what arrives is right.

The author of the program behind the threads experiment had to leave open whether its driver could bear that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest

from isthmus import _native
from isthmus.errors import OutOfMemory, Unsupported
from isthmus.experiment.allocation.cases import MEMORY_KINDS as WAYS
from isthmus.experiment.bandwidth.cases import MEMORY_KINDS
from isthmus.experiment.threads.cases import ThreadLane
from isthmus.machine.devices import open_device, probe

THREADS = 12
REPEATS = 6
SIZE = 192 * 1024 + 3
GUARD = 0x5A
NONE = 2**64 - 1
RIGHT = (0, NONE)

T = TypeVar("T")


def at_once(work: Callable[[int], T], threads: int = THREADS) -> list[T]:
    """What `work` gives for each of so many threads, which begin together; the first failure if one fails."""
    start = threading.Barrier(threads)

    def begin(thread: int) -> T:
        start.wait()
        return work(thread)

    with ThreadPoolExecutor(threads) as executor:
        return list(executor.map(begin, range(threads)))


def seed_of(thread: int, repeat: int) -> int:
    return 1 + thread * REPEATS + repeat


def copied_kinds(device: _native.Device) -> list[str]:
    """Kinds of host memory that the device has and copies."""
    return [kind for kind in MEMORY_KINDS if kind not in {"mapped", "managed"} and device.why_not(kind) is None]


def test_memory_of_every_kind_is_allocated_filled_and_freed(device: _native.Device) -> None:
    kinds = [kind for kind in (*MEMORY_KINDS, "device") if device.why_not(kind) is None]

    def work(thread: int) -> list[tuple[int, int]]:
        found = []
        for repeat in range(REPEATS):
            # Each thread begins with another kind, so that all of them meet.
            kind = kinds[(thread + repeat) % len(kinds)]
            buffer = device.allocate(kind, SIZE + thread)
            buffer.fill_pattern(0, SIZE + thread, seed_of(thread, repeat))
            found.append(buffer.verify_pattern(0, SIZE + thread, seed_of(thread, repeat)))
            buffer.set_bytes(0, SIZE, GUARD)
            found.append((buffer.verify_pattern(0, SIZE, seed_of(thread, repeat))[0] - -(-SIZE // 8), NONE))
        return found

    before = device.free_bytes()
    assert at_once(work) == [[RIGHT] * 2 * REPEATS] * THREADS
    if device.info["backend"] == "host":
        assert device.free_bytes() == before


def test_every_way_to_get_memory_is_timed_without_the_interpreter(device: _native.Device) -> None:
    """Here memory is freed, too, while other threads allocate, which dropping a buffer in Python does one by one."""
    ways = [way for way in WAYS if device.why_not(way) is None]

    def work(thread: int) -> int:
        taken = 0
        for repeat in range(len(ways)):
            case = _native.create_allocation(device, ways[(thread + repeat) % len(ways)], 64 * 1024)
            taken += len(case.run(1, 4, 4, 0)["free"])
        return taken

    assert at_once(work) == [4 * len(ways)] * THREADS


def test_out_of_memory_on_one_thread_is_no_other_ones_failure(device: _native.Device) -> None:
    def work(thread: int) -> list[tuple[int, int]]:
        found = []
        for repeat in range(REPEATS):
            if thread % 2:
                with pytest.raises(OutOfMemory):
                    device.allocate("device" if repeat % 2 else "pinned", 1 << 48)
                continue
            buffer = device.allocate("device", SIZE)
            buffer.fill_pattern(0, SIZE, seed_of(thread, repeat))
            found.append(buffer.verify_pattern(0, SIZE, seed_of(thread, repeat)))
        return found

    assert at_once(work) == [[] if thread % 2 else [RIGHT] * REPEATS for thread in range(THREADS)]


def test_views_latches_and_waits_of_each_thread(device: _native.Device) -> None:
    """All on streams that the threads share, but for what they wait with.

    Everything is got before a stream is held and kept until none is, and who holds one calls the driver for nothing but
    what is put on it: giving memory back may wait for all streams, and keep every other call waiting meanwhile.
    """
    latch_missing = device.why_no_latch() is not None
    shared, own = ([_native.Stream(device) for _ in range(count)] for count in (3, THREADS))
    events = [_native.Event(device) for _ in own]
    sources, there, back = ([device.allocate(kind, SIZE) for _ in own] for kind in ("pinned", "device", "pinned"))
    if not latch_missing:
        # What latches are made of is there before many ask for it at once.
        own[0].close_latch().open()

    def work(thread: int) -> list[tuple[int, int]]:
        found = []
        for repeat in range(REPEATS):
            seed = seed_of(thread, repeat)
            sources[thread].fill_pattern(0, SIZE, seed)
            back[thread].set_bytes(0, SIZE, GUARD)
            device.identify(sources[thread].handle)
            memory = device.borrow("device", there[thread].handle, SIZE)
            view = _native.Stream.borrow(device, shared[(thread + repeat) % len(shared)].handle)
            latch = None if latch_missing else own[thread].close_latch()
            own[thread].copy(memory, 0, sources[thread], 0, SIZE)
            own[thread].record(events[thread])
            if latch is not None:
                latch.open()
            view.wait(events[thread])
            view.copy(back[thread], 0, there[thread], 0, SIZE)
            view.synchronize()
            found.append(back[thread].verify_pattern(0, SIZE, seed))
        return found

    assert at_once(work) == [[RIGHT] * REPEATS] * THREADS


def test_copies_on_a_stream_for_each_thread(device: _native.Device) -> None:
    kinds = copied_kinds(device)

    def work(thread: int) -> list[tuple[int, int]]:
        found = []
        for repeat in range(REPEATS):
            seed = seed_of(thread, repeat)
            stream = _native.Stream(device)
            source = device.allocate(kinds[(thread + repeat) % len(kinds)], SIZE)
            there, also_there = device.allocate("device", SIZE), device.allocate("device", SIZE)
            back = device.allocate(kinds[(thread + 2 * repeat) % len(kinds)], SIZE)
            source.fill_pattern(0, SIZE, seed)
            stream.copy(there, 0, source, 0, SIZE)
            stream.copy(also_there, 0, there, 0, SIZE)
            stream.copy(back, 0, also_there, 0, SIZE)
            stream.synchronize()
            found += [there.verify_pattern(0, SIZE, seed), back.verify_pattern(0, SIZE, seed)]
        return found

    assert at_once(work) == [[RIGHT] * 2 * REPEATS] * THREADS


@pytest.mark.parametrize("kind", ["pageable", "pinned"])
def test_copies_of_parts_of_one_buffer_on_one_stream(device: _native.Device, kind: str) -> None:
    stream = _native.Stream(device)
    # Parts that share pages, so that a copy which does more than it should would show.
    part = 10_007
    sent, there, back = (device.allocate(which, THREADS * part) for which in (kind, "device", kind))

    def work(thread: int) -> list[bool]:
        found = []
        for repeat in range(REPEATS):
            sent.fill_pattern(thread * part, part, seed_of(thread, repeat))
            stream.copy(there, thread * part, sent, thread * part, part)
            stream.copy(back, thread * part, there, thread * part, part)
            stream.synchronize()
            found.append(back.read(thread * part, part) == sent.read(thread * part, part))
        return found

    assert at_once(work) == [[True] * REPEATS] * THREADS


@pytest.mark.parametrize("shared", [False, True])
def test_copies_by_kernels(device: _native.Device, shared: bool) -> None:
    if reason := device.why_not("mapped"):
        pytest.skip(reason)
    common = _native.Stream(device)

    def work(thread: int) -> list[tuple[int, int]]:
        found = []
        stream = common if shared else _native.Stream(device)
        mapped, back, there = (device.allocate(kind, SIZE) for kind in ("mapped", "mapped", "device"))
        for repeat in range(REPEATS):
            mapped.fill_pattern(0, SIZE, seed_of(thread, repeat))
            stream.copy_by_kernel(there, 0, mapped, 0, SIZE)
            stream.copy_by_kernel(back, 0, there, 0, SIZE)
            stream.synchronize()
            found.append(back.verify_pattern(0, SIZE, seed_of(thread, repeat)))
        return found

    assert at_once(work) == [[RIGHT] * REPEATS] * THREADS


def test_streams_and_events_come_and_go(device: _native.Device) -> None:
    common = _native.Stream(device)

    def work(_: int) -> bool:
        ascending = True
        for _repeat in range(REPEATS):
            own = _native.Stream(device)
            for stream in (own, common):
                start, stop = _native.Event(device), _native.Event(device)
                stream.record(start)
                stream.record(stop)
                stream.synchronize()
                ascending = ascending and start.seconds_until(stop) >= 0
        return ascending

    assert at_once(work) == [True] * THREADS


def test_gates_hold_back_their_own_streams_only(device: _native.Device) -> None:
    """Memory and streams are there before a gate closes and go after it has opened: freeing may wait for everything."""
    streams = [_native.Stream(device) for _ in range(THREADS)]
    sources, ends = ([device.allocate(kind, SIZE) for _ in streams] for kind in ("device", "pinned"))
    # The device code is loaded before many ask for it at once.
    streams[0].close_gate().open()
    streams[0].synchronize()

    def work(thread: int) -> list[tuple[int, int]]:
        found = []
        for repeat in range(REPEATS):
            seed = seed_of(thread, repeat)
            sources[thread].fill_pattern(0, SIZE, seed)
            ends[thread].set_bytes(0, SIZE, GUARD)
            gate = streams[thread].close_gate()
            streams[thread].copy(ends[thread], 0, sources[thread], 0, SIZE)
            held = ends[thread].read(0, SIZE) == bytes([GUARD]) * SIZE
            gate.open()
            streams[thread].synchronize()
            found.append(ends[thread].verify_pattern(0, SIZE, seed) if held else (-1, -1))
        return found

    assert at_once(work) == [[RIGHT] * REPEATS] * THREADS


def test_questions_are_answered_while_the_device_works(device: _native.Device) -> None:
    answers = {kind: (device.why_not(kind), device.kernels_reach(kind), device.copy_blocks(kind)) for kind in WAYS}
    info = device.info

    def work(thread: int) -> bool:
        same = True
        for repeat in range(REPEATS):
            if thread % 3 == 0:
                device.allocate("device", SIZE).fill_pattern(0, SIZE, seed_of(thread, repeat))
                continue
            same = same and 0 <= device.free_bytes() <= info["memory_bytes"]
            same = same and device.info == info and device.why_no_peer(device) is None
            same = same and (device.why_no_prefetch() is None or len(str(device.why_no_prefetch())) > 0)
            for kind, answer in answers.items():
                same = same and (device.why_not(kind), device.kernels_reach(kind), device.copy_blocks(kind)) == answer
        return same

    assert at_once(work) == [True] * THREADS


def test_managed_memory_that_moves(device: _native.Device) -> None:
    if reason := device.why_no_prefetch() or device.why_not("managed"):
        pytest.skip(reason)

    def work(thread: int) -> list[tuple[int, int]]:
        buffer = device.allocate("managed", SIZE)
        found = []
        for repeat in range(REPEATS):
            # Filled on one side and checked on the other, in turn.
            sides = ("host", "device") if repeat % 2 else ("device", "host")
            buffer.fill_pattern(0, SIZE, seed_of(thread, repeat), sides[0])
            found.append(buffer.verify_pattern(0, SIZE, seed_of(thread, repeat), sides[1]))
        return found

    assert at_once(work) == [[RIGHT] * REPEATS] * THREADS


def test_transfers_on_many_threads_by_many_threads(device: _native.Device) -> None:
    def work(thread: int) -> list[list[tuple[int, int]]]:
        ends = [device.allocate(kind, SIZE) for kind in ("pinned", "device", "device", "pageable")]
        ends[0].fill_pattern(0, SIZE, thread)
        ends[2].fill_pattern(0, SIZE, thread + 100)
        lanes: list[ThreadLane] = [
            ("h2d", ends[0], ends[1], thread, None),
            ("d2h", ends[2], ends[3], thread + 100, None),
        ]
        found = []
        for own_streams, chunk, spawn in ((True, 0, False), (False, 4096, False), (True, 0, True)):
            transfer = _native.create_concurrent(lanes, SIZE, 3, own_streams, chunk, spawn)
            transfer.poison()
            transfer.run(1, 2, 2, 0)
            found.append(transfer.verify())
        return found

    assert at_once(work, 4) == [[[RIGHT] * 2] * 3] * 4


def test_devices_are_listed_and_opened(spec: str, device: _native.Device) -> None:
    names = [found.spec for backend in probe() for found in backend.devices]

    def work(thread: int) -> tuple[bool, tuple[int, int]]:
        if thread % 2:
            return [found.spec for backend in probe() for found in backend.devices] == names, RIGHT
        opened = open_device(spec).native
        buffer = opened.allocate("device", SIZE)
        buffer.fill_pattern(0, SIZE, thread)
        return opened.info["name"] == device.info["name"], buffer.verify_pattern(0, SIZE, thread)

    assert at_once(work, 4) == [(True, RIGHT)] * 4


def test_everything_at_once(device: _native.Device) -> None:
    common = _native.Stream(device)

    def allocate(seed: int) -> tuple[int, int]:
        buffer = device.allocate("pinned", SIZE)
        buffer.fill_pattern(0, SIZE, seed)
        return buffer.verify_pattern(0, SIZE, seed)

    def copy(seed: int) -> tuple[int, int]:
        stream = common if seed % 2 else _native.Stream(device)
        source, there, back = (device.allocate(kind, SIZE) for kind in ("pageable", "device", "pinned"))
        source.fill_pattern(0, SIZE, seed)
        stream.copy(there, 0, source, 0, SIZE)
        stream.copy(back, 0, there, 0, SIZE)
        stream.synchronize()
        return back.verify_pattern(0, SIZE, seed)

    def kernel(seed: int) -> tuple[int, int]:
        stream = common if seed % 2 else _native.Stream(device)
        try:
            source = device.allocate("mapped", SIZE)
        except Unsupported:
            return copy(seed)
        there = device.allocate("device", SIZE)
        source.fill_pattern(0, SIZE, seed)
        stream.copy_by_kernel(there, 0, source, 0, SIZE)
        stream.synchronize()
        return there.verify_pattern(0, SIZE, seed)

    def many(seed: int) -> tuple[int, int]:
        source, there = (device.allocate(kind, SIZE) for kind in ("pinned", "device"))
        source.fill_pattern(0, SIZE, seed)
        transfer = _native.create_concurrent([("h2d", source, there, seed, None)], SIZE, 3, bool(seed % 2), 0, False)
        transfer.run(0, 1, 1, 0)
        [found] = transfer.verify()
        return found

    def event(seed: int) -> tuple[int, int]:
        start, stop = _native.Event(device), _native.Event(device)
        for moment in (start, stop):
            common.record(moment)
        common.synchronize()
        return RIGHT if start.seconds_until(stop) >= 0 and device.free_bytes() > 0 else (seed, 0)

    kinds_of_work = [allocate, copy, kernel, many, event]

    def work(thread: int) -> list[tuple[int, int]]:
        return [
            kinds_of_work[(thread + repeat) % len(kinds_of_work)](seed_of(thread, repeat)) for repeat in range(REPEATS)
        ]

    assert at_once(work) == [[RIGHT] * REPEATS] * THREADS
