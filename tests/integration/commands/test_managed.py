"""`isthmus measure managed` as a user runs it: what it records, what it shows, and what it refuses."""

from collections.abc import Callable
from pathlib import Path

import pytest

from isthmus.record import MIB, Run, read_run
from tests.processes import Done

QUICK = ("managed", "--time", "0.1s")

# What a CUDA device has that no processor has.
CUDA_WAYS = {"prefetch_whole", "prefetch_touched", "read_mostly", "prefer_device", "accessed_by"}

Measure = Callable[..., tuple[Done, Run]]


@pytest.mark.parametrize("device", ["host", "opencl:0"])
def test_a_run_measures_both_patterns_and_shows_them_beside_the_papers(
    measure: Measure, device: str, skip_without: Callable[[str], None], told: Callable[[Run], str]
) -> None:
    skip_without(device)
    done, run = measure(*QUICK, "--device", device, "--sizes", "2MiB")
    assert done.returncode == 0, done.stderr
    assert run.end
    assert run.end.status == "complete"
    measured = [case for case in run.cases if not case.skipped]
    assert {case.method for case in measured} >= {"explicit_whole", "explicit_touched", "managed", "mapped"}
    assert {case.verified for case in measured} == {"yes"}
    assert {case.fraction is None for case in measured} == {True, False}
    assert all(case.samples("in_seconds") and case.samples("out_seconds") for case in measured)
    # What this device does not have is not left out in silence.
    skipped = [case for case in run.cases if case.skipped]
    assert {"prefetch_whole", "read_mostly", "migration"} <= {case.method for case in skipped}
    assert all(case.note for case in skipped)
    assert "Faster than copying all, 2 MiB" in told(run)
    assert "Managed pages do not migrate on demand here" in told(run).replace("\n", " ")


def test_prefetching_and_advice_are_measured_where_the_driver_has_them(
    own_process: Callable[..., Done], tmp_path: Path, compiled: Callable[..., Path], told: Callable[[Run], str]
) -> None:
    words = (*QUICK, "--device", "cuda:0", "--sizes", "2MiB", "--memory", "managed,pageable", "--quick")
    fake = str(compiled("fake_cuda.cpp").parent)
    done = own_process("measure", *words, "-o", "a.json", LD_LIBRARY_PATH=fake)
    assert done.returncode == 0, done.stderr
    run = read_run(tmp_path / "a.json")
    found = {case.method: case for case in run.cases if not case.skipped}
    assert found.keys() >= CUDA_WAYS
    assert {found[method].verified for method in CUDA_WAYS} == {"yes"}
    [refused] = {case.note for case in run.cases if case.method == "system"}
    assert "pageableMemoryAccess is 0" in refused
    assert "Best advice with 100 % touched: " in told(run).replace("\n", " ")


@pytest.mark.parametrize(
    ("fault", "memory"), [("copy:partial", "pageable"), ("doubles:partial", "managed"), ("section:partial", "pinned")]
)
def test_wrong_sums_fail_the_run(measure: Measure, fault: str, memory: str) -> None:
    done, run = measure(*QUICK, "--device", f"host:fault={fault}", "--sizes", "2MiB", "--memory", memory)
    assert done.returncode == 1
    assert "moved wrong data" in done.stderr
    wrong = [case for case in run.cases if case.verified == "no"]
    assert wrong
    assert all("wrong data: the array adds up to" in case.note for case in wrong)


def test_memory_kinds_and_sizes_can_be_chosen(measure: Measure) -> None:
    done, run = measure(*QUICK, "--device", "host", "--sizes", "1MiB,2MiB", "--memory", "pinned")
    assert done.returncode == 0, done.stderr
    assert {case.host_memory for case in run.cases} == {"pinned"}
    assert {case.bytes for case in run.cases} == {MIB, 2 * MIB}


def test_arrays_that_are_too_large_are_left_out_with_figures(measure: Measure) -> None:
    _, run = measure(*QUICK, "--device", "host", "--sizes", "2MiB", "--memory-budget", "1MiB")
    assert run.cases
    assert all(case.skipped for case in run.cases)
    notes = {case.note for case in run.cases if case.method == "explicit_whole"}
    assert notes == {"its buffers exceed the 1 MiB of host memory that this run may take; --memory-budget allows more"}


def test_a_memory_kind_that_it_does_not_know_is_refused(isthmus: Callable[..., Done]) -> None:
    done = isthmus("measure", *QUICK, "--memory", "write_combined")
    assert done.returncode == 2
    assert "there are pageable, pinned, managed, mapped" in done.stderr.replace("\n", " ")
