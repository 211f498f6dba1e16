"""Which functions of the driver one small copy calls: each takes as long as a good part of what is ours."""

from collections.abc import Callable
from typing import Any

import pytest

PROGRAM = """
import ctypes, json, sys
import numpy as np
import isthmus
from tests.c_library import BY_ADDRESS, D2H, DEVICE, H2D, HOST, Library, array
from tests.fake_driver import calls, driver, enter, pinned, stream

session = isthmus.Session("cuda:0")
c, c_session = Library(isthmus.get_library_dir() + "/libisthmus.so.0"), ctypes.c_void_p()
c.must("open", b"cuda:0", None, ctypes.byref(c_session))
enter()
own_stream = ctypes.c_void_p(stream())
BYTES, ROWS, PITCH = 1 << 20, 30720, 64

class Interface:
    def __init__(self, address, shape, typestr="|u1", strides=None):
        self.__cuda_array_interface__ = dict(
            version=3, shape=shape, typestr=typestr, strides=strides, data=(address, False), stream=1
        )

there = session.empty(ROWS * PITCH, np.uint8)
device = there.__cuda_array_interface__["data"][0]
hosts = {"pageable": np.zeros(BYTES, np.uint8), "pinned": pinned(BYTES)}

def in_c(host, to_device, size, direction, on=None):
    to, start = (device, host.ctypes.data) if to_device else (host.ctypes.data, device)
    return lambda: c.must("copy", c_session, to, start, size, direction, on)

def in_python(host, to_device, memory, copy, **options):
    to, start = (memory, host) if to_device else (host, memory)
    return lambda: copy(to, start, **options)

copies = {}
for kind, host in hosts.items():
    for way, to_device in (("h2d", True), ("d2h", False)):
        direction = H2D if to_device else D2H
        few, memory = host[:100], there[:100]
        copies |= {
            f"C told {kind} {way}": in_c(host, to_device, 100, direction),
            f"C told large {kind} {way}": in_c(host, to_device, BYTES - 1, direction),
            f"C told a mebibyte {kind} {way}": in_c(host, to_device, BYTES, direction),
            f"C told on a stream {kind} {way}": in_c(host, to_device, 100, direction, own_stream),
            f"C by address {kind} {way}": in_c(host, to_device, 100, BY_ADDRESS),
            f"DeviceArray {kind} {way}": in_python(few, to_device, memory, session.copy),
            f"DeviceArray without a session {kind} {way}": in_python(few, to_device, memory, isthmus.copy),
            f"bytes {kind} {way}": in_python(memoryview(few), to_device, memory, session.copy),
            f"interface {kind} {way}": in_python(few, to_device, Interface(device, (100,)), session.copy),
            f"interface without a session {kind} {way}": in_python(
                few, to_device, Interface(device, (100,)), isthmus.copy
            ),
        }
column, of_array = pinned(8 * ROWS).view(np.float64), session.empty((ROWS, PITCH // 8), np.float64)[:, 0]
c_column = [
    ctypes.byref(array(ctypes.c_void_p(address), (ROWS,), 8, (step,), side))
    for address, step, side in ((column.ctypes.data, 8, HOST), (device, PITCH, DEVICE))
]
copies |= {
    "column C": lambda: c.must("copy_array", c_session, *c_column, None),
    "column DeviceArray": lambda: session.copy(column, of_array),
    "column interface": lambda: session.copy(column, Interface(device, (ROWS,), "<f8", (PITCH,))),
}

found = {}
def record(name, copy):
    copy()
    found[name] = calls(copy)

for name, copy in copies.items():
    record(name, copy)
driver.cuCtxSetCurrent(None)
for name in ("C told pageable d2h", "column DeviceArray"):
    record("outside, " + name, copies[name])
c.must("close", c_session)
print(json.dumps(found))
"""

