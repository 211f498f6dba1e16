"""Programs whose copies the library makes: as the driver makes them, in all that a program can see."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.accelerate.programs import IS_SANITIZED, PRELOADED, accelerated, accelerating, command_line, ran

REACHES = ("linked",) if IS_SANITIZED else ("linked", "dlsym", "address", "versioned", "thread")
ROUNDS = "12"
# A program alone that ends well needs no sanitizer.
ALONE = {"LD_PRELOAD": ""}


# Other copies by each reach, and some of many chunks.
@pytest.mark.parametrize(
    ("reach", "seed", "most_mib"),
    [
        *((reach, str(1 + at), 8) for at, reach in enumerate(REACHES)),
        pytest.param("linked", "9", 32, marks=pytest.mark.thorough),
    ],
)
def test_copies_are_as_the_driver_makes_them(
    build: Callable[..., Path], driver: Path, reach: str, seed: str, most_mib: int, tmp_path: Path
) -> None:
    program = build("accelerated_program.cpp", f"-DMOST_MIB={most_mib}", linked=True)
    command: list[str | Path] = [program, reach, ROUNDS, seed]
    plain = ran(command, driver, **ALONE)
    assert plain.returncode == 0, plain.stdout + plain.stderr
    told, counts = accelerated(command, driver, tmp_path)
    assert told == plain.stdout
    # The library was there, both ways, and tried nothing that the driver refuses.
    assert {row.way for row in counts.moved if row.copies} >= {"h2d", "d2h"}
    assert counts.left["failed"] == (0, 0)
    assert counts.left["off"] == (0, 0)
    # Into the graph, and next to it.
    assert counts.left["capturing"][0] == 2


@pytest.mark.skipif(IS_SANITIZED, reason="the program gets at the driver by dlsym")
def test_a_size_that_is_the_driver_s_costs_no_question_about_memory(
    build: Callable[..., Path], driver: Path, tmp_path: Path
) -> None:
    told, counts = accelerated([build("calls_of_a_copy.cpp")], driver, tmp_path, "min=262144")
    assert counts.left["small"] == (2, 2 * (512 << 10))
    assert "cuMemcpyHtoDAsync_v2" in told.split()
    assert not {"cuPointerGetAttributes", "cuStreamIsCapturing", "cuStreamQuery"} & set(told.split())


@pytest.mark.skipif(IS_SANITIZED, reason="the program gets at the driver by dlsym")
def test_a_sample_asks_about_memory_as_often_as_any_other_copy(
    build: Callable[..., Path], driver: Path, tmp_path: Path
) -> None:
    """However many parts of it the driver makes."""
    copies = build("calls_of_a_copy.cpp")
    sample, other = (
        Counter(accelerated([copies, str(4 << 20), others], driver, tmp_path)[0].split()) for others in ("1", "8")
    )
    # Each part may find another context.
    assert sample["cuCtxGetCurrent"] > other["cuCtxGetCurrent"] > 0
    for about_memory in ("cuPointerGetAttributes", "cuStreamGetCtx"):
        assert sample[about_memory] == other[about_memory] > 0


def test_copies_are_compared_with_the_driver_s(program: Path, driver: Path, tmp_path: Path) -> None:
    _, counts = accelerated([program, REACHES[-1], ROUNDS], driver, tmp_path, "eager,verify,min=65536")
    assert counts.checked >= 10
    assert counts.wrong == 0


@pytest.mark.parametrize("budget", ["budget=0", "budget=2097152,threads=1"])
def test_a_small_budget_is_no_failure(program: Path, driver: Path, budget: str, tmp_path: Path) -> None:
    _, counts = accelerated([program, REACHES[-1], ROUNDS], driver, tmp_path, f"eager,{budget}")
    assert counts.left["failed"] == (0, 0)


@pytest.mark.parametrize(
    "fails", ["cuMemHostRegister_v2", "cuMemHostGetDevicePointer_v2", "cuStreamCreate", "cuEventCreate"]
)
def test_where_the_library_fails_the_driver_copies(program: Path, driver: Path, fails: str, tmp_path: Path) -> None:
    """Only what the library calls: with the program's own calls the program fails alike."""
    command: list[str | Path] = [program, REACHES[-1], "0"]
    alone = ran(command, driver, FAKE_CUDA_FAIL=fails)
    done = ran(command, driver, FAKE_CUDA_FAIL=fails, **accelerating(tmp_path))
    assert (done.returncode, done.stdout) == (alone.returncode, alone.stdout)


def test_a_report_says_what_was_moved_and_the_program_s_output_is_its_own(
    program: Path, driver: Path, tmp_path: Path
) -> None:
    words: list[str | Path] = [program, REACHES[0], ROUNDS]
    alone = ran(words, driver, **ALONE)
    report = tmp_path / "report.json"
    found = command_line(["--report", "-o", str(report)], words, driver, ISTHMUS_ACCELERATE_OPTIONS="eager")
    assert found["out"] == alone.stdout
    assert found["code"] == 0
    assert f"What Isthmus did for {program.name}" in str(found["err"])
    data = json.loads(report.read_text("utf-8"))
    assert data["processes"] == 1
    assert data["wrong"] == 0


def test_a_program_ends_as_it_does(driver: Path) -> None:
    assert command_line([], ["sh", "-c", "exit 7"], driver)["code"] == 7
    killed = command_line(["--report"], ["sh", "-c", "kill -TERM $$"], driver)
    assert killed["code"] in (-signal.SIGTERM, 128 + signal.SIGTERM)


def test_without_room_for_counts_a_program_runs_and_ends_as_it_does(driver: Path, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    found = command_line(["--report"], ["sh", "-c", "echo done; exit 5"], driver, TMPDIR=missing, TEMP="", TMP="")
    assert (found["code"], found["out"]) == (5, "done\n")
    # Nobody reads what would be said.
    words = [sys.executable, "-P", "-m", "isthmus", "accelerate", "--report", "--", "sh", "-c", "exit 6"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        assert subprocess.run(words, check=False, env=environment, stderr=full).returncode == 6


def test_a_static_program_is_said_to_run_without_the_library(driver: Path, tmp_path: Path) -> None:
    source, built = tmp_path / "static.c", tmp_path / "static"
    source.write_text("int main(void) { return 3; }\n", "utf-8")
    if shutil.which("gcc") is None or subprocess.run(["gcc", "-static", source, "-o", built], check=False).returncode:
        pytest.skip("needs gcc and a static C library")
    found = command_line([], [built], driver)
    assert found["code"] == 3
    assert "runs without Isthmus: it is linked statically" in str(found["err"])


def test_the_variables_for_job_scripts_are_printed(driver: Path) -> None:
    done = ran([sys.executable, "-P", "-m", "isthmus", "accelerate", "--print-env", "--min", "1MiB"], driver)
    assert done.returncode == 0
    assert f":+$LD_PRELOAD:}}{PRELOADED}" in done.stdout
    assert "export ISTHMUS_ACCELERATE_OPTIONS=min=1048576\n" in done.stdout
    script = f"{done.stdout}\nexec sh -c 'echo $LD_PRELOAD'"
    told = ran(["sh", "-c", script], driver, LD_PRELOAD="")
    assert told.stdout.strip().endswith(PRELOADED.name)
