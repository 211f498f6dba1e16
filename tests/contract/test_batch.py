"""Batches that are made once and copied again and again: what arrives, and that an array that moved is named."""

from __future__ import annotations

import ctypes
import gc
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import isthmus
from isthmus import _native
from isthmus.errors import UsageError, WrongType

Array = npt.NDArray[Any]


@pytest.fixture(scope="module")
def session(device: _native.Device) -> Iterator[isthmus.Session]:
    with isthmus.Session(device, pinned_budget="4MiB") as opened:
        yield opened


def drawn(shape: int | tuple[int, ...], seed: int = 1) -> Array:
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


class TestCopies:
    @pytest.mark.parametrize("sizes", [[64] * 100, [0, 5, 0, 70_000], [1 << 20, 3], []], ids=len)
    def test_there_and_back_with_new_contents_each_time(self, session: isthmus.Session, sizes: list[int]) -> None:
        here, back = [drawn(size) for size in sizes], [np.zeros(size, np.uint8) for size in sizes]
        there = [session.empty(size, np.uint8) for size in sizes]
        out, home = session.batch(there, here), session.batch(back, there)
        assert len(out) == len(home) == len(sizes)
        for number in range(3):
            for array in here:
                np.add(array, number, out=array, casting="unsafe")
            out.copy()
            home.copy(check=number > 0)
            assert all((one == other).all() for one, other in zip(back, here, strict=True))

    def test_rows_of_one_array_in_any_order(self, session: isthmus.Session) -> None:
        data, pool = drawn((50, 96)), session.empty((80, 96), np.uint8)
        places = np.random.default_rng(2).permutation(80)[:50]
        session.batch([pool[int(place)] for place in places], list(data)).copy()
        assert (pool.to_host()[places] == data).all()

    @pytest.mark.parametrize("both", [False, True])
    def test_more_pieces_than_offsets_fit_at_once(self, session: isthmus.Session, both: bool) -> None:
        count = 5_000
        here, pool = isthmus.pinned_empty((count, 48), np.uint8, session=session), session.empty((count, 48), np.uint8)
        numbers = np.random.default_rng(3)
        places, order = numbers.permutation(count), numbers.permutation(count) if both else np.arange(count)
        back = isthmus.pinned_empty((count, 48), np.uint8, session=session)
        rows = [pool[int(place)] for place in places]
        out = session.batch(rows, [here[number] for number in order])
        home = session.batch([back[number] for number in order], rows)
        for seed in range(3):
            here[:] = drawn(here.shape, seed)
            back[:] = 0
            out.copy()
            assert (pool.to_host()[places] == here[order]).all()
            home.copy_async().wait() if seed == 1 else home.copy()
            assert (back == here).all()

    def test_one_of_many_pieces_in_other_memory(self, session: isthmus.Session) -> None:
        # Its place is looked at like that of the first.
        here, pool = isthmus.pinned_empty((100, 64), np.uint8, session=session), session.empty((100, 64), np.uint8)
        here[:] = drawn(here.shape)
        own = drawn(64, 5)
        sources = [*here[:60], own, *here[61:]]
        session.batch([pool[place] for place in range(99, -1, -1)], sources).copy()
        assert (pool.to_host()[::-1] == np.stack(sources)).all()

    def test_elements_that_lie_apart(self, session: isthmus.Session) -> None:
        data = drawn((6, 40, 8))
        parts = [data[0, ::2], data[1, ::-1], data[2].T, data[3, 3:5, 1:]]
        there = [session.empty(part.shape, np.uint8) for part in parts]
        batch = session.batch(there, parts)
        data[:] += 1
        batch.copy()
        assert all((one.to_host() == part).all() for one, part in zip(there, parts, strict=True))

    def test_buffers_of_python_are_locked_as_long_as_it_lives(self, session: isthmus.Session) -> None:
        source, there = bytearray(range(100)), session.empty(100, np.uint8)
        batch = session.batch([there], [source])
        source[7] = 200
        batch.copy()
        assert there.to_host().tobytes() == bytes(source)
        with pytest.raises(BufferError):
            source.extend(b"more")
        del batch
        source.extend(b"more")

    def test_arrays_and_their_memory_are_kept(self, session: isthmus.Session) -> None:
        back = np.zeros((4, 300_000), np.uint8)
        data = drawn(back.shape)
        batch = session.batch(list(back), [session.to_device(row) for row in data])
        gc.collect()
        batch.copy()
        assert (back == data).all()
        back[:] = 0
        future = batch.copy_async()
        del batch
        future.wait()
        assert future.result() is None
        assert (back == data).all()

    def test_threads_share_one(self, session: isthmus.Session) -> None:
        data, there = drawn((200, 500)), session.empty((200, 500), np.uint8)
        batch = session.batch([there[row] for row in range(200)], list(data))
        failures: list[BaseException] = []

        def copy() -> None:
            try:
                for number in range(20):
                    batch.copy() if number % 2 else batch.copy_async().wait()
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=copy) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        assert (there.to_host() == data).all()


def grow(array: Array) -> None:
    array.resize((1 << 22,), refcheck=False)


def shorten(array: Array) -> None:
    array.resize((20,), refcheck=False)


def reshape(array: Array) -> None:
    array.resize((10, 10), refcheck=False)


def retype(array: Array) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # NumPy 2.5 advises against it, and still does it
        array.dtype = np.dtype(np.int8)  # type: ignore[misc]


def forbid(array: Array) -> None:
    array.flags.writeable = False


