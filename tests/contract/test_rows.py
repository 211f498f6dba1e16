"""Copies of rows that lists name, on every device: what NumPy's indexing gives, and nothing else is touched."""

from __future__ import annotations

from collections.abc import Iterator
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
ROUTES = ["h2d", "d2h", "d2d", "h2h"]
LAZY = settings(max_examples=40)


@pytest.fixture(scope="module")
def session(device: _native.Device) -> Iterator[isthmus.Session]:
    with isthmus.Session(device, pinned_budget="4MiB", threads=3) as opened:
        yield opened


def pinned_like(device: _native.Device, array: Array) -> Array:
    """The same in page-locked memory, which the array keeps."""
    if device.why_not("pinned"):
        pytest.skip("no page-locked memory")
    memory = device.allocate("pinned", max(array.nbytes, 1)).host_array()
    found: Array = memory[: array.nbytes].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


class Layers:
    """Arrays of equal rows, alone or in one block, with gaps between rows or within them; here or on the device."""

    def __init__(self, blocks: list[Array], views: list[Array]) -> None:
        self.blocks, self.views = blocks, views

    def place(self, session: isthmus.Session, device: _native.Device, where: str) -> list[Any]:
        """The arrays as a copy takes them, which `blocks_now` reads back."""
        self._session, self._where = session, where
        if where == "device":
            self._placed: list[Any] = [session.to_device(block) for block in self.blocks]
        else:
            self._placed = [pinned_like(device, b) if where == "pinned" else b.copy() for b in self.blocks]
        placed: list[Any] = []
        for i, view in enumerate(self.views):
            number = i if len(self.blocks) > 1 else 0
            block, own = self.blocks[number], self._placed[number]
            offset = view.__array_interface__["data"][0] - block.__array_interface__["data"][0]
            if where == "device":
                placed.append(isthmus.DeviceArray(own, offset, list(view.shape), list(view.strides)))
            else:
                own_bytes = own.reshape(-1).view(np.uint8)
                whole = np.ndarray((own_bytes.size,), np.uint8, own_bytes)
                first = whole[offset:][: view.itemsize].view(view.dtype)
                placed.append(np.lib.stride_tricks.as_strided(first, view.shape, view.strides))
        return placed

    def blocks_now(self) -> list[Array]:
        return [self._session.to_host(one) if self._where == "device" else one for one in self._placed]


@st.composite
def layers(draw: st.DrawFn, count: int, row: tuple[int, ...], dtype: str) -> Layers:
    rows = draw(st.integers(1, 9))
    seed = np.random.default_rng(draw(st.integers(0, 99)))

    def filled(shape: tuple[int, ...]) -> Array:
        bytes_ = seed.integers(0, 256, int(np.prod(shape)) * np.dtype(dtype).itemsize, np.uint8)
        found: Array = np.frombuffer(bytes_.tobytes(), dtype).reshape(shape).copy()
        return found

    kind = draw(st.sampled_from(["plain", "plain", "gaps", "interleaved", "inner gaps", "backwards"]))
    if kind == "interleaved":
        block = filled((rows, count, *row))
        return Layers([block], [block[:, i] for i in range(count)])
    if kind == "gaps":
        blocks = [filled((2 * rows, *row)) for _ in range(count)]
        return Layers(blocks, [block[1::2] for block in blocks])
    if kind == "inner gaps":
        blocks = [filled((rows, *row, 2)) for _ in range(count)]
        return Layers(blocks, [block[..., 0] for block in blocks])
    blocks = [filled((rows, *row)) for _ in range(count)]
    return Layers(blocks, [block[::-1] if kind == "backwards" else block for block in blocks])


@st.composite
def cases(draw: st.DrawFn) -> tuple[Layers, Layers, Array, Array]:
    dtype = draw(st.sampled_from(["u1", "<i2", "<f4", "<f8", "V5", "<c16"]))
    row = draw(st.sampled_from([(), (1,), (3,), (16,), (2, 5), (129,), (64, 8), (1024,), (515, 3)]))
    count = draw(st.integers(1, 4))
    destination, source = draw(layers(count, row, dtype)), draw(layers(count, row, dtype))
    to_rows, from_rows = len(destination.views[0]), len(source.views[0])
    order = draw(st.permutations(range(to_rows)))
    chosen = order[: draw(st.integers(0, to_rows))]
    if draw(st.booleans()):
        chosen = sorted(chosen)
    picks = draw(st.lists(st.integers(0, from_rows - 1), min_size=len(chosen), max_size=len(chosen)))
    return destination, source, np.array(chosen, np.int64), np.array(picks, np.int64)


