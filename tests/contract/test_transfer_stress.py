"""The transfer library under many threads: every byte of every copy, and all that lies around it, is what it should be.

Each thread keeps what both its arenas should hold, copies parts of them in any way there is, and compares. What is
drawn follows from a seed alone, which a failure names. ISTHMUS_STRESS=20 makes twenty times as many copies.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import isthmus
from isthmus import _native
from isthmus.record import KIB, MIB

Bytes = npt.NDArray[np.uint8]

FACTOR = int(os.environ.get("ISTHMUS_STRESS", "1"))
SEED = 7
THREADS = 32
COPIES = 20 * FACTOR
# Most arenas are small, so that all of them fit into the memory of any machine; some hold the largest copies.
SMALL, LARGE, LARGE_EVERY = 384 * KIB, 8 * MIB, 8
GUARD = 4 * KIB
# Where something changes: nothing, less than a word, around a page, around a packing thread's part, beyond a chunk.
EDGES = (0, 1, 3, 63, 4095, 4096, 4097, 64 * KIB - 1, 64 * KIB + 1)
STREAMS, CHAINS, ROUND_TRIPS = 5, 12, 4 * FACTOR
# Each way, on one stream: some 700 commands, and its queue holds about a thousand.
HELD = 4
# Threads with a stream each: fewer than the hardware has queues (conftest), lest they share that of a held one.
BESIDE = 12
SECONDS = 120.0


class Arena:
    """Memory of both sides, and what each should hold."""

    def __init__(self, session: isthmus.Session, size: int, draw: random.Random) -> None:
        self.session, self.size, self.draw = session, size, draw
        bits = np.random.default_rng(draw.randrange(2**32))
        self.host: Bytes = bits.integers(0, 256, size + 2 * GUARD, np.uint8)
        self.expected_host = self.host.copy()
        self.device = session.empty(self.host.size, np.uint8)
        self.expected_device: Bytes = bits.integers(0, 256, self.host.size, np.uint8)
        session.copy(self.device, self.expected_device)

    def copy_something(self) -> None:
        """One copy, or one batch of them, one way; then compare."""
        kind = self.draw.choice((self._contiguous, self._contiguous, self._strided, self._batch))
        kind(to_device=self.draw.random() < 0.5)
        assert np.array_equal(self.host, self.expected_host), "the host's side"

    def compare_device(self) -> None:
        """All of the device's side, by way of other memory."""
        assert np.array_equal(self.session.to_host(self.device), self.expected_device), "the device's side"

    def _size(self, most: int) -> int:
        if self.draw.random() < 0.3:
            return min(self.draw.choice(EDGES), most)
        return int(most ** self.draw.random())

    def _place(self, size: int) -> int:
        return GUARD + self.draw.randrange(self.size - size + 1)

    def _contiguous(self, to_device: bool) -> None:
        size = self._size(self.size)
        on_host, on_device = (slice(begin, begin + size) for begin in (self._place(size), self._place(size)))
        self._copy(to_device, lambda memory, side: memory[on_host if side == "host" else on_device])

    def _strided(self, to_device: bool) -> None:
        rows, width = self.draw.randint(1, 300), self.draw.randint(1, 300)
        pitches = [width + self.draw.choice((0, 1, 8, 40)) for _ in range(2)]
        begins = [self._place(rows * max(pitches)) for _ in range(2)]

        def view(memory: Any, side: str) -> Any:
            pitch, begin = (each[side == "device"] for each in (pitches, begins))
            if isinstance(memory, isthmus.DeviceArray):
                return isthmus.DeviceArray(memory, begin, [rows, width], [pitch, 1])
            return np.lib.stride_tricks.as_strided(memory[begin:], (rows, width), (pitch, 1))

        self._copy(to_device, view)

    def _batch(self, to_device: bool) -> None:
        pieces = self.draw.randint(0, 60)
        slot = self.size // max(2 * pieces, 1)
        most = min(slot, 16 * KIB)
        one = self.draw.randint(0, most)
        sizes = [one if self.draw.random() < 0.7 else self.draw.randint(0, most) for _ in range(pieces)]
        places = [[GUARD + slot * at for at in self.draw.sample(range(2 * pieces), pieces)] for _ in range(2)]

        def views(memory: Any, side: str) -> list[Any]:
            return [memory[at : at + size] for at, size in zip(places[side == "device"], sizes, strict=True)]

        expected = [self.expected_device, self.expected_host]
        to, start = expected if to_device else reversed(expected)
        sides = ("device", "host") if to_device else ("host", "device")
        for destination, source in zip(views(to, sides[0]), views(start, sides[1]), strict=True):
            destination[:] = source
        actual = [views(self.device, "device"), views(self.host, "host")]
        self._run(self.session.copy_batch, self.session.copy_batch_async, *(actual if to_device else reversed(actual)))

    def _copy(self, to_device: bool, view: Callable[[Any, str], Any]) -> None:
        expected = [view(self.expected_device, "device"), view(self.expected_host, "host")]
        actual = [view(self.device, "device"), view(self.host, "host")]
        to, start = expected if to_device else reversed(expected)
        to[...] = start
        self._run(self.session.copy, self.session.copy_async, *(actual if to_device else reversed(actual)))

    def _run(self, copy: Callable[..., None], copy_async: Callable[..., isthmus.Future], *operands: Any) -> None:
        """At once or later, with a look at whether it has ended in between; others copy meanwhile either way."""
        if self.draw.random() < 0.5:
            copy(*operands)
            return
        future = copy_async(*operands)
        if self.draw.random() < 0.5:
            future.done()
        future.wait(timeout=SECONDS)
        assert future.done()


