"""Copies from Python on every device: any shape, strides, type and direction, with what lies around them untouched."""

from __future__ import annotations

import array
import ctypes
import gc
import mmap
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isthmus
from isthmus import _native
from isthmus.errors import UsageError, WrongType

Array = npt.NDArray[Any]

GUARD = 0xA5
DTYPES = ["u1", "?", "<i2", "<f4", ">f4", "<f8", "<c16", "S3", "<U2", "<M8[us]", "V5", [("a", "<i2"), ("b", ">f8", 2)]]


@pytest.fixture(scope="module")
def session(device: _native.Device) -> Iterator[isthmus.Session]:
    with isthmus.Session(device, pinned_budget="2MiB") as opened:
        yield opened


def filled(shape: tuple[int, ...], dtype: npt.DTypeLike, seed: int) -> Array:
    """Random bytes of a type, which NumPy compares as bytes where they are no numbers."""
    found = np.dtype(dtype)
    count = int(np.prod(shape)) * found.itemsize
    return np.frombuffer(np.random.default_rng(seed).bytes(count), np.uint8).view(found).reshape(shape)


def same(one: Array, other: Array) -> bool:
    return one.shape == other.shape and one.tobytes() == other.tobytes()


class Lie:
    """Where an array of some shape lies: in a larger block of guard bytes, with steps, gaps and axes in any order."""

    def __init__(self, base: tuple[int, ...], slices: tuple[slice, ...], axes: tuple[int, ...], offset: int) -> None:
        self.base, self.slices, self.axes, self.offset = base, slices, axes, offset

    def block(self, dtype: npt.DTypeLike) -> Array:
        found = np.dtype(dtype)
        bytes_ = np.full(int(np.prod(self.base)) * found.itemsize + self.offset, GUARD, np.uint8)
        block: Array = np.ndarray(self.base, found, buffer=bytes_, offset=self.offset)
        return block

    def view(self, block: Array) -> Array:
        part: tuple[Any, ...] = (*self.slices, ...)
        found: Array = block[part].transpose(self.axes)
        return found


@st.composite
def lies(draw: st.DrawFn, shape: tuple[int, ...]) -> Lie:
    axes = tuple(draw(st.permutations(range(len(shape)))))
    base, slices = [0] * len(shape), [slice(0)] * len(shape)
    for axis, length in zip(axes, shape, strict=True):
        before, after = draw(st.integers(0, 2)), draw(st.integers(0, 2))
        step = draw(st.sampled_from([1, 1, 2, 3, -1, -2]))
        base[axis] = before + max(length - 1, 0) * abs(step) + 1 + after
        first = before if step > 0 else before + max(length - 1, 0) * -step
        stop = first + step * length
        slices[axis] = slice(first, stop if stop >= 0 else None, step)
    return Lie(tuple(base), tuple(slices), axes, draw(st.sampled_from([0, 0, 1, 3, 8])))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[tuple[int, ...], Any, Lie, Lie]:
    shape = tuple(draw(st.lists(st.integers(0, 7), max_size=4)))
    return shape, draw(st.sampled_from(DTYPES)), draw(lies(shape)), draw(lies(shape))


def on_device(session: isthmus.Session, block: Array, view: Array) -> tuple[isthmus.DeviceArray, isthmus.DeviceArray]:
    """The same block on the device, with the same view of it."""
    whole = session.to_device(block.copy())
    offset = view.__array_interface__["data"][0] - block.__array_interface__["data"][0]
    return whole, isthmus.DeviceArray(whole, offset, list(view.shape), list(view.strides))


