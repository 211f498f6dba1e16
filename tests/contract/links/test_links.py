"""Copies that are divided over the links of several devices: all bytes arrive, in the order of the caller's stream."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import isthmus
from isthmus import _native
from isthmus.machine.devices import neighbours, open_device

Array = npt.NDArray[Any]
MIB = 1 << 20
GUARD = 0xA5
LONG = 60.0
# From where on copies are divided, whole chunks and not, and more than fit a relay.
SIZES = [8 * MIB, 8 * MIB + 1, 20 * MIB + 3, 48 * MIB + 4097]


@pytest.fixture(scope="module")
def other(spec: str) -> str:
    """The name of another device whose memory this one's kernels reach."""
    own = open_device(spec)
    for each in neighbours(own.description):
        if each.index != own.description.index and own.native.why_no_peer(open_device(each.spec).native) is None:
            return each.spec
    pytest.skip("no other device of this backend to go by")


@pytest.fixture(scope="module")
def divided(spec: str, other: str) -> Iterator[isthmus.Session]:
    with isthmus.Session(spec, paths="all") as session:
        made = isthmus.pinned_empty(SIZES[-1], np.uint8, session=session)
        if not session.explain(session.empty(SIZES[-1], np.uint8), made).ways:
            pytest.skip("the devices do not reach each other's memory")
        yield session


def drawn(size: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8)


def host_memory(session: isthmus.Session, size: int, kind: str) -> Array:
    """Memory with a guard around what is copied."""
    whole = isthmus.pinned_empty(size + 2, np.uint8, session=session) if kind == "pinned" else np.empty(size + 2, "u1")
    whole[:] = GUARD
    return whole


@pytest.mark.parametrize("asynchronous", [False, True], ids=["waits", "async"])
@pytest.mark.parametrize("kind", ["pinned", "pageable"])
@pytest.mark.parametrize("size", SIZES)
def test_all_arrives_and_nothing_else_is_written(
    divided: isthmus.Session, size: int, kind: str, asynchronous: bool
) -> None:
    data = drawn(size)
    source, back = (host_memory(divided, size, kind) for _ in range(2))
    source[1:-1] = data
    there = divided.to_device(np.full(size + 2, GUARD, "u1"))

    def copy(to: object, given: object) -> None:
        if asynchronous:
            isthmus.copy_async(to, given, session=divided).wait()
        else:
            isthmus.copy(to, given, session=divided)

    for _ in range(2):
        copy(there[1:-1], source[1:-1])
        whole = there.to_host()
        assert (whole[1:-1] == data).all()
        assert whole[0] == whole[-1] == GUARD
        back[:] = GUARD
        copy(back[1:-1], there[1:-1])
        assert (back[1:-1] == data).all()
        assert back[0] == back[-1] == GUARD


def test_long_pieces_of_pageable_memory_are_divided_together(divided: isthmus.Session) -> None:
    width, gap = 12 * MIB + 4099, 5
    data = drawn(4 * width).reshape(4, width)
    there = divided.to_device(np.full(5 * (width + gap), GUARD, "u1"))
    rows = [isthmus.DeviceArray(there, place * (width + gap), [width], [1]) for place in (4, 0, 3, 2)]
    back = np.zeros_like(data)
    told = divided.explain_batch(rows, list(data))
    counted = 2 * data.nbytes if told.method == "pack_threads" else 0
    assert (len(told.ways) > 1) == (counted > 0)
    for _ in range(2):
        before = sum(divided.ways.values())
        divided.copy_batch(rows, list(data))
        divided.copy_batch(list(back), rows)
        assert (back == data).all()
        assert sum(divided.ways.values()) == before + counted
    gaps = there.to_host().reshape(5, width + gap)
    assert (gaps[:, width:] == GUARD).all()
    assert (gaps[1] == GUARD).all()


@pytest.mark.parametrize("asynchronous", [False, True], ids=["waits", "async"])
@pytest.mark.parametrize("kind", ["pinned", "pageable"])
def test_bytes_are_counted_for_the_link_that_took_them(
    spec: str, other: str, divided: isthmus.Session, kind: str, asynchronous: bool
) -> None:
    size = 48 * MIB + 4097
    with isthmus.Session(spec, paths=[other]) as session:
        there, host = session.empty(size, "u1"), host_memory(divided, size, kind)[1:-1]
        assert sum(session.ways.values()) == 0
        for turn in range(1, 4):
            for pair in ((there, host), (host, there)):
                isthmus.copy_async(*pair, session=session).wait() if asynchronous else session.copy(*pair)
            # What is staged is divided where the copy is waited for.
            if kind == "pinned" or (not asynchronous and "staged" in session.explain(there, host).method):
                assert sum(session.ways.values()) == 2 * turn * size
                assert list(session.ways) == [spec, other]
        session.copy(there[:MIB], host[:MIB])
        taken = session.ways
        if kind == "pinned":
            assert all(each > 0 for each in taken.values())
        session.trim()
        assert session.ways == taken
    with isthmus.Session(spec) as session:
        session.copy(there, host)
        assert session.ways == {}