# Which context is current, and whether it is still the one that it was, is one question.
BEGIN, END = ["cuCtxGetId", "cuThreadExchangeStreamCaptureMode"], ["cuThreadExchangeStreamCaptureMode"]
ASKED = ["cuPointerGetAttributes"] * 2
# Whether anything may be put on the default stream at this moment.
USABLE = "cuStreamIsCapturing"
UP, DOWN = [USABLE, "cuMemcpyHtoDAsync_v2", "cuStreamSynchronize"], [USABLE, "cuMemcpyDtoH_v2"]


@pytest.fixture(scope="module")
def calls(told: Callable[..., Any]) -> Any:
    """By the name of a copy, what it called between making the device current and making current what was before."""
    found = told(PROGRAM)
    outside = {name: found.pop(name) for name in list(found) if name.startswith("outside, ")}
    for name, made in found.items():
        assert made[: len(BEGIN)] + made[-1:] == BEGIN + END, (name, made)
    return {name: made[len(BEGIN) : -1] for name, made in found.items()} | outside


@pytest.mark.parametrize("kind", ["pageable", "pinned"])
@pytest.mark.parametrize("name", ["C told", "DeviceArray", "DeviceArray without a session", "bytes"])
def test_a_small_copy_of_known_sides_is_the_driver_s_own_and_nothing_else(calls: Any, name: str, kind: str) -> None:
    assert calls[f"{name} {kind} d2h"] == DOWN
    assert calls[f"{name} {kind} h2d"] == UP


@pytest.mark.parametrize("kind", ["pageable", "pinned"])
@pytest.mark.parametrize("name", ["interface", "interface without a session"])
def test_of_a_side_that_is_known_the_driver_is_not_asked(calls: Any, name: str, kind: str) -> None:
    assert calls[f"{name} {kind} d2h"] == [*ASKED[:1], *DOWN]
    assert calls[f"{name} {kind} h2d"] == [*ASKED[:1], *UP]


def test_a_thread_in_no_context_makes_no_call_that_fails(calls: Any) -> None:
    # Tools that watch the driver report each call that fails: an id is asked for where there is a context.
    begin = ["cuCtxGetCurrent", "cuCtxSetCurrent", *BEGIN]
    assert calls["outside, C told pageable d2h"] == [*begin, *DOWN, *END, "cuCtxSetCurrent"]
    current = None
    for name in calls["outside, column DeviceArray"]:
        if name == "cuCtxSetCurrent":
            current = not current
        assert current or name != "cuCtxGetId"


def test_of_what_nobody_says_the_driver_is_asked_once_a_side(calls: Any) -> None:
    assert calls["C by address pageable d2h"] == calls["C by address pinned d2h"] == [*ASKED, *DOWN]
    assert calls["C by address pageable h2d"] == [*ASKED, *UP]
    # What is known to be page-locked has arrived when the synchronous copy returns.
    assert calls["C by address pinned h2d"] == [*ASKED, USABLE, "cuMemcpyHtoD_v2"]


def test_larger_ones_are_asked_about_from_a_mebibyte_on(calls: Any) -> None:
    assert calls["C told large pinned h2d"] == calls["C told large pageable h2d"] == UP
    assert calls["C told large pinned d2h"] == calls["C told large pageable d2h"] == DOWN
    assert calls["C told a mebibyte pinned h2d"] == [*ASKED, USABLE, "cuMemcpyHtoD_v2"]


def test_on_a_stream_a_copy_is_queued_and_waited_for_once(calls: Any) -> None:
    for kind in ("pageable", "pinned"):
        looked_at = ["cuStreamGetCtx", USABLE]
        assert calls[f"C told on a stream {kind} h2d"] == [*looked_at, *UP[1:]]
        assert calls[f"C told on a stream {kind} d2h"] == [*looked_at, "cuMemcpyDtoHAsync_v2", "cuStreamSynchronize"]


@pytest.mark.parametrize("name", ["C", "DeviceArray", "interface"])
def test_a_column_is_asked_about_once_and_one_kernel_moves_it(calls: Any, name: str) -> None:
    assert calls[f"column {name}"] == [*ASKED, USABLE, "cuLaunchKernel", "cuStreamSynchronize"]
