"""What sessions promise besides right bytes: order, budgets, failures, forks, and many callers at once."""

from __future__ import annotations

import mmap
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import isthmus
from isthmus import _native
from isthmus.errors import CallFailed, IsthmusError, OutOfMemory, UsageError
from isthmus.machine.devices import open_device
from tests.synthetic.tables import METHODS, transfer_table

Bytes = npt.NDArray[np.uint8]

KIB, MIB = 1 << 10, 1 << 20
HANGS_SECONDS = 60
GUARD = 64
CHUNKS = [64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 16 * 64 * KIB, 17 * 64 * KIB + 5, 2 * MIB - 1]
SIZES = [0, 1, 3, 63, *CHUNKS, 2 * MIB, 16 * 128 * KIB + 1, 33 * 128 * KIB - 1, 9 * MIB + 7]


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A file with a table that moves all pieces by one method."""
    folder = tmp_path_factory.mktemp("tables")

    def write(method: str = "pack_threads") -> Path:
        path = folder / f"{method}.txt"
        path.write_text(transfer_table(method))
        return path

    return write


@pytest.fixture
def session(device: _native.Device, table: Callable[[str], Path]) -> Iterator[isthmus.Session]:
    with isthmus.Session(device, pinned_budget="4MiB", threads=3, table=table("pack_threads")) as opened:
        yield opened


def host_session(table: Callable[[str], Path], model: str = "", budget: str = "4MiB") -> isthmus.Session:
    native = open_device("host" + (":" + model if model else "")).native
    return isthmus.Session(native, pinned_budget=budget, threads=3, table=table("pack_threads"))


def drawn(bytes_: int, seed: int = 0) -> Bytes:
    return np.frombuffer(np.random.default_rng(seed).bytes(bytes_), np.uint8)


def untouched(bytes_: int) -> Bytes:
    """Memory without pages. That of np.empty has some wherever malloc takes it from what tests before have freed."""
    return np.frombuffer(mmap.mmap(-1, bytes_), np.uint8)


def guarded(bytes_: int, skew: int = 0) -> tuple[Bytes, Bytes]:
    """Memory between two zones, and all of it."""
    whole = np.full(bytes_ + 2 * GUARD + skew, 0xA5, np.uint8)
    return whole[GUARD + skew : GUARD + skew + bytes_], whole


def intact(part: Bytes, whole: Bytes, skew: int = 0) -> bool:
    return bool((whole[: GUARD + skew] == 0xA5).all() and (whole[GUARD + skew + part.size :] == 0xA5).all())


class TestSizes:
    """Around chunks, the ring's slots, turns of the ring, and pages."""

    @pytest.mark.parametrize("skew", [0, 1, 13])
    @pytest.mark.parametrize("size", SIZES)
    def test_every_byte_and_no_other(self, session: isthmus.Session, size: int, skew: int) -> None:
        data = drawn(size + skew, size)[skew:]
        on_device = session.empty(size, np.uint8)
        session.copy(on_device, data)
        back, whole = guarded(size, skew)
        session.copy(back, on_device)
        assert (back == data).all()
        assert intact(back, whole, skew)

    def test_memory_that_was_never_touched(self, session: isthmus.Session) -> None:
        data = drawn(24 * MIB + 100)
        on_device = session.to_device(data)
        for _ in range(2):
            fresh = untouched(data.size)
            session.copy(fresh, on_device)
            assert (fresh == data).all()