class TestAgainstNumpy:
    @pytest.mark.parametrize("asynchronous", [False, True], ids=["waits", "async"])
    @pytest.mark.parametrize("route", ["h2d", "d2h", "d2d", "h2h"])
    @settings(max_examples=40)
    @given(pairs())
    def test_any_array_arrives_whole_and_alone(
        self, session: isthmus.Session, route: str, asynchronous: bool, pair: tuple[tuple[int, ...], Any, Lie, Lie]
    ) -> None:
        shape, dtype, source_lie, destination_lie = pair
        data = filled(shape, dtype, len(shape))
        source_block, destination_block = source_lie.block(dtype), destination_lie.block(dtype)
        source, destination = source_lie.view(source_block), destination_lie.view(destination_block)
        source[...] = data
        from_: Any = on_device(session, source_block, source)[1] if route[0] == "d" else source
        to: Any = destination
        if route[2] == "d":
            whole, to = on_device(session, destination_block, destination)
        if asynchronous:
            session.copy_async(to, from_).wait()
        else:
            session.copy(to, from_)
        found = whole.to_host() if route[2] == "d" else destination_block
        destination[...] = data
        assert same(found, destination_block)

    @settings(max_examples=25)
    @given(st.lists(pairs(), max_size=5), st.booleans(), st.booleans())
    def test_a_batch_of_any_arrays_arrives(
        self,
        session: isthmus.Session,
        several: list[tuple[tuple[int, ...], Any, Lie, Lie]],
        to_device: bool,
        asynchronous: bool,
    ) -> None:
        sources: list[Any] = []
        destinations: list[Any] = []
        expected: list[tuple[Any, Array]] = []
        for i, (shape, dtype, source_lie, destination_lie) in enumerate(several):
            source_block, destination_block = source_lie.block(dtype), destination_lie.block(dtype)
            source, destination = source_lie.view(source_block), destination_lie.view(destination_block)
            source[...] = filled(shape, dtype, i)
            if to_device:
                whole, part = on_device(session, destination_block, destination)
                sources.append(source)
                destinations.append(part)
                destination[...] = source
                expected.append((whole, destination_block))
            else:
                sources.append(on_device(session, source_block, source)[1])
                destinations.append(destination)
                after = destination_block.copy()
                destination_lie.view(after)[...] = source
                expected.append((destination_block, after))
        if asynchronous:
            session.copy_batch_async(destinations, sources).wait()
        else:
            session.copy_batch(destinations, sources)
        for found, wanted in expected:
            assert same(found.to_host() if to_device else found, wanted)

    @pytest.mark.parametrize("size", [0, 1, 4095, 65536, 1 << 20, (5 << 20) + 3])
    def test_sizes_that_take_each_way(self, session: isthmus.Session, size: int) -> None:
        """A budget of 2 MiB makes the largest one go around the ring more than once."""
        data = filled((size,), "u1", size)
        device = session.to_device(data)
        back = np.full(size + 128, GUARD, np.uint8)
        session.copy(back[64 : 64 + size], device)
        assert same(back[64 : 64 + size], data)
        assert (back[:64] == GUARD).all()
        assert (back[64 + size :] == GUARD).all()
        assert session.pinned_bytes <= session.pinned_budget_bytes

    @pytest.mark.parametrize("waited", [True, False], ids=["waited", "queued"])
    def test_long_pieces_of_pageable_memory(self, session: isthmus.Session, waited: bool) -> None:
        """They go through the ring side by side, so that a chunk has the end of one and the beginning of the next."""
        width = (4 << 20) + 4099
        data = filled((3, width), "u1", 1)
        there = session.to_device(np.full(4 * (width + 5), GUARD, np.uint8))
        rows = [isthmus.DeviceArray(there, place * (width + 5), [width], [1]) for place in (3, 0, 2)]
        found = np.zeros_like(data)
        for destinations, sources in ((rows, list(data)), (list(found), rows)):
            if waited:
                session.copy_batch(destinations, sources)
            else:
                session.copy_batch_async(destinations, sources).wait()
        assert same(found, data)
        gaps = there.to_host().reshape(4, width + 5)
        assert (gaps[:, width:] == GUARD).all()
        assert (gaps[1] == GUARD).all()

    @pytest.mark.parametrize("offset", [1, 2, 4, 8, 12, 16])
    @pytest.mark.parametrize(("count", "width"), [(1024, 16), (512, 512)])
    @pytest.mark.parametrize("scattered", [False, True], ids=["rows", "scattered"])
    def test_device_memory_that_begins_anywhere(
        self, session: isthmus.Session, offset: int, count: int, width: int, scattered: bool
    ) -> None:
        """Kernels move words of up to 16 bytes, to which nobody else's memory need be aligned."""
        data = filled((count, width), "u1", offset)
        found = np.zeros_like(data)
        there = session.to_device(np.zeros(offset + count * 2 * width, np.uint8))
        if scattered:
            places = np.random.default_rng(count).permutation(count) * 2 * width + offset
            rows = [isthmus.DeviceArray(there, int(place), [width], [1]) for place in places]
            session.copy_batch(rows, list(data))
            session.copy_batch(list(found), rows)
        else:
            part = isthmus.DeviceArray(there, offset, [count, width], [2 * width, 1])
            session.copy(part, data)
            session.copy(found, part)
        assert same(found, data)


