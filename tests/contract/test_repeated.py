"""Sources that repeat their elements (strides of 0), which threads write out: right in every pattern, order and way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from ctypes import byref, c_void_p, memmove
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import isthmus
from isthmus import _native
from isthmus.errors import UsageError

Array = npt.NDArray[Any]
LINE = np.arange(1, 8, dtype=np.int16)
PLANE = np.arange(1, 1001, dtype=np.float64).reshape(50, 20)[::2, ::-3]

# Longer than a part that threads take, and the first than the ring of a session below.
PATTERNS: dict[str, Array] = {
    "one element": np.broadcast_to(np.complex128(3 - 4j), (300_001,)),
    "rows": np.broadcast_to(LINE, (30_001, 7)),
    "columns": np.broadcast_to(LINE[:, None], (7, 30_001)),
    "pairs": np.broadcast_to(np.arange(70_001, dtype=np.uint8)[::-1, None], (70_001, 2)),
    "channels": np.broadcast_to(LINE[None, ::-1, None, None], (3, 7, 51, 97)),
    "planes": np.broadcast_to(PLANE[:, None, :], (25, 80, 7)).transpose(1, 0, 2),
    "within and without": np.broadcast_to(PLANE[None, :, None, :, None], (2, 25, 3, 7, 11)),
    "three bytes": np.broadcast_to(np.array([b"abc", b"xyz"]), (15_000, 2)),
    "a short one": np.broadcast_to(np.float32(2), (1 << 14,)),
}


@pytest.fixture(scope="module", params=["4MiB", pytest.param("0", marks=pytest.mark.thorough)], ids=["ring", "no ring"])
def session(device: _native.Device, request: pytest.FixtureRequest) -> Iterator[isthmus.Session]:
    with isthmus.Session(device, pinned_budget=request.param) as opened:
        yield opened


def poisoned(session: isthmus.Session, source: Array, order: str = "C") -> isthmus.DeviceArray:
    device = session.empty(source.shape, source.dtype, order=order)
    flat = (device.T if order == "F" else device).reshape(-1).view(np.uint8)
    session.copy(flat, np.full(flat.shape, 0xA5, np.uint8))
    return device


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_what_is_repeated_arrives_as_if_it_were_not(session: isthmus.Session, name: str, order: str) -> None:
    source = PATTERNS[name]
    expected = np.ascontiguousarray(source).tobytes()
    device = poisoned(session, source, order)
    session.copy(device, source)
    assert device.to_host(order="C").tobytes() == expected
    if session.pinned_budget_bytes:
        device = poisoned(session, source, order)
        session.copy_async(device, source).wait()
        assert device.to_host(order="C").tobytes() == expected
    on_host = np.zeros(source.shape, source.dtype, order=order)  # type: ignore[call-overload]
    session.copy(on_host, source)
    assert on_host.tobytes() == expected


@pytest.mark.parametrize("asynchronous", [False, True], ids=["waits", "async"])
def test_it_is_read_after_what_the_stream_holds(device: _native.Device, asynchronous: bool) -> None:
    """A copy that was given to the stream before writes the element that is repeated."""
    if reason := device.why_no_latch():
        pytest.skip(reason)
    with isthmus.Session(device) as session:
        stream = _native.Stream(device)
        element, repeated = np.zeros(1, np.int32), session.empty(1 << 18, np.int32)
        latch = stream.close_latch()
        before = session.copy_async(element, session.to_device(np.full(1, 7, np.int32)), stream=stream.handle)
        source = np.broadcast_to(element, repeated.shape)
        if asynchronous:
            after = session.copy_async(repeated, source, stream=stream.handle)
            latch.open()
            after.wait()
        else:
            opening = threading.Timer(0.05, latch.open)
            opening.start()
            session.copy(repeated, source, stream=stream.handle)
            opening.join()
        before.wait()
        assert (repeated.to_host() == 7).all()


def test_an_explanation_says_that_elements_are_written_out(device: _native.Device) -> None:
    with isthmus.Session(device, pinned_budget="4MiB") as session:
        source = PATTERNS["rows"]
        explained = session.explain(session.empty(source.shape, source.dtype), source)
        assert (explained.method, explained.bytes) == ("pack_threads", source.size * source.itemsize)
        assert "repeats its elements" in explained.why
        # What is long, or short in all, is moved as it is.
        for other in (np.broadcast_to(np.zeros(1 << 20, "u1"), (8, 1 << 20)), np.broadcast_to(np.float32(1), (1024,))):
            assert "repeats" not in session.explain(session.empty(other.shape, other.dtype), other).why


def test_destinations_that_repeat_and_memory_that_overlaps_are_refused(session: isthmus.Session) -> None:
    data = np.zeros(1 << 17, np.int32)
    with pytest.raises(UsageError, match="overlap one another"):
        session.copy(np.lib.stride_tricks.as_strided(data, data.shape, (0,)), session.to_device(data))
    with pytest.raises(UsageError, match="source and destination overlap"):
        session.copy(data, np.broadcast_to(data[5:6], data.shape))
    # Between what is written lies what is read: they do not overlap.
    session.copy(data[1::2], np.broadcast_to(data[4:5], (1 << 16,)))


@pytest.mark.parametrize("asynchronous", [False, True], ids=["waits", "async"])
@pytest.mark.parametrize("locked", [False, True], ids=["pageable", "page-locked"])
def test_from_c(
    c: Any, library: Any, opened: Callable[..., c_void_p], spec: str, locked: bool, asynchronous: bool
) -> None:
    session = opened(spec)
    shape = (40_000, 7)
    block, back = c.guarded(LINE.nbytes * shape[0])
    memory = library.allocate(session, LINE.nbytes, c.HOST) if locked else c_void_p(LINE.ctypes.data)
    memmove(memory, LINE.ctypes.data, LINE.nbytes)
    device = library.allocate(session, LINE.nbytes * shape[0])
    to, from_ = c.array(device, shape, 2, side=c.DEVICE), c.array(memory, shape, 2, (0, 2), side=c.HOST)
    if asynchronous:
        transfer = c_void_p()
        library.must("copy_array_async", session, byref(to), byref(from_), None, byref(transfer))
        library.must("finish", transfer)
    else:
        library.must("copy_array", session, byref(to), byref(from_), None)
    library.must("copy", session, back, device, LINE.nbytes * shape[0], c.D2H, None)
    assert block.raw == b"\xa5" * c.GUARD + LINE.tobytes() * shape[0] + b"\xa5" * c.GUARD