@pytest.mark.parametrize("named", ["all", "list"])
def test_explain_says_whose_links_and_why_not(spec: str, other: str, divided: isthmus.Session, named: str) -> None:
    with isthmus.Session(spec, paths="all" if named == "all" else [other]) as session:
        there, large = session.empty(64 * MIB, "u1"), isthmus.pinned_empty(64 * MIB, "u1", session=session)
        told = session.explain(there, large)
        assert next(iter(told.ways)) == spec
        assert other in told.ways
        assert sum(told.ways.values()) == pytest.approx(1)
        assert other in str(told)
        small = session.explain(there[:MIB], large[:MIB])
        assert not small.ways
    with isthmus.Session(spec) as session:
        assert not session.explain(there, large).ways


def test_copies_follow_one_another_in_a_stream(divided: isthmus.Session, spec: str) -> None:
    """Nobody waits in between, and each changes what the one before it has brought."""
    size = 24 * MIB
    stream = _native.Stream(open_device(spec).native)
    sources = [isthmus.pinned_empty(size, "u1", session=divided) for _ in range(3)]
    results = [isthmus.pinned_empty(size, "u1", session=divided) for _ in range(3)]
    for seed, source in enumerate(sources):
        source[:] = drawn(size, seed)
    there = divided.empty(size, "u1")
    latch = stream.close_latch()
    futures = []
    for source, result in zip(sources, results, strict=True):
        result[:] = GUARD
        futures.append(isthmus.copy_async(there, source, stream=stream.handle, session=divided))
        futures.append(isthmus.copy_async(result, there, stream=stream.handle, session=divided))
    assert not any(future.done() for future in futures)
    assert all((result == GUARD).all() for result in results)
    latch.open()
    for future in futures:
        future.result(LONG)
    for source, result in zip(sources, results, strict=True):
        assert (result == source).all()


def test_a_waiting_copy_goes_on_while_a_queued_one_is_held(divided: isthmus.Session, spec: str) -> None:
    size = 24 * MIB
    stream, free = (_native.Stream(open_device(spec).native) for _ in range(2))
    source, result = (isthmus.pinned_empty(size, "u1", session=divided) for _ in range(2))
    source[:] = drawn(size)
    held, there = divided.empty(size, "u1"), divided.empty(size, "u1")
    latch = stream.close_latch()
    future = isthmus.copy_async(held, source, stream=stream.handle, session=divided)
    isthmus.copy(there, source, stream=free.handle, session=divided)
    isthmus.copy(result, there, stream=free.handle, session=divided)
    assert (result == source).all()
    assert not future.done()
    latch.open()
    future.result(LONG)
    assert (held.to_host() == source).all()


def test_threads_and_directions_at_once(divided: isthmus.Session) -> None:
    size = 16 * MIB + 5
    start = threading.Barrier(4)

    def work(seed: int) -> bool:
        kind = "pinned" if seed % 2 else "pageable"
        source, back = (host_memory(divided, size, kind) for _ in range(2))
        source[:] = drawn(size + 2, seed)
        there = divided.empty(size + 2, "u1")
        start.wait()
        for _ in range(4):
            isthmus.copy(there, source, session=divided)
            isthmus.copy(back, there, session=divided)
            if not (back == source).all():
                return False
            back[:] = GUARD
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))


def test_a_file(divided: isthmus.Session, tmp_path: Path) -> None:
    data = drawn(40 * MIB + 7)
    path = tmp_path / "data"
    path.write_bytes(data.tobytes())
    there = divided.empty(data.size, "u1")
    isthmus.copy_from_file(there, path, session=divided)
    assert (there.to_host() == data).all()


def test_trim_and_close_give_back_what_neighbours_lent(spec: str, divided: isthmus.Session, other: str) -> None:
    lender = open_device(other).native
    source, there = isthmus.pinned_empty(32 * MIB, "u1", session=divided), divided.empty(32 * MIB, "u1")
    divided.trim()
    before = lender.free_bytes()
    with isthmus.Session(spec, paths=[other]) as session:
        isthmus.copy(there, source, session=session)
        lent = before - lender.free_bytes()
        # Other processes may use the device, too: what is kept is told by its size.
        assert lent >= MIB
        session.trim()
        assert before - lender.free_bytes() < lent // 2
        isthmus.copy(there, source, session=session)
        assert (session.to_host(there) == source).all()
    assert before - lender.free_bytes() < lent // 2