class TestOperands:
    def test_whatever_has_the_buffer_protocol(self, session: isthmus.Session, tmp_path: Path) -> None:
        path = tmp_path / "data"
        path.write_bytes(bytes(range(200)))
        with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
            sources: list[Any] = [
                bytes(range(200)), bytearray(range(200)), memoryview(bytes(range(200))), mapped,
                array.array("B", range(200)), (ctypes.c_uint8 * 200)(*range(200)),
            ]  # fmt: skip
            for source in sources:
                device = session.to_device(source)
                assert device.shape == (200,)
                for destination in (bytearray(200), array.array("B", bytes(200)), (ctypes.c_uint8 * 200)()):
                    session.copy(destination, device)
                    assert bytes(destination) == bytes(range(200))
            session.copy(mapped, session.to_device(bytes(200)))
            assert mapped[:] == bytes(200)
            mapped.close()  # Fails as long as anybody has the buffer.

    def test_strided_memoryviews_and_ctypes_of_more_dimensions(self, session: isthmus.Session) -> None:
        assert session.to_device(memoryview(bytes(range(10)))[::-3]).to_host().tolist() == [9, 6, 3, 0]
        row = ctypes.c_double * 3
        grid = (row * 2)(row(1, 2, 3), row(4, 5, 6))
        device = session.to_device(grid)
        assert (device.shape, device.dtype) == ((2, 3), np.dtype("f8"))
        assert device.to_host().tolist() == [[1, 2, 3], [4, 5, 6]]

    def test_bytes_of_any_name_are_bytes(self, session: isthmus.Session) -> None:
        device = session.to_device(np.frombuffer(b"abc", "S1"))
        out = bytearray(3)
        session.copy(out, device)
        assert out == b"abc"

    def test_memory_mapped_and_read_only_arrays_are_sources(self, session: isthmus.Session, tmp_path: Path) -> None:
        np.save(tmp_path / "a.npy", np.arange(12.0).reshape(3, 4))
        mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
        assert same(session.to_host(session.to_device(mapped)), np.asarray(mapped))

    def test_one_element_without_dimensions(self, session: isthmus.Session) -> None:
        device = session.to_device(np.float64(2.5))
        assert (device.shape, device.size, device.nbytes) == ((), 1, 8)
        assert session.to_host(device) == 2.5

    def test_views_of_a_device_array_are_those_of_numpy(self, session: isthmus.Session) -> None:
        data = np.arange(120, dtype=np.int32).reshape(4, 5, 6)
        device = session.to_device(data)
        for key in (1, -1, slice(None, None, -2), (..., 2), (None, 3, slice(1, 4)), (slice(0), 1), (1, 2, 3), ...):
            assert same(session.to_host(device[key]), np.asarray(data[key])), key
        with pytest.raises(IndexError):
            device[4]
        with pytest.raises(UsageError, match="a list cannot index"):
            device[[1, 2]]  # type: ignore[index]

    def test_a_view_stays_within_its_array(self, session: isthmus.Session) -> None:
        device = session.to_device(np.arange(6.0))[1:4]
        whole = isthmus.DeviceArray(device, -8, [3, 2], [16, 8])
        assert session.to_host(whole).tolist() == [[0, 1], [2, 3], [4, 5]]
        assert isthmus.DeviceArray(device, 1 << 40, [0, 3], [8, 8]).size == 0
        beyond: list[tuple[int, list[int], list[int]]] = [
            (1 << 40, [3], [8]), (-16, [3], [8]), (0, [6], [8]), (0, [3], [-8]), (33, [1], [8]),
            (0, [2**62], [8]), (2**63 - 1, [2], [8]), (0, [3], [-(2**63)]),
        ]  # fmt: skip
        for offset, shape, strides in beyond:
            with pytest.raises(UsageError, match="beyond its array's memory of 48 bytes"):
                isthmus.DeviceArray(device, offset, shape, strides)
        for shape, strides in (([3], [8, 8]), ([-1], [8])):
            with pytest.raises(UsageError, match="a stride for each"):
                isthmus.DeviceArray(device, 0, shape, strides)

    def test_a_device_array_is_never_converted_by_accident(self, session: isthmus.Session) -> None:
        with pytest.raises(TypeError, match="to_host"):
            np.asarray(session.empty(3))

    def test_an_output_of_the_caller_is_used(self, session: isthmus.Session) -> None:
        out = np.zeros((2, 3), np.int16)
        assert session.to_host(session.to_device(np.ones((2, 3), np.int16)), out) is out
        assert out.all()


