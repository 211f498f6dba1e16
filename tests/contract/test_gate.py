"""What no handle may do to its driver: forked children, contexts of programs, resets and captures, a process for each.

Each test runs a program of its own on the device, so that one that hangs or dies is a failure of that test alone. Those
of CUDA use the driver beside Isthmus as programs do; they run on a GPU and on the fake driver alike.
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.processes import ended

LARGE = 8 << 20

# Shared by all programs: the driver as ctypes sees it, and arrays that lie wherever an address says.
_SETUP = """
import ctypes, gc, json, os, signal, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
import numpy as np
import isthmus
from isthmus import _native
from isthmus.errors import IsthmusError
from isthmus.machine.devices import open_device

spec = sys.argv[1]
rng = np.random.default_rng(7)

class Driver:
    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
    def __getattr__(self, name):
        def call(*arguments):
            code = getattr(self.library, name)(*arguments)
            assert code == 0, (name, code)
        return call

def made(call, *arguments, kind=ctypes.c_void_p):
    found = kind()
    call(ctypes.byref(found), *arguments)
    return found

class Foreign:
    def __init__(self, address, size):
        self.__cuda_array_interface__ = {
            "shape": (size,), "typestr": "|u1", "data": (address, False), "version": 3, "strides": None, "stream": None
        }

def said(call, *arguments, **options):
    try:
        call(*arguments, **options)
        return ""
    except IsthmusError as error:
        return f"{type(error).__name__}: {error}"
"""

# Children of this process, each of which runs `work` and ends by os._exit or as programs do; how they ended.
_CHILDREN = """
def ended(children):
    results, deadline = [], time.monotonic() + 60
    for child in children:
        while True:
            found, status = os.waitpid(child, os.WNOHANG)
            if found:
                results.append(status)
                break
            if time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                results.append("hung")
                break
            time.sleep(0.01)
    return results

def fork(work, at_once):
    child = os.fork()
    if child:
        return child
    signal.alarm(50)
    status = 1
    try:
        work()
        status = 0
    except BaseException:
        import traceback
        traceback.print_exc()
    if at_once or status:
        os._exit(status)
    sys.exit(0)