def listed(session: isthmus.Session, rows: Array, how: str) -> Any:
    if how == "list":
        return rows.tolist()
    if how == "spread":
        return np.repeat(rows, 2)[::2]
    if how == "device" and rows.size:
        return session.to_device(rows)
    if how == "device of 32 bits" and rows.size:
        return session.to_device(rows.astype(np.int32))
    found: Array = rows.astype(how) if how in {"u1", "i2", "<u4", "<i4", "<u8"} else rows
    return found


HOWS = ["as it is", "list", "spread", "u1", "i2", "<u4", "<i4", "<u8", "device", "device of 32 bits"]


class TestAgainstNumpy:
    @pytest.mark.parametrize("asynchronous", [False, True], ids=["waits", "async"])
    @pytest.mark.parametrize("route", ROUTES)
    @LAZY
    @given(cases(), st.sampled_from(["pageable", "pinned"]), st.sampled_from(HOWS), st.sampled_from(HOWS))
    def test_rows_arrive_where_they_belong(
        self,
        session: isthmus.Session,
        device: _native.Device,
        route: str,
        asynchronous: bool,
        case: tuple[Layers, Layers, Array, Array],
        host: str,
        to_how: str,
        from_how: str,
    ) -> None:
        destination, source, to_rows, from_rows = case
        to = destination.place(session, device, "device" if route[2] == "d" else host)
        from_ = source.place(session, device, "device" if route[0] == "d" else host)
        lists = (listed(session, to_rows, to_how), listed(session, from_rows, from_how))
        if asynchronous:
            session.copy_rows_async(to, lists[0], from_, lists[1]).wait()
        else:
            session.copy_rows(to, lists[0], from_, lists[1])
        for view, read in zip(destination.views, source.views, strict=True):
            view[to_rows] = read[from_rows]
        for found, wanted in zip(destination.blocks_now(), destination.blocks, strict=True):
            assert found.tobytes() == wanted.tobytes()
        if to_rows.size:
            explained = session.explain_rows(to, lists[0], from_, lists[1])
            assert explained.bytes == to_rows.size * sum(view[0].nbytes for view in destination.views)
            assert explained.direction == route

    @pytest.mark.parametrize("route", ["h2d", "d2h"])
    @pytest.mark.parametrize("host", ["pageable", "pinned"])
    @pytest.mark.parametrize("row_bytes", [64, 4096, 40960])
    def test_many_rows_go_in_parts(
        self, session: isthmus.Session, device: _native.Device, route: str, host: str, row_bytes: int
    ) -> None:
        """More of them than fit the ring, the table of offsets or one tile of a kernel."""
        random = np.random.default_rng(row_bytes)
        count = 1500 if row_bytes < 40960 else 300
        blocks = [[random.integers(0, 256, (count, row_bytes), np.uint8) for _ in range(3)] for _ in range(2)]
        destination, source = Layers(blocks[0], blocks[0]), Layers(blocks[1], blocks[1])
        to = destination.place(session, device, "device" if route == "h2d" else host)
        from_ = source.place(session, device, host if route == "h2d" else "device")
        to_rows, from_rows = random.permutation(count)[:200], random.integers(0, count, 200)
        session.copy_rows(to, to_rows, from_, from_rows)
        for view, read in zip(destination.views, source.views, strict=True):
            view[to_rows] = read[from_rows]
        for found, wanted in zip(destination.blocks_now(), destination.blocks, strict=True):
            assert (found == wanted).all()

    def test_rows_within_one_array(self, session: isthmus.Session) -> None:
        data = np.arange(64, dtype=np.int32).reshape(8, 8)
        cache = session.to_device(data)
        for lists in (([0, 1], [2, 3]), (session.to_device(np.array([4, 5])), session.to_device(np.array([6, 7])))):
            session.copy_rows(cache, lists[0], cache, lists[1])
        data[[0, 1, 4, 5]] = data[[2, 3, 6, 7]]
        assert (session.to_host(cache) == data).all()

    @pytest.mark.parametrize(
        ("to_rows", "from_rows"),
        [
            (None, None),
            (slice(None), slice(None, None, -1)),
            (slice(2, 5), slice(-3, None)),
            (slice(7, 1, -2), [3, 0, 1]),
            (slice(5, 5), slice(9, 20)),
            (slice(-100, 100), range(8)),
            (None, slice(-8, None)),
        ],
    )
    @pytest.mark.parametrize("layers", [0, 2])
    def test_slices_name_rows_as_python_does_and_none_names_all(
        self, session: isthmus.Session, to_rows: Any, from_rows: Any, layers: int
    ) -> None:
        whole = slice(None)
        source = np.arange(64, dtype=np.int32).reshape(8, 8)
        wanted = np.zeros_like(source)
        there = [session.to_device(np.zeros_like(source)) for _ in range(max(layers, 1))]
        if layers:
            session.copy_rows(there, to_rows, [source] * layers, from_rows)
        else:
            session.copy_rows_async(there[0], to_rows, source, from_rows).wait()
        wanted[whole if to_rows is None else to_rows] = source[whole if from_rows is None else from_rows]
        assert all((session.to_host(each) == wanted).all() for each in there)

    def test_nothing_to_copy(self, session: isthmus.Session) -> None:
        cache = session.to_device(np.ones((4, 4), np.uint8))
        session.copy_rows(cache, [], np.zeros((4, 4), np.uint8), range(0))
        session.copy_rows([], [], [], [])
        session.copy_rows([], None, [], slice(3))
        session.copy_rows_async([], [], [], []).wait()
        session.copy_rows(session.empty((3, 0), np.uint8), [1], np.zeros((3, 0), np.uint8), [2])
        assert (session.to_host(cache) == 1).all()
        assert session.explain_rows(cache, [], np.zeros((4, 4), np.uint8), []).method == "nothing"