class TestBadInput:
    """Each message says what was found, and what to do."""

    def test_what_is_no_array(self, session: isthmus.Session) -> None:
        for nothing in (3, None, "text", [1, 2], object()):
            with pytest.raises(WrongType, match="is no array; expected"):
                session.copy(bytearray(3), nothing)
        assert issubclass(WrongType, TypeError)

    def test_a_destination_that_is_read_only(self, session: isthmus.Session) -> None:
        frozen = np.zeros(3, np.uint8)
        frozen.flags.writeable = False
        for destination in (b"abc", frozen, memoryview(b"abc")):
            with pytest.raises(UsageError, match="may not be written to"):
                session.copy(destination, session.to_device(b"xyz"))

    def test_types_that_differ(self, session: isthmus.Session) -> None:
        device = session.to_device(np.zeros(4, "<f4"))
        for dtype in ("<i4", ">f4", "<f8", "<c8", "V4", "<M8[s]"):
            with pytest.raises(UsageError, match="the types differ"):
                session.copy(np.zeros(4, dtype), device)
        times = session.to_device(np.zeros(4, "M8[s]"))
        with pytest.raises(UsageError, match=r"datetime64\[ns\].*datetime64\[s\]"):
            session.copy(np.zeros(4, "M8[ns]"), times)
        with pytest.raises(UsageError, match="the types differ"):
            session.copy(np.zeros(2, [("a", "f4"), ("b", "i4")]), np.zeros(2, [("a", "i4"), ("b", "f4")]))

    def test_shapes_that_differ(self, session: isthmus.Session) -> None:
        device = session.empty((2, 3))
        for shape in ((3, 2), (6,), (2, 3, 1), (), (1, 3)):
            with pytest.raises(UsageError, match="the shapes differ"):
                session.copy(device, np.zeros(shape))

    def test_python_objects(self, session: isthmus.Session) -> None:
        with pytest.raises(UsageError, match=r"the source \(numpy.ndarray\) holds Python objects"):
            session.copy(np.zeros(1), np.array([object()]))
        with pytest.raises(UsageError, match="Python objects"):
            session.empty(3, object)

    def test_masked_arrays(self, session: isthmus.Session) -> None:
        with pytest.raises(UsageError, match=r"the source \(numpy.MaskedArray\) has a mask.*x\.data, or x\.filled\(\)"):
            session.to_device(np.ma.masked_equal([1, 2], 2))

    def test_memory_that_overlaps(self, session: isthmus.Session) -> None:
        data = np.arange(10)
        with pytest.raises(UsageError, match="overlap"):
            session.copy(data[1:], data[:-1])
        device = session.to_device(data)
        with pytest.raises(UsageError, match="overlap"):
            session.copy(device[1:], device[:-1])
        with pytest.raises(UsageError, match=r"overlap one another.*copy into an array whose elements are apart"):
            session.copy(np.lib.stride_tricks.as_strided(data, (3, 3), (8, 8)), session.empty((3, 3), data.dtype))

    def test_a_source_may_repeat_its_elements(self, session: isthmus.Session) -> None:
        assert same(session.to_device(np.broadcast_to(np.arange(3), (4, 3))).to_host(), np.tile(np.arange(3), (4, 1)))

    def test_streams_of_nobody(self, session: isthmus.Session) -> None:
        for stream in ("0", 1.5, object(), True):
            with pytest.raises(WrongType, match=r"cuda_stream.*ptr.*handle"):
                session.copy(bytearray(1), b"x", stream=stream)
        with pytest.raises(UsageError, match="no stream has the handle -1"):
            session.copy(bytearray(1), b"x", stream=-1)

    def test_batches_that_do_not_match(self, session: isthmus.Session) -> None:
        device = session.empty((2, 3), "u1")
        with pytest.raises(UsageError, match="2 destinations and 1 sources"):
            session.copy_batch([device[0], device[1]], [b"abc"])
        with pytest.raises(UsageError, match="piece 1: the shapes differ"):
            session.copy_batch([device[0], device[1]], [b"abc", b"ab"])
        with pytest.raises(UsageError, match=r"piece 1: its destination.*one way"):
            session.copy_batch([device[0], bytearray(3)], [b"abc", b"abc"])
        with pytest.raises(WrongType, match="sequence of arrays"):
            session.copy_batch(3, [b"abc"])  # type: ignore[arg-type]

    def test_a_session_that_is_none(self) -> None:
        with pytest.raises(WrongType, match=r"isthmus\.Session"):
            isthmus.copy(bytearray(1), b"x", session="cuda:0")  # type: ignore[arg-type]

    def test_a_session_that_was_closed(self, device: _native.Device) -> None:
        session = isthmus.Session(device)
        array = session.to_device(b"abc")
        session.close()
        session.close()
        with pytest.raises(UsageError, match="closed"):
            session.copy(array, b"xyz")

    @pytest.mark.parametrize("options", [{"pinned_budget": -1}, {"threads": 0}, {"table": "/nowhere/table"}])
    def test_options_that_make_no_sense(self, device: _native.Device, options: dict[str, Any]) -> None:
        with pytest.raises(UsageError, match=r"expected|cannot be read"):
            isthmus.Session(device, **options)