class TestWhatMoved:
    @pytest.mark.parametrize(
        ("change", "words"),
        [(grow, "another"), (shorten, "another shape"), (reshape, "another shape"), (retype, "another type")],
    )
    def test_is_named_and_nothing_is_copied(
        self, session: isthmus.Session, change: Callable[[Array], None], words: str
    ) -> None:
        for role in ("source", "destination"):
            arrays = [np.zeros(100, np.uint8) for _ in range(5)]
            there = [session.to_device(drawn(100)) for _ in range(5)]
            sides = (there, arrays) if role == "source" else (arrays, there)
            batch = session.batch(*sides)
            batch.copy()
            for array in arrays:
                array[:] = 3
            change(arrays[3])
            for copy in (batch.copy, batch.copy_async):
                with pytest.raises(UsageError, match=rf"piece 3: its {role} \(numpy.ndarray\) .* {words}.*new batch"):
                    copy()
            assert (arrays[0] == 3).all()

    @pytest.mark.parametrize("place", [0, 5_000, 9_999])
    def test_one_of_thousands_is_named(self, session: isthmus.Session, place: int) -> None:
        # As many as several threads look at.
        data, there = [drawn(8, number) for number in range(10_000)], session.empty((10_000, 8), np.uint8)
        batch = session.batch([there[number] for number in range(10_000)], data)
        for _ in range(2):
            batch.copy()
            assert (there.to_host() == np.stack(data)).all()
            data[0][:] += 1
        grow(data[place])
        with pytest.raises(UsageError, match=f"^piece {place}: its source .* is not what it was"):
            batch.copy()

    def test_a_destination_that_may_not_be_written_to_any_more(self, session: isthmus.Session) -> None:
        arrays = [np.zeros(10, np.uint8) for _ in range(2)]
        there = [session.to_device(drawn(10)) for _ in range(2)]
        batch, back = session.batch(there, arrays), session.batch(arrays, there)
        forbid(arrays[1])
        batch.copy()
        with pytest.raises(UsageError, match=r"piece 1: its destination .* may not be written to"):
            back.copy()

    def test_memory_of_ctypes_that_was_resized(self, session: isthmus.Session) -> None:
        raw = (ctypes.c_uint8 * 4096)(7)
        there = session.empty(4096, np.uint8)
        batch = session.batch([there], [raw])
        batch.copy()
        assert there.to_host()[0] == 7
        ctypes.resize(raw, 1 << 24)
        with pytest.raises(UsageError, match=r"piece 0: its source .* another address"):
            batch.copy()

    def test_other_producers_destinations_that_may_not_be_written_to_any_more(self, session: isthmus.Session) -> None:
        class Producer:
            def __init__(self) -> None:
                self.array = np.zeros(100, np.uint8)

            def __dlpack_device__(self) -> tuple[int, int]:
                return self.array.__dlpack_device__()

            def __dlpack__(self, **asked: Any) -> object:
                return self.array.__dlpack__(**asked)

        out = Producer()
        batch = session.batch([out], [session.to_device(drawn(100))])
        batch.copy()
        forbid(out.array)
        with pytest.raises(UsageError, match=r"may not be written to|read-only"):
            batch.copy()

    def test_numbers_of_numpy_do_not_change(self, session: isthmus.Session) -> None:
        there = session.empty((), np.float32)
        batch = session.batch([there], [np.float32(5)])
        for _ in range(3):
            batch.copy()
        assert there.to_host() == 5

    def test_without_the_check_the_memory_of_then_is_copied(self, session: isthmus.Session) -> None:
        data, there = drawn(100), session.empty(100, np.uint8)
        batch = session.batch([there], [data])
        reshape(data)
        batch.copy(check=False)
        batch.copy_async(check=False).wait()
        assert (there.to_host() == data.ravel()).all()


class TestBadInput:
    def test_as_copy_batch_says_it(self, session: isthmus.Session) -> None:
        array, there = np.zeros(4, np.uint8), session.empty(4, np.uint8)
        for dsts, srcs in (
            ([there], [array, array]),
            ([there], [np.zeros(5, np.uint8)]),
            ([there, there[:2]], [array, array[:2].astype("f4")]),
            ([array, there], [there, array]),
            ([there], [[1, 2, 3, 4]]),
            (5, [array]),
            ([there], None),
        ):
            errors = []
            for call in (session.copy_batch, session.batch):
                with pytest.raises((UsageError, WrongType)) as caught:
                    call(dsts, srcs)  # type: ignore[arg-type]
                errors.append((type(caught.value), str(caught.value)))
            assert errors[0] == errors[1]

    def test_destinations_that_overlap(self, session: isthmus.Session) -> None:
        there = session.empty(8, np.uint8)
        batch = session.batch([there[:5], there[3:]], [np.zeros(5, np.uint8), np.zeros(5, np.uint8)])
        with pytest.raises(UsageError, match="overlap"):
            batch.copy()

    def test_a_session_that_was_closed(self, device: _native.Device) -> None:
        with isthmus.Session(device) as own:
            batch = own.batch([own.empty(4, np.uint8)], [np.zeros(4, np.uint8)])
        with pytest.raises(UsageError, match="closed"):
            batch.copy()

    def test_a_stream_that_is_none(self, session: isthmus.Session) -> None:
        batch = session.batch([session.empty(4, np.uint8)], [np.zeros(4, np.uint8)])
        with pytest.raises(WrongType, match="stream"):
            batch.copy(stream="one")


def test_it_comes_behind_what_a_stream_holds(session: isthmus.Session, stream: _native.Stream) -> None:
    data, there = drawn(1000), session.empty(1000, np.uint8)
    batch = isthmus.batch([there], [data], session=session)
    latch = stream.close_latch()
    future = batch.copy_async(stream=stream.handle)
    assert not future.done()
    latch.open()
    future.wait()
    batch.copy(stream=stream.handle)
    assert (there.to_host() == data).all()
