"""Arrays of the real CuPy, where it is installed and has a GPU: views, types, order, and managed memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus import _native

cupy: Any = pytest.importorskip("cupy")

ROWS, WIDTH = 64, 4096


@pytest.fixture(scope="module")
def session(device: _native.Device) -> Iterator[isthmus.Session]:
    if device.info["backend"] != "cuda":
        pytest.skip("CuPy has arrays of GPUs of CUDA alone")
    cupy.cuda.Device(device.info["index"]).use()
    with isthmus.Session(device) as opened:
        yield opened


@pytest.mark.parametrize("dtype", ["u1", "f2", "f4", "c16", "?"])
@pytest.mark.parametrize("cut", [np.s_[:], np.s_[::3], np.s_[1:5]], ids=str)
def test_views_of_one_array_go_both_ways(session: isthmus.Session, dtype: str, cut: slice) -> None:
    random = np.random.default_rng(1)
    data = random.integers(0, 2, (ROWS, WIDTH)).astype(dtype)
    there, back = cupy.zeros((ROWS, WIDTH), dtype), np.zeros_like(data)
    order = random.permutation(ROWS)
    session.copy_batch([there[row, cut] for row in order], [data[row, cut] for row in order])
    expected = np.zeros_like(data)
    expected[:, cut] = data[:, cut]
    assert (there.get() == expected).all()
    session.copy_batch([back[row, cut] for row in order], [there[row, cut] for row in order])
    assert (back == expected).all()


def test_a_view_is_what_its_protocol_says(session: isthmus.Session) -> None:
    """The attributes that are read in place of it are those that it is made from."""
    array = cupy.arange(2 * 3 * 5, dtype="i4").reshape(2, 3, 5)
    other = array.transpose(2, 0, 1)[::-1, :, 1:]
    for each in (array[1], array[:, 1], array.T, other, array[0, 0, 0], array[:0], array.view("f4")[1]):
        said = each.__cuda_array_interface__
        assert (each.shape, each.dtype.str) == (said["shape"], said["typestr"])
        assert said["data"][0] in (each.data.ptr, 0 if each.size == 0 else None)
        assert said["strides"] in (None, each.strides)
        assert said["stream"]
        found = np.zeros(each.shape, each.dtype)
        session.copy_batch([found], [each])
        assert (found == each.get()).all()


@pytest.mark.parametrize("asked", [False, True])
def test_copies_come_after_the_work_of_the_current_stream(session: isthmus.Session, asked: bool) -> None:
    there = cupy.zeros((ROWS, 1 << 16), "f4")
    found = np.zeros(there.shape, "f4")
    other = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    for number in range(1, 6):
        with cupy.cuda.Stream(non_blocking=True):
            slow = cupy.random.random((2048, 2048), dtype="f4")
            for _ in range(8):
                slow = slow @ slow
                slow /= slow.max()
            there[...] = number
            views = [there[row] for row in range(ROWS)]
            session.copy_batch(list(found), views, stream=other if asked else None)
        assert (found == number).all()


def test_managed_memory(session: isthmus.Session) -> None:
    with cupy.cuda.using_allocator(cupy.cuda.malloc_managed):
        there = cupy.zeros((ROWS, WIDTH), "u1")
    data = np.random.default_rng(2).integers(0, 256, (ROWS, WIDTH), np.uint8)
    session.copy_batch([there[row] for row in range(ROWS)], list(data))
    assert (there.get() == data).all()