class TestFutures:
    def test_one_that_ends(self, session: isthmus.Session) -> None:
        future = session.copy_async(session.empty(1000, "u1"), bytes(1000))
        assert future.exception() is None
        future.wait(timeout=0)
        assert (future.done(), future.bytes_completed) == (True, 1000)

    def test_nothing_to_copy_has_ended(self, session: isthmus.Session) -> None:
        future = session.copy_async(session.empty(0), np.zeros(0))
        assert future.done()
        future.wait_on(None)
        assert future.exception() is None

    def test_arrays_are_kept_until_the_copy_has_ended(self, session: isthmus.Session) -> None:
        """Also when the future is dropped at once."""

        class Tracked(np.ndarray[Any, Any]):
            pass

        size = 1 << 22
        device = session.empty(size, "u1")
        source = np.full(size, 7, np.uint8).view(Tracked)
        gone = weakref.ref(source)
        session.copy_async(device, source)
        del source
        gc.collect()
        # Without streams (OpenCL) nothing else says when it has ended.
        until = time.monotonic() + 60
        while gone() is not None and time.monotonic() < until:
            session.copy_async(session.empty(1, "u1"), b"x").wait()
        assert gone() is None
        assert session.to_host(device).sum() == 7 * size

    def test_a_device_array_may_be_dropped_under_a_copy(self, session: isthmus.Session) -> None:
        outs = [np.zeros(1 << 20, np.uint8) for _ in range(8)]
        futures = [session.copy_async(out, session.to_device(np.full(1 << 20, i, "u1"))) for i, out in enumerate(outs)]
        gc.collect()
        for i, (future, out) in enumerate(zip(futures, outs, strict=True)):
            future.wait()
            assert (out == i).all()

    def test_many_threads_at_once(self, session: isthmus.Session) -> None:
        wrong: list[str] = []

        def work(seed: int) -> None:
            data = filled((seed * 4099 + 1,), "u1", seed)
            device = session.to_device(data)
            future = session.copy_async(device, data)
            future.wait()
            if not same(device.to_host(), data):
                wrong.append(str(seed))

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong


