"""Rows that lists name, copied through isthmus.h on every device present."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import byref, c_void_p
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def session(opened: Callable[..., c_void_p], spec: str) -> c_void_p:
    """A session with each device in turn."""
    return opened(spec)


def rows_of(c: Any, numbers: Any, side: int = 0) -> Any:
    return c.Rows(numbers.ctypes.data, numbers.size, numbers.itemsize, side)


@pytest.mark.parametrize("asynchronous", [False, True], ids=["waits", "async"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_rows_of_layers_go_there_and_back(
    c: Any, library: Any, session: c_void_p, asynchronous: bool, dtype: type
) -> None:
    layers = [np.random.default_rng(i).integers(0, 256, (9, 48), np.uint8) for i in range(2)]
    back = [np.zeros_like(layer) for layer in layers]
    cache = [library.allocate(session, layer.size) for layer in layers]
    there = (c.Array * 2)(*(c.array(memory, (9, 48), side=c.DEVICE) for memory in cache))
    here = (c.Array * 2)(*(c.array(layer.ctypes.data, (9, 48), side=c.HOST) for layer in layers))
    found = (c.Array * 2)(*(c.array(layer.ctypes.data, (9, 48), side=c.HOST) for layer in back))
    to: Any = np.array([4, 0, 8], dtype)
    from_: Any = np.array([7, 7, 2], dtype)

    def copy(*arguments: Any) -> None:
        if not asynchronous:
            library.must("copy_rows", session, 2, *arguments, None)
            return
        transfer = c_void_p()
        library.must("copy_rows_async", session, 2, *arguments, None, byref(transfer))
        library.must("finish", transfer)

    copy(there, byref(rows_of(c, to)), here, byref(rows_of(c, from_)))
    copy(found, byref(rows_of(c, to)), there, byref(rows_of(c, to)))
    for layer, one in zip(layers, back, strict=True):
        wanted = np.zeros_like(layer)
        wanted[to] = layer[from_]
        assert (one == wanted).all()


def test_what_is_wrong_is_named(c: Any, library: Any, session: c_void_p) -> None:
    data, numbers = np.zeros((4, 8), np.uint8), np.array([1, 2])
    there = c.array(library.allocate(session, data.size), (4, 8), side=c.DEVICE)
    here, rows = c.array(data.ctypes.data, (4, 8), side=c.HOST), rows_of(c, numbers)
    wrong = [
        ((1, None, byref(rows), byref(here), byref(rows)), b"destinations is null"),
        ((1, byref(there), None, byref(here), byref(rows)), b"destination_rows is null"),
        ((1, byref(there), byref(c.Rows(None, 2, 8, 0)), byref(here), byref(rows)), b"destination_rows->indices"),
        ((1, byref(there), byref(rows), byref(here), byref(c.Rows(1, 2, 3, 0))), b"source_rows->index_bytes is 3"),
        ((1, byref(there), byref(rows), byref(here), byref(c.Rows(1, 2, 8, 9))), b"source_rows->side is 9"),
        ((1, byref(there), byref(c.Rows(1, 1 << 62, 8, 0)), byref(here), byref(rows)), b"destination_rows->count"),
        ((1, byref(there), byref(rows_of(c, np.array([1, 4]))), byref(here), byref(rows)), b"number 1 of the dest"),
        ((1, byref(there), byref(rows_of(c, np.array([1]))), byref(here), byref(rows)), b"the lists name 1 rows"),
    ]
    for arguments, said in wrong:
        refused = library.call("copy_rows", session, *arguments, None)
        assert refused.code == c.INVALID
        assert refused.message.startswith(said), refused.message
    assert library.call("copy_rows", None, *wrong[0][0], None).message.startswith(b"session is null")