class TestMethods:
    @pytest.mark.parametrize("budget", ["256KiB", "3MiB", "16MiB"])
    @pytest.mark.parametrize("method", METHODS)
    def test_pieces_by_each(
        self, device: _native.Device, table: Callable[[str], Path], method: str, budget: str
    ) -> None:
        """What a device or the layout rules out is moved in another way."""
        with isthmus.Session(device, pinned_budget=budget, threads=3, table=table(method)) as session:
            data = drawn(96 * 40 * 7).reshape(96, 40, 7)
            whole = session.to_device(data)
            ours = np.zeros_like(data)
            session.copy(ours[::2, 1:33], whole[::2, 1:33])  # apart on both sides
            expected = np.zeros_like(data)
            expected[::2, 1:33] = data[::2, 1:33]
            assert (ours == expected).all()
            column = np.ascontiguousarray(data[:, 3, 2])
            session.copy(whole[:, 5, 1], column)
            back = np.empty_like(column)
            session.copy(back, whole[:, 5, 1])
            assert (back == column).all()
            assert session.pinned_bytes <= session.pinned_budget_bytes

    @pytest.mark.parametrize("method", METHODS)
    def test_more_pieces_than_offsets_fit(
        self, device: _native.Device, table: Callable[[str], Path], method: str
    ) -> None:
        with isthmus.Session(device, pinned_budget="3MiB", threads=3, table=table(method)) as session:
            rng = np.random.default_rng(5)
            data, count = drawn(20000 * 64).reshape(20000, 64), 9000
            on_device = session.to_device(np.zeros_like(data))
            rows, places = rng.permutation(20000)[:count], rng.permutation(20000)[:count]
            session.copy_batch([on_device[i] for i in places], [data[i] for i in rows])
            expected = np.zeros_like(data)
            expected[places] = data[rows]
            assert (session.to_host(on_device) == expected).all()

    @pytest.mark.parametrize("sizes", ["common", "any"])
    def test_a_batch_of_many_sizes(self, session: isthmus.Session, sizes: str) -> None:
        rng = np.random.default_rng(8)
        lengths = rng.integers(0, 20, 200) * 512 if sizes == "common" else rng.integers(0, 5000, 200)
        parts = [drawn(int(n), i) for i, n in enumerate(lengths)]
        whole = session.empty(int(lengths.sum()), np.uint8)
        ends = np.cumsum(lengths)
        places = [whole[int(end - n) : int(end)] for end, n in zip(ends, lengths, strict=True)]
        order = rng.permutation(len(parts))
        session.copy_batch([places[i] for i in order], [parts[i] for i in order])
        assert (session.to_host(whole) == np.concatenate(parts)).all()
        back = [np.zeros_like(part) for part in parts]
        session.copy_batch([back[i] for i in order], [places[i] for i in order])
        assert all((one == other).all() for one, other in zip(back, parts, strict=True))


class TestBudgets:
    @pytest.mark.parametrize("budget", [0, 1, 4096, 200_000, 1 * MIB, 1_200_000, 3 * MIB, 5_000_001])
    def test_never_above(self, device: _native.Device, table: Callable[[str], Path], budget: int) -> None:
        with isthmus.Session(device, pinned_budget=budget, threads=2, table=table("pack_threads")) as session:
            assert session.pinned_bytes == 0
            data = drawn(6 * MIB).reshape(-1, 64)
            on_device = session.to_device(data)
            assert (session.to_host(on_device) == data).all()
            assert (session.to_host(on_device[::3, ::2]) == data[::3, ::2]).all()
            assert session.pinned_bytes <= budget

    @pytest.mark.parametrize("budget", [0, 100_000, 3 * MIB, 5_000_001])
    def test_nor_for_copies_that_nobody_waits_for(
        self, device: _native.Device, table: Callable[[str], Path], budget: int
    ) -> None:
        with isthmus.Session(device, pinned_budget=budget, threads=2, table=table("pack_threads")) as session:
            sent = [drawn(size, size) for size in (1, 5000, 70_000, 300_000, 5 * MIB) * 3]
            there = [session.empty(each.size, np.uint8) for each in sent]
            back = [np.zeros_like(each) for each in sent]
            for operands in (zip(there, sent, strict=True), zip(back, there, strict=True)):
                futures = [session.copy_async(to, from_) for to, from_ in operands]
                assert session.pinned_bytes <= budget
                for future in futures:
                    future.wait()
            assert all((one == other).all() for one, other in zip(back, sent, strict=True))
        assert session.pinned_bytes == 0

    def test_one_too_small_for_a_chunk_says_so(self, device: _native.Device, table: Callable[[str], Path]) -> None:
        with isthmus.Session(device, pinned_budget="64KiB", table=table("pack_threads")) as session:
            found = session.explain(session.empty(MIB, np.uint8), np.zeros(MIB, np.uint8))
            assert found.method == "driver"
            assert "65536 bytes holds no ring of chunks" in found.why

    def test_of_a_large_one_no_more_is_taken_than_is_of_use(
        self, device: _native.Device, table: Callable[[str], Path]
    ) -> None:
        with isthmus.Session(device, pinned_budget=1 << 30, threads=2, table=table("pack_kernel")) as session:
            data = drawn(6 * MIB).reshape(-1, 64)
            on_device = session.to_device(data)
            assert (session.to_host(on_device[::3, ::2]) == data[::3, ::2]).all()
            # Each way eight chunks of 4 MiB, and offsets of 65536 pieces on both sides.
            assert 0 < session.pinned_bytes <= 2 * (8 * 4 * MIB + MIB)

    def test_one_beyond_this_hosts_memory_is_refused(self, device: _native.Device) -> None:
        installed = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")
        with pytest.raises(UsageError, match=f"budget of {installed + 1} bytes, and the host has {installed} bytes"):
            isthmus.Session(device, pinned_budget=installed + 1)

    def test_trim_gives_all_back(self, session: isthmus.Session) -> None:
        data = drawn(MIB)
        on_device = session.to_device(data)
        assert session.pinned_bytes > 0
        session.trim()
        assert session.pinned_bytes == 0
        assert (session.to_host(on_device) == data).all()


