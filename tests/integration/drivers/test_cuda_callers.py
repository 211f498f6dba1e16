"""Callers' memory, streams and threads on the CUDA backend where calls of the driver fail or are absent."""

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Outcome = Callable[..., Any]

_SETUP = """
import gc, json, os
from concurrent.futures import ThreadPoolExecutor
from isthmus import _native
from isthmus.errors import IsthmusError
from isthmus.machine.devices import open_device
import numpy as np
import isthmus

device = open_device("cuda:0").native
stream = _native.Stream(device)

def tried(call, *arguments):
    try:
        return str(call(*arguments))
    except IsthmusError as error:
        return f"{type(error).__name__}: {error}"

def fails(function, call, *arguments):
    os.environ["FAKE_CUDA_FAIL"] = function
    said = tried(call, *arguments)
    os.environ["FAKE_CUDA_FAIL"] = ""
    return said
"""

# A session whose large buffers go through the ring, and a copy behind a stream that is held.
_HELD = """
import tempfile
from pathlib import Path
from tests.synthetic.tables import transfer_table

table = Path(tempfile.mkdtemp()) / "table.txt"
table.write_text(transfer_table())
session = isthmus.Session("cuda:0", pinned_budget="4MiB", threads=3, table=table)
latch = stream.close_latch()

def begun(size):
    data = np.arange(size).astype(np.uint8)
    there = session.empty(size, np.uint8)
    return data, there, session.copy_async(there, data, stream=stream.handle)
"""


@pytest.fixture
def outcome(told: Outcome) -> Outcome:
    """What a program that ends with `result = ...` found on a driver without some functions."""
    return lambda program, *omitted, **environment: told(program, setup=_SETUP, omitted=omitted, **environment)


def test_a_driver_too_old_for_latches_says_what_it_needs(outcome: Outcome) -> None:
    program = """
    data = np.arange(100).astype(np.uint8)
    session = isthmus.Session("cuda:0")
    there = session.to_device(data)
    copied = bool((session.to_host(there) == data).all())
    said = tried(lambda: session.copy_async(there, data, stream=stream.handle))
    result = [device.why_no_latch(), tried(stream.close_latch), said, copied]
    """
    reason, raised, said, copied = outcome(program, "cuStreamWaitValue32_v2")
    assert reason == "cuStreamWaitValue32_v2 is absent: the driver is too old; it needs CUDA 11.7"
    assert raised == f"Unsupported: {reason}"
    assert said.startswith(f"Unsupported: a stream cannot wait for a copy that the host takes part in ({reason})")
    assert copied


def test_a_device_that_is_not_there_is_told_from_a_driver_that_fails(outcome: Outcome) -> None:
    program = """
    import ctypes
    from tests.c_library import Library

    c = Library(isthmus.get_library_dir() + "/libisthmus.so.0")
    status = c.call("open", b"cuda:4096", None, ctypes.byref(ctypes.c_void_p()))
    os.environ["FAKE_CUDA_FAIL"] = "cuDevicePrimaryCtxRetain"
    failed = c.call("open", b"cuda:1", None, ctypes.byref(ctypes.c_void_p()))
    result = [c["isthmus_code_name"](one.code).decode() for one in (status, failed)] + [status.message.decode()]
    """
    absent, failed, said = outcome(program, FAKE_CUDA_DEVICES="2")
    assert (absent, failed) == ("ISTHMUS_DEVICE_ABSENT", "ISTHMUS_CALL_FAILED")
    assert said.startswith("no CUDA device 4096; found 2")


@pytest.mark.parametrize("function", ["cuMemHostRegister_v2", "cuStreamWaitValue32_v2", "cuStreamWriteValue32_v2"])
def test_a_latch_that_cannot_be_closed_leaves_its_stream_going(outcome: Outcome, function: str) -> None:
    program = f"""
    said = fails({function!r}, stream.close_latch)
    stream.synchronize()
    latch, event = stream.close_latch(), _native.Event(device)
    stream.record(event)
    held = not event.has_passed()
    latch.open()
    stream.synchronize()
    result = [said, held, event.has_passed()]
    """
    said, *held = outcome(program)
    assert f"{function} failed" in said
    assert held == [True, True]


