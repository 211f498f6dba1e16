"""`isthmus measure batching` as a user runs it: what it records, what a mistake and a fault cost."""

from collections.abc import Callable
from pathlib import Path

import pytest

from isthmus.record import Run
from tests.processes import Done

QUICK = ("batching", "--sizes", "64,256", "--time", "0.05s")

Measure = Callable[..., tuple[Done, Run]]


@pytest.mark.parametrize("device", ["host", pytest.param("opencl:0", marks=pytest.mark.thorough)])
def test_a_run_measures_every_method_that_the_device_has(
    measure: Measure, device: str, skip_without: Callable[[str], None]
) -> None:
    skip_without(device)
    done, run = measure(*QUICK, "--device", device)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert run.end
    assert run.end.status == "complete"
    measured = [case for case in run.cases if not case.skipped]
    assert {case.verified for case in measured} == {"yes"}
    assert {case.method for case in measured} >= {"waited_copies", "copies", "kernel", "pack", "pack_threads"}
    assert {case.direction for case in measured} == {"h2d", "d2h"}
    assert {(case.host_layout, case.device_layout) for case in measured} == {("scattered", "scattered")}
    assert {case.width_bytes for case in measured} == {64, 256}
    assert all(case.bytes == (case.pieces or 0) * (case.width_bytes or 0) for case in measured)
    if device != "host":
        # There kernels reach mapped memory alone.
        assert {case.host_memory for case in measured if case.method == "kernel"} == {"mapped"}
        assert {"batch", "graph"} <= {case.method for case in run.cases if case.skipped and case.note}
    assert "times the copy loop" in done.stdout


def test_wrong_data_is_named_and_fails_the_run(measure: Measure) -> None:
    done, run = measure(*QUICK, "--device", "host:fault=copy:partial", "--memory", "pinned", "--direction", "h2d")
    assert done.returncode == 1
    assert any(case.note.startswith("wrong data: ") for case in run.cases)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [("--memory", "managed"), ("--direction", "both")])
def test_what_the_experiment_does_not_know_is_a_mistake(
    isthmus: Callable[..., Done], tmp_path: Path, words: tuple[str, str]
) -> None:
    done = isthmus("measure", *QUICK, "--device", "host", *words)
    assert done.returncode == 2
    assert words[1] in done.stderr
    assert not list(tmp_path.iterdir())
