"""Page-locked memory for callers, on every device: new arrays, arrays in place, and blocks of the C interface."""

from __future__ import annotations

import contextlib
import gc
import mmap
import threading
from collections.abc import Callable, Iterator
from ctypes import byref, c_void_p, memset, string_at
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import isthmus
from isthmus import _native
from isthmus.errors import CallFailed, IsthmusError, OutOfMemory, Unsupported, UsageError
from isthmus.machine.devices import open_device

KIB, MIB = 1 << 10, 1 << 20
Bytes = npt.NDArray[np.uint8]


@pytest.fixture
def session(device: _native.Device) -> Iterator[isthmus.Session]:
    with isthmus.Session(device) as opened:
        yield opened


@pytest.fixture
def locks(session: isthmus.Session) -> isthmus.Session:
    """One whose device page-locks memory that is there already."""
    if session.device.startswith("opencl"):
        pytest.skip("OpenCL page-locks no memory that is there already")
    return session


def kind_at(device: _native.Device, array: Bytes, byte: int) -> str:
    previous = device.enter()
    try:
        return device.identify(array.__array_interface__["data"][0] + byte)[0]
    finally:
        device.leave(previous)


class TestNewArrays:
    @pytest.mark.parametrize("size", [1, 64, 4096, 5000, MIB, MIB + 1, 3 * MIB + 5, 129 * MIB // 8])
    def test_is_page_locked_from_its_first_byte_to_its_last(
        self, device: _native.Device, session: isthmus.Session, size: int
    ) -> None:
        array = isthmus.pinned_empty(size, np.uint8, session=session)
        assert array.nbytes == size
        assert array.flags.writeable
        assert array.flags.c_contiguous
        array[:] = np.arange(size, dtype=np.uint64).astype(np.uint8)
        assert (session.to_host(session.to_device(array)) == array).all()
        if not session.device.startswith("opencl"):
            assert kind_at(device, array, 0) == kind_at(device, array, size - 1) == "pinned"

    def test_takes_no_more_than_its_pages(self, session: isthmus.Session) -> None:
        size = 5 * MIB + 4097
        array = isthmus.pinned_empty(size, np.uint8, session=session)
        assert session.pinned_pool_bytes == 5 * MIB + 8192
        assert session.pinned_bytes == 0
        del array

    @pytest.mark.parametrize("shape", [(), 0, 3, (2, 0), (2, 3, 4), [5, 6], np.int64(7)], ids=repr)
    def test_has_the_shape_and_type_that_were_asked_for(self, session: isthmus.Session, shape: Any) -> None:
        for dtype in (np.float16, "complex64", np.dtype([("x", "<i4"), ("y", "<f8")])):
            array = isthmus.pinned_empty(shape, dtype, session=session)
            expected = np.empty(shape, dtype)
            assert (array.shape, array.dtype) == (expected.shape, expected.dtype)
            assert array.flags.c_contiguous
            alike = isthmus.pinned_like(expected[..., None], session=session)
            assert (alike.shape, alike.dtype) == ((*expected.shape, 1), expected.dtype)

    def test_blocks_in_use_never_overlap(self, session: isthmus.Session) -> None:
        drawn = np.random.default_rng(3)
        live: dict[int, tuple[Bytes, int]] = {}
        for step in range(3000):
            if live and drawn.random() < 0.45:
                array, value = live.pop(list(live)[drawn.integers(len(live))])
                assert (array == value).all()
            else:
                size = int(2 ** drawn.uniform(0, 17 if drawn.random() < 0.98 else 22))
                array = isthmus.pinned_empty(size, np.uint8, session=session)
                array[:] = step % 251
                live[step] = array, step % 251
        assert all((array == value).all() for array, value in live.values())

    def test_views_keep_the_memory(self, session: isthmus.Session) -> None:
        view = isthmus.pinned_empty((4, 2 * MIB), np.uint8, session=session)[2, 5:]
        view[:] = 7
        gc.collect()
        others = [isthmus.pinned_empty((4, 2 * MIB), np.uint8, session=session) for _ in range(2)]
        for other in others:
            other[:] = 9
        assert (view == 7).all()

    def test_a_copy_under_way_keeps_the_memory(self, session: isthmus.Session) -> None:
        there = session.empty(8 * MIB, np.uint8)
        array = isthmus.pinned_empty(8 * MIB, np.uint8, session=session)
        array[:] = 5
        future = session.copy_async(there, array)
        del array
        other = isthmus.pinned_empty(8 * MIB, np.uint8, session=session)
        other[:] = 6
        future.wait()
        assert (session.to_host(there) == 5).all()

    def test_threads_race(self, session: isthmus.Session) -> None:
        wrong: list[int] = []

        def work(number: int) -> None:
            drawn = np.random.default_rng(number)
            for _ in range(200):
                sizes = [int(2 ** drawn.uniform(0, 21)) for _ in range(3)]
                arrays = [isthmus.pinned_empty(size, np.uint8, session=session) for size in sizes]
                for array in arrays:
                    array[:: max(array.size // 64, 1)] = number
                if any((array[:: max(array.size // 64, 1)] != number).any() for array in arrays):
                    wrong.append(number)
                if number == 0:
                    session.trim()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        session.trim()
        assert session.pinned_pool_bytes == 0

    def test_freed_blocks_are_used_again(self, session: isthmus.Session) -> None:
        for size in (100, 4096, 3 * MIB + 1):
            first = isthmus.pinned_empty(size, np.uint8, session=session)
            address, held = first.__array_interface__["data"][0], session.pinned_pool_bytes
            del first
            assert session.pinned_pool_bytes == held
            again = isthmus.pinned_empty(size, np.uint8, session=session)
            assert again.__array_interface__["data"][0] == address

    def test_a_kept_block_serves_no_much_smaller_one(self, session: isthmus.Session) -> None:
        isthmus.pinned_empty(16 * MIB, np.uint8, session=session)
        array = isthmus.pinned_empty(2 * MIB, np.uint8, session=session)
        assert session.pinned_pool_bytes == 18 * MIB
        del array

    def test_trim_gives_back_what_no_array_has(self, session: isthmus.Session) -> None:
        kept = isthmus.pinned_empty(3 * MIB, np.uint8, session=session)
        small = isthmus.pinned_empty(10, np.uint8, session=session)
        small[:] = kept[:] = 3
        isthmus.pinned_empty(64 * MIB, np.uint8, session=session)
        session.trim()
        assert session.pinned_pool_bytes == 3 * MIB + 2 * MIB
        assert (kept == 3).all()
        assert (small == 3).all()
        del kept, small
        session.trim()
        assert session.pinned_pool_bytes == 0

    def test_arrays_outlive_their_session(self, device: _native.Device) -> None:
        session = isthmus.Session(device)
        large, small = (isthmus.pinned_empty(size, np.uint8, session=session) for size in (2 * MIB, 100))
        session.close()
        large[:] = small[:] = 4
        assert session.pinned_pool_bytes == 4 * MIB
        del large
        assert session.pinned_pool_bytes == 2 * MIB
        del small
        assert session.pinned_pool_bytes == 0
        with pytest.raises(UsageError, match="the session was closed"):
            isthmus.pinned_empty(1, session=session)

    def test_what_makes_no_sense_is_refused(self, session: isthmus.Session) -> None:
        for shape, dtype in ((-1, "u1"), ((2, -1), "u1"), ("3", "u1"), (1.5, "u1"), (3, object), (1 << 62, "f8")):
            with pytest.raises(IsthmusError):
                isthmus.pinned_empty(shape, dtype, session=session)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="both a device and a session"):
            isthmus.pinned_empty(3, device="host", session=session)
        with pytest.raises(OutOfMemory, match="page-locked memory"):
            isthmus.pinned_empty(1 << 50, np.uint8, session=session)
        assert session.pinned_pool_bytes == 0


class TestInPlace:
    def test_is_page_locked_for_as_long_as_it_is_asked_for(
        self, device: _native.Device, locks: isthmus.Session
    ) -> None:
        array = np.arange(3 * MIB, dtype=np.uint64).astype(np.uint8)
        before = array.copy()
        with isthmus.pin(array, session=locks) as given:
            assert given is array
            assert kind_at(device, array, 0) == kind_at(device, array, array.size - 1) == "pinned"
            assert (array == before).all()
            assert (locks.to_host(locks.to_device(array)) == before).all()
        assert kind_at(device, array, 0) == "pageable"
        assert (array == before).all()

    def test_close_may_be_called_again_and_going_closes(self, device: _native.Device, locks: isthmus.Session) -> None:
        array = np.zeros(MIB, np.uint8)
        pinned = isthmus.pin(array, session=locks)
        assert pinned.array is array
        pinned.close()
        pinned.close()
        assert pinned.closed
        assert kind_at(device, array, 0) == "pageable"
        again = isthmus.pin(array, session=locks)
        del pinned, again
        assert kind_at(device, array, 0) == "pageable"

    def test_what_is_pinned_already_is_shared(self, device: _native.Device, locks: isthmus.Session) -> None:
        array = np.zeros(2 * MIB, np.uint8)
        outer = isthmus.pin(array, session=locks)
        inner = isthmus.pin(array[4096:8192], session=locks)
        outer.close()
        assert kind_at(device, array, 5000) == "pinned"
        inner.close()
        assert kind_at(device, array, 5000) == "pageable"

    def test_what_the_pool_gave_stays_its_own(self, device: _native.Device, locks: isthmus.Session) -> None:
        array = isthmus.pinned_empty(2 * MIB, np.uint8, session=locks)
        isthmus.pin(array, session=locks).close()
        assert kind_at(device, array, 0) == "pinned"

    def test_a_part_that_is_pinned_is_refused(self, device: _native.Device, locks: isthmus.Session) -> None:
        array = np.zeros(2 * MIB, np.uint8)
        with isthmus.pin(array[:MIB], session=locks):
            for part in (array, array[MIB // 2 :]):
                with pytest.raises(UsageError, match=r"page-locked in part.*pin the whole array"):
                    isthmus.pin(part, session=locks)
            assert kind_at(device, array, MIB + 4096) == "pageable"
        with isthmus.pin(array, session=locks):
            assert kind_at(device, array, MIB + 4096) == "pinned"

    def test_all_from_the_first_byte_to_the_last(self, device: _native.Device, locks: isthmus.Session) -> None:
        array = np.zeros((64, MIB // 16), np.uint8)
        with isthmus.pin(array[8:16, ::-2], session=locks):
            assert kind_at(device, array, 8 * MIB // 16 + 1) == "pinned"
            assert kind_at(device, array, 16 * MIB // 16 - 1) == "pinned"
            assert kind_at(device, array, 0) == "pageable"

    def test_nothing_is_nothing_to_pin(self, locks: isthmus.Session) -> None:
        with isthmus.pin(np.zeros((3, 0)), session=locks) as array:
            assert array.size == 0

    def test_memory_of_the_device_is_refused(self, locks: isthmus.Session) -> None:
        for array in (locks.empty(10), "text", 3):
            with pytest.raises(IsthmusError):
                isthmus.pin(array, session=locks)

    def test_a_file_that_may_only_be_read(self, tmp_path: Path, device: _native.Device, locks: isthmus.Session) -> None:
        path = tmp_path / "file"
        path.write_bytes(b"x" * MIB)
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            array = np.frombuffer(mapped, np.uint8)
            pinned = None
            with contextlib.suppress(CallFailed):  # Where the driver cannot.
                pinned = isthmus.pin(array, session=locks)
            assert kind_at(device, array, MIB - 1) == ("pageable" if pinned is None else "pinned")
            assert bytes(locks.to_host(locks.to_device(array))) == b"x" * MIB
            del pinned
            del array

    def test_opencl_says_what_to_do(self, session: isthmus.Session) -> None:
        if not session.device.startswith("opencl"):
            pytest.skip("of OpenCL alone")
        with pytest.raises(Unsupported, match=r"use isthmus\.pinned_empty"):
            isthmus.pin(np.zeros(10), session=session)


class TestLimits:
    def test_no_more_than_may_be_locked_and_nothing_lost(self) -> None:
        with isthmus.Session(open_device("host:locked=16MiB").native) as session:
            array = isthmus.pinned_empty(8 * MIB, np.uint8, session=session)
            with pytest.raises(OutOfMemory, match=r"9437184 bytes of page-locked memory: .*ask for less"):
                isthmus.pinned_empty(9 * MIB, np.uint8, session=session)
            del array
            # What is kept makes room for what is asked for.
            array = isthmus.pinned_empty(16 * MIB, np.uint8, session=session)
            assert session.pinned_pool_bytes == 16 * MIB
            with pytest.raises(OutOfMemory):
                isthmus.pinned_empty(1, session=session)
            del array
            isthmus.pinned_empty(1, session=session)
            assert session.pinned_pool_bytes == 2 * MIB
            plain = np.zeros(20 * MIB, np.uint8)
            with pytest.raises(OutOfMemory, match="ask for less"):
                isthmus.pin(plain, session=session)
            with isthmus.pin(plain[: 8 * MIB], session=session):
                pass

    def test_a_fault_leaves_nothing(self) -> None:
        with isthmus.Session(open_device("host:fault=allocate:fail@2").native) as session:
            array = isthmus.pinned_empty(3 * MIB, np.uint8, session=session)
            with pytest.raises(IsthmusError):
                isthmus.pinned_empty(4 * MIB, np.uint8, session=session)
            assert session.pinned_pool_bytes == 3 * MIB
            del array


class TestFromC:
    @pytest.mark.parametrize("size", [1, 4096, 3 * MIB + 1])
    def test_blocks_are_got_and_freed(
        self, spec: str, library: Any, opened: Callable[..., c_void_p], size: int
    ) -> None:
        session, memory, other = opened(spec), c_void_p(), c_void_p()
        library.must("pinned_alloc", session, size, byref(memory))
        library.must("pinned_alloc", session, size, byref(other))
        memset(memory, 1, size)
        memset(other, 2, size)
        assert string_at(memory, size) == b"\1" * size
        library.must("pinned_free", session, memory)
        library.must("trim", session)
        assert string_at(other, size) == b"\2" * size
        library.must("free", session, other)

    def test_mistakes_are_told(self, c: Any, library: Any, opened: Callable[..., c_void_p]) -> None:
        session, memory = opened("host"), c_void_p(1)
        assert library.call("pinned_alloc", None, 1, byref(memory)).code == c.INVALID
        assert not memory
        assert library.call("pinned_alloc", session, 1, None).code == c.INVALID
        library.must("pinned_alloc", session, 0, byref(memory))
        assert not memory
        library.must("pinned_free", session, None)
        assert library.call("pinned_free", session, c_void_p(64)).code == c.INVALID
        refused = library.call("pinned_alloc", session, 1 << 50, byref(memory))
        assert refused.code == 6  # ISTHMUS_OUT_OF_MEMORY
        assert b"page-locked memory" in refused.message
        assert not memory