class TestOrder:
    def test_what_comes_later_may_be_waited_for(self, device: _native.Device, session: isthmus.Session) -> None:
        """A copy whose stream is held takes nothing that others need, so they get through, and may end the wait."""
        stream = _native.Stream(device)
        data, other = drawn(3 * MIB, 1), drawn(3 * MIB, 2)
        on_device, elsewhere = session.empty(data.size, np.uint8), session.empty(other.size, np.uint8)
        back = np.zeros_like(data)
        latch = stream.close_latch()
        up = session.copy_async(on_device, data, stream=stream.handle)
        down = session.copy_async(back, on_device, stream=stream.handle)
        for _ in range(3):  # Through the same lanes.
            session.copy(elsewhere, other)
            assert (session.to_host(elsewhere) == other).all()
        assert not up.done()
        assert not down.done()
        latch.open()
        down.wait()
        up.wait()
        assert (back == data).all()

    def test_trimming_leaves_copies_that_wait_what_they_need(
        self, device: _native.Device, session: isthmus.Session
    ) -> None:
        """Their streams are held: what they got anew then, the driver might never give."""
        stream = _native.Stream(device)
        data = drawn(3 * MIB)
        on_device = session.empty(data.size, np.uint8)
        latch = stream.close_latch()
        up = session.copy_async(on_device, data, stream=stream.handle)
        held = session.pinned_bytes
        session.trim()
        assert session.pinned_bytes == held > 0
        latch.open()
        up.wait()
        assert (session.to_host(on_device) == data).all()

    def test_a_stream_waits_for_a_copy_on_another(self, device: _native.Device, session: isthmus.Session) -> None:
        first, second = _native.Stream(device), _native.Stream(device)
        data = drawn(MIB)
        on_device, back = session.empty(data.size, np.uint8), np.zeros_like(data)
        latch = first.close_latch()
        up = session.copy_async(on_device, data, stream=first.handle)
        up.wait_on(second.handle)
        down = session.copy_async(back, on_device, stream=second.handle)
        assert not down.done()
        latch.open()
        down.wait()
        assert (back == data).all()

    @pytest.mark.parametrize("size", [100, 3 * MIB])
    def test_it_begins_after_what_the_stream_holds(
        self, device: _native.Device, session: isthmus.Session, size: int
    ) -> None:
        """And what the stream is given later sees it."""
        stream = _native.Stream(device)
        first, second = drawn(size, 1), drawn(size, 2)
        on_device, back = session.empty(size, np.uint8), np.zeros(size, np.uint8)
        gate_data = drawn(8 * MIB, 3)
        other = session.empty(gate_data.size, np.uint8)
        futures = [
            session.copy_async(other, gate_data, stream=stream.handle),
            session.copy_async(on_device, first, stream=stream.handle),
            session.copy_async(back, on_device, stream=stream.handle),
            session.copy_async(on_device, second, stream=stream.handle),
        ]
        session.copy(other, gate_data, stream=stream.handle)
        assert all(future.done() for future in futures)
        assert (back == first).all()
        assert (session.to_host(on_device) == second).all()


