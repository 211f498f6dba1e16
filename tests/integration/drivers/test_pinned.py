"""What becomes of page-locked memory when the driver refuses, is reset or forked away from: on the fake driver."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Outcome = Callable[..., Any]

_SETUP = """
import ctypes, json, mmap, os, resource
import numpy as np
import isthmus
from isthmus.errors import IsthmusError
from isthmus.machine.devices import open_device
from tests import fake_driver

cuda = fake_driver.driver
MIB = 1 << 20
session = isthmus.Session("cuda:0")

def empty(size):
    return isthmus.pinned_empty(size, np.uint8, session=session)

def tried(call, *arguments, **named):
    try:
        call(*arguments, **named)
    except IsthmusError as error:
        return f"{type(error).__name__}: {error}"
    return "done"

def calls(work):
    kept = []
    return fake_driver.calls(lambda: kept.append(work())), kept[0]

open_device("cuda:0").native.enter()

def is_pinned(array, byte=0):
    kind = ctypes.c_uint(0)
    address = ctypes.c_ulonglong(array.__array_interface__["data"][0] + byte)
    attribute = ctypes.c_int(2)
    into = ctypes.pointer(kind)
    cuda.cuPointerGetAttributes(1, ctypes.byref(attribute), ctypes.byref(ctypes.cast(into, ctypes.c_void_p)), address)
    return kind.value == 1
