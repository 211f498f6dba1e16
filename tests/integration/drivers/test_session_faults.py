"""A session on the CUDA backend when any call of the driver fails, early or late: told, right until then, and clean."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.processes import python

pytestmark = pytest.mark.thorough

# Each of these is refused at its first, its third and its twelfth call: most are made a few times a copy.
CALLS = [1, 3, 12]
GETS = {
    "contexts and streams": [
        *("cuDevicePrimaryCtxRetain", "cuCtxGetCurrent", "cuCtxSetCurrent", "cuStreamCreate"),
        *("cuStreamGetCtx", "cuStreamSynchronize", "cuEventCreate", "cuEventQuery", "cuEventRecord"),
    ],
    "memory": [
        *("cuMemAlloc_v2", "cuMemHostAlloc", "cuMemHostGetDevicePointer_v2", "cuMemHostRegister_v2"),
        "cuPointerGetAttributes",
    ],
    "copies": [
        *("cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2"),
        *("cuMemcpy2DAsync_v2", "cuModuleLoadData"),
        *("cuModuleGetFunction", "cuLaunchKernel", "cuStreamWaitValue32_v2"),
    ],
}
GIVES = ["cuMemFree_v2", "cuMemFreeHost", "cuMemHostUnregister"]

PROGRAM = """
import gc, json, os, sys
import numpy as np
import isthmus
from isthmus.errors import IsthmusError

data = np.frombuffer(np.random.default_rng(1).bytes(286_001 * 11), np.uint8).reshape(-1, 11)
rows = np.array_split(data[:5000], 1250)

def copies(session):
    there = session.to_device(data)
    empty = session.empty(data.shape, np.uint8)
    for _ in range(2):
        session.copy(empty, data)
        session.copy(empty[::3, 2:9], data[::3, 2:9])
        session.copy_batch([empty[4 * i : 4 * i + 4] for i in range(len(rows))], rows)
        assert (session.to_host(empty) == data).all()
        back = np.zeros_like(data)
        waited = [session.copy_async(back[::2], there[::2]), session.copy_async(back[1::2], there[1::2])]
        for future in waited:
            future.wait()
        assert (back == data).all()

def scenario():
    said, session = [], None
    try:
        session = isthmus.Session("cuda:0", pinned_budget="2MiB")
        copies(session)
    except IsthmusError as error:
        said.append(f"{type(error).__name__}: {error}")
    if session is not None:
        try:
            session.close()
        except IsthmusError as error:
            said.append(f"{type(error).__name__}: {error}")
        try:
            session.copy(np.zeros(3), np.ones(3))
            said.append("copies after close")
        except IsthmusError:
            pass
    return said

found = {}
for function, calls in json.loads(sys.argv[1]):
    for call in calls:
        os.environ["FAKE_CUDA_FAIL"] = f"{function}@{call}"
        found[f"{function}@{call}"] = scenario()
        os.environ["FAKE_CUDA_FAIL"] = ""
    gc.collect()
    # Whatever failed, the next session knows nothing of it.
    assert scenario() == [], function
print(json.dumps(found))
"""


def outcome(library: Path, functions: list[str], live: Path) -> tuple[dict[str, list[str]], int]:
    """What was said of each failure, and how many allocations the driver still had at the end."""
    given = {"LD_LIBRARY_PATH": str(library.parent), "FAKE_CUDA_LIVE": str(live), "FAKE_CUDA_FAIL": ""}
    done = python(PROGRAM, json.dumps([(function, CALLS) for function in functions]), env=given)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return json.loads(done.stdout), int(live.read_text().split()[0])


@pytest.fixture
def library(compiled: Callable[..., Path]) -> Path:
    return compiled("fake_cuda.cpp")


@pytest.mark.parametrize("functions", GETS.values(), ids=GETS.keys())
def test_what_cannot_be_got_is_told_and_nothing_is_kept(library: Path, functions: list[str], tmp_path: Path) -> None:
    found, live = outcome(library, functions, tmp_path / "live")
    # What can be done without is done without; of the rest each names the call, or what could not be found out by it.
    told = [text for texts in found.values() for text in texts]
    assert told
    assert all("driver" in text for text in told), told
    assert live == 0


def test_a_stream_that_cannot_be_told_to_say_how_far_it_is_leaves_nothing(library: Path, tmp_path: Path) -> None:
    """It is waited for, so that what it was to write to may be given back."""
    found, live = outcome(library, ["cuStreamWriteValue32_v2"], tmp_path / "live")
    assert sum(map(len, found.values())) > 0
    assert live == 0


def test_what_cannot_be_given_back_ends_nothing(library: Path, tmp_path: Path) -> None:
    _, live = outcome(library, GIVES, tmp_path / "live")
    # One for each call that was made and refused, at the most.
    assert live <= len(GIVES) * len(CALLS)
