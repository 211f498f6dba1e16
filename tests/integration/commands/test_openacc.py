"""`isthmus measure openacc` as a user runs it, with a driver made of host memory and programs that are scripts."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from isthmus.experiment.openacc.build import PROGRAMS
from isthmus.record import read_run
from tests.processes import Done

# Prints figures that depend on the way, so that none can pass for another's; the device that it sees comes along.
PROGRAM = """#!/bin/sh
case "$2" in explicit) out=0.03;; *) out=0.06;; esac
echo "{\\"right\\": true, \\"device\\": \\"$CUDA_VISIBLE_DEVICES\\", \\"compiler\\": \\"g++ 12.2.0\\",
 \\"in_seconds\\": [0.01, 0.0101, 0.0099, 0.01, 0.01, 0.01], \\"out_seconds\\": [$out, $out, $out, $out, $out, $out]}" |
tr -d '\\n'
"""
QUICK = ("measure", "openacc", "--quick", "--sizes", "1MiB", "--side", "64", "--device", "cuda:0", "-o", "a.json")

Isthmus = Callable[..., Done]


@pytest.fixture(autouse=True)
def _driver(tmp_path: Path, compiled: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(compiled("fake_cuda.cpp"), tmp_path / "libcuda.so.1")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))


@pytest.fixture
def programs(tmp_path: Path) -> Callable[[str], None]:
    def write(script: str) -> None:
        (tmp_path / "bins").mkdir()
        for name in PROGRAMS:
            path = tmp_path / "bins" / name
            path.write_text(script)
            path.chmod(0o755)

    return write


def test_programs_built_before_are_recorded_and_shown(
    own_process: Isthmus, programs: Callable[[str], None], tmp_path: Path
) -> None:
    programs(PROGRAM)
    done = own_process(*QUICK, "--binaries", str(tmp_path / "bins"))
    assert done.returncode == 0, done.stderr
    run = read_run(tmp_path / "a.json")
    measured = {case.method: case for case in run.cases if not case.skipped}
    assert {"contiguous_explicit", "contiguous_automatic", "stencil_gpu_automatic", "native_explicit"} <= set(measured)
    assert {case.verified for case in measured.values()} == {"yes"}
    assert {case.method.rpartition("_")[2] for case in run.cases if case.skipped} == {"both"}
    assert "Whole arrays, each mode" in done.stdout
    assert "1.75" in done.stdout  # 70 ms over 40 ms
    # Where the programs were is nobody's business.
    assert str(tmp_path) not in (tmp_path / "a.json").read_text()


def test_programs_that_fall_back_to_the_host_fail_the_run(
    own_process: Isthmus, programs: Callable[[str], None], tmp_path: Path
) -> None:
    programs("#!/bin/sh\necho no device >&2\nexit 3\n")
    done = own_process(*QUICK, "--binaries", "bins")
    assert done.returncode == 1
    assert "cases failed" in done.stderr
    run = read_run(tmp_path / "a.json")
    assert {case.method for case in run.cases if not case.skipped} == {"native_explicit"}
    notes = {case.note for case in run.cases if case.method == "contiguous_explicit"}
    assert len(notes) == 1
    assert notes.pop().startswith("failed: the OpenACC program contiguous found no device to run on")


def test_a_folder_without_programs_is_a_usage_error(own_process: Isthmus, tmp_path: Path) -> None:
    done = own_process(*QUICK, "--binaries", "nowhere")
    assert done.returncode == 2
    assert "isthmus measure openacc --build FOLDER makes them" in done.stderr
    assert not (tmp_path / "a.json").exists()


@pytest.mark.parametrize("words", [("measure", "--build", "bins"), ("measure", "all", "--build", "bins")])
def test_to_build_is_asked_of_openacc_alone(own_process: Isthmus, tmp_path: Path, words: tuple[str, ...]) -> None:
    done = own_process(*words)
    assert done.returncode == 2
    assert "isthmus measure openacc --build" in done.stderr
    assert not (tmp_path / "bins").exists()
