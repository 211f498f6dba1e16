"""Memory that is protected, cut off or given back, and threads that are signalled or cancelled while they copy."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from isthmus.ledger import Counts, read_counts
from tests.integration.accelerate.programs import IS_SANITIZED, accelerating, ran, ran_both

pytestmark = pytest.mark.skipif(IS_SANITIZED, reason="a sanitizer stands before memcpy, and handles faults itself")

SCENARIOS = [
    "cut-off-file",
    "protected-source",
    "protected-end",
    "barrier-of-memcpy",
    "barrier-of-memcpy-by-page",
    "barrier-of-copy",
    "copy-of-cut-off-file",
    "copy-of-protected-source",
    "copy-of-a-hole",
    "given-up-by-a-signal",
    "cancelled-anywhere-in-memcpy",
    "cancelled-in-memcpy",
    "cancelled-in-a-copy",
    "moved-within",
    "maps-file",
    "signals-stay-the-program-s",
]


@pytest.fixture(scope="module")
def hostile(build: Callable[..., Path]) -> Path:
    return build("hostile/hostile_memory.cpp", "-Wno-volatile")


def staged(counts: Counts) -> int:
    return sum(row.copies for row in counts.moved if row.way in {"into_pinned", "out_of_pinned"})


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_program_handles_its_faults_signals_and_ends_of_threads_as_it_does(
    scenario: str, hostile: Path, driver: Path, tmp_path: Path
) -> None:
    plain = ran_both([hostile, scenario], driver, tmp_path)
    assert plain.returncode in (0, 3), plain.stdout + plain.stderr
    # What may be copied by threads is, before and after.
    if plain.returncode == 0 and scenario != "moved-within":
        assert staged(read_counts(tmp_path)) > 0


def test_memory_that_may_not_be_touched_is_left_before_anything_is_copied(
    hostile: Path, driver: Path, tmp_path: Path
) -> None:
    ran([hostile, "barrier-of-copy"], driver, **accelerating(tmp_path, "eager,threads=4"))
    left = read_counts(tmp_path).left
    assert (left["unmapped"][0], left["failed"][0]) == (4, 0)


@pytest.mark.parametrize(
    ("scenario", "copies"), [("fills-registration", 1), ("goes-beyond-registration", 0), ("gave-back", 0)]
)
def test_memory_counts_as_page_locked_from_its_first_byte_to_its_last_until_it_is_given_back(
    scenario: str, copies: int, hostile: Path, driver: Path, tmp_path: Path
) -> None:
    done = ran([hostile, scenario], driver, **accelerating(tmp_path, "eager,threads=4"))
    assert (done.returncode, done.stdout) == (0, "wrong: 0\n")
    assert staged(read_counts(tmp_path)) == copies


FAULT_HANDLER = """
import ctypes, faulthandler
assert faulthandler.is_enabled()
driver = ctypes.CDLL("libcuda.so.1")
context, pinned = ctypes.c_void_p(), ctypes.c_void_p()
driver.cuInit(0)
driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
driver.cuCtxSetCurrent(context)
find = ctypes.PyDLL(None).dlsym
find.restype, find.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_char_p)
allocate = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint)(
    find(driver._handle, b"cuMemHostAlloc"))
data = bytes(range(256)) * (8 << 12)
allocate(ctypes.addressof(pinned), len(data), 0)
ctypes.memmove(pinned, data, len(data))
print(ctypes.string_at(pinned, len(data)) == data)
"""


def test_python_s_handler_of_faults_is_no_reason_to_stay_plain(driver: Path, tmp_path: Path) -> None:
    done = ran(
        [sys.executable, "-X", "faulthandler", "-c", FAULT_HANDLER], driver, **accelerating(tmp_path, "eager,threads=4")
    )
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
    assert staged(read_counts(tmp_path)) > 0


@pytest.fixture(scope="module")
def filtered(build: Callable[..., Path]) -> Path:
    return build("hostile/filtered_calls.cpp")


@pytest.mark.parametrize("kind", ["harmless", "kills"])
@pytest.mark.parametrize("whose", ["inherited", "own"])
def test_a_filter_of_system_calls_ends_no_program(
    whose: str, kind: str, filtered: Path, driver: Path, tmp_path: Path
) -> None:
    """Every container has one; one that ends the process for starting a thread is not to hear of one."""
    words: list[str | Path] = [filtered, whose, kind]
    plain = ran(words, driver)
    if plain.returncode == 77:
        pytest.skip("the system lets programs install no filter")
    done = ran(words, driver, **accelerating(tmp_path, "eager,threads=4"))
    assert (plain.returncode, plain.stdout) == (0, "wrong: 0\n")
    assert (done.returncode, done.stdout) == (0, "wrong: 0\n"), done.stderr
    counts = read_counts(tmp_path)
    if (whose, kind) == ("inherited", "harmless"):
        assert staged(counts) > 0
        assert counts.left["failed"] == (0, 0)
    else:
        assert staged(counts) == 0
        assert "seccomp" in str(counts.failures)