def _table(folder: Path, name: str, chunk: int, stores: str, pieces: str) -> Path:
    """One by which all that threads can pack goes through the ring, also where the built-in one knows better."""
    ring = f"method=staged threads=3 chunk={chunk} stores={stores} seconds=1e-6"
    buffers = [
        f"buffer direction={way} {rule}"
        for way in ("h2d", "d2h")
        for rule in ("from=0 method=driver seconds=1e-6", f"from=8192 {ring}")
    ]
    shapes = ("apart=both layout=scattered", "apart=both layout=regular", "apart=host layout=regular")
    rules = [
        f"pieces direction={way} memory=pageable {shape} width=256 count=64 method={pieces} threads=3 seconds=1e-6"
        for way in ("h2d", "d2h")
        for shape in shapes
    ]
    lines = ["isthmus transfer table 1", f"origin {name}", *buffers, *rules, "end"]
    path = folder / f"{name}.txt"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


@pytest.fixture
def sessions(spec: str, tmp_path: Path) -> Iterator[list[isthmus.Session]]:
    """Several of one device: as it comes, and two whose ring is used by nearly all copies, one of them a small ring."""
    tables = [
        None,
        _table(tmp_path, "large", 256 * KIB, "streaming", "pack_threads"),
        _table(tmp_path, "small", 16 * KIB, "ordinary", "pack_kernel"),
    ]
    budgets = (64 * MIB, 32 * MIB, 4 * MIB)
    opened = [isthmus.Session(spec, budget, table=table) for budget, table in zip(budgets, tables, strict=True)]
    yield opened
    # Otherwise nothing of the ring has been tested.
    assert [session.pinned_bytes > 0 for session in opened[1:]] == [True, True]
    for session in opened:
        assert session.pinned_bytes <= session.pinned_budget_bytes
        session.close()


@pytest.mark.thorough
def test_many_threads_copy_anything_any_way(sessions: list[isthmus.Session]) -> None:
    def work(thread: int) -> str:
        draw = random.Random(SEED * THREADS + thread)
        size = LARGE if thread % LARGE_EVERY == 0 else SMALL
        arena = Arena(sessions[thread % len(sessions)], size, draw)
        for copy in range(COPIES):
            try:
                arena.copy_something()
                if copy % 4 == 3:
                    arena.compare_device()
            except AssertionError as error:
                return f"seed {SEED}, thread {thread}, copy {copy}: {error}"
        return ""

    with ThreadPoolExecutor(THREADS) as pool:
        assert not [wrong for wrong in pool.map(work, range(THREADS)) if wrong]