BAD = [
    ([0, 8], [0, 1], "number 1 of the destination's rows is 8, and the destination has 8 rows"),
    ([0, 1], [0, 6], "number 1 of the source's rows is 6, and the source has 6 rows"),
    ([-1, 1], [0, 1], "number 0 of the destination's rows is -1"),
    ([0, 1], [-2, 1], "number 0 of the source's rows is -2"),
    ([3, 1, 3], [0, 1, 2], "numbers 0 and 2 of the destination's rows are both 3"),
    ([1 << 63, 1], [0, 1], "number 0 of the destination's rows is 9223372036854775807"),
    ([0, 1, 2], [0, 1], "the lists name 3 rows of the destination and 2 of the source"),
]


class TestBadLists:
    @pytest.mark.parametrize("route", ["h2d", "d2h", "d2d"])
    @pytest.mark.parametrize(("to_rows", "from_rows", "said"), BAD)
    def test_are_refused_before_anything_moves(
        self, session: isthmus.Session, route: str, to_rows: list[int], from_rows: list[int], said: str
    ) -> None:
        destination, source = np.full((8, 32), GUARD, np.uint8), np.zeros((6, 32), np.uint8)
        to = session.to_device(destination) if route[2] == "d" else destination
        from_ = session.to_device(source) if route[0] == "d" else source
        with pytest.raises(UsageError, match=said):
            session.copy_rows([to], to_rows, [from_], from_rows)
        with pytest.raises(UsageError, match=said):
            session.copy_rows_async(to, to_rows, from_, from_rows)
        assert (np.asarray(session.to_host(to) if route[2] == "d" else to) == GUARD).all()

    @pytest.mark.parametrize("host", ["pageable", "pinned", "device"])
    @pytest.mark.parametrize(
        ("to_rows", "from_rows", "said"),
        [
            ([0, 8], [0, 1], "number 1 of the destination's rows.*the destination has 8 rows"),
            ([0, -1], [0, 1], "number 1 of the destination's rows"),
            ([0, 1], [5, 6], "number 1 of the source's rows.*the source has 6 rows"),
            ([4, 2, 4], [0, 1, 2], "numbers? .*2 of the destination's rows"),
        ],
    )
    def test_on_the_device_are_told_of_when_the_copy_has_ended(
        self,
        session: isthmus.Session,
        device: _native.Device,
        host: str,
        to_rows: list[int],
        from_rows: list[int],
        said: str,
    ) -> None:
        """Whether kernels have looked at them, or the host has."""
        source: Any = np.zeros((6, 64), np.uint8)
        if host != "pageable":
            source = pinned_like(device, source) if host == "pinned" else session.to_device(source)
        to = session.to_device(np.full((8, 64), GUARD, np.uint8))
        lists = session.to_device(np.array(to_rows)), session.to_device(np.array(from_rows))
        with pytest.raises(UsageError, match=said):
            session.copy_rows(to, lists[0], source, lists[1])
        with pytest.raises(UsageError, match=said):
            session.copy_rows_async(to, lists[0], source, lists[1]).wait()
        assert (session.to_host(to) == GUARD).all()

    @pytest.mark.parametrize("on_device", [False, True])
    def test_rows_that_are_read_and_written_to(self, session: isthmus.Session, on_device: bool) -> None:
        cache = session.to_device(np.full((8, 16), GUARD, np.uint8))
        lists: list[Any] = [np.array([1, 2]), np.array([2, 3])]
        if on_device:
            lists = [session.to_device(one) for one in lists]
        with pytest.raises(UsageError, match=r"read and written to|the same copy writes to"):
            session.copy_rows(cache, lists[0], cache, lists[1])
        assert (session.to_host(cache) == GUARD).all()

    def test_layers_that_overlap(self, session: isthmus.Session) -> None:
        cache = session.to_device(np.full((8, 16), GUARD, np.uint8))
        source = np.zeros((8, 16), np.uint8)
        with pytest.raises(UsageError, match="overlap"):
            session.copy_rows([cache, cache[1:]], [1, 2], [source, source], [0, 1])
        assert (session.to_host(cache) == GUARD).all()
        # Rows 1 and 3 of the same memory.
        session.copy_rows([cache, cache[2:]], [1], [source, source], [0])
        found = session.to_host(cache)
        assert (found[[1, 3]] == 0).all()
        assert (found[[0, 2, 4, 5, 6, 7]] == GUARD).all()

    @pytest.mark.parametrize(
        ("rows", "said"),
        [
            ([0.5], "have 0.5, a float, at place 0"),
            ([True], "have True, a bool"),
            (np.array([0.0]), "float64; expected a range"),
            (np.array([True]), "x.nonzero"),
            (np.array([[0]]), "one dimension"),
            (np.array([0], ">i8"), "order of bytes"),
            ("all", "expected a range"),
            (3, "expected a range"),
        ],
    )
    def test_of_wrong_types(self, session: isthmus.Session, rows: Any, said: str) -> None:
        to, source = session.empty((4, 4), np.uint8), np.zeros((4, 4), np.uint8)
        with pytest.raises(UsageError, match=f"the rows of the destination .*{said}"):
            session.copy_rows(to, rows, source, [0])
        with pytest.raises(UsageError, match=f"the rows of the source .*{said}"):
            session.copy_rows(to, [0], source, rows)

    def test_on_a_device_of_wrong_types(self, session: isthmus.Session) -> None:
        to, source = session.empty((4, 4), np.uint8), np.zeros((4, 4), np.uint8)
        with pytest.raises(WrongType, match="expected int32 or int64 there"):
            session.copy_rows(to, session.to_device(np.array([1], np.uint8)), source, [0])


