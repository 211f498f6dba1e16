"""What sessions make of memory that is another device's, gone, too short or page-locked in part: on the fake driver."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.thorough

Outcome = Callable[..., Any]

_SETUP = """
import ctypes, json, mmap
import numpy as np
import isthmus
from isthmus import _native
from isthmus.errors import IsthmusError
from tests.fake_driver import driver as cuda
from tests.fake_driver import enter

s0 = isthmus.Session("cuda:0")
KIB, MIB = 1 << 10, 1 << 20

def tried(call, *arguments):
    try:
        call(*arguments)
    except IsthmusError as error:
        return f"{type(error).__name__}: {error}"
    return "copied"

class Elsewhere:
    def __init__(self, address, count, typestr="|u1", strides=None):
        self.__cuda_array_interface__ = dict(
            shape=(count,), typestr=typestr, data=(address, False), strides=strides, version=3
        )
"""


@pytest.fixture
def outcome(told: Outcome) -> Outcome:
    """What a program that ends with `result = ...` found on a machine with two fake devices."""
    return partial(told, setup=_SETUP, FAKE_CUDA_DEVICES="2")


def test_memory_of_another_device_is_refused_however_it_is_given(outcome: Outcome) -> None:
    program = """
    s1 = isthmus.Session("cuda:1")
    theirs, ours = s1.to_device(np.ones(1 << 17)), s0.to_device(np.ones(1 << 17))
    host = np.zeros(1 << 17)
    interface = Elsewhere(theirs.__cuda_array_interface__["data"][0], MIB)
    result = [
        tried(s0.to_host, theirs),
        tried(s0.copy, theirs, host),
        tried(s0.copy, host[::2], theirs[::2]),
        tried(s0.copy_batch, [host[:9], host[9:18]], [ours[:9], theirs[9:18]]),
        tried(s0.copy, host.view(np.uint8), interface),
        tried(s0.copy_batch, [host.view(np.uint8)], [interface]),
    ]
    """
    *declared, by_address, batch = outcome(program)
    for said in declared[:3]:
        assert said.startswith("UsageError")
        assert "is memory of cuda:1, the session copies for cuda:0" in said
    assert "is on cuda:1, that of others on cuda:0" in declared[3]
    for said in (by_address, batch):
        assert "is on cuda:1, and the session is of cuda:0" in said


def test_c_is_asked_about_what_it_declares_before_a_kernel_is_given_it(
    outcome: Outcome, compiled: Callable[..., Path]
) -> None:
    program = f"""
    import sys
    from importlib.util import module_from_spec, spec_from_file_location
    from ctypes import byref, c_void_p

    spec = spec_from_file_location("c_library", {str(Path(__file__).parents[2] / "c_library.py")!r})
    c = sys.modules["c_library"] = module_from_spec(spec)
    spec.loader.exec_module(c)
    library = c.Library(isthmus.get_library_dir() + "/libisthmus.so.0")
    sessions = [c_void_p(), c_void_p()]
    for i, session in enumerate(sessions):
        library.must("open", f"cuda:{{i}}".encode(), None, byref(session))
    theirs = library.allocate(sessions[1], MIB)
    host = np.zeros(MIB, np.uint8)
    array = lambda memory, side: byref(c.array(memory, (512,), 4, (64,), side))
    unknown = np.zeros(MIB, np.uint8).ctypes.data_as(c_void_p)
    result = [
        library.call(
            "copy_array", sessions[0], array(host.ctypes.data_as(c_void_p), c.HOST), array(memory, c.DEVICE), None
        ).message.decode()
        for memory in (theirs, unknown)
    ]
    """
    theirs, unknown = outcome(program)
    assert "is on cuda:1, and the session is of cuda:0" in theirs
    assert "was said to be on cuda:0, but the driver knows no memory there" in unknown


@pytest.mark.parametrize("call", ["s0.copy(device, gone)", "s0.copy(gone, device)", "s0.copy_async(device, gone)"])
def test_memory_that_is_not_there_is_refused_on_every_route(outcome: Outcome, call: str) -> None:
    program = f"""
    device, gone = s0.to_device(np.zeros(1024)), Elsewhere(0x1000, 1024, "<f8")
    result = tried(lambda: {call})
    """
    said = outcome(program)
    assert said.startswith("UsageError")
    assert "at 0x1000 is neither memory of the device nor of this process" in said


def test_the_last_byte_must_be_there_too(outcome: Outcome) -> None:
    program = """
    block = mmap.mmap(-1, 2 * 4096)
    address = ctypes.addressof(ctypes.c_char.from_buffer(block))
    ctypes.CDLL(None).munmap(ctypes.c_void_p(address + 4096), ctypes.c_size_t(4096))
    device = s0.to_device(np.zeros(8192, np.uint8))
    result = [tried(s0.copy, device, Elsewhere(address, 8192)), tried(s0.copy, device[:4096], Elsewhere(address, 4096))]
    print(json.dumps(result), flush=True)
    import os
    os._exit(0)
    """
    beyond, within = outcome(program)
    assert "or not all 8192 bytes of it" in beyond
    assert within == "copied"


def test_what_reaches_beyond_its_allocation_is_refused_with_both_ends(outcome: Outcome) -> None:
    program = """
    device = s0.empty(4096, np.uint8)
    address = device.__cuda_array_interface__["data"][0]
    host, larger = np.zeros(8192, np.uint8), Elsewhere(address, 8192)
    result = [
        f"begins at {address:#x} and ends at {address + 4096:#x}",
        [
            tried(s0.copy, larger, host),
            tried(s0.copy, host, larger),
            tried(s0.copy, host[: 16 * 500 : 16], Elsewhere(address, 500, strides=(16,))),
            tried(s0.copy_batch, [host[:64], host[64:]], [Elsewhere(address, 64), Elsewhere(address + 64, 8128)]),
        ],
        tried(s0.copy, host[:4096], Elsewhere(address, 4096)),
    ]
    """
    ends, refused, fits = outcome(program)
    for said in refused:
        assert said.startswith("UsageError")
        assert ends in said
        assert "bytes are left, not" in said
    assert fits == "copied"


@pytest.mark.parametrize("size", [8 << 10, 1 << 20, 4 << 20])
@pytest.mark.parametrize("ahead", [True, False])
def test_memory_that_is_page_locked_in_part_goes_by_way_of_the_ring(outcome: Outcome, size: int, ahead: bool) -> None:
    # The driver refuses such ranges, and kernels would read beyond what the device has mapped.
    program = f"""
    size = {size}
    whole = np.frombuffer(mmap.mmap(-1, size), np.uint8)
    whole[:] = np.random.default_rng(1).integers(0, 256, size, np.uint8)
    device = s0.empty(size, np.uint8)
    enter()
    locked = whole.ctypes.data + ({0 if ahead else size // 2})
    assert cuda.cuMemHostRegister_v2(ctypes.c_void_p(locked), ctypes.c_size_t(size // 2), 0) == 0
    pieces = lambda array: [array[i : i + 1024] for i in range(0, size, 2048)]
    result = []
    s0.copy(device, whole)
    back = np.zeros(size, np.uint8)
    s0.copy(back, device)
    result.append(bool((back == whole).all()))
    expected, whole[:] = whole.copy(), 0
    s0.copy(whole, device)
    result.append(bool((whole == expected).all()))
    s0.copy_async(whole, device).wait()
    rows = s0.to_device(expected.reshape(-1, 16))
    s0.copy(whole.reshape(-1, 16)[:, :8], rows[:, :8])
    s0.copy_batch(pieces(whole), pieces(device))
    interface = Elsewhere(whole.ctypes.data, size)
    s0.copy(interface, device)
    result.append(bool((whole == expected).all()))
    how = s0.explain(whole, device)
    result += [how.host_memory, how.method, how.why]
    assert cuda.cuMemHostUnregister(ctypes.c_void_p(locked)) == 0
    """
    *right, kind, method, why = outcome(program)
    assert right == [True] * 3
    assert (kind, method) == ("pageable", "staged")
    assert "page-locked in part" in why


def test_where_kernels_find_memory_is_asked_together_with_what_it_is(outcome: Outcome) -> None:
    # Also of pools and mappings in the host's memory, which cuMemHostGetDevicePointer does not know.
    program = """
    import os
    size = MIB
    whole = np.frombuffer(mmap.mmap(-1, size), np.uint8)
    rows = s0.to_device(np.arange(size, dtype=np.uint8).reshape(-1, 16))
    enter()
    assert cuda.cuMemHostRegister_v2(ctypes.c_void_p(whole.ctypes.data), ctypes.c_size_t(size), 0) == 0
    there = whole.reshape(-1, 16)[:, :8]
    s0.copy(there, rows[:, :8])  # which gets what the session needs itself
    result = [s0.explain(there, rows[:, :8]).host_memory]
    for fails in ("cuMemHostGetDevicePointer_v2", "cuPointerGetAttributes@3"):
        there[:] = 0
        os.environ["FAKE_CUDA_FAIL"] = fails
        result.append(tried(s0.copy, there, rows[:, :8]))
        os.environ["FAKE_CUDA_FAIL"] = ""
        result.append(bool((there == s0.to_host(rows)[:, :8]).all()))
    assert cuda.cuMemHostUnregister(ctypes.c_void_p(whole.ctypes.data)) == 0
    """
    assert outcome(program) == ["pinned", *["copied", True] * 2]
