"""Streams that are held by asynchronous copies, with a driver that keeps others waiting as real ones do."""

import subprocess
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.thorough

_SETUP = """
import ctypes, os
import numpy as np
import isthmus
from isthmus import _native
from isthmus.machine.devices import open_device

cuda = ctypes.CDLL("libcuda.so.1")
device = open_device("cuda:0").native
session = isthmus.Session("cuda:0", pinned_budget=BUDGET)
stream, other = _native.Stream(device), _native.Stream(device)

def drawn(size, seed):
    return np.frombuffer(np.random.default_rng(seed).bytes(size), np.uint8)

def driver(name, *arguments):
    device.enter()
    assert getattr(cuda, name)(*arguments) == 0, name

# What the test does while the stream is held; got before it is.
data, back = drawn(SIZE, 1), np.zeros(SIZE, np.uint8)
there = session.to_device(data)
assert (session.to_host(there) == data).all()
whole = session.to_device(drawn(2 * SIZE, 2).reshape(-1, 2))
spare = ctypes.c_ulonglong()
driver("cuMemAlloc_v2", ctypes.byref(spare), ctypes.c_size_t(4096))
locked = ctypes.c_void_p()
driver("cuMemHostAlloc", ctypes.byref(locked), ctypes.c_size_t(max(SIZE, 4096)), 0)
pinned = np.ctypeslib.as_array((ctypes.c_uint8 * SIZE).from_address(locked.value))
pinned[:] = 3
from_pinned = session.empty(SIZE, np.uint8)
handle = ctypes.c_void_p(stream.handle)

def up(**options):
    return session.copy_async(there, back, stream=stream.handle, **options)

def down():
    return session.copy_async(back, there, stream=stream.handle)
"""


@pytest.fixture
def goes_on(on_fake: Callable[..., Any]) -> Callable[..., None]:
    """Runs a program, and fails where it comes to a standstill."""

    def goes_on(program: str, size: int = 3 << 20, budget: str = "'4MiB'") -> None:
        setup = _SETUP.replace("BUDGET", budget).replace("SIZE", str(size))
        try:
            done = on_fake(setup + textwrap.dedent(program), FAKE_CUDA_STRICT="1")
        except subprocess.TimeoutExpired as stuck:
            pytest.fail(f"standstill: it had not ended after {stuck.timeout} s")
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]

    return goes_on


GoesOn = Callable[..., None]

# What was seen to come to a standstill while a thread had yet to call the driver for the stream that it held.
MEANWHILE = {
    "memory is given back": """driver("cuMemFree_v2", spare)""",
    "a module is loaded": """
        module = ctypes.c_void_p()
        driver("cuModuleLoadData", ctypes.byref(module), None)
        """,
    "a page-locked copy is put behind it": """
        driver("cuMemcpyHtoDAsync_v2", ctypes.c_ulonglong(from_pinned.__cuda_array_interface__["data"][0]),
               locked, ctypes.c_size_t(SIZE), handle)
        driver("cuMemcpyDtoHAsync_v2", locked, spare, ctypes.c_size_t(4096), handle)
        """,
    "a pageable copy is put behind it": """
        behind = [session.copy_async(from_pinned, data, stream=stream.handle),
                  session.copy_async(np.zeros_like(data), from_pinned, stream=stream.handle)]
        """,
    "others copy and wait": """
        for _ in range(3):
            assert (session.to_host(session.to_device(data)) == data).all()
        """,
}


# Each of them with both directions and all sizes, each size with both directions: not each with each.
@pytest.mark.parametrize(
    ("meanwhile", "direction", "size"),
    [
        pytest.param(meanwhile, direction, size, id=f"{name}-{direction}-{size}")
        for turn, (name, meanwhile) in enumerate(MEANWHILE.items())
        for place, size in enumerate([1, 100, 3 << 20, (33 << 20) + 5])
        for direction in (("up", "down")[(turn + place) % 2],)
    ],
)
def test_a_held_stream_waits_for_no_call_of_the_driver(
    goes_on: GoesOn, meanwhile: str, direction: str, size: int
) -> None:
    program = f"""
    future = {direction}()
    {textwrap.indent(textwrap.dedent(meanwhile), "    ").strip()}
    future.wait()
    stream.synchronize()
    expected = data if {direction!r} == "down" else 0 * data
    assert ((back == expected).all() and (session.to_host(there) == expected).all())
    session.close()
    """
    goes_on(program.replace("SIZE", str(size)), size=size)