class TestBadArrays:
    @pytest.mark.parametrize(
        ("to", "source", "said"),
        [
            ([(4, 4)], [(4, 5)], "the shapes of rows differ"),
            ([(4, 4)], [(4, 2, 2)], "the shapes of rows differ"),
            ([(4, 4), (4, 8)], [(4, 4), (4, 8)], "rows of layer 1 have 8 bytes, those of layer 0 have 4"),
            ([(4, 4), (4, 4)], [(4, 4)], "2 layers and the source 1"),
            ([()], [()], "has no rows"),
        ],
    )
    def test_that_do_not_go_together(
        self, session: isthmus.Session, to: list[tuple[int, ...]], source: list[tuple[int, ...]], said: str
    ) -> None:
        with pytest.raises(UsageError, match=said):
            session.copy_rows(
                [session.empty(shape, np.uint8) for shape in to], [0], [np.zeros(s, np.uint8) for s in source], [0]
            )

    def test_of_other_types_or_that_may_not_be_written_to(self, session: isthmus.Session) -> None:
        to, source = session.empty((4, 4), np.uint8), np.zeros((4, 4), np.int8)
        with pytest.raises(UsageError, match="the types differ"):
            session.copy_rows(to, [0], source, [0])
        fixed = np.zeros((4, 4), np.uint8)
        fixed.flags.writeable = False
        with pytest.raises(UsageError, match="may not be written to"):
            session.copy_rows(fixed, [0], to, [0])
        with pytest.raises(UsageError, match=r"layer 1: its source .* is not where that of layer 0 is"):
            session.copy_rows([to, to], [0], [np.zeros((4, 4), np.uint8), to], [1])


