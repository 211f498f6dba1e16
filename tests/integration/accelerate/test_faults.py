"""What surrounds a program and is not as it should be: it runs as it would without the library."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from isthmus.ledger import read_counts
from tests.integration.accelerate.programs import (
    IS_SANITIZED,
    OPENCL_TRACER,
    PRELOADED,
    accelerated,
    accelerating,
    command_line,
    ran,
)


def test_what_the_environment_asks_for_stays_beside_what_the_command_does(driver: Path) -> None:
    words = ["sh", "-c", "echo $ISTHMUS_ACCELERATE_OPTIONS"]
    found = command_line(["--min", "1MiB"], words, driver, ISTHMUS_ACCELERATE_OPTIONS="eager,min=5")
    assert found["out"] == "eager,min=5,min=1048576\n"


def of_others(change: str, program: Path) -> None:
    """Gives a program rights that whoever runs it has not, or skips the test."""
    if os.getuid() != 0:
        pytest.skip("needs the superuser, to give a program to another")
    os.chown(program, 65534, 65534)
    program.chmod(0o4755 if change == "setuid" else 0o2755)


@pytest.mark.parametrize("change", ["setuid", "setgid"])
def test_a_program_with_rights_of_others_is_said_to_run_without_the_library(
    change: str, driver: Path, tmp_path: Path
) -> None:
    program = tmp_path / "program"
    shutil.copy("/bin/true", program)
    of_others(change, program)
    found = command_line([], [program], driver)
    assert found["code"] == 0
    assert f"({change}), and the linker preloads nothing into such programs" in str(found["err"])


@pytest.mark.parametrize("told", [[], ["--report"]])
def test_without_a_driver_a_program_runs_and_that_is_said_once(told: list[str], tmp_path: Path) -> None:
    found = command_line(told, ["sh", "-c", "echo done; sh -c 'exit 3'"], tmp_path / "none")
    assert (found["code"], found["out"]) == (3, "done\n")
    assert str(found["err"]).count("no CUDA driver is found (libcuda.so.1)") == 1
    assert ("No copy large enough was made" in str(found["err"])) == bool(told)


def test_without_a_device_a_program_hears_of_it_from_the_driver(program: Path, driver: Path) -> None:
    found = command_line(["--report"], [program, "linked", "0"], driver, FAKE_CUDA_INIT="100")
    assert (found["code"], found["out"]) == (77, "")
    assert "No copy large enough was made" in str(found["err"])


@pytest.mark.skipif(IS_SANITIZED, reason="the program gets at the driver by dlsym")
@pytest.mark.parametrize(
    "lacks", ["cuPointerGetAttributes", "cuStreamIsCapturing", "cuCtxGetId", "cuStreamWaitEvent", "cuEventRecord"]
)
def test_with_a_driver_too_old_for_a_function_no_copy_is_lost(
    lacks: str, random_copies: Path, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    old = compiled("fake_cuda.cpp", lacks)
    told, counts = accelerated([random_copies, "dlsym", "160"], old, tmp_path, "eager,min=4096")
    assert told == "copies: 160\nwrong: 0\n"
    # Of memory that the driver cannot tell apart nothing is known.
    assert (counts.moved == []) == (lacks == "cuPointerGetAttributes")


# What the driver has too little of, does not know, or says differently than elsewhere.
SURROUNDINGS = {
    "no-page-locked-memory": {"FAKE_CUDA_LOCKED": "0"},
    "little-page-locked-memory": {"FAKE_CUDA_LOCKED": "300000"},
    "wsl": {"FAKE_CUDA_LOCKED": "4194304", "FAKE_CUDA_FAIL": "cuMemHostRegister_v2"},
    "confidential": {"FAKE_CUDA_CONFIDENTIAL": "1"},
    "expandable-segments": {"FAKE_CUDA_SEGMENTS": "2097152"},
    "two-devices": {"FAKE_CUDA_DEVICES": "2"},
    "strict": {"FAKE_CUDA_STRICT": "1"},
}


@pytest.mark.skipif(IS_SANITIZED, reason="the program gets at the driver by dlsym")
@pytest.mark.parametrize("surroundings", SURROUNDINGS)
def test_copies_are_right_whatever_the_driver_is_like(
    surroundings: str, random_copies: Path, driver: Path, tmp_path: Path
) -> None:
    more = SURROUNDINGS[surroundings]
    told, counts = accelerated([random_copies, "thread", "400"], driver, tmp_path, "eager,min=4096", **more)
    assert told == "copies: 400\nwrong: 0\n"
    assert sum(row.copies for row in counts.moved) > 40
    assert counts.left["failed"] == (0, 0)


@pytest.mark.skipif(IS_SANITIZED, reason="the program gets at the driver by dlsym")
@pytest.mark.parametrize("words", [("prlimit", "--nproc=1"), ("taskset", "-c", "0")], ids=["no-threads", "one-cpu"])
def test_copies_are_right_with_few_threads(
    words: tuple[str, ...], random_copies: Path, driver: Path, tmp_path: Path
) -> None:
    if shutil.which(words[0]) is None:
        pytest.skip(f"needs {words[0]}")
    # By itself, as it is without being told to take every copy.
    told, counts = accelerated([*words, random_copies, "thread", "300", "1", "1"], driver, tmp_path, "min=4096")
    assert told == "copies: 300\nwrong: 0\n"
    assert counts.left["failed"] == (0, 0)


@pytest.mark.skipif(IS_SANITIZED, reason="the program gets at the driver by dlsym")
def test_a_program_that_is_killed_leaves_nothing_behind(random_copies: Path, driver: Path, tmp_path: Path) -> None:
    shared = Path("/dev/shm")
    before = {path.name for path in shared.iterdir() if "isthmus" in path.name}
    words: list[str | Path] = ["timeout", "--signal=KILL", "2", random_copies, "thread", "100000000"]
    found = command_line(["--report"], words, driver, TMPDIR=str(tmp_path), ISTHMUS_ACCELERATE_OPTIONS="eager,min=4096")
    assert found["code"] in (-signal.SIGKILL, 128 + signal.SIGKILL)
    # What it did until then is told, and nothing is left of it.
    assert "What Isthmus did for timeout" in str(found["err"])
    assert "copies of" in str(found["err"])
    assert list(tmp_path.iterdir()) == []
    assert {path.name for path in shared.iterdir() if "isthmus" in path.name} == before


REACHES = ("linked", "dlsym", "address", "versioned", "thread")
OTHERS = {
    "next": (),
    "by-handle": ("-DBY_HANDLE",),
    "lookups": ("-DHOOKS_LOOKUPS",),
    "lookups-by-handle": ("-DHOOKS_LOOKUPS", "-DBY_HANDLE"),
    "memcpy": ("-DHOOKS_MEMCPY",),
}
# One of each fault that there was: hooks passed by, calls in circles.
QUICK = {("next", "address"), ("by-handle", "linked"), ("lookups", "linked"), ("lookups", "thread")}
# Every copy is left to the driver.
NONE_TAKEN = "eager,min=1099511627776"


@pytest.fixture(scope="session")
def copies(build: Callable[..., Path]) -> Path:
    """The program that copies in all ways, a little of each."""
    return build("accelerated_program.cpp", "-DMOST_MIB=2", linked=True)


@pytest.fixture
def tracing(compiled: Callable[..., Path], tmp_path: Path) -> Mapping[str, str]:
    """The variables by which the driver loads the tracer into a program."""
    return {
        "CUDA_INJECTION64_PATH": str(PRELOADED.with_name("libisthmus_tracer.so")),
        "ISTHMUS_TRACE_FOLDER": str(tmp_path),
        "ISTHMUS_TRACE_CUPTI": str(compiled("fake_tracing.cpp")),
    }


def seen(done: subprocess.CompletedProcess[str]) -> list[int]:
    return [int(count) for count in done.stderr.rpartition("seen by others: ")[2].split()]


@pytest.mark.skipif(IS_SANITIZED, reason="a sanitizer has hooks of its own, and leaves dlsym to those")
@pytest.mark.parametrize(
    ("how", "reach"),
    [
        pytest.param(how, reach, marks=() if (how, reach) in QUICK else pytest.mark.thorough)
        for how in OTHERS
        for reach in REACHES
    ],
)
def test_hooks_of_others_see_each_call_that_they_see_alone(
    how: str, reach: str, build: Callable[..., Path], copies: Path, driver: Path, tracing: Mapping[str, str]
) -> None:
    """Also in a program that is traced."""
    other = build("other_hooks.cpp", "-shared", "-fPIC", *OTHERS[how])
    words: list[str | Path] = [copies, reach, "0"]
    alone = ran(words, driver, LD_PRELOAD=str(other))
    assert alone.returncode == 0, alone.stdout + alone.stderr
    folder = Path(tracing["ISTHMUS_TRACE_FOLDER"])
    orders = (f"{other} {PRELOADED}", f"{PRELOADED} {other}")
    runs = [(order, *way) for order in orders for way in ((NONE_TAKEN, {}), (NONE_TAKEN, tracing), ("eager", tracing))]
    for preloaded, options, traced in (*runs, (f"{OPENCL_TRACER} {other}", NONE_TAKEN, tracing)):
        variables = {**accelerating(folder, options), **traced, "LD_PRELOAD": preloaded}
        done = ran(words, driver, **variables)
        assert (done.returncode, done.stdout) == (alone.returncode, alone.stdout), (preloaded, done.stderr)
        if options == NONE_TAKEN:
            assert seen(done) == seen(alone), preloaded
    assert sum(row.copies for row in read_counts(folder).moved) > 0
    # One of each traced program.
    assert len(list(folder.glob("*.part"))) == 5
