"""Every experiment as a user runs it: each case has a value or a reason, and what goes wrong fails the run."""

from collections.abc import Callable, Mapping

import pytest

from isthmus.record import Run
from isthmus.registry import EXPERIMENTS
from tests.processes import Done

Isthmus = Callable[..., Done]
Measure = Callable[..., tuple[Done, Run]]

# A short run of each, and some of what it measures on any device.
QUICK: Mapping[str, tuple[str, set[str]]] = {
    "bandwidth": ("--sizes 64KiB", {"copy", "duplex", "isthmus", "kernel"}),
    "allocation": ("--sizes 64KiB", {"allocate", "touch", "free"}),
    "breakeven": ("--sizes 64KiB", {"round_trip", "reduction", "further_round_trip", "copy"}),
    "managed": ("--sizes 2MiB", {"explicit_whole", "explicit_touched", "managed", "mapped"}),
    "stencil": ("--side 48 --halo 1", {"cpu_columns", "cpu_whole", "gpu_pack", "gpu_pack_mapped"}),
    "threads": ("--sizes 64KiB", {"workers", "spawn"}),
    "batching": ("--sizes 64,256 --memory pageable", {"waited_copies", "copies", "pack", "pack_threads"}),
    "strided": ("--sizes 64 --memory pageable", {"section", "copies", "pack", "whole"}),
    "overlap": ("--sizes 64KiB", {"pipeline", "in_alone", "work_alone", "out_alone", "traced"}),
    "interference": ("--sizes 64KiB --memory pinned --direction h2d", {"copy"}),
    "latency": ("", {"launch", "event", "query", "wait", "copy", "access"}),
}
# These take several devices, or a compiler of directives.
OTHERS = {"openacc", "peers", "paths"}
# Of this nothing is copied.
COPIES = QUICK.keys() - {"allocation"}
# Steps of other kinds that move data, and what verifies them.
FAULTS = [*((name, "copy") for name in QUICK if name in COPIES), ("managed", "doubles"), ("managed", "section")]
FAULTS += [("overlap", "work")]


def words(name: str, device: str) -> tuple[str, ...]:
    return name, *QUICK[name][0].split(), "--time", "0.05s", "--device", device


def test_every_experiment_is_run_here_or_takes_more_than_a_host() -> None:
    assert {each.name for each in EXPERIMENTS} == QUICK.keys() | OTHERS


@pytest.mark.parametrize("device", ["host", pytest.param("opencl:0", marks=pytest.mark.thorough)])
@pytest.mark.parametrize("name", QUICK)
def test_each_case_has_a_value_or_a_reason(
    measure: Measure, isthmus: Isthmus, name: str, device: str, skip_without: Callable[[str], None]
) -> None:
    skip_without(device)
    done, run = measure(*words(name, device))
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert run.end
    assert run.end.status == "complete"
    measured = [case for case in run.cases if not case.skipped]
    assert {case.method for case in measured} >= QUICK[name][1]
    assert {case.verified for case in measured} <= {"yes", "n/a"}
    assert [case.method for case in measured if not case.series] == []
    assert [case.method for case in run.cases if case.skipped and not case.note] == []
    assert len(isthmus("report", "a.json", "--format", "csv").stdout.splitlines()) > len(run.cases)


@pytest.mark.parametrize(("name", "step"), FAULTS)
def test_wrong_data_is_named_and_fails_the_run(measure: Measure, name: str, step: str) -> None:
    done, run = measure(*words(name, f"host:fault={step}:partial"))
    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
    assert "moved wrong data" in done.stderr
    assert "FAULT" in done.stdout
    wrong = [case for case in run.cases if case.verified == "no"]
    assert wrong
    assert all(case.note for case in wrong)


@pytest.mark.parametrize("name", sorted(COPIES))
def test_calls_that_fail_are_said_and_fail_the_run(measure: Measure, name: str) -> None:
    done, run = measure(*words(name, "host:fault=copy:fail"))
    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
    failed = [case.note for case in run.cases if case.note.startswith("failed: ")]
    assert failed
    assert any("copy failed for" in note for note in failed)


@pytest.mark.parametrize("name", sorted(QUICK.keys() - {"latency", "stencil"}))
def test_what_exceeds_the_memory_is_left_out_with_the_option_that_helps(measure: Measure, name: str) -> None:
    _, run = measure(*words(name, "host"), "--memory-budget", "1KiB")
    assert any("--memory-budget" in case.note for case in run.cases if case.skipped)
    assert not [case for case in run.cases if case.verified == "no"]


@pytest.mark.parametrize(
    "wrong",
    [
        ("batching", "--memory", "managed"),
        ("batching", "--direction", "both"),
        ("strided", "--direction", "both"),
        ("managed", "--memory", "write_combined"),
        ("overlap", "--direction", "h2d"),
    ],
)
def test_what_an_experiment_does_not_know_is_a_mistake(isthmus: Isthmus, wrong: tuple[str, ...]) -> None:
    done = isthmus("measure", *wrong, "--device", "host")
    assert done.returncode == 2
    assert wrong[-1] in done.stderr or "no experiment that was chosen has a direction to choose" in done.stderr