class TestExchange:
    def test_what_dlpack_says_of_the_memory(self, session: isthmus.Session, spec: str) -> None:
        kinds = {"host": 1, "cuda": 2, "opencl": 4}
        device = session.to_device(np.arange(6, dtype=np.int16).reshape(2, 3))
        assert device.__dlpack_device__()[0] == kinds[spec.partition(":")[0]]
        assert "dltensor" in repr(device.__dlpack__())
        assert "dltensor_versioned" in repr(device.__dlpack__(max_version=(1, 0)))
        with pytest.raises(BufferError, match="by way of the host"):
            device.__dlpack__(dl_device=(99, 0))

    def test_a_copy_of_it_on_the_host_or_beside_it(self, session: isthmus.Session, spec: str) -> None:
        """Consumers that ask for a copy, or for the CPU, get memory of their own, which outlives the array."""
        data = np.arange(24, dtype=np.float32).reshape(4, 6)
        device = session.to_device(data)[::2, ::-1]
        beside = device.__dlpack__(copy=True)
        if not spec.startswith("host"):
            with pytest.raises(BufferError, match="copy=False forbids"):
                device.__dlpack__(dl_device=(1, 0), copy=False)
        if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
            options: list[dict[str, Any]] = [{"device": "cpu"}, {"device": "cpu", "copy": True}]
            for given in options:
                shared = np.from_dlpack(device, **given)
                del given
                assert same(shared, data[::2, ::-1])
        del device, beside
        gc.collect()

    def test_the_host_s_device_memory_is_numpy_s_by_dlpack(self, session: isthmus.Session, spec: str) -> None:
        if not spec.startswith("host"):
            pytest.skip("NumPy reads the memory of the host backend alone")
        data = np.arange(24, dtype=np.float32).reshape(4, 6)
        device = session.to_device(data)
        shared = np.from_dlpack(device[::2, ::-1])
        assert same(shared, data[::2, ::-1])
        session.copy(device, data + 1)
        assert same(shared, (data + 1)[::2, ::-1])
        del device
        assert same(shared, (data + 1)[::2, ::-1])

    def test_its_cuda_interface(self, session: isthmus.Session, spec: str) -> None:
        device = session.to_device(np.arange(6, dtype=np.int16).reshape(2, 3))[:, 1:]
        if not spec.startswith("cuda"):
            assert not hasattr(device, "__cuda_array_interface__")
            return
        interface = device.__cuda_array_interface__
        assert interface["version"] == 3
        assert (interface["shape"], interface["strides"], interface["typestr"]) == ((2, 2), (6, 2), "<i2")
        foreign = type("Foreign", (), {"__cuda_array_interface__": interface})()
        assert same(isthmus.to_host(foreign), np.array([[1, 2], [4, 5]], np.int16))


class TestExplanations:
    def test_it_reads_as_a_sentence(self, session: isthmus.Session) -> None:
        found = session.explain(session.empty(1 << 20, "u1"), np.zeros(1 << 20, np.uint8))
        assert (found.direction, found.bytes) == ("h2d", 1 << 20)
        first, _, why = str(found).partition("\n")
        assert first.startswith("h2d 1 MiB, pageable memory: ")
        assert why == found.why

    def test_of_a_batch(self, session: isthmus.Session) -> None:
        device = session.empty((8, 4096), "u1")
        found = session.explain_batch(np.zeros((8, 4096), np.uint8), [device[i] for i in range(8)])
        assert (found.direction, found.bytes, found.pieces) == ("d2h", 32768, 8)
