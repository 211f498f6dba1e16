"""The contract suite's tests of order and of borrowed memory, on the fake CUDA driver: also where there is no GPU."""

import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.processes import ended

# Giving memory back waits for all streams, and keeps other threads waiting meanwhile.
STRICT = {"FAKE_CUDA_STRICT": "1"}
PAIR = {"FAKE_CUDA_DEVICES": "2"}


def suites(*names: str) -> list[str]:
    return ["tests/contract/links" if name == "links" else f"tests/contract/test_{name}.py" for name in names]


ALONE = ("overlaps", "batch", "borrowed", "copy", "futures", "file_copies", "lifetime", "rows", "streams")


# Those of one kind of driver in one process, which begins once; the gate's start many of their own. Of tests with many
# cases a third: all of them run on the host's devices, by the same code but for the driver's calls. Thoroughly, all.
@pytest.mark.parametrize(
    "drawn", [("--every", "3", "-m", "not thorough"), pytest.param((), marks=pytest.mark.thorough)], ids=["some", "all"]
)
@pytest.mark.parametrize(
    ("paths", "environment"),
    [
        (suites(*ALONE), {}),
        (suites("gate"), {}),
        (suites("threads"), STRICT),
        (suites("peers", "two_devices", "links"), PAIR),
        (suites("peers", "two_devices"), PAIR | {"FAKE_CUDA_NO_PEERS": "1"}),
        (suites("links"), {"FAKE_CUDA_DEVICES": "4"}),
    ],
    ids=["alone", "gate", "strict", "pair", "pair without peers", "four"],
)
def test_the_cuda_backend_keeps_the_contract_on_the_fake_driver(
    compiled: Callable[..., Path], paths: list[str], environment: dict[str, str], drawn: tuple[str, ...]
) -> None:
    done = ended(
        *(sys.executable, "-m", "pytest", *paths, "-k", "cuda:0", "-v", *drawn, "-p", "no:cacheprovider"),
        env={"LD_LIBRARY_PATH": str(compiled("fake_cuda.cpp").parent)} | environment,
        cwd=Path(__file__).resolve().parents[3],
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    # Each suite has tests of its own there, none of which is left out for want of the driver.
    ran = {line.split("::")[0] for line in done.stdout.splitlines() if " PASSED" in line}
    assert ran >= {path for path in paths if path.endswith(".py")}


def test_a_call_waits_for_room_in_the_queue_of_a_held_stream(
    on_fake: Callable[..., "subprocess.CompletedProcess[str]"],
) -> None:
    program = """
    import time
    from concurrent.futures import ThreadPoolExecutor
    from isthmus import _native
    from isthmus.machine.devices import open_device

    device = open_device("cuda:0").native
    stream, event = _native.Stream(device), _native.Event(device)
    given = 0

    def give():
        global given
        while given < 2000:
            stream.record(event)
            given += 1

    with ThreadPoolExecutor(1) as pool:
        latch = stream.close_latch()
        giving = pool.submit(give)
        while given < 1018:  # and the latch is two
            time.sleep(0.001)
        time.sleep(0.1)  # in which it would go on if nothing kept it
        taken = given
        latch.open()
        giving.result()
    stream.synchronize()
    assert (taken, given, event.has_passed()) == (1018, 2000, True)
    """
    done = on_fake(program)
    assert done.returncode == 0, done.stderr


_DRIVER = """
    import ctypes, os
    driver = ctypes.CDLL("libcuda.so.1")
    def made(name, *arguments, kind=ctypes.c_void_p):
        found = kind()
        assert getattr(driver, name)(ctypes.byref(found), *arguments) == 0
        return found
    assert driver.cuInit(0) == 0
    primary = made("cuDevicePrimaryCtxRetain", 0)
    driver.cuCtxSetCurrent(primary)
"""


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (
            """
    made("cuCtxCreate_v2", 0, 0)
    memory = made("cuMemAlloc_v2", ctypes.c_size_t(64), kind=ctypes.c_uint64)
    driver.cuCtxSetCurrent(primary)
    driver.cuMemsetD8Async(memory, 1, ctypes.c_size_t(64), None)
    """,
            "cuMemsetD8Async was called with memory of another context",
        ),
        (
            """
    driver.cuDevicePrimaryCtxRelease_v2(0)
    driver.cuDevicePrimaryCtxRelease_v2(0)
    """,
            "cuDevicePrimaryCtxRelease_v2 was called more often",
        ),
    ],
    ids=["another context", "one release too many"],
)
def test_the_fake_driver_ends_programs_that_would_harm_a_real_one(
    on_fake: Callable[..., "subprocess.CompletedProcess[str]"], program: str, said: str
) -> None:
    done = on_fake(textwrap.dedent(_DRIVER) + textwrap.dedent(program))
    assert said in done.stderr
    assert done.returncode == -signal.SIGABRT
