"""Windows of one block, copied into one another: refused where a byte is read or written twice, right where not.

And batches of pieces that share no block, which no one copy of the driver may reach over, and planes that change
places.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isthmus
from isthmus import _native
from isthmus.errors import UsageError

SIZE = 96

# The lengths of pieces repeat, so that some batches are of one size, some of few, some of many.
Piece = tuple[int, int, int]
LENGTHS = st.sampled_from([0, 1, 3, 8, 8, 16])


@st.composite
def piece(draw: st.DrawFn) -> Piece:
    length = draw(LENGTHS)
    places = st.integers(0, SIZE - length)
    return draw(places), draw(places), length


def overlaps(pieces: list[Piece]) -> bool:
    """Whether two destinations, or a destination and a source, have a byte in common: one byte at a time."""
    written: set[int] = set()
    for to, _, length in pieces:
        here = set(range(to, to + length))
        if written & here:
            return True
        written |= here
    return any(place in written for _, source, length in pieces for place in range(source, source + length))


@pytest.fixture
def session(device: _native.Device) -> Iterator[isthmus.Session]:
    with isthmus.Session(device, pinned_budget="4MiB", threads=2) as opened:
        yield opened


every_run = settings(max_examples=60)


@pytest.mark.parametrize("on_device", [True, False])
@every_run
@given(pieces=st.lists(piece(), min_size=1, max_size=6))
def test_a_batch_is_refused_exactly_where_its_windows_overlap(
    session: isthmus.Session, on_device: bool, pieces: list[Piece]
) -> None:
    before = np.arange(SIZE, dtype=np.uint8)
    block = session.to_device(before) if on_device else before.copy()
    destinations = [block[to : to + length] for to, _, length in pieces]
    sources = [block[source : source + length] for _, source, length in pieces]
    expected = before.copy()
    if overlaps(pieces):
        with pytest.raises(UsageError, match="overlap"):
            session.copy_batch(destinations, sources)
    else:
        for to, source, length in pieces:
            expected[to : to + length] = before[source : source + length]
        session.copy_batch(destinations, sources)
    assert (np.asarray(session.to_host(block) if on_device else block) == expected).all()


@pytest.mark.parametrize("on_device", [True, False])
@every_run
@given(
    windows=st.tuples(st.integers(0, 24), st.integers(0, 24)),
    steps=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    count=st.integers(1, 18),
)
def test_a_copy_is_refused_exactly_where_its_elements_overlap(
    session: isthmus.Session, on_device: bool, windows: tuple[int, int], steps: tuple[int, int], count: int
) -> None:
    before = np.arange(SIZE, dtype=np.uint8)
    block = session.to_device(before) if on_device else before.copy()
    to, source = (slice(at, at + step * count, step) for at, step in zip(windows, steps, strict=True))
    pieces = [(windows[0] + i * steps[0], windows[1] + i * steps[1], 1) for i in range(count)]
    expected = before.copy()
    if overlaps(pieces):
        with pytest.raises(UsageError, match="overlap"):
            session.copy(block[to], block[source])
    else:
        expected[to] = before[source]
        session.copy(block[to], block[source])
    assert (np.asarray(session.to_host(block) if on_device else block) == expected).all()


@pytest.mark.parametrize("to_device", [True, False])
@pytest.mark.parametrize("off", [0, 17])
def test_what_is_refused_of_many_pieces_has_changed_nothing(
    session: isthmus.Session, to_device: bool, off: int
) -> None:
    """So many that threads pack them, which have begun when it is found out."""
    width, count = 4096, 2048
    places = np.random.default_rng(off).permutation(2 * count)[:count] * width
    twice = [*places[:-1].tolist(), int(places[5]) + off]
    host = np.full(2 * count * width, 7, np.uint8)
    device = session.to_device(np.full(host.size, 3, np.uint8))
    there, here = (twice, places.tolist()) if to_device else (places.tolist(), twice)
    on_device = [device[at : at + width] for at in there]
    on_host = [host[at : at + width] for at in here]
    operands = (on_device, on_host) if to_device else (on_host, on_device)
    for copy in (session.copy_batch, session.copy_batch_async):
        with pytest.raises(UsageError, match="destinations of the batch overlap one another"):
            copy(*operands)
    assert (host == 7).all()
    assert (session.to_host(device) == 3).all()


@pytest.mark.parametrize("pieces", [2, 3, 16, 33])
@pytest.mark.parametrize("size", [1, 8, 256, 512, 4096, 65536])
@pytest.mark.parametrize("kind", ["pageable", "pinned"])
def test_a_batch_between_allocations_of_their_own_arrives(
    device: _native.Device, pieces: int, size: int, kind: str
) -> None:
    """Two pieces always lie at a regular distance, and so do many that an allocator puts side by side."""
    if device.info["backend"] == "opencl" and kind == "pinned":
        pytest.skip("page-locked memory of OpenCL is a buffer")
    data = np.random.default_rng(pieces).integers(0, 255, (pieces, size), np.uint8)
    hosts = [device.allocate(kind, size).host_array() for _ in data]
    with isthmus.Session(device, pinned_budget="2MiB") as session:
        there = [session.empty(size, np.uint8) for _ in data]
        orders = [there]
        if device.info["backend"] == "cuda":
            orders.append(sorted(there, key=lambda array: array.__cuda_array_interface__["data"][0]))
        for order in orders:
            for host, piece in zip(hosts, data, strict=True):
                host[...] = piece
            session.copy_batch(order, hosts)
            for host in hosts:
                host[...] = 255
            session.copy_batch(hosts, order)
            for host, piece in zip(hosts, data, strict=True):
                assert np.array_equal(host, piece)


@pytest.mark.parametrize("planes", [3, 8])
def test_planes_change_places_within_a_device(device: _native.Device, planes: int) -> None:
    """The parts of such a copy grow, and the first of them ends within a plane."""
    rows, width, guard = 20_000, 256, 0xA5
    data = np.random.default_rng(planes).integers(0, 256, (rows, planes, width), np.uint8)
    with isthmus.Session(device) as session:
        whole = session.to_device(np.full(data.size + 2 * rows * width, guard, np.uint8))
        changed = isthmus.DeviceArray(whole, 0, [planes, rows, width], [rows * width, width, 1])
        there = isthmus.DeviceArray(
            session.to_device(data.reshape(-1)), 0, [planes, rows, width], [width, planes * width, 1]
        )
        session.copy(changed, there)
        arrived = whole.to_host()
    assert np.array_equal(arrived[: data.size].reshape(planes, rows, width), data.transpose(1, 0, 2))
    assert (arrived[data.size :] == guard).all()