@pytest.fixture
def session(device: _native.Device, tmp_path: Path) -> Iterator[isthmus.Session]:
    """One of a device whose streams a test has; skips where streams cannot be made to wait."""
    if reason := device.why_no_latch():
        pytest.skip(reason)
    table = _table(tmp_path, "ring", 64 * KIB, "streaming", "pack_threads")
    with isthmus.Session(device, pinned_budget=8 * MIB, table=table) as opened:
        yield opened


def test_chains_of_copies_whose_streams_wait_for_each_other(device: _native.Device, session: isthmus.Session) -> None:
    """Each copy takes what the one before it brought, from another stream, and nobody waits but the streams."""
    draw, bits = random.Random(SEED), np.random.default_rng(SEED)
    streams = [_native.Stream(device) for _ in range(STREAMS)]
    hosts: list[list[Bytes]] = []
    for _ in range(CHAINS):
        size = draw.choice((1, 4097, 300 * KIB, 3 * MIB))
        first = bits.integers(0, 256, size, np.uint8)
        hosts.append([first, *(np.zeros(size, np.uint8) for _ in range(ROUND_TRIPS))])
    devices = [[session.empty(chain[0].size, np.uint8) for _ in range(ROUND_TRIPS)] for chain in hosts]
    last: list[isthmus.Future | None] = [None] * CHAINS
    for trip in range(ROUND_TRIPS):
        for to_device in (True, False):
            # In another order each time, so that streams get what waits for one another from any side.
            for chain in draw.sample(range(CHAINS), CHAINS):
                stream, before = draw.choice(streams).handle, last[chain]
                if before is not None:
                    before.wait_on(stream)
                there = devices[chain][trip]
                operands = (there, hosts[chain][trip]) if to_device else (hosts[chain][trip + 1], there)
                last[chain] = session.copy_async(*operands, stream=stream)
    for future in last:
        assert future is not None
        future.wait(timeout=SECONDS)
    for chain, arrays in enumerate(hosts):
        for trip, array in enumerate(arrays):
            assert np.array_equal(array, arrays[0]), f"seed {SEED}, chain {chain}, trip {trip}"


def test_copies_on_a_held_stream_let_those_of_many_threads_through(
    device: _native.Device, session: isthmus.Session
) -> None:
    """They have most of the ring; they end when what their stream waits for is given."""
    bits = np.random.default_rng(SEED)
    sent = [bits.integers(0, 256, MIB + number, np.uint8) for number in range(HELD)]
    there = [session.empty(each.size, np.uint8) for each in sent]
    back = [np.zeros_like(each) for each in sent]
    stream = _native.Stream(device)
    # Got before anything is held, and kept until nothing is: giving memory back may wait for all streams of a device.
    # So is what the session needs for such copies.
    mine = [bits.integers(0, 256, 200 * KIB + thread, np.uint8) for thread in range(BESIDE)]
    beside = [(session.empty(each.size, np.uint8), np.zeros_like(each), _native.Stream(device)) for each in mine]

    def work(thread: int) -> bool:
        memory, arrived, stream = beside[thread]
        for _ in range(FACTOR):
            arrived[:] = 0
            session.copy(memory, mine[thread], stream=stream.handle)
            session.copy_async(arrived, memory, stream=stream.handle).wait(timeout=SECONDS)
        return np.array_equal(arrived, mine[thread])

    session.copy_async(beside[0][0], mine[0]).wait(timeout=SECONDS)
    assert work(0)
    with ThreadPoolExecutor(BESIDE) as pool:
        latch = stream.close_latch()
        held = [session.copy_async(to, from_, stream=stream.handle) for to, from_ in zip(there, sent, strict=True)]
        held += [session.copy_async(to, from_, stream=stream.handle) for to, from_ in zip(back, there, strict=True)]
        assert all(pool.map(work, range(BESIDE)))
    assert not any(future.done() for future in held)
    latch.open()
    for future in held:
        future.wait(timeout=SECONDS)
    assert all(np.array_equal(one, other) for one, other in zip(back, sent, strict=True))