def test_the_words_of_latches_are_given_back_when_streams_have_passed_them(outcome: Outcome, tmp_path: Path) -> None:
    program = """
    for _ in range(3):
        latches = [stream.close_latch() for _ in range(10)]
        del latches
        stream.synchronize()
    result = "closed"
    """
    live = tmp_path / "live"
    assert outcome(program, FAKE_CUDA_LIVE=str(live)) == "closed"
    assert live.read_text().split()[0] == "0"


def test_the_words_of_latches_stay_while_a_stream_may_read_them(outcome: Outcome, tmp_path: Path) -> None:
    # Its own stream still waits for another one's event when the device is closed.
    program = """
    owner, late = _native.Stream(device), _native.Event(device)
    other = open_device("cuda:0").native
    first = _native.Stream(other)
    keeps = first.close_latch()
    first.record(late)
    owner.wait(late)
    owner.close_latch().open()
    del stream, owner, late, device
    gc.collect()
    keeps.open()
    first.synchronize()
    result = "passed"
    """
    live = tmp_path / "live"
    assert outcome(program, FAKE_CUDA_LIVE=str(live)) == "passed"
    assert live.read_text().split()[0] == "1"


@pytest.mark.parametrize(
    ("call", "function", "said"),
    [
        ("device.identify, 4096", "cuPointerGetAttributes", "CallFailed: cuPointerGetAttributes failed"),
        (
            "lambda: ThreadPoolExecutor(1).submit(device.enter).result(),",
            "cuCtxGetCurrent",
            "CallFailed: cuCtxGetCurrent failed",
        ),
        ("stream.wait, event", "cuStreamWaitEvent", "CallFailed: cuStreamWaitEvent failed"),
        ("_native.Stream, device", "cuStreamCreate", "CallFailed: cuStreamCreate failed"),
        ("_native.Stream.borrow, device, stream.handle", "cuStreamGetCtx", "UsageError: not a CUDA stream"),
        (
            "device.borrow, 'pinned', pinned.handle, 8",
            "cuPointerGetAttributes",
            "CallFailed: cuPointerGetAttributes failed",
        ),
    ],
)
def test_a_call_that_fails_is_named_and_works_the_next_time(
    outcome: Outcome, call: str, function: str, said: str
) -> None:
    program = f"""
    pinned, event = device.allocate("pinned", 8), _native.Event(device)
    stream.record(event)
    result = [fails({function!r}, {call}), tried({call})]
    """
    first, second = outcome(program)
    assert first.startswith(said)
    assert "Error" not in second
    assert "Failed" not in second


def test_foreign_streams_and_memory_are_usage_errors(outcome: Outcome) -> None:
    program = """
    other = open_device("cuda:1").native
    theirs, memory = _native.Stream(other), other.allocate("device", 64)
    result = [
        tried(_native.Stream.borrow, device, theirs.handle),
        tried(_native.Stream.borrow, device, 12345),
        tried(device.borrow, "pinned", device.allocate("pageable", 64).handle, 64),
        device.identify(memory.handle)[:2],
    ]
    """
    foreign, unknown, unlocked, known = outcome(program, FAKE_CUDA_DEVICES="2")
    assert "UsageError: the stream belongs to another device" in foreign
    assert "UsageError: not a CUDA stream" in unknown
    assert "UsageError: the driver does not know this memory as page-locked" in unlocked
    assert known == ["device", 1]


def test_a_thread_of_another_library_keeps_its_device(outcome: Outcome) -> None:
    # What is dropped there is given back on its own device, and the thread is on the other one as before.
    program = """
    other = open_device("cuda:1").native
    dropped = [_native.Stream(device), _native.Event(device), device.allocate("device", 64)]
    dropped += [device.allocate(kind, 64) for kind in ("pinned", "registered", "managed")]

    def work():
        seen = [other.enter()]
        seen.append(device.enter())
        device.leave(seen[-1])
        dropped.clear()
        gc.collect()
        seen.append(other.enter())
        return seen

    with ThreadPoolExecutor(1) as executor:
        result = [executor.submit(work).result(), other.context_handle]
    """
    (first, *then), context = outcome(program, FAKE_CUDA_DEVICES="2")
    assert first == 0
    assert then == [context, context]


