"""A process that copied, and one that was forked from it."""

import os
import signal
import subprocess
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus.errors import CallFailed
from tests.processes import python
from tests.synthetic.tables import transfer_table


@pytest.mark.parametrize("size", [100, 3 << 20], ids=["before its threads", "with its threads"])
def test_the_child_is_told_and_may_open_its_own(tmp_path: Path, size: int) -> None:
    path = tmp_path / "table.txt"
    path.write_text(transfer_table())
    session = isthmus.Session("host", pinned_budget="4MiB", threads=3, table=path)
    data = np.frombuffer(np.random.default_rng(0).bytes(size), np.uint8)
    on_device = session.to_device(data)
    under_way = session.copy_async(on_device, data)
    under_way.wait()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            with pytest.raises(CallFailed, match=r"forked.*spawn"):
                session.copy(on_device, data)
            with isthmus.Session("host", pinned_budget="4MiB", threads=3, table=path) as own:
                assert (own.to_host(own.to_device(data)) == data).all()
            assert under_way.done()
            del session, on_device, under_way
            status = 0
        except BaseException:  # The child must end here, whatever happened.
            traceback.print_exc()
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    session.copy(on_device, data)
    assert (session.to_host(on_device) == data).all()
    session.close()


# What a child may do and how it may end; each is to have no effect on the driver, which aborts a child that calls it.
_WAYS = {
    "sys.exit": "sys.exit(0)",
    "os._exit": "os._exit(0)",
    "the end of the program": "",
    "all let go of": """
while owned:
    owned.pop()
del session, there, default, counter, spare, stream, event, pending, down, latch
gc.collect()
""",
    "closed": "refused(session.close)",
    "asked of": """
refused(lambda: session.copy(there, data))
refused(lambda: session.copy_async(there, data))
refused(lambda: session.to_device(data))
refused(lambda: session.to_host(there))
refused(pending.wait)
refused(stream.synchronize)
refused(lambda: isthmus.Session("cuda:0"))
refused(lambda: _native.Stream(device))
refused(lambda: counter.collect(0.01, 0.1))
refused(lambda: _native.count_migrations([]))
counter.version
assert pending.done()
latch.open()
""",
    "another begun": """
with isthmus.Session("host") as own:
    assert (own.to_host(own.to_device(data)) == data).all()
""",
    "forked once more": """
again = os.fork()
if again == 0:
    sys.exit(0)
assert os.waitpid(again, 0)[1] == 0
""",
    "an error": "os.dup2(os.open(os.devnull, os.O_WRONLY), 2); raise SystemExit(0) from ValueError()",
}

_WITH_A_DRIVER = """
import gc, os, signal, sys, time
import numpy as np
import isthmus
from isthmus import _native
from isthmus.errors import CallFailed, DeviceAbsent
from isthmus.machine.devices import open_device

device = open_device("cuda:0").native
session = isthmus.Session("cuda:0", pinned_budget="4MiB")
stream, event = _native.Stream(device), _native.Event(device)
kinds = [kind["name"] for kind in _native.memory_kinds()]
owned = [device.allocate(kind, 1 << 16) for kind in kinds if device.why_not(kind) is None]
data, back = np.frombuffer(np.random.default_rng(1).bytes(SIZE), np.uint8), np.zeros(SIZE, np.uint8)
there = session.to_device(data)
assert (session.to_host(there) == data).all()
spare = session.empty(SIZE, np.uint8)
latch = stream.close_latch()
pending = session.copy_async(spare, data, stream=stream.handle)
down = session.copy_async(back, spare, stream=stream.handle)
default = isthmus.to_device(data, "cuda:0")
counter = _native.count_migrations(["libcupti.so.13"])

def refused(call):
    try:
        call()
    except (CallFailed, DeviceAbsent) as error:
        assert "fork" in str(error) and "install" not in str(error), error
    else:
        raise AssertionError("it was not refused")

child = os.fork()
if child == 0:
    signal.alarm(30)
    exec(WAY)
    sys.exit(0)
status = os.waitpid(child, 0)[1]
latch.open()
down.wait()
assert (back == data).all() and (session.to_host(there) == data).all()
session.close()
print(status)
"""


# Each with one size, in turn; thoroughly, with each.
@pytest.mark.parametrize(
    ("way", "size"),
    [
        pytest.param(way, size, marks=() if (place + other) % 2 == 0 else pytest.mark.thorough)
        for place, way in enumerate(_WAYS)
        for other, size in enumerate((100, 3 << 20))
    ],
)
def test_a_child_never_calls_the_driver(compiled: Callable[..., Path], way: str, size: int) -> None:
    program = _WITH_A_DRIVER.replace("WAY", repr(_WAYS[way])).replace("SIZE", str(size))
    fakes = [str(compiled(f"fake_{library}.cpp").parent) for library in ("cuda", "nvml", "cupti")]
    environment = {"LD_LIBRARY_PATH": os.pathsep.join(fakes)}
    done = python(program, env=environment)
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


def test_the_fake_driver_ends_a_child_that_calls_it(on_fake: Callable[..., "subprocess.CompletedProcess[str]"]) -> None:
    program = """
import ctypes, os
cuda = ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0
child = os.fork()
if child == 0:
    cuda.cuMemFree_v2(ctypes.c_ulonglong(0))
    os._exit(0)
print(os.WTERMSIG(os.waitpid(child, 0)[1]))
"""
    done = on_fake(program)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{signal.SIGABRT:d}\n"
    assert "cuMemFree_v2 was called in a forked child" in done.stderr


@pytest.mark.parametrize("used", [False, True], ids=["devices listed", "with a session"])
def test_a_child_of_an_opencl_program_is_told_and_ends(used: bool) -> None:
    program = f"""
import os, signal, sys
import isthmus
from isthmus.errors import IsthmusError
from isthmus.machine.devices import probe

if not any(backend.name == "opencl" and backend.devices for backend in probe()):
    sys.exit("no OpenCL device")
if {used}:
    session = isthmus.Session("opencl:0")
    there = session.to_device(bytes(1000))
child = os.fork()
if child == 0:
    signal.alarm(30)
    try:
        isthmus.Session("opencl:0")
    except IsthmusError as error:
        sys.exit("forked" not in str(error))
    sys.exit(2)
print(os.waitpid(child, 0)[1])
"""
    done = python(program)
    if "no OpenCL device" in done.stderr:
        pytest.skip("needs an OpenCL device")
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr
