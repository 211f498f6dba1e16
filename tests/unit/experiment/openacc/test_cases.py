"""The openacc experiment: its cases, why some are left out, and the native way beside the programs."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np
import pytest

from isthmus import _native
from isthmus.errors import UsageError
from isthmus.experiment.engine.batch import Planned
from isthmus.experiment.engine.options import Options
from isthmus.experiment.engine.rounds import Clock, Quota, run_rounds
from isthmus.experiment.engine.sampling import Collected, Rules
from isthmus.experiment.engine.sweep import Sweep, TimedSubject
from isthmus.experiment.measure import choose_experiments
from isthmus.experiment.openacc import cases as openacc
from isthmus.experiment.openacc.build import PROGRAMS, Compiler
from isthmus.experiment.openacc.cases import OpenaccSweep, plan
from isthmus.experiment.openacc.points import Program, case_of
from isthmus.experiment.openacc.programs import NativeArray, TimedArray
from isthmus.machine.devices import OpenDevice, open_device
from isthmus.record import KIB, MIB, Case

Compilers = Callable[[Compiler], None]
Given = Callable[[Sweep, Sequence[Case]], Planned]
FOREVER = Clock(float("inf"), float("inf"))
PLENTY = 1 << 40
GCC = Compiler("/usr/bin/g++", "g++ 12.2.0", {"": ()})
NVCPP = Compiler("/opt/nvc++", "nvc++ 24.5", {"": (), "_managed": ()})


class Gpu:
    """What plans ask of a CUDA device."""

    def __init__(self, free: int = 140 * 10**9, managed: str | None = None, migration: str | None = None) -> None:
        self._free, self._managed, self._migration = free, managed, migration

    def free_bytes(self) -> int:
        return self._free

    def why_not(self, kind: str) -> str | None:
        return self._managed if kind == "managed" else None

    def why_no_migration(self) -> str | None:
        return self._migration


def gpu(host: OpenDevice, **told: Any) -> OpenDevice:
    description = msgspec.structs.replace(host.description, backend="cuda", index=1, shares_host_memory=False)
    return host._replace(native=cast(_native.Device, Gpu(**told)), description=description)


@pytest.fixture
def compilers(monkeypatch: pytest.MonkeyPatch) -> Compilers:
    """Makes this the compiler of the machine."""
    return lambda compiler: monkeypatch.setattr(openacc, "find_compiler", lambda: compiler)


def possible(
    device: OpenDevice,
    options: Options = Options(),  # noqa: B008
    memory: int = PLENTY,
) -> tuple[list[Case], list[Case]]:
    planned = plan(device, options, memory)
    return [case for batch in planned.batches for case in batch.prepare.args[1]], list(planned.skipped)  # type: ignore[attr-defined]


def ways(cases: Sequence[Case]) -> set[str]:
    return {Program.of(case).mode for case in cases}


def names(cases: Sequence[Case]) -> set[str]:
    return {Program.of(case).name for case in cases}


def test_gcc_shows_all_but_both(host: OpenDevice, compilers: Compilers) -> None:
    compilers(GCC)
    chosen, skipped = possible(gpu(host))
    assert ways(chosen) == {"explicit", "automatic"}
    assert {case.method.rpartition("_")[2] for case in skipped} == {"both"}
    assert all("nvc++ -gpu=managed (NVIDIA HPC SDK) shows" in case.note for case in skipped)


def test_without_a_compiler_only_the_native_way_is_left(host: OpenDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    for variable in ("NVHPC", "NVHPC_ROOT"):
        monkeypatch.delenv(variable, raising=False)
    chosen, skipped = possible(gpu(host))
    assert names(chosen) == {"native"}
    assert all("gcc-offload-nvptx" in case.note and "--binaries" in case.note for case in skipped)


@pytest.mark.parametrize(("side", "halo"), [(65, 1), (64, 20)])
def test_sides_that_cannot_be_halved(host: OpenDevice, compilers: Compilers, side: int, halo: int) -> None:
    compilers(NVCPP)
    chosen, skipped = possible(gpu(host), Options(sides=[side], halos=[halo]))
    assert "stencil" not in names(chosen)
    assert {case.note for case in skipped} == {
        f"a side of {side} cannot be cut into two halves with halos of {halo} columns"
    }


def test_a_compiler_that_fails_fails_its_programs_and_not_the_run(
    host: OpenDevice, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, compilers: Compilers, given: Given
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    device = host._replace(description=msgspec.structs.replace(host.description, backend="cuda"))
    compilers(GCC._replace(path="/bin/false", flags={"": ()}))
    cases = [case_of(program, "explicit", KIB, fraction=1.0) for program in ("native", "contiguous")]
    prepared = given(OpenaccSweep(device, Options(), PLENTY), cases).batches[0].prepare()
    assert len(prepared.subjects) == 1
    ((case,),) = prepared.ended
    assert case.method == "contiguous_explicit"
    assert case.note.startswith("failed: g++ 12.2.0 (/bin/false) did not build contiguous")


@pytest.mark.parametrize("spec", ["host", "opencl:0"])
@pytest.mark.parametrize("size", [8, 3343 * 8, MIB + 8])
def test_the_native_way_adds_copies_and_sums(spec: str, size: int, skip_without: Callable[[str], None]) -> None:
    skip_without(spec)
    device = open_device(spec).native
    if (reason := device.why_no_doubles()) is not None:
        pytest.skip(reason)
    array = NativeArray(device, size)
    start = array.expected
    # Once over a sixteenth warms up.
    assert start == sum(i % 3343 for i in range(size // 8)) + size // 8 // 16
    template = case_of("native", "explicit", size, fraction=0.5)
    subject = TimedSubject(template, lambda: TimedArray(template, array))
    collected = Collected(subject.template)
    subject.visit(Quota(1, 3, 1000, 1.0), collected)
    (case,) = collected.cases(Rules())
    assert (case.method, case.verified, case.note[:4]) == ("native_explicit", "yes", "only")
    assert {series.metric: len(series.samples) for series in case.series} == {
        "host_seconds": 3,
        "in_seconds": 3,
        "out_seconds": 3,
    }
    touched = size // 16
    array.host.begin_host_access()
    values = array.host.host_array().view(np.float64).copy()
    array.host.end_host_access()
    assert values.sum() == start + 4 * touched
    if touched:
        assert values[touched - 1] - values[touched] == 4 - 1  # Three passes and a warm-up; before, one less than it.


def test_wrong_sums_of_the_native_way_are_wrong_data(host: OpenDevice) -> None:
    array = NativeArray(host.native, MIB)
    array.expected += 1
    template = case_of("native", "explicit", MIB, fraction=1.0)
    subject = TimedSubject(template, lambda: TimedArray(template, array))
    collected = Collected(subject.template)
    subject.visit(Quota(0, 2, 1000, 1.0), collected)
    (case,) = collected.cases(Rules())
    assert case.verified == "no"
    assert "the sum is" in case.note


def test_programs_built_before_are_measured_with_the_native_way(host: OpenDevice, tmp_path: Path, given: Given) -> None:
    line = '{"right": true, "device": "a GPU", "compiler": "g++ 12.2.0", "in_seconds": [0.1], "out_seconds": [0.3]}'
    for name in PROGRAMS:
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\necho '{line}'\n")
        path.chmod(0o755)
    options = Options(mode="quick", sizes=[MIB], sides=[64], binaries=str(tmp_path))
    chosen, skipped = possible(gpu(host), options)
    assert {case.method.rpartition("_")[2] for case in skipped} == {"both"}
    prepared = given(OpenaccSweep(host, options, PLENTY), chosen).batches[0].prepare()
    assert not prepared.ended
    found: list[Case] = []
    rules = Rules(least_samples=2, visit_samples=2, most_samples=2, long_seconds=float("inf"))
    run_rounds(prepared.subjects, rules, FOREVER, found.extend, random.Random(1))
    assert {case.method for case in found} == {case.method for case in chosen}
    assert {case.verified for case in found} == {"yes"}
    assert {case.compiler for case in found if not case.method.startswith("native")} == {"g++ 12.2.0"}


def test_binaries_need_programs(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no program contiguous there"):
        choose_experiments(["openacc"], Options(binaries=str(tmp_path)))