@pytest.mark.parametrize("of_other", [False, True], ids=["none", "another device's"])
def test_what_is_current_stays_so_from_open_to_close(on_fake: Outcome, of_other: bool) -> None:
    program = f"""
    import ctypes
    import gc
    from pathlib import Path
    import numpy as np
    import isthmus
    from tests.c_library import DEVICE, H2D, Library

    driver = ctypes.CDLL("libcuda.so.1")
    before = ctypes.c_void_p()
    if {of_other}:
        assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(before), 1) == 0
    assert driver.cuCtxSetCurrent(before) == 0

    def check(after):
        now = ctypes.c_void_p()
        assert driver.cuCtxGetCurrent(ctypes.byref(now)) == 0
        assert now.value == before.value, after

    data = np.arange(3 << 20).astype(np.uint8)
    session = isthmus.Session("cuda:0")
    check("opening")
    there = session.to_device(data)
    check("copying")
    session.copy_async(np.empty_like(data), there).wait()
    check("copying without waiting")
    del there
    gc.collect()
    check("freeing")
    session.close()
    check("closing")

    c = Library(Path(isthmus.get_library_dir()) / "libisthmus.so.0")
    session = ctypes.c_void_p()
    c.must("open", b"cuda:0", None, ctypes.byref(session))
    check("opening in C")
    memory = c.allocate(session, data.size)
    check("allocating in C")
    c.must("copy", session, memory, data.ctypes.data, data.size, H2D, None)
    check("copying in C")
    c.must("free", session, memory)
    c.must("close", session)
    check("closing in C")
    """
    done = on_fake(program, FAKE_CUDA_DEVICES="2")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("size", [100, 3 << 20], ids=["by the driver", "through the ring"])
@pytest.mark.parametrize(
    "function", ["cuStreamCreate", "cuEventCreate", "cuMemHostAlloc", "cuMemHostRegister_v2", "cuMemAlloc_v2"]
)
def test_a_copy_gets_nothing_new_while_its_stream_is_held(outcome: Outcome, function: str, size: int) -> None:
    # The driver may wait for the stream before it gives anything, and the stream waits for the copy.
    program = f"""
    data, there, copy = begun({size})
    os.environ["FAKE_CUDA_FAIL"] = {function!r}
    latch.open()
    copy.wait()
    os.environ["FAKE_CUDA_FAIL"] = ""
    result = bool((session.to_host(there) == data).all())
    """
    assert outcome(_HELD + textwrap.dedent(program))


def test_without_page_locked_memory_an_asynchronous_copy_goes_by_the_driver(outcome: Outcome) -> None:
    program = """
    latch.open()
    os.environ["FAKE_CUDA_LOCKED"] = "0"
    data, there, up = begun(3 << 20)
    back = np.zeros_like(data)
    down = session.copy_async(back, there, stream=stream.handle)
    again = session.copy_async(there, back, stream=stream.handle)
    again.wait()
    locked = session.pinned_bytes
    result = [locked, bool((back == data).all()), bool((session.to_host(there) == data).all())]
    """
    assert outcome(_HELD + textwrap.dedent(program)) == [0, True, True]


# A stream that torch would record a graph on: what is unsafe on any thread meanwhile, the driver refuses.
_CAPTURE = """
import ctypes
from tests.fake_driver import driver, enter

recording = _native.Stream(device)
enter()

def begin_capture():
    assert driver.cuStreamBeginCapture_v2(ctypes.c_void_p(recording.handle), 0) == 0

def end_capture():
    return driver.cuStreamEndCapture(ctypes.c_void_p(recording.handle), ctypes.byref(ctypes.c_void_p()))
"""


@pytest.mark.parametrize("size", [100, 3 << 20], ids=["by the driver", "through the ring"])
def test_copies_go_on_while_another_stream_records_a_graph_and_leave_it_whole(outcome: Outcome, size: int) -> None:
    program = f"""
    driver.cuThreadExchangeStreamCaptureMode(ctypes.byref(ctypes.c_int(0)))
    begin_capture()
    data, there, copy = begun({size})
    session.copy(session.empty({size}, np.uint8), data)
    latch.open()
    copy.wait()
    back = session.copy_async(np.zeros({size}, np.uint8), there)
    back.wait()
    mode = ctypes.c_int(2)
    driver.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode))
    ended = end_capture()
    result = [bool((session.to_host(there) == data).all()), mode.value, ended]
    """
    assert outcome(_CAPTURE + _HELD + textwrap.dedent(program)) == [True, 0, 0]


