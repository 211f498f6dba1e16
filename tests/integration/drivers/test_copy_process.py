"""Copies and the life of the process: what is loaded when, forks, interrupts, and exits with copies in flight."""

import sys

import pytest

from tests.processes import ended

pytestmark = pytest.mark.thorough

_SLOW = "host:rate=0.2GB/s"


def run(code: str, *, expect: int = 0) -> str:
    """What a program prints; whatever it writes elsewhere is a failure."""
    # Python warns of every fork of a process that has threads.
    options = ["-W", "ignore::DeprecationWarning"]
    done = ended(sys.executable, *options, "-c", code)
    assert (done.returncode, done.stderr) == (expect, ""), done.stdout
    return done.stdout


def test_a_copy_within_the_host_loads_no_driver() -> None:
    found = run(
        "import isthmus; from pathlib import Path; out = bytearray(3); isthmus.copy(out, b'abc'); "
        "maps = Path('/proc/self/maps').read_text(); "
        "print(out, [name for name in ('libcuda', 'libOpenCL', 'libpocl', 'libnvidia') if name in maps])"
    )
    assert found == "bytearray(b'abc') []\n"


def test_every_exported_name_is_there_and_stays() -> None:
    found = run(
        "import isthmus; names = [name for name in isthmus.__all__ if getattr(isthmus, name) is None]; "
        "print(names, set(isthmus.__all__) <= set(dir(isthmus)), 'copy' in vars(isthmus), hasattr(isthmus, 'cpoy'))"
    )
    assert found == "[] True True False\n"


def test_the_errors_are_there_after_the_import_alone() -> None:
    found = run("import sys, isthmus; print('isthmus._native' in sys.modules, isthmus.errors.UsageError.__name__)")
    assert found == "False UsageError\n"


def test_the_import_loads_none_of_the_libraries_that_choose_it() -> None:
    found = run(
        "import sys, isthmus; isthmus.to_host\n"
        "print({'torch', 'jax', 'vllm', 'cupy', 'isthmus.torch', 'isthmus.jax', 'isthmus.plugins'} & set(sys.modules))"
    )
    assert found == "set()\n"


@pytest.mark.parametrize("ending", ["", "del future, source, target, session", "import sys; sys.exit(0)"])
def test_an_exit_waits_for_copies_in_flight(ending: str) -> None:
    found = run(
        f"""
import numpy as np
import isthmus

source, target = np.full(1 << 24, 7, np.uint8), None
session = isthmus.Session("{_SLOW}")
target = session.empty(1 << 24, "u1")
future = session.copy_async(target, source)
print(future.done())
{ending}
"""
    )
    assert found == "False\n"


def test_callbacks_are_called_before_the_interpreter_ends() -> None:
    found = run(
        f"""
import asyncio, os
import numpy as np
import isthmus

session = isthmus.Session("{_SLOW}")

def ended(future):
    print("called", future.result().shape)
    try:
        session.to_device_async(np.zeros(1, "u1"))
    except isthmus.errors.UsageError as error:
        print(error)

session.to_device_async(np.zeros(1 << 24, "u1")).add_done_callback(ended)
print("at the end", flush=True)
"""
    )
    assert found.splitlines()[:2] == ["at the end", f"called ({1 << 24},)"]
    assert "shutting down" in found


def test_a_child_of_a_fork_calls_back_for_itself() -> None:
    found = run(
        f"""
import os, sys, threading
import numpy as np
import isthmus

mine = isthmus.Session("{_SLOW}")
under_way = mine.to_device_async(np.zeros(1 << 24, "u1"))
under_way.add_done_callback(lambda future: print("parent", future.exception(), flush=True))
child = os.fork()
if child == 0:
    under_way.add_done_callback(lambda future: print("forked" in str(future.exception()), flush=True))
    session, ended = isthmus.Session("host"), threading.Event()
    future = session.to_device_async(np.zeros(1 << 22, "u1"))
    future.add_done_callback(lambda _: ended.set())
    print(ended.wait(60), flush=True)
    sys.exit(0)
os.waitpid(child, 0)
"""
    )
    assert found == "True\nTrue\nparent None\n"


_DAEMONS = """
import threading, time
import numpy as np
import isthmus

class Shared:
    # Its protocol runs Python code under the copy.
    def __dlpack_device__(self):
        return array.__dlpack_device__()
    def __dlpack__(self, **options):
        return sum(range(100)) and array.__dlpack__()

array = np.ones({elements})
device = isthmus.to_device(array, "host")

def work():
    while True:
        try:
            {copy}
        except ValueError:
            pass  # The sessions are closed.

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
"""


@pytest.mark.parametrize("elements", [16, 1 << 22])
@pytest.mark.parametrize(
    "copy",
    ["isthmus.copy_async(device, array).wait()", "isthmus.copy(device, Shared())", "isthmus.to_host(device)",
     "isthmus.copy_batch([device], [array])"],
)  # fmt: skip
def test_an_exit_does_not_mind_daemon_threads_that_copy(elements: int, copy: str) -> None:
    for _ in range(3):
        run(_DAEMONS.format(elements=elements, copy=copy))