"""


@pytest.fixture
def outcome(told: Outcome, tmp_path: Path) -> Outcome:
    """What a program that ends with `result = ...` found; all that it got of the driver must be given back."""

    def outcome(program: str, leaks: bool = False, **environment: str) -> Any:
        live = tmp_path / "live"
        found = told(program, setup=_SETUP, FAKE_CUDA_LIVE=str(live), **environment)
        assert leaks or live.read_text().split()[0] == "0"
        return found

    return outcome


def test_large_blocks_are_registered_whole_and_small_ones_are_cut(outcome: Outcome) -> None:
    program = """
    large, array = calls(lambda: empty(3 * MIB + 1))
    first, small = calls(lambda: empty(100))
    second, other = calls(lambda: empty(100))
    names = lambda found: [name for name in found if "Host" in name]
    result = [names(large), names(first), names(second), is_pinned(array), is_pinned(array, 3 * MIB), is_pinned(other)]
    """
    *made, nothing, begins, ends, is_small = outcome(program)
    for calls in made:
        assert [call.removesuffix("_v2") for call in calls] == ["cuMemHostRegister", "cuMemHostGetDevicePointer"]
    assert nothing == []
    assert [begins, ends, is_small] == [True, True, True]


def test_what_the_driver_refuses_leaves_nothing(outcome: Outcome) -> None:
    program = """
    one = empty(3 * MIB)
    ctypes.CDLL(None).setenv(b"FAKE_CUDA_FAIL", b"cuMemHostGetDevicePointer_v2", 1)
    plain = np.zeros(MIB, np.uint8)
    said = [tried(empty, 5 * MIB), tried(empty, 10), tried(isthmus.pin, plain, session=session)]
    ctypes.CDLL(None).setenv(b"FAKE_CUDA_FAIL", b"", 1)
    result = [said, session.pinned_pool_bytes, is_pinned(plain), tried(empty, 5 * MIB)]
    """
    said, held, is_pinned, again = outcome(program)
    assert all("cuMemHostGetDevicePointer_v2 failed" in each for each in said), said
    assert held == 3 << 20
    assert not is_pinned
    assert again == "done"


def test_what_the_driver_does_not_register_it_gets_itself(outcome: Outcome) -> None:
    """Blocks and rings; what is there already cannot be pinned then."""
    program = """
    plain = np.arange(3 * MIB, dtype=np.uint8)
    there = session.empty(plain.shape, plain.dtype)
    found, block = calls(lambda: (session.copy(there, plain), empty(3 * MIB))[1])
    names = sorted({name.removesuffix("_v2") for name in found if "MemHost" in name})
    said = tried(isthmus.pin, plain, session=session)
    arrived = bool((session.to_host(there) == plain).all())
    result = [names, is_pinned(block, 3 * MIB - 1), session.pinned_bytes > 0, arrived, said]
    """
    names, *rest, said = outcome(program, FAKE_CUDA_FAIL="cuMemHostRegister_v2")
    assert names == ["cuMemHostAlloc", "cuMemHostGetDevicePointer", "cuMemHostRegister"]
    assert rest == [True, True, True]
    assert "cuMemHostRegister_v2 failed" in said


def test_rings_are_registered_and_not_inherited(outcome: Outcome) -> None:
    """Huge pages take the driver a fraction of the time; a child must not get copies of what the device has locked."""
    program = """
    def lacking_in_children():
        text = open("/proc/self/smaps").read()
        return sum(" dc" in line for line in text.splitlines() if line.startswith("VmFlags"))
    plain = np.arange(3 * MIB, dtype=np.uint8)
    there = session.empty(plain.shape, plain.dtype)
    before = lacking_in_children()
    found, _ = calls(lambda: session.copy(there, plain))
    result = [sum(name == "cuMemHostRegister_v2" for name in found) > 0, lacking_in_children() > before]
    """
    assert outcome(program) == [True, True]


def test_a_limit_on_locked_memory_is_told_with_what_to_do(outcome: Outcome) -> None:
    program = """
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (8 * MIB, resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]))
    kept = empty(8 * MIB)
    said = tried(empty, 9 * MIB)
    del kept
    whole = empty(16 * MIB)  # what is kept makes room
    result = [said, session.pinned_pool_bytes]
    """
    said, held = outcome(program, FAKE_CUDA_LOCKED=str(16 << 20))
    assert said.startswith("OutOfMemory: 9437184 bytes of page-locked memory: cuMemHostRegister_v2 failed")
    assert "the memory-lock limit of this process is 8388608 bytes (RLIMIT_MEMLOCK)" in said
    assert held == 16 << 20


def test_arrays_in_place(outcome: Outcome) -> None:
    program = """
    plain = np.zeros(2 * MIB, np.uint8)
    theirs = np.zeros(MIB, np.uint8)
    pointer = theirs.ctypes.data_as(ctypes.c_void_p)
    cuda.cuMemHostRegister_v2(pointer, ctypes.c_size_t(MIB), 0)
    inner = isthmus.pin(plain[5000:6000], session=session)
    said = tried(isthmus.pin, plain, session=session)
    inner.close()
    with isthmus.pin(plain, session=session), isthmus.pin(theirs, session=session):
        inside = is_pinned(plain, 2 * MIB - 1)
    still = is_pinned(theirs)
    cuda.cuMemHostUnregister(pointer)
    file = mmap.mmap(-1, MIB, prot=mmap.PROT_READ)
    with isthmus.pin(np.frombuffer(file, np.uint8), session=session) as mapped:
        read_only = is_pinned(mapped)
    del mapped
    result = [said, inside, is_pinned(plain), still, read_only]
    """
    said, *rest = outcome(program)
    assert said.startswith("UsageError: the 2097152 bytes from")
    assert rest == [True, False, True, True]


def test_a_reset_context_gives_no_memory_that_is_not_locked(outcome: Outcome) -> None:
    program = """
    kept, freed = empty(3 * MIB), empty(5 * MIB)
    del freed
    cuda.cuDevicePrimaryCtxReset_v2(0)
    kept[:] = 1
    said = tried(empty, 5 * MIB)
    session.close()
    session = isthmus.Session("cuda:0")
    result = [said, is_pinned(empty(5 * MIB))]
    del kept
    """
    said, again = outcome(program, leaks=True)
    assert "the device's context was destroyed after it was opened" in said
    assert again


def test_the_child_of_a_fork_has_a_copy_and_calls_no_driver(outcome: Outcome) -> None:
    program = """
    import gc
    large, small = empty(3 * MIB), empty(100)
    plain = np.zeros(MIB, np.uint8)
    pinned = isthmus.pin(plain, session=session)
    large[:] = small[:] = 3
    child = os.fork()
    if child == 0:
        status = 1
        try:
            large[0] = 4
            assert large[-1] == 3 and small[0] == 3
            del large, small
            pinned.close()
            assert "forked" in tried(empty, 3)
            del session
            gc.collect()
            status = 0
        finally:
            os._exit(status)
    ended = os.waitpid(child, 0)[1]
    result = [ended, int(large[0]), is_pinned(large), is_pinned(plain)]
    """
    assert outcome(program) == [0, 3, True, True]