@pytest.mark.parametrize(
    "call",
    [
        "session.copy(there, data, stream=handle)",
        "session.copy_async(there, data, stream=handle)",
        "up.wait_on(handle)",
    ],
)
def test_a_stream_that_records_a_graph_is_refused(outcome: Outcome, call: str) -> None:
    program = f"""
    data, there, up = begun(100)
    handle = recording.handle
    begin_capture()
    said = tried(lambda: {call})
    ended = end_capture()
    latch.open()
    up.wait()
    result = [said, ended, tried(lambda: {call})]
    """
    said, ended, later = outcome(_CAPTURE + _HELD + textwrap.dedent(program))
    assert said.startswith("Unsupported: ")
    assert "is recording a CUDA graph" in said
    assert "copy before the capture begins" in said
    assert ended == 0
    assert "recording" not in later


@pytest.mark.parametrize("function", ["cuStreamIsCapturing", "cuThreadExchangeStreamCaptureMode"])
def test_drivers_without_these_functions_copy_as_before(outcome: Outcome, function: str) -> None:
    program = """
    data, there, up = begun(3 << 20)
    latch.open()
    up.wait()
    result = bool((session.to_host(there) == data).all())
    """
    assert outcome(_HELD + textwrap.dedent(program), function)


# Rows of page-locked memory that go by one method, to columns of an array behind a stream that is held.
_ROWS = """
import ctypes

def begun_rows(method, rows):
    table.write_text(transfer_table(method))
    session = isthmus.Session("cuda:0", pinned_budget="4MiB", threads=3, table=table)
    address = ctypes.c_void_p()
    device.enter()
    assert ctypes.CDLL("libcuda.so.1").cuMemHostAlloc(ctypes.byref(address), ctypes.c_size_t(rows * 64), 0) == 0
    data = np.ctypeslib.as_array((ctypes.c_uint8 * (rows * 64)).from_address(address.value)).reshape(rows, 64)
    data[:] = np.arange(rows * 64).reshape(rows, 64)
    there = session.empty(data.shape, np.uint8)
    return data, there, session, session.copy_async(there[:, :8], data[:, :8], stream=stream.handle)
"""


@pytest.mark.parametrize(("rows", "one_by_one"), [(128, True), (129, False), (5000, False)])
def test_a_stream_is_given_few_commands_a_copy(outcome: Outcome, rows: int, one_by_one: bool) -> None:
    # Of what its queue cannot hold the caller would wait.
    program = f"""
    latch.open()
    result = fails("cuMemcpyHtoDAsync_v2@100", lambda: begun_rows("copies", {rows})[-1].wait())
    """
    said = outcome(_HELD + _ROWS + textwrap.dedent(program))
    assert ("cuMemcpyHtoDAsync_v2 failed" in said) == one_by_one


@pytest.mark.parametrize("rows", [100, 300])
def test_pitches_that_the_driver_does_not_take_go_another_way(outcome: Outcome, rows: int) -> None:
    program = f"""
    data, there, session, copy = begun_rows("section", {rows})
    latch.open()
    copy.wait()
    again = session.empty(data.shape, np.uint8)
    session.copy(again[:, :8], data[:, :8])
    found = [session.to_host(array)[:, :8] for array in (there, again)]
    result = [bool((rows == data[:, :8]).all()) for rows in found]
    """
    assert outcome(_HELD + _ROWS + textwrap.dedent(program), FAKE_CUDA_PITCH="63") == [True, True]


def test_no_event_of_a_copy_keeps_the_time(outcome: Outcome) -> None:
    program = """
    import ctypes

    timed = ctypes.c_int.in_dll(ctypes.CDLL("libcuda.so.1"), "fake_timed_events")
    data, there, copy = begun(3 << 20)
    latch.open()
    copy.wait()
    session.to_host(there[::2])
    before = timed.value
    event = _native.Event(device)
    result = [before, timed.value]
    """
    assert outcome(_HELD + textwrap.dedent(program)) == [0, 1]


def test_the_words_of_latches_stay_with_the_process_that_has_them(outcome: Outcome) -> None:
    # Where both had them, the one that wrote first might go on with another page than the device reads.
    program = """
    def kept():
        return [line for line in open("/proc/self/smaps") if line.startswith("VmFlags") and " dc" in line]

    before = len(kept())
    latch = stream.close_latch()
    after = len(kept())
    child = os.fork()
    if child == 0:
        latch.open()
        del latch
        os._exit(0)
    ended = os.waitpid(child, 0)[1]
    latch.open()
    stream.synchronize()
    result = [after - before, ended]
    """
    assert outcome(program) == [1, 0]
