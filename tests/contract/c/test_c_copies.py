"""Copies through isthmus.h on every device present, called through ctypes."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from ctypes import byref, c_char_p, c_size_t, c_void_p
from typing import Any

import pytest


@pytest.fixture
def session(opened: Callable[..., c_void_p], spec: str) -> c_void_p:
    """A session with each device in turn."""
    return opened(spec)


@pytest.mark.parametrize("size", [0, 1, 4095, (1 << 20) + 1, 5 << 20])
@pytest.mark.parametrize("by_address", [False, True])
def test_bytes_go_there_and_back(
    c: Any, library: Any, session: c_void_p, spec: str, size: int, by_address: bool
) -> None:
    if by_address and spec.startswith("opencl"):
        pytest.skip("a cl_mem is no address")
    data = os.urandom(size)
    block, host = c.guarded(size)
    device = library.allocate(session, size + 1)
    there = library.call("copy", session, device, data, size, c.BY_ADDRESS if by_address else c.H2D, None)
    assert there.code == c.OK, there.message
    assert there.bytes_completed == size
    back = library.must("copy", session, host, device, size, c.BY_ADDRESS if by_address else c.D2H, None)
    assert back.bytes_completed == size
    assert block.raw == b"\xa5" * c.GUARD + data + b"\xa5" * c.GUARD
    library.must("free", session, device)


def test_more_than_was_allocated_is_refused_with_what_there_is(
    c: Any, library: Any, session: c_void_p, spec: str
) -> None:
    if spec.startswith("opencl"):
        pytest.skip("a cl_mem says its own size")
    held, size = 1 << 20, 2 << 20
    device, block = library.allocate(session, held), ctypes.create_string_buffer(size)
    for call in (
        ("copy", session, device, block, size, c.H2D, None),
        ("copy", session, block, device, size, c.BY_ADDRESS, None),
        ("copy_async", session, device, block, size, c.H2D, None, byref(c_void_p())),
        ("copy_array", session, byref(c.array(device, (size,))), byref(c.array(block, (size,))), None),
    ):
        refused = library.call(*call)
        assert refused.code == c.INVALID
        assert f"of which {held} bytes are left, not {size}".encode() in refused.message
    library.must("copy", session, device, block, held, c.H2D, None)


def test_a_status_is_not_needed(c: Any, library: Any, session: c_void_p) -> None:
    device = library.allocate(session, 8)
    assert library["isthmus_copy"](session, device, b"12345678", 8, c.H2D, None, None) == c.OK
    assert library["isthmus_copy"](session, device, None, 8, c.H2D, None, None) == c.INVALID
    assert library["isthmus_open"](b"gpu", None, byref(c_void_p()), None) == c.INVALID


def test_directions_and_sides_that_are_none_are_refused(c: Any, library: Any, session: c_void_p) -> None:
    device = library.allocate(session, 8)
    refused = library.call("copy", session, device, b"12345678", 8, 7, None)
    assert (refused.code, refused.message[:28]) == (c.INVALID, b"direction is 7; expected IST")
    sideless = c.array(b"12345678", (8,), side=9)
    refused = library.call("copy_array", session, byref(c.array(device, (8,), side=c.DEVICE)), byref(sideless), None)
    assert (refused.code, refused.message[:26]) == (c.INVALID, b"source->side is 9; expecte")
    refused = library.call("allocate", session, c.INFER, 8, byref(c_void_p()))
    assert (refused.code, refused.message[:9]) == (c.INVALID, b"side is 0")


def test_arrays_of_32_dimensions_and_no_more(c: Any, library: Any, session: c_void_p) -> None:
    shape = (1,) * 29 + (2, 3, 4)
    data = bytes(range(96))
    device = library.allocate(session, 96)
    block, host = c.guarded(96)
    on_device = c.array(device, shape, 4, side=c.DEVICE)
    # Every dimension backwards on the host's side: the first element is the last.
    backwards = c.array(c_void_p(host.value + 92 if host.value else 0), (24,), 4, (-4,), c.HOST)
    library.must("copy_array", session, byref(on_device), byref(c.array(data, shape, 4, side=c.HOST)), None)
    library.must("copy_array", session, byref(backwards), byref(c.array(device, (24,), 4, side=c.DEVICE)), None)
    reversed_words = b"".join(data[i : i + 4] for i in range(92, -1, -4))
    assert block.raw == b"\xa5" * c.GUARD + reversed_words + b"\xa5" * c.GUARD
    one_more = c.array(device, (1, *shape), 4, side=c.DEVICE)
    refused = library.call("copy_array", session, byref(one_more), byref(c.array(data, (1, *shape), 4)), None)
    assert refused.code == c.INVALID
    assert refused.message == b"destination->dimensions is 33; at most 32 are possible"


def test_empty_arrays_move_nothing(c: Any, library: Any, session: c_void_p) -> None:
    for shape in ((0,), (1 << 40, 0, 1 << 40)):
        empty = c.array(None, shape, 8, side=c.HOST), c.array(None, shape, 8, side=c.DEVICE)
        assert library.must("copy_array", session, byref(empty[1]), byref(empty[0]), None).bytes_completed == 0


def test_a_batch_moves_pieces_of_any_size(c: Any, library: Any, session: c_void_p, spec: str) -> None:
    if spec.startswith("opencl"):
        pytest.skip("pieces within a cl_mem have no addresses")
    sizes = [1, 0, 4096, 17, 4096, 0, 333]
    data = [os.urandom(size) for size in sizes]
    device = library.allocate(session, 1 << 16).value
    assert device
    blocks = [c.guarded(size) for size in sizes]
    count = len(sizes)
    on_device = (c_void_p * count)(*(device + 8192 * i if size else None for i, size in enumerate(sizes)))
    sources = (c_void_p * count)(*(ctypes.cast(c_char_p(each), c_void_p) for each in data))
    returned = (c_void_p * count)(*(host if size else None for size, (_, host) in zip(sizes, blocks, strict=True)))
    lengths = (c_size_t * count)(*sizes)
    there = library.must("copy_batch", session, count, on_device, sources, lengths, c.H2D, None)
    assert there.bytes_completed == sum(sizes)
    transfer = c_void_p()
    library.must("copy_batch_async", session, count, returned, on_device, lengths, c.D2H, None, byref(transfer))
    assert library.must("finish", transfer).bytes_completed == sum(sizes)
    for each, (block, _) in zip(data, blocks, strict=True):
        assert block.raw == b"\xa5" * c.GUARD + each + b"\xa5" * c.GUARD
    assert library.must("copy_batch", session, 0, None, None, None, c.H2D, None).bytes_completed == 0


def test_a_copy_can_be_asked_about_awaited_and_finished_in_any_order(c: Any, library: Any, session: c_void_p) -> None:
    data = os.urandom(3 << 20)
    device = library.allocate(session, len(data))
    block, host = c.guarded(len(data))
    there, back = c_void_p(), c_void_p()
    library.must("copy_async", session, device, data, len(data), c.H2D, None, byref(there))
    for _ in range(2):
        assert library.must("wait", there).bytes_completed == len(data)
        assert library["isthmus_done"](there) == 1
    library.must("copy_async", session, host, device, len(data), c.D2H, None, byref(back))
    assert library.must("finish", back).bytes_completed == len(data)
    library.must("finish", there)
    assert block.raw == b"\xa5" * c.GUARD + data + b"\xa5" * c.GUARD


def test_a_session_closes_with_copies_in_flight_and_their_handles_outlive_it(c: Any, library: Any, spec: str) -> None:
    session = c_void_p()
    status = library.call("open", spec.encode(), None, byref(session))
    if status.code in c.ABSENT:
        pytest.skip(f"from C there is no {spec}: {status.message.decode()}")
    data = os.urandom(1 << 20)
    device = library.allocate(session, len(data))
    transfers = [c_void_p() for _ in range(20)]
    for transfer in transfers:
        library.must("copy_async", session, device, data, len(data), c.H2D, None, byref(transfer))
    library.must("close", session)
    for transfer in transfers:
        assert library["isthmus_done"](transfer) == 1
        assert library.must("finish", transfer).bytes_completed == len(data)


def test_an_explanation_says_how_and_writes_no_more_than_there_is_room_for(
    c: Any, library: Any, session: c_void_p
) -> None:
    data = b"." * 4096
    device = library.allocate(session, 4096)
    views = byref(c.array(device, (4096,), side=c.DEVICE)), byref(c.array(data, (4096,), side=c.HOST))
    how = c.Explanation(struct_bytes=ctypes.sizeof(c.Explanation))
    library.must("explain", session, *views, byref(how))
    assert (how.direction, how.bytes, how.pieces) == (b"h2d", 4096, 1)
    assert how.method
    assert how.why
    short = c.Explanation(struct_bytes=c.Explanation.direction.offset, direction=b"mine", bytes=5)
    library.must("explain", session, *views, byref(short))
    assert (short.method, short.direction, short.bytes) == (how.method, b"mine", 5)
    assert library.call("explain", session, *views, byref(c.Explanation())).code == c.INVALID


def test_a_batch_is_explained_in_sums(c: Any, library: Any, session: c_void_p, spec: str) -> None:
    if spec.startswith("opencl"):
        pytest.skip("pieces within a cl_mem have no addresses")
    sizes = [4096, 0, 4096, 17]
    count, device = len(sizes), library.allocate(session, 1 << 16).value
    assert device
    block = ctypes.create_string_buffer(1 << 16)
    on_device = (c_void_p * count)(*(device + 8192 * i for i in range(count)))
    sources = (c_void_p * count)(*(ctypes.addressof(block) + 8192 * i for i in range(count)))
    how = c.Explanation(struct_bytes=ctypes.sizeof(c.Explanation))
    arguments = session, count, on_device, sources, (c_size_t * count)(*sizes), c.H2D
    library.must("explain_batch", *arguments, byref(how))
    assert (how.direction, how.bytes, how.pieces) == (b"h2d", sum(sizes), 3)
    assert how.method
    assert how.why
    library.must("explain_batch", session, 0, None, None, None, c.H2D, byref(how))
    assert (how.method, how.bytes) == (b"nothing", 0)
    assert library.call("explain_batch", *arguments, byref(c.Explanation())).code == c.INVALID


def test_page_locked_memory_is_given_out_and_goes_with_its_session(c: Any, library: Any, session: c_void_p) -> None:
    pinned, device = library.allocate(session, 4096, c.HOST), library.allocate(session, 4096)
    ctypes.memset(pinned, 7, 4096)
    library.must("copy", session, device, pinned, 4096, c.H2D, None)
    block, host = c.guarded(4096)
    library.must("copy", session, host, device, 4096, c.D2H, None)
    assert block.raw == b"\xa5" * c.GUARD + b"\x07" * 4096 + b"\xa5" * c.GUARD
    nothing = c_void_p(1)
    library.must("allocate", session, c.DEVICE, 0, byref(nothing))
    assert not nothing