"""

Outcome = Callable[..., Any]


@pytest.fixture
def outcome(spec: str) -> Outcome:
    """What a program that ends with `result = ...` found on the device; it must end well by itself."""

    def outcome(program: str, only: str = "") -> Any:
        if only and not spec.startswith(only):
            pytest.skip(f"is about {only}, not {spec}")
        words = [sys.executable, "-c", _SETUP + textwrap.dedent(program) + "\nprint(json.dumps(result))", spec]
        done = ended(*words, cwd=Path(__file__).resolve().parents[2])
        assert done.returncode == 0, done.stderr[-4000:]
        return json.loads(done.stdout.splitlines()[-1])

    return outcome


@pytest.mark.parametrize("children", [4, pytest.param(60, marks=pytest.mark.thorough)])
def test_children_are_told_and_end_while_the_parent_copies(outcome: Outcome, children: int) -> None:
    program = f"""
    session = isthmus.Session(spec, pinned_budget="4MiB", threads=2)
    sizes = (100, {LARGE // 2})
    data = [rng.integers(0, 256, size, np.uint8) for size in sizes]
    there = [session.to_device(one) for one in data]
    pending = session.copy_async(there[1], data[1])
    native = open_device(spec).native
    kinds = [kind["name"] for kind in _native.memory_kinds() if native.why_not(kind["name"]) is None]
    held = [native.allocate(kind, 4096) for kind in kinds]
    stream, event = _native.Stream(native), _native.Event(native)
    stream.record(event)
    stream.synchronize()
    held += [stream, event]
    if native.why_no_latch() is None:
        held.append(stream.close_latch())
    stop = threading.Event()

    def busy():
        out = [np.empty_like(one) for one in data]
        while not stop.is_set():
            for one, array in zip(out, there):
                session.copy(one, array)
        return all((one == other).all() for one, other in zip(out, data))

    def work():
        global session, there, pending, native, held, stream, event
        forbidden = (
            lambda: session.copy(there[0], data[0]),
            lambda: session.to_host(there[1]),
            lambda: session.copy_async(there[1], data[1]),
            lambda: session.empty(5),
            lambda: isthmus.to_host(there[0]),
            lambda: _native.Stream(native),
            lambda: native.allocate("device", 64),
        )
        if not spec.startswith("host"):
            for call in forbidden:
                told = said(call)
                assert "forked" in told and "spawn" in told, told
            assert "forked" in said(isthmus.Session, spec)
        else:
            assert "forked" in said(forbidden[0])
        del session, there, pending, native, held, stream, event
        gc.collect()

    with ThreadPoolExecutor(2) as pool:
        copies = [pool.submit(busy) for _ in range(2)]
        began = []
        for index in range({children}):
            # The leak checker, which looks for threads that a fork left behind, waits for them at the end of a program.
            began.append(fork(work, index % 2 or "san.so" in os.environ.get("LD_PRELOAD", "")))
            time.sleep(0.003)
        statuses = ended(began)
        stop.set()
        right = [copy.result() for copy in copies]
    held.clear()  # A stream that a latch holds back would hold back what frees memory at the end.
    pending.wait()
    right += [bool((session.to_host(array) == one).all()) for array, one in zip(there, data)]
    result = [statuses, right]
    """
    statuses, right = outcome(_CHILDREN + textwrap.dedent(program))
    assert statuses == [0] * children
    assert all(right)


def test_arrays_outlive_their_session_and_meet_those_of_another(outcome: Outcome) -> None:
    program = """
    data = np.arange(30000.0)
    with isthmus.Session(spec) as first:
        array = first.to_device(data)
    found = [isthmus.to_host(array), array.to_host()]
    other, own = isthmus.Session(spec), isthmus.Session(spec)
    found.append(other.to_host(array))
    there = own.empty(data.shape)
    isthmus.copy(there, array)
    isthmus.copy(there[::2], array[::2])
    other.close()
    found.append(own.to_host(there))
    result = [bool((one == data).all()) for one in found]
    """
    assert outcome(program) == [True] * 4


_FOREIGN = f"""
    driver = Driver()
    session = isthmus.Session(spec, pinned_budget="4MiB", threads=2)
    own = made(driver.cuCtxCreate_v2, 0, int(spec.partition(":")[2]))
    current = lambda: made(driver.cuCtxGetCurrent).value
    address = made(driver.cuMemAlloc_v2, ctypes.c_size_t({LARGE}), kind=ctypes.c_uint64).value
    data = rng.integers(0, 256, {LARGE}, np.uint8)
    driver.cuMemcpyHtoD_v2(ctypes.c_uint64(address), ctypes.c_void_p(data.ctypes.data), ctypes.c_size_t({LARGE}))
"""


def test_memory_of_a_context_of_the_program_is_refused_or_copied_right(outcome: Outcome) -> None:
    program = (
        _FOREIGN
        + f"""
    tried = []
    for size in (1, 100, 65536, {LARGE}):
        out, foreign = np.zeros(size, np.uint8), Foreign(address, size)
        for call in (lambda: session.copy(out, foreign), lambda: session.copy_async(out, foreign).wait()):
            out[:] = 0
            told = said(call)
            tried.append([told, bool((out == data[:size]).all())])
    own_array = session.to_device(data)
    across = said(session.copy, own_array, Foreign(address, {LARGE}))
    back = np.empty_like(data)
    driver.cuMemcpyDtoH_v2(ctypes.c_void_p(back.ctypes.data), ctypes.c_uint64(address), ctypes.c_size_t({LARGE}))
    result = [tried, across, current() == own.value, bool((back == data).all()),
              bool((session.to_host(own_array) == data).all())]
    """
    )
    tried, across, is_current, unharmed, own_right = outcome(program, only="cuda")
    for told, right in tried:
        assert right if not told else "cuCtxCreate" in told
    assert "cuCtxCreate" in tried[-1][0]
    assert "cuCtxCreate" in across
    assert is_current
    assert unharmed
    assert own_right


def test_streams_and_page_locked_memory_of_a_context_of_the_program(outcome: Outcome) -> None:
    program = (
        _FOREIGN
        + f"""
    theirs = made(driver.cuStreamCreate, 1)
    pinned = made(driver.cuMemHostAlloc, ctypes.c_size_t({LARGE}), 0)
    host = np.ctypeslib.as_array((ctypes.c_uint8 * {LARGE}).from_address(pinned.value))
    host[:] = data
    there = session.to_device(host)
    refused = said(session.copy, there, data, stream=theirs.value)
    result = [refused, bool((session.to_host(there) == data).all()), current() == own.value]
    """
    )
    refused, right, is_current = outcome(program, only="cuda")
    assert "not its device's primary one" in refused
    assert right
    assert is_current


@pytest.mark.parametrize("again", [False, True], ids=["left so", "used again first"])
def test_after_a_reset_of_the_device_all_that_was_open_says_so(outcome: Outcome, again: bool) -> None:
    program = f"""
    driver = Driver()
    index = int(spec.partition(":")[2])
    session = isthmus.Session(spec, pinned_budget="4MiB", threads=2)
    data = rng.integers(0, 256, {LARGE}, np.uint8)
    there = session.to_device(data)
    session.copy_async(there, data).wait()
    default = isthmus.default_session(spec)
    others = default.to_device(data)
    native = open_device(spec).native
    kinds = [kind["name"] for kind in _native.memory_kinds() if native.why_not(kind["name"]) is None]
    held = [native.allocate(kind, 4096) for kind in kinds]
    held += [_native.Stream(native), _native.Event(native)]
    driver.cuDevicePrimaryCtxReset_v2(index)
    if {again}:
        context = made(driver.cuDevicePrimaryCtxRetain, index)
        driver.cuCtxSetCurrent(context)
    told = [
        said(session.copy, there, data),
        said(session.copy, there[:64], data[:64]),
        said(session.to_host, there),
        said(session.empty, 5),
        said(session.copy_async, there, data),
        said(isthmus.to_host, others),
        said(native.allocate, "device", 64),
        said(_native.Stream, native),
    ]
    del held, native, there, others
    gc.collect()
    session.close()
    default.close()
    fresh = isthmus.Session(spec)
    array = fresh.to_device(data)
    right = [bool((fresh.to_host(array) == data).all())]
    right.append(bool((isthmus.to_host(isthmus.to_device(data, spec)) == data).all()))
    del session, default
    gc.collect()
    right.append(bool((fresh.to_host(array) == data).all()))
    result = [told, right]
    """
    told, right = outcome(program, only="cuda")
    for each in told:
        assert "context was destroyed" in each, told
    assert all(right)


def test_a_program_that_resets_its_device_at_its_end_ends_well(outcome: Outcome) -> None:
    program = f"""
    session = isthmus.Session(spec, pinned_budget="4MiB", threads=2)
    there = session.to_device(np.zeros({LARGE}, np.uint8))
    copy = session.copy_async(np.empty({LARGE}, np.uint8), there)
    copy.wait()
    Driver().cuDevicePrimaryCtxReset_v2(int(spec.partition(":")[2]))
    result = "left open"
    """
    assert outcome(program, only="cuda") == "left open"


@pytest.mark.parametrize("mode", [0, 1, 2], ids=["global", "thread local", "relaxed"])
@pytest.mark.parametrize("blocking", [True, False], ids=["waits for the default stream", "does not"])
def test_what_a_program_records_stays_whole_whatever_is_copied_meanwhile(
    outcome: Outcome, mode: int, blocking: bool
) -> None:
    program = f"""
    driver = Driver()
    session = isthmus.Session(spec, pinned_budget="4MiB", threads=2)
    data = [rng.integers(0, 256, size, np.uint8) for size in (100, {LARGE})]
    there = [session.to_device(one) for one in data]
    native = open_device(spec).native
    native.enter()
    recording = made(driver.cuStreamCreate, {0 if blocking else 1})
    free = _native.Stream(native)
    target = made(driver.cuMemAlloc_v2, ctypes.c_size_t(4096), kind=ctypes.c_uint64)
    driver.cuStreamBeginCapture_v2(recording, {mode})
    driver.cuMemsetD8Async(target, 7, ctypes.c_size_t(4096), recording)

    def copies():
        told, right = [], []
        for array, one in zip(there, data):
            out = np.zeros_like(one)
            told.append(said(session.copy, out, array))
            right.append(bool(told[-1]) or bool((out == one).all()))
            told.append(said(lambda: session.copy_async(out, array, stream=0).wait()))
            told.append(said(lambda: session.copy_async(out, array, stream=1).wait()))
            out[:] = 0
            session.copy(out, array, stream=free.handle)
            right.append(bool((out == one).all()))
            out[:] = 0
            session.copy_async(out, array, stream=free.handle).wait()
            right.append(bool((out == one).all()))
            out[:] = 0
            session.copy_async(out, array).wait() if not {blocking} else None
            right.append({blocking} or bool((out == one).all()))
        made_meanwhile = session.empty(1000)
        del made_meanwhile
        return told, right

    here = copies()
    with ThreadPoolExecutor(1) as pool:
        elsewhere = pool.submit(copies).result()
    graph = ctypes.c_void_p()
    ended = driver.library.cuStreamEndCapture(recording, ctypes.byref(graph))
    executable = made(driver.cuGraphInstantiateWithFlags, graph, ctypes.c_ulonglong(0))
    driver.cuGraphLaunch(executable, recording)
    driver.cuStreamSynchronize(recording)
    written = (ctypes.c_uint8 * 4096)()
    driver.cuMemcpyDtoH_v2(written, target, ctypes.c_size_t(4096))
    afterwards = bool((session.to_host(there[1]) == data[1]).all())
    result = [here, elsewhere, ended, set(written) == {{7}}, afterwards]
    """
    here, elsewhere, ended, replayed, afterwards = outcome(program, only="cuda")
    assert ended == 0
    assert replayed
    assert afterwards
    for told, right in (here, elsewhere):
        assert all(right)
        for each in told:
            assert ("default stream is recording a CUDA graph" in each) == blocking, each