def test_a_copy_after_the_sessions_were_closed_says_that_python_is_shutting_down() -> None:
    """From a function of atexit that is called later, and from __del__ when nothing can be imported any more."""
    found = run(
        """
import atexit, os, sys

def attempt():
    for copy in (lambda: isthmus.copy(bytearray(1), b"x"), lambda: isthmus.to_device(b"x", "host"),
                 lambda: own.copy(bytearray(1), b"x"), lambda: own.empty(3), lambda: isthmus.Session("host")):
        try:
            copy()
        except ValueError as error:
            print(type(error).__name__, error, flush=True)

atexit.register(attempt)
import isthmus
own = isthmus.Session("host")
isthmus.copy(bytearray(1), b"x")

class Late:
    def __del__(self, copy=isthmus.copy, write=os.write, system=sys):
        try:
            copy(bytearray(1), b"x")
        except ValueError as error:
            write(1, f"{system.meta_path}: {error}\\n".encode())

late = Late()
"""
    )
    why = "Python is shutting down and Isthmus has closed its sessions: copy before exit\n"
    assert found == f"UsageError {why}" * 5 + f"None: {why}"


_FORK = """
import os, sys
import isthmus
from isthmus.errors import CallFailed

array = isthmus.to_device(bytes(1000), "host")
session = isthmus.default_session("host")
sys.stdout.flush()
child = os.fork()
if child == 0:
    for attempt in (lambda: isthmus.copy(bytearray(1000), array), lambda: session.copy(bytearray(1), b"x"),
                    session.trim, lambda: session.copy_async(bytearray(1), b"x")):
        try:
            attempt()
            print("no error")
        except CallFailed as error:
            print("fork" in str(error) and "spawn" in str(error))
    out = bytearray(3)
    isthmus.copy(out, b"abc")
    print(out, isthmus.to_device(b"new", "host").to_host().tobytes())
    sys.exit(0)
_, status = os.waitpid(child, 0)
isthmus.copy(array, bytes([1]) * 1000)
print(status, array.to_host().sum())
"""


def test_a_forked_child_is_told_and_may_begin_anew() -> None:
    assert run(_FORK) == "True\n" * 4 + "bytearray(b'abc') b'new'\n" + "0 1000\n"


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_of_multiprocessing_copy(method: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    program = tmp_path_factory.mktemp("program") / "program.py"
    program.write_text(
        f"""
import multiprocessing
import isthmus

def work(number):
    return isthmus.to_device(bytes([number]) * 5, "host").to_host().sum()

if __name__ == "__main__":
    assert work(1) == 5
    with multiprocessing.get_context("{method}").Pool(2) as pool:
        print([int(found) for found in pool.map(work, range(4))])
""",
        "utf-8",
    )
    done = ended(sys.executable, program)
    found = done.stdout
    assert found == "[0, 5, 10, 15]\n"


def test_an_interrupt_ends_a_long_wait_and_not_the_copy() -> None:
    found = run(
        f"""
import os, signal, threading, time
import numpy as np
import isthmus

signal.signal(signal.SIGINT, signal.default_int_handler)
session = isthmus.Session("{_SLOW}")
target = session.empty(1 << 27, "u1")
future = session.copy_async(target, np.full(1 << 27, 3, np.uint8))
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    future.wait()
    print("no interrupt")
except KeyboardInterrupt:
    print("interrupted", future.done())
future.wait()
print(future.bytes_completed == 1 << 27)
"""
    )
    assert found == "interrupted False\nTrue\n"


def test_a_wait_may_have_an_end() -> None:
    found = run(
        f"""
import numpy as np
import isthmus
from isthmus.errors import TimedOut

session = isthmus.Session("{_SLOW}")
target = session.empty(1 << 25, "u1")
future = session.copy_async(target, np.zeros(1 << 25, np.uint8))
for late in (lambda: future.wait(0.01), lambda: future.exception(timeout=0)):
    try:
        late()
    except TimeoutError as error:
        print(isinstance(error, TimedOut), "goes on" in str(error), future.bytes_completed)
print(future.exception(), future.bytes_completed)
"""
    )
    assert found == "True True 0\n" * 2 + f"None {1 << 25}\n"


def test_a_copy_that_fails_says_how_much_had_arrived() -> None:
    found = run(
        """
import isthmus
from isthmus.errors import CallFailed, CopyFailed

session = isthmus.Session("host:fault=copy:fail@2")
target = session.empty(1000, "u1")
for attempt in (lambda: session.copy(target, bytes(1000)), lambda: session.copy(target, bytes(1000))):
    try:
        attempt()
        print("copied")
    except CopyFailed as error:
        print(isinstance(error, CallFailed), error.operation, error.code, error.bytes_completed)
"""
    )
    assert found == "copied\nTrue copy call_failed 0\n"