PIECES = {
    "strided": "whole[:, 0], back",
    "strided, back": "back, whole[:, 0]",
    "apart on both sides": "whole[::2, 0], back[::2]",
    "apart on both sides, back": "back[::2], whole[::2, 0]",
}


@pytest.mark.parametrize("operands", PIECES.values(), ids=PIECES.keys())
def test_pieces_need_none_either(goes_on: GoesOn, operands: str) -> None:
    program = f"""
    to, from_ = {operands}
    back[:] = data
    future = session.copy_async(to, from_, stream=stream.handle)
    driver("cuMemFree_v2", spare)
    future.wait()
    arrived = [np.ascontiguousarray(np.asarray(session.to_host(each) if each is not back and not isinstance(
        each, np.ndarray) else each)) for each in (to, from_)]
    assert (arrived[0] == arrived[1]).all()
    """
    goes_on(program, size=300_000)


@pytest.mark.parametrize("direction", ["h2d", "d2h"])
@pytest.mark.parametrize("make", ["np.empty", "isthmus.pinned_empty"])
def test_scattered_pieces_need_none_either(goes_on: GoesOn, make: str, direction: str) -> None:
    program = f"""
    order = np.random.default_rng(4).permutation(2000)
    ours, theirs = {make}((2000, 64), np.uint8), session.empty((4000, 64), np.uint8)
    ours[:] = data[: 2000 * 64].reshape(2000, 64)
    session.copy(theirs, drawn(4000 * 64, 5).reshape(4000, 64))
    sides = [[theirs[2 * int(i)] for i in order], [ours[int(i)] for i in order[::-1]]]
    to, from_ = sides if {direction!r} == "h2d" else sides[::-1]
    expected = session.to_host(theirs), ours.copy()
    if {direction!r} == "h2d":
        expected[0][2 * order] = ours[order[::-1]]
    else:
        expected[1][order[::-1]] = expected[0][2 * order]
    future = session.copy_batch_async(to, from_, stream=stream.handle)
    driver("cuMemFree_v2", spare)
    future.wait()
    assert (session.to_host(theirs) == expected[0]).all()
    assert (ours == expected[1]).all()
    """
    goes_on(program)


def test_host_to_host_needs_none_either(goes_on: GoesOn) -> None:
    program = """
    future = session.copy_async(back, data, stream=stream.handle)
    driver("cuMemFree_v2", spare)
    future.wait()
    assert (back == data).all()
    """
    goes_on(program)


@pytest.mark.parametrize("size", [100, 3 << 20])
@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_stream_may_wait_for_a_copy_on_another(goes_on: GoesOn, direction: str, size: int) -> None:
    program = f"""
    if {direction!r} == "up":
        on_other = session.copy_async(from_pinned, data, stream=other.handle)
    else:
        on_other = session.copy_async(np.zeros_like(data), there, stream=other.handle)
    on_other.wait_on(stream.handle)
    here = {direction}()
    driver("cuMemFree_v2", spare)
    here.wait()
    assert on_other.done()
    """
    goes_on(program, size=size)


@pytest.mark.parametrize("size", [100, 3 << 20])
def test_device_memory_may_be_given_back_by_the_last_copy_that_keeps_it(goes_on: GoesOn, size: int) -> None:
    program = """
    futures = []
    for turn in range(6):
        memory = session.to_device(data)
        futures.append(session.copy_async(memory, data, stream=stream.handle))
        futures.append(session.copy_async(back, memory, stream=other.handle))
        del memory
    for future in futures[::2]:
        future.wait()
    del futures
    session.close()
    """
    goes_on(program, size=size)


def test_a_long_copy_goes_round_its_ring_many_times(goes_on: GoesOn) -> None:
    program = """
    future = down()
    up_again = session.copy_async(from_pinned, data, stream=other.handle)
    driver("cuMemFree_v2", spare)
    future.wait()
    up_again.wait()
    assert (back == data).all()
    assert (session.to_host(from_pinned) == data).all()
    """
    goes_on(program, size=(40 << 20) + 17, budget="'2MiB'")


def test_the_queue_of_a_held_stream_takes_eight_copies_each_way(goes_on: GoesOn) -> None:
    program = """
    arrays = [(drawn(SIZE, i), session.empty(SIZE, np.uint8), np.zeros(SIZE, np.uint8)) for i in range(8)]
    latch = stream.close_latch()
    futures = [session.copy_async(memory, sent, stream=stream.handle) for sent, memory, _ in arrays]
    futures += [session.copy_async(arrived, memory, stream=stream.handle) for _, memory, arrived in arrays]
    latch.open()
    for future in futures:
        future.wait()
    assert all((sent == arrived).all() for sent, _, arrived in arrays)
    """
    goes_on(program.replace("SIZE", str((1 << 20) + 5)), budget="'64MiB'")


def test_threads_wait_for_room_in_a_full_queue(goes_on: GoesOn) -> None:
    """Copies take turns in the order in which the queue takes them, not in which the program asked for them."""
    program = """
    import threading

    latch = stream.close_latch()
    where = ctypes.c_ulonglong(from_pinned.__cuda_array_interface__["data"][0])

    def put(number):
        for _ in range(number):
            driver("cuMemcpyHtoDAsync_v2", where, locked, ctypes.c_size_t(SIZE), handle)

    threads = [threading.Thread(target=put, args=(600,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads[:1]:
        thread.join(0.2)
    assert any(thread.is_alive() for thread in threads)
    latch.open()
    for thread in threads:
        thread.join()
    stream.synchronize()
    assert (session.to_host(from_pinned) == 3).all()
    """
    goes_on(program.replace("SIZE", "100"), size=100)


@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_device_that_fails_meanwhile_fails_the_copy_and_holds_nothing(goes_on: GoesOn, direction: str) -> None:
    program = f"""
    from isthmus.errors import CallFailed
    os.environ["FAKE_CUDA_FAIL"] = "cuEventQuery"
    future = {direction}()
    try:
        future.wait()
        raise AssertionError("it did not fail")
    except CallFailed as error:
        assert "cuEventQuery" in str(error)
    os.environ["FAKE_CUDA_FAIL"] = ""
    stream.synchronize()
    assert (session.to_host(session.to_device(data)) == data).all()
    session.close()
    assert session.pinned_bytes == 0
    """
    goes_on(program, size=(33 << 20) + 5)


@pytest.mark.parametrize(
    ("direction", "function"),
    [
        ("up", "cuMemcpyHtoDAsync_v2"),
        ("down", "cuMemcpyDtoHAsync_v2"),
        ("up", "cuStreamWaitValue32_v2"),
        ("down", "cuStreamWriteValue32_v2"),
        ("down", "cuEventRecord"),
    ],
)
def test_commands_that_are_refused_half_way_leave_the_stream_free(
    goes_on: GoesOn, direction: str, function: str
) -> None:
    call = 1 if function == "cuEventRecord" else 9
    program = f"""
    from isthmus.errors import CallFailed
    os.environ["FAKE_CUDA_FAIL"] = "{function}@{call}"
    try:
        {direction}()
        raise AssertionError("it did not fail")
    except CallFailed as error:
        assert {function!r} in str(error)
    os.environ["FAKE_CUDA_FAIL"] = ""
    stream.synchronize()
    session.trim()
    assert session.pinned_bytes == 0
    down().wait()
    assert (back == np.asarray(session.to_host(there))).all()
    """
    goes_on(program)