class TestThreads:
    def test_a_small_copy_ends_before_a_large_one_that_came_first(self, table: Callable[[str], Path]) -> None:
        """On another stream."""
        native = open_device("host:rate=100MB/s").native
        first, second = _native.Stream(native), _native.Stream(native)
        with isthmus.Session(native, pinned_budget="4MiB", threads=3, table=table("pack_threads")) as session:
            large, small = drawn(32 * MIB, 1), drawn(1000, 2)
            theirs, ours = session.empty(large.size, np.uint8), session.empty(small.size, np.uint8)
            before = session.copy_async(theirs, large, stream=first.handle)
            session.copy_async(ours, small, stream=second.handle).wait()
            assert not before.done()
            before.wait()
            assert (session.to_host(ours) == small).all()

    def test_thirty_two_at_once(self, session: isthmus.Session) -> None:
        """Mixed sizes, both ways, while somebody trims; every byte checked."""
        failures: list[str] = []

        def work(seed: int) -> None:
            try:
                rng = np.random.default_rng(seed)
                for turn in range(4):
                    size = int(rng.choice([1, 100, 70_000, 400_000, 3_000_000])) + int(rng.integers(0, 99))
                    data = drawn(size, seed * 100 + turn)
                    on_device = session.empty(size, np.uint8)
                    back, whole = guarded(size)
                    if turn % 2:
                        session.copy(on_device, data)
                        session.copy(back, on_device)
                    else:
                        session.copy_async(on_device, data).wait()
                        session.copy_async(back, on_device).wait()
                    if not ((back == data).all() and intact(back, whole)):
                        failures.append(f"{seed}, {turn}: {size} bytes differ")
            except IsthmusError as error:
                failures.append(f"{seed}: {error}")

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(32)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            session.trim()
            assert session.pinned_bytes <= session.pinned_budget_bytes
            threads[-1].join(0.01)
        assert failures == []

    def test_a_copy_goes_on_without_its_session_or_future(self, device: _native.Device) -> None:
        session = isthmus.Session(device, pinned_budget="4MiB")
        data = drawn(5 * MIB)
        on_device = session.empty(data.size, np.uint8)
        kept = weakref.ref(data)
        session.copy_async(on_device, data)
        expected = data.copy()
        del data
        session.close()  # waits
        assert kept() is None
        with isthmus.Session(device) as reader:
            assert (reader.to_host(on_device) == expected).all()


FAULTS = ["copy", "pieces", "stream", "event", "allocate", "synchronize", "borrow", "identify", "latch", "section"]


class TestFailures:
    @pytest.mark.parametrize("kind", ["fail", "out_of_memory"])
    @pytest.mark.parametrize("call", [1, 2, 9, 40])
    @pytest.mark.parametrize("operation", FAULTS)
    def test_each_is_told_and_leaves_nothing(
        self, table: Callable[[str], Path], operation: str, call: int, kind: str
    ) -> None:
        """Copies before the failure were right, and whatever failed, the session closes and gives all back."""
        session = None
        data = drawn(286_001 * 11).reshape(-1, 11)
        told: list[str] = []
        try:
            session = host_session(table, f"fault={operation}:{kind}@{call}")
            on_device = session.to_device(data)
            for turn in range(4):
                assert (session.to_host(on_device) == data).all()
                assert (session.to_host(on_device[::2, 1:5]) == data[::2, 1:5]).all()
                back = np.zeros_like(data)
                session.copy_async(back, on_device).wait()
                assert (back == data).all(), turn
        except (CallFailed, OutOfMemory) as error:
            told.append(str(error))
        if session is not None:
            try:
                session.close()
            except (CallFailed, OutOfMemory) as error:
                told.append(str(error))
            assert session.pinned_bytes == 0
            with pytest.raises(UsageError, match="closed"):
                session.copy(np.zeros(3), np.ones(3))
        assert all("fault injected" in text for text in told)

    def test_how_much_had_arrived_is_said(self, table: Callable[[str], Path]) -> None:
        session = host_session(table, "fault=copy:fail@20")
        with pytest.raises(CallFailed, match=r"copying 8388608 bytes h2d, of which \d+ had arrived: copy failed"):
            session.copy(session.empty(8 * MIB, np.uint8), drawn(8 * MIB))

    @pytest.mark.parametrize("kind", ["slow", "hang"])
    def test_a_device_that_takes_its_time(self, table: Callable[[str], Path], kind: str) -> None:
        with host_session(table, f"fault=copy:{kind}@3,memory=64MiB") as session:
            data = drawn(100_000)
            assert (session.to_host(session.to_device(data)) == data).all()

    def test_no_page_may_be_locked(self, table: Callable[[str], Path]) -> None:
        """Then the driver's own copies do."""
        with host_session(table, "locked=0MiB") as session:
            data = drawn(3 * MIB)
            assert (session.to_host(session.to_device(data)) == data).all()
            assert session.pinned_bytes == 0

    def test_no_device_memory_for_pieces(self, table: Callable[[str], Path]) -> None:
        with host_session(table, "memory=1MiB") as session:
            data = drawn(512 * KIB).reshape(-1, 64)
            on_device = session.to_device(data)
            assert (session.to_host(on_device[:, :8]) == data[:, :8]).all()


