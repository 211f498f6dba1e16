"""Futures: results, callbacks and awaiting, of copies that are under way, have ended and have failed."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import weakref
from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import isthmus
from isthmus import _native
from isthmus.errors import UsageError, WrongType

Array = npt.NDArray[Any]
SIZES = [0, 100, 3 * 1024 * 1024 + 7]
LONG = 60.0


@pytest.fixture(scope="module")
def session(device: _native.Device) -> Iterator[isthmus.Session]:
    with isthmus.Session(device, pinned_budget="4MiB") as opened:
        yield opened


@pytest.fixture
def held(stream: _native.Stream) -> Iterator[_native.Latch]:
    """Keeps what `stream` is given from beginning, until it is opened."""
    latch = stream.close_latch()
    yield latch
    latch.open()
    stream.synchronize()


def drawn(size: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8)


class TestResults:
    @pytest.mark.parametrize("size", SIZES)
    def test_there_and_back(self, session: isthmus.Session, size: int) -> None:
        data = drawn(size)
        there = session.to_device_async(data).result()
        assert isinstance(there, isthmus.DeviceArray)
        back = session.to_host_async(there).result(LONG)
        assert back.dtype == data.dtype
        assert back.tobytes() == data.tobytes()
        assert isthmus.to_host_async(there, session=session).result().tobytes() == data.tobytes()
        assert isthmus.to_device_async(data, session=session).result().to_host().tobytes() == data.tobytes()

    def test_shapes_types_and_orders_are_those_of_the_waiting_calls(self, session: isthmus.Session) -> None:
        data = np.arange(60, dtype="<f4").reshape(3, 4, 5).transpose(2, 0, 1)[::2]
        for order in "KCF":
            there = session.to_device_async(data, order=order).result()
            plain = session.to_device(data, order=order)
            assert (there.shape, there.strides, there.dtype) == (plain.shape, plain.strides, plain.dtype)
            back = session.to_host_async(there, order=order).result()
            assert back.strides == session.to_host(plain, order=order).strides
            assert (back == data).all()

    def test_an_array_that_is_given_is_the_result(self, session: isthmus.Session) -> None:
        data, out = drawn(1000), np.zeros(1000, np.uint8)
        assert session.to_host_async(session.to_device(data), out).result() is out
        assert (out == data).all()
        with pytest.raises(UsageError, match="shapes differ"):
            session.to_host_async(session.to_device(data), np.zeros(999, np.uint8))

    def test_other_copies_result_in_nothing(self, session: isthmus.Session) -> None:
        there = session.empty(10, "u1")
        assert session.copy_async(there, bytes(10)).result() is None
        assert session.copy_batch_async([there], [bytes(10)]).result() is None

    def test_a_batch_keeps_each_memory_until_it_ended(
        self, session: isthmus.Session, stream: _native.Stream, held: _native.Latch
    ) -> None:
        data = [drawn(1000) for _ in range(6)]
        # Memories that come again, apart from one another, and some of their own.
        shared = [session.empty(2000, data[0].dtype) for _ in range(2)]
        there = [shared[0][:1000], shared[1][:1000], session.empty(1000, data[0].dtype)]
        there += [shared[0][1000:], shared[1][1000:], session.empty(1000, data[0].dtype)]
        future = session.copy_batch_async(there, data, stream=stream.handle)
        del shared
        held.open()
        future.wait()
        for array, expected in zip(there, data, strict=True):
            np.testing.assert_array_equal(session.to_host(array), expected)

    def test_what_is_no_array_is_refused_at_once(self, session: isthmus.Session) -> None:
        with pytest.raises(WrongType):
            session.to_device_async([1, 2])
        with pytest.raises(UsageError, match="order is 'Q'"):
            session.to_device_async(drawn(3), order="Q")

    def test_a_copy_that_is_held_is_timed_out(
        self, session: isthmus.Session, stream: _native.Stream, held: _native.Latch
    ) -> None:
        future = session.to_device_async(drawn(100_000), stream=stream.handle)
        with pytest.raises(TimeoutError, match="goes on"):
            future.result(timeout=0.01)
        held.open()
        assert (future.result().to_host() == drawn(100_000)).all()

    def test_the_source_is_kept_until_it_has_arrived(
        self, session: isthmus.Session, stream: _native.Stream, held: _native.Latch
    ) -> None:
        source = drawn(100_000)
        kept = weakref.ref(source)
        future = session.to_device_async(source, stream=stream.handle)
        del source
        gc.collect()
        assert kept() is not None
        held.open()
        future.result()
        future.done()  # lets go of it
        assert kept() is None


class TestCallbacks:
    def test_one_that_comes_in_time_is_called_once_from_another_thread(
        self, session: isthmus.Session, stream: _native.Stream, held: _native.Latch
    ) -> None:
        called: list[tuple[object, int, bool]] = []
        ended = threading.Event()

        def function(future: isthmus.Future) -> None:
            called.append((future, threading.get_ident(), future.done()))
            if len(called) == 3:
                ended.set()

        future = session.to_device_async(drawn(100_000), stream=stream.handle)
        for _ in range(3):
            future.add_done_callback(function)
        assert not called
        held.open()
        assert ended.wait(LONG)
        assert [(each, done) for each, _, done in called] == [(future, True)] * 3
        assert len({thread for _, thread, _ in called} - {threading.get_ident()}) == 1

    def test_nobody_has_to_ask(self, session: isthmus.Session) -> None:
        """Nor keep the future: the copy ends, and whoever listens is told."""
        count, every = [0], threading.Event()

        def function(_: isthmus.Future) -> None:
            count[0] += 1
            if count[0] == 200:
                every.set()

        data = drawn(50_000)
        for _ in range(200):
            session.to_device_async(data).add_done_callback(function)
        assert every.wait(LONG)

    def test_one_that_comes_late_is_called_at_once(self, session: isthmus.Session) -> None:
        future = session.to_device_async(drawn(100))
        future.wait()
        threads: list[int] = []
        future.add_done_callback(lambda _: threads.append(threading.get_ident()))
        assert threads == [threading.get_ident()]
        nothing = session.copy_async(bytearray(0), b"")
        nothing.add_done_callback(lambda _: threads.append(threading.get_ident()))
        assert threads == [threading.get_ident()] * 2

    @pytest.mark.parametrize("late", [False, True])
    def test_what_it_raises_is_logged_and_ends_nothing(
        self,
        session: isthmus.Session,
        stream: _native.Stream,
        held: _native.Latch,
        caplog: pytest.LogCaptureFixture,
        late: bool,
    ) -> None:
        def fails(_: isthmus.Future) -> None:
            raise ValueError("of mine")

        ended = threading.Event()
        future = session.to_device_async(drawn(100_000), stream=stream.handle)
        if late:
            held.open()
            future.wait()
        with caplog.at_level(logging.ERROR, "isthmus"):
            future.add_done_callback(fails)
            future.add_done_callback(lambda _: ended.set())
            held.open()
            assert ended.wait(LONG)
        (record,) = caplog.records
        assert "exception in a callback of <isthmus._native.Future" in record.getMessage()
        assert record.exc_info is not None
        assert str(record.exc_info[1]) == "of mine"

    def test_it_may_begin_other_copies_and_wait(self, session: isthmus.Session) -> None:
        """It runs where no lock of ours is held."""
        found: list[Array] = []
        ended = threading.Event()

        def function(future: isthmus.Future) -> None:
            found.append(session.to_host_async(future.result()).result(LONG))
            ended.set()

        session.to_device_async(drawn(70_000)).add_done_callback(function)
        assert ended.wait(LONG)
        assert (found[0] == drawn(70_000)).all()

    def test_what_it_uses_is_let_go_of(self, session: isthmus.Session) -> None:
        class Large:
            pass

        large, ended = Large(), threading.Event()
        there = weakref.ref(large)
        future = session.to_device_async(drawn(70_000))
        future.add_done_callback(lambda _, used=large: ended.set())  # type: ignore[misc]
        del large
        assert ended.wait(LONG)
        for _ in range(2000):  # the thread lets go after the call
            if there() is None:
                break
            threading.Event().wait(0.001)
        assert there() is None


class TestAwaiting:
    def test_other_tasks_go_on(self, session: isthmus.Session, stream: _native.Stream, held: _native.Latch) -> None:
        async def main() -> Array:
            future = session.to_device_async(drawn(3 * 1024 * 1024), stream=stream.handle)
            task = asyncio.ensure_future(_awaited(future))
            for _ in range(10):
                await asyncio.sleep(0.001)
            assert not task.done()
            held.open()
            there = await asyncio.wait_for(task, LONG)
            back: Array = await session.to_host_async(there)
            return back

        assert (asyncio.run(main()) == drawn(3 * 1024 * 1024)).all()

    @pytest.mark.parametrize("size", SIZES)
    def test_many_at_once(self, session: isthmus.Session, size: int) -> None:
        async def main() -> list[Any]:
            there = await asyncio.gather(*(_awaited(session.to_device_async(drawn(size, i))) for i in range(20)))
            return await asyncio.gather(*(_awaited(session.to_host_async(each)) for each in there))

        for i, back in enumerate(asyncio.run(main())):
            assert (back == drawn(size, i)).all()

    def test_no_thread_belongs_to_a_future(
        self, session: isthmus.Session, stream: _native.Stream, held: _native.Latch
    ) -> None:
        async def main() -> None:
            def threads() -> set[Path]:
                return set(Path("/proc/self/task").iterdir())

            there = session.empty((100, 4000), "u1")
            futures = [session.copy_async(there[i], drawn(4000), stream=stream.handle) for i in range(100)]
            tasks = [asyncio.ensure_future(_awaited(future)) for future in futures[:1]]
            await asyncio.sleep(0.01)
            before = threads()
            tasks += [asyncio.ensure_future(_awaited(future)) for future in futures[1:]]
            await asyncio.sleep(0.01)
            # The session, and those of tests before, may start and end a few of their own meanwhile.
            assert len(threads() - before) < len(futures) // 2
            held.open()
            await asyncio.gather(*tasks)

        asyncio.run(main())

    def test_a_task_that_is_cancelled_leaves_the_copy_going(
        self, session: isthmus.Session, stream: _native.Stream, held: _native.Latch
    ) -> None:
        source = drawn(100_000)
        kept = weakref.ref(source)
        future = session.to_device_async(source, stream=stream.handle)

        async def main() -> None:
            nonlocal source
            del source
            task = asyncio.ensure_future(_awaited(future))
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert kept() is not None
            assert not future.done()
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(_awaited(future), 0.01)
            held.open()
            await future

        asyncio.run(main())
        assert (future.result().to_host() == drawn(100_000)).all()

    def test_a_loop_that_has_ended_is_not_woken(
        self, session: isthmus.Session, stream: _native.Stream, held: _native.Latch, caplog: pytest.LogCaptureFixture
    ) -> None:
        future = session.to_device_async(drawn(100_000), stream=stream.handle)
        with pytest.raises(asyncio.TimeoutError):
            asyncio.run(asyncio.wait_for(_awaited(future), 0.01))
        ended = threading.Event()
        future.add_done_callback(lambda _: ended.set())
        held.open()
        assert ended.wait(LONG)
        assert not caplog.records


async def _awaited(future: Awaitable[Any]) -> Any:
    return await future