class TestAddresses:
    def test_pieces_by_their_addresses(self, device: _native.Device, session: isthmus.Session) -> None:
        to = session.to_device(np.full(4096, GUARD, np.uint8))
        if to.__dlpack_device__()[0] not in {1, 2}:
            pytest.skip("memory has no addresses")
        source = np.arange(4096, dtype=np.uint8)
        begin = (
            np.from_dlpack(to).ctypes.data if to.__dlpack_device__()[0] == 1 else to.__cuda_array_interface__["data"][0]
        )
        places = np.array([64, 1024, 512])
        at = source.ctypes.data + np.array([0, 100, 200])
        session.copy_addresses(begin + places, at, [64, 32, 1], direction="h2d")
        wanted = np.full(4096, GUARD, np.uint8)
        for place, first, size in zip(places, (0, 100, 200), (64, 32, 1), strict=True):
            wanted[place : place + size] = source[first : first + size]
        assert (session.to_host(to) == wanted).all()
        back = np.zeros(3 * 16, np.uint8)
        session.copy_addresses_async(
            back.ctypes.data + np.array([0, 16, 32]), (begin + places).tolist(), 16, direction="d2h"
        ).wait()
        assert (back == np.concatenate([wanted[place : place + 16] for place in places])).all()

    @pytest.mark.parametrize(
        ("arguments", "direction", "said"),
        [
            (([1], [1, 2], 8), "h2d", "2 addresses of the source and 1"),
            (([1], [1], [8, 8]), "h2d", "2 sizes and 1"),
            (([0], [1], 8), "h2d", "number 0 of the addresses of the destination is 0"),
            (([1], [1], -8), "h2d", "number 0 of the sizes is -8"),
            (([1], [1], 8), "up", "expected 'h2d', 'd2h', 'd2d' or 'h2h'"),
            (([1], [1], 8), None, "expected 'h2d', 'd2h', 'd2d' or 'h2h'"),
            (([1.5], [1], 8), "h2d", "have 1.5, a float"),
        ],
    )
    def test_bad_ones_are_refused(
        self, session: isthmus.Session, arguments: tuple[Any, Any, Any], direction: Any, said: str
    ) -> None:
        with pytest.raises(UsageError, match=said):
            session.copy_addresses(*arguments, direction=direction)


class TestOrder:
    @pytest.mark.parametrize("lists", ["host", "device"])
    @pytest.mark.parametrize("host", ["pinned", "pageable"])
    def test_it_begins_after_what_the_stream_holds_and_later_work_sees_it(
        self, device: _native.Device, session: isthmus.Session, host: str, lists: str
    ) -> None:
        """As when blocks are swapped in: the rows are written on the stream before, and read on it after."""
        stream = _native.Stream(device)
        data = np.random.default_rng(1).integers(0, 256, (64, 4096), np.uint8)
        pool: Any = pinned_like(device, np.zeros_like(data)) if host == "pinned" else np.zeros_like(data)
        cache, back = session.empty(data.shape, np.uint8), np.zeros_like(data)
        first = session.to_device(data)
        rows = np.random.default_rng(2).permutation(64)
        named: list[Any] = [rows, rows[::-1].copy()]
        if lists == "device":
            named = [session.to_device(one) for one in named]
        elif host == "pageable":
            latch = stream.close_latch()
        if lists == "host" and host == "pinned":
            latch = stream.close_latch()
        futures = [
            session.copy_async(pool, first, stream=stream.handle),
            session.copy_rows_async(cache, named[0], pool, named[1], stream=stream.handle),
            session.copy_async(back, cache, stream=stream.handle),
        ]
        if lists == "host":
            rows[...] = 0  # Lists of the host were read when the call was made.
            assert not futures[1].done()
            latch.open()
        for future in futures:
            future.wait()
        order = np.random.default_rng(2).permutation(64)
        wanted = np.zeros_like(data)
        wanted[order] = data[order[::-1]]
        assert (back == wanted).all()

    def test_arrays_live_until_the_copy_has_ended(
        self, device: _native.Device, session: isthmus.Session, stream: _native.Stream
    ) -> None:
        data = np.random.default_rng(1).integers(0, 256, (32, 512), np.uint8)
        cache = session.to_device(np.zeros_like(data))
        latch = stream.close_latch()
        future = session.copy_rows_async(cache, range(32), data.copy(), range(31, -1, -1), stream=stream.handle)
        latch.open()
        future.wait()
        assert (session.to_host(cache) == data[::-1]).all()