def naps(tasks: set[Path]) -> dict[Path, tuple[str, str]]:
    """Whether each of these threads sleeps (S), and how often it has gone to sleep so far."""
    found = {}
    for task in tasks:
        lines = (task / "status").read_text().splitlines()
        fields = dict(line.split(":\t", 1) for line in lines)
        found[task] = (fields["State"][0], fields["voluntary_ctxt_switches"])
    return found


def test_threads_sleep_when_idle(table: Callable[[str], Path]) -> None:
    """And nobody wakes them to look whether there is something to do."""
    before = set(Path("/proc/self/task").iterdir())
    with host_session(table) as session:
        data = drawn(3 * MIB)
        on_device = session.to_device(data)
        session.copy_async(on_device, data).wait()
        own = set(Path("/proc/self/task").iterdir()) - before
        assert len(own) > 3
        # They may come to rest late, but a thread that wakes to look around never does.
        give_up = time.monotonic() + HANGS_SECONDS
        asleep: dict[Path, tuple[str, str]] = {}
        while (found := naps(own)) != asleep or {state for state, _ in found.values()} != {"S"}:
            assert time.monotonic() < give_up, found
            asleep = found
            threading.Event().wait(0.3)


def test_closing_twice_and_closing_with_copies_under_way(table: Callable[[str], Path]) -> None:
    session = host_session(table, "rate=1GB/s")
    data = drawn(8 * MIB)
    on_device = session.empty(data.size, np.uint8)
    future: Any = session.copy_async(on_device, data)
    session.close()
    assert future.done()
    future.wait()
    session.close()


class TestExplanations:
    def test_they_name_the_table_that_they_rest_on(
        self, device: _native.Device, table: Callable[[str], Path], tmp_path: Path
    ) -> None:
        narrow = np.zeros((512, 8), np.uint8)
        given = "says the table that the session was given, of a test"
        with isthmus.Session(device, table=table("pack_threads")) as session:
            staged = session.explain(session.empty(MIB, np.uint8), np.zeros(MIB, np.uint8))
            pieces = session.explain(session.empty((512, 64), np.uint8)[:, :8], narrow)
            assert (staged.method, pieces.method) == ("staged", "pack_threads")
            assert staged.why.endswith(f"fastest for this size, {given}")
            assert pieces.why == f"fastest for 512 pieces of 8 bytes, {given}"
        bare = tmp_path / "bare.txt"
        bare.write_text(transfer_table().partition("pieces ")[0] + "end\n")
        with isthmus.Session(device, table=bare) as session:
            small = session.explain(session.empty(8, np.uint8), np.zeros(8, np.uint8))
            assert small.why == f"the driver's own copy is fastest for this size, {given}"
            pieces = session.explain(session.empty((512, 64), np.uint8)[:, :8], narrow)
            assert pieces.why.startswith("the table that the session was given, of a test has nothing like 512 pieces")
            assert "fastest" not in pieces.why

    def test_they_say_how_threads_store_and_few_threads_demote_nothing(
        self, device: _native.Device, table: Callable[[str], Path]
    ) -> None:
        data = np.zeros(MIB, np.uint8)
        enough = "demoted" if _native.can_demote() else "streaming"
        for threads, stores in ((1, "streaming"), (2, enough)):
            with isthmus.Session(device, threads=threads, table=table("pack_threads")) as session:
                there = session.empty(MIB, np.uint8)
                assert session.explain(there, data).stores == stores
                assert f", {stores} stores" in str(session.explain(there, data))
                assert session.explain(data[:64], there[:64]).stores == ""


def test_explain_says_that_memory_was_never_touched(session: isthmus.Session) -> None:
    size = 64 << 20
    there = session.empty(size, np.uint8)
    touched = session.explain(np.ones(size, np.uint8), there)
    if touched.method != "staged":
        pytest.skip(f"large copies from this device go by {touched.method}")
    told = session.explain(untouched(size), there)
    assert "never touched" in told.why
    assert (told.stores, told.ways) == ("ordinary", {})
    assert told.threads >= touched.threads
    assert "never touched" not in touched.why
