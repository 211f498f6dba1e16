"""NVIDIA's drivers as they are in the field: too old, without devices, out of memory, NVML missing or broken."""

import json
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]
Build = Callable[..., None]


def _measure(isthmus: Run, *words: str, **environment: str) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    done = isthmus(
        *("measure", "--device", "cuda:0", "--sizes", "4KiB,1MiB", "--time", "0.3s", "-o", "run.json", "--json"),
        *words,
        **environment,
    )
    return done, json.loads(done.stdout) if done.stdout else {}


def _notes(run: dict[str, Any], memory: str) -> set[str]:
    return {case.get("note", "") for case in run["cases"] if case["host_memory"] == memory}


def test_a_whole_driver_is_measured_with_every_kind_of_memory(build: Build, isthmus: Run) -> None:
    build("libcuda.so.1", "fake_cuda.cpp")
    done, run = _measure(isthmus)
    assert done.returncode == 0, done.stderr
    assert {case["verified"] for case in run["cases"]} == {"yes"}
    assert len({case["host_memory"] for case in run["cases"]}) == 8
    assert run["fingerprint"]["device"]["compute_capability"] == "6.0"


def test_a_driver_too_old_for_prefetching_loses_managed_memory_and_nothing_else(build: Build, isthmus: Run) -> None:
    build("libcuda.so.1", "fake_cuda.cpp", "cuMemPrefetchAsync", "cuDeviceGetUuid")
    done, run = _measure(isthmus)
    assert done.returncode == 0, done.stderr
    assert _notes(run, "managed") == {"cuMemPrefetchAsync is absent: the driver is too old; it needs CUDA 8.0"}
    assert _notes(run, "pinned") == {""}
    assert run["fingerprint"]["device"].get("uuid", "") == ""


def test_a_driver_too_old_to_launch_kernels_is_told_with_the_version_it_needs(build: Build, isthmus: Run) -> None:
    build("libcuda.so.1", "fake_cuda.cpp", "cuLaunchKernel")
    done, run = _measure(isthmus)
    assert done.returncode == 1
    why = "cuLaunchKernel is absent: the driver is too old; it needs CUDA 4.0"
    assert f"nothing was measured: {why}" in done.stderr
    assert "Traceback" not in done.stderr
    assert {case["note"] for case in run["cases"]} == {why}


@pytest.mark.parametrize(("code", "name"), [("100", "CUDA_ERROR_NO_DEVICE"), ("803", "CUDA_ERROR")])
def test_a_driver_that_does_not_start_is_an_absent_device(build: Build, isthmus: Run, code: str, name: str) -> None:
    build("libcuda.so.1", "fake_cuda.cpp")
    done, _ = _measure(isthmus, FAKE_CUDA_INIT=code)
    assert done.returncode == 3
    assert f"cuInit failed: {name} ({code}): says the fake driver" in done.stderr
    assert isthmus("devices", FAKE_CUDA_INIT=code).returncode == 0


def test_sizes_beyond_the_device_are_skipped_with_the_reason_and_the_rest_is_measured(
    build: Build, isthmus: Run
) -> None:
    build("libcuda.so.1", "fake_cuda.cpp")
    done, run = _measure(isthmus, "--memory", "pinned", FAKE_CUDA_MEMORY=str(1 << 20))
    assert done.returncode == 0, done.stderr
    by_size = {size: [case for case in run["cases"] if case["bytes"] == size] for size in (4096, 1 << 20)}
    assert not any(case.get("skipped") for case in by_size[4096])
    assert all("cuMemAlloc_v2 failed: CUDA_ERROR_OUT_OF_MEMORY" in case["note"] for case in by_size[1 << 20])


def test_managed_memory_stays_within_half_of_what_the_device_has_free(build: Build, isthmus: Run) -> None:
    build("libcuda.so.1", "fake_cuda.cpp")
    _, run = _measure(isthmus, "--memory", "managed", FAKE_CUDA_MEMORY=str(3 << 20))
    notes = {case["bytes"]: case.get("note", "") for case in run["cases"] if case["direction"] == "h2d"}
    assert notes[4096] == ""
    assert "exceed half of the free device memory" in notes[1 << 20]


def _measure_memory(
    isthmus: Run, sizes: str = "4KiB,1MiB,4MiB", time: str = "4s", **environment: str
) -> tuple[int, list[dict[str, Any]]]:
    done = isthmus(
        *("measure", "allocation", "breakeven", "--device", "cuda:0", "--sizes", sizes, "--time", time),
        *("-o", "run.json", "--json"),
        **environment,
    )
    assert done.stdout, done.stderr
    # Touching this driver's memory may take less than the clock tells apart.
    cases = [case for case in json.loads(done.stdout)["cases"] if "samples of 0 s" not in case.get("note", "")]
    return done.returncode, cases


@pytest.mark.thorough
def test_every_allocation_is_given_back(build: Build, isthmus: Run, tmp_path: Path) -> None:
    build("libcuda.so.1", "fake_cuda.cpp")
    code, cases = _measure_memory(isthmus, FAKE_CUDA_LIVE=str(tmp_path / "live"))
    assert code == 0
    assert not [case for case in cases if case.get("skipped")]
    assert {case["verified"] for case in cases if case["experiment"] == "breakeven"} == {"yes"}
    live, of_all = map(int, (tmp_path / "live").read_text().split())
    assert live == 0
    assert of_all > 1000


@pytest.mark.thorough
def test_a_limit_on_locked_memory_is_met_on_the_way_and_nothing_leaks(
    build: Build, isthmus: Run, tmp_path: Path
) -> None:
    build("libcuda.so.1", "fake_cuda.cpp")
    _, cases = _measure_memory(isthmus, FAKE_CUDA_LOCKED=str(2 << 20), FAKE_CUDA_LIVE=str(tmp_path / "live"))
    skipped = {(case["experiment"], case["host_memory"], case["bytes"]) for case in cases if case.get("skipped")}
    locking = {"pinned", "pinned_portable", "write_combined", "mapped", "registered", "registered_huge"}
    locking |= {"touched_registered", "touched_registered_huge"}
    assert {kind for experiment, kind, _ in skipped if experiment == "allocation"} == locking
    ways = {"pinned", "registered", "touched_registered", "staging", "mapped"}
    assert {kind for experiment, kind, _ in skipped if experiment == "breakeven"} == ways
    assert {size for _, _, size in skipped} == {4 << 20}
    notes = [case["note"] for case in cases if case.get("skipped")]
    assert all("CUDA_ERROR_OUT_OF_MEMORY" in note for note in notes)
    measured = {(case["host_memory"], case["bytes"]) for case in cases if not case.get("skipped")}
    assert {(kind, 1 << 20) for kind in locking} <= measured
    assert (tmp_path / "live").read_text().split()[0] == "0"


def test_a_driver_too_old_for_pools_loses_them_and_nothing_else(build: Build, isthmus: Run) -> None:
    build("libcuda.so.1", "fake_cuda.cpp", "cuMemAllocFromPoolAsync")
    code, cases = _measure_memory(isthmus, sizes="64KiB", time="1s")
    assert code == 0
    skipped = {case["host_memory"]: case["note"] for case in cases if case.get("skipped")}
    reason = "cuMemAllocFromPoolAsync is absent: the driver is too old; it needs CUDA 11.2"
    assert skipped == {"device_pool": reason, "device_pool_cold": reason}


def test_no_nvml_costs_readings_only(build: Build, isthmus: Run) -> None:
    build("libcuda.so.1", "fake_cuda.cpp")
    build("libnvidia-ml.so.1", "fake_nvml.cpp")
    done = isthmus("devices", "--json", FAKE_NVML_INIT="999")
    device = json.loads(done.stdout)["backends"][0]["devices"][0]
    assert device["name"] == "Fake GPU"
    assert "not started" in device["conditions"]["nvml"]


def test_an_nvml_that_knows_little_gives_what_it_knows(build: Build, isthmus: Run) -> None:
    build("libcuda.so.1", "fake_cuda.cpp")
    build("libnvidia-ml.so.1", "fake_nvml.cpp")
    done, run = _measure(isthmus, "--memory", "pinned")
    assert done.returncode == 0, done.stderr
    device = run["fingerprint"]["device"]
    assert device["driver_version"] == "525.60.13"
    assert device["conditions"]["temperature"] == "41 C"
    assert "sm_clock" not in device["conditions"]
    # Half a reading of the link is none.
    assert device.get("link") is None


@pytest.mark.thorough
def test_a_link_at_half_its_width_fails_the_check(build: Build, isthmus: Run) -> None:
    build("libcuda.so.1", "fake_cuda.cpp")
    build("libnvidia-ml.so.1", "fake_nvml.cpp")
    done = isthmus("check", "--device", "cuda:0", FAKE_NVML_LINK="5 8 5 16", FAKE_NVML_REPLAYS="1")
    lines = done.stdout.splitlines()
    assert done.returncode == 1, done.stderr
    assert lines[0].startswith("FAULT  Fake GPU")
    assert "The link runs at PCIe 5.0 x8 under load" in lines[1]
    # The fake counts one more at each reading.
    assert re.search(r", [1-9]\d* of them during the check", " ".join(done.stdout.split()))
    assert len(lines) <= 15
    assert "x8 under load" in done.stdout


@pytest.mark.thorough
@pytest.mark.parametrize("words", [(), ("--device", "cuda")])
def test_all_devices_are_checked_and_one_by_name(build: Build, isthmus: Run, words: tuple[str, ...]) -> None:
    build("libcuda.so.1", "fake_cuda.cpp")
    build("libnvidia-ml.so.1", "fake_nvml.cpp")
    environment = {"FAKE_CUDA_DEVICES": "4", "FAKE_NVML_LINK": "1 16 1 16"}
    found = isthmus("check", *words, "--json", **environment)
    checked = json.loads(found.stdout)
    assert [(each["device"], each["link"]["max_width"]) for each in checked] == [
        (f"cuda:{index}", 16) for index in range(4)
    ]
    # Each by itself, and both ways while all four copy.
    assert all(Counter(rate["memory"] for rate in each["rates"])["pinned"] == 3 for each in checked)
    assert all(Counter(rate["memory"] for rate in each["rates"])["pinned_at_once"] == 2 for each in checked)
    if not words:
        one = isthmus("check", "--device", "cuda:2", "--json", **environment)
        assert [each["device"] for each in json.loads(one.stdout)] == ["cuda:2"]


def test_one_device_at_fault_decides_the_exit_code(build: Build, isthmus: Run) -> None:
    build("libcuda.so.1", "fake_cuda.cpp")
    build("libnvidia-ml.so.1", "fake_nvml.cpp")
    # The last device's link has 8 of 16 lanes, and carries more than any host copies for the fake.
    done = isthmus("check", "--json", FAKE_CUDA_DEVICES="2", FAKE_NVML_LINK="5 16 5 16", FAKE_NVML_NARROW="b0")
    # How fast the fake copies, which is judged as well, depends on the host.
    faults = {
        each["device"]: {point["topic"] for point in each["points"] if point["level"] == "FAULT"} - {"rate"}
        for each in json.loads(done.stdout)
    }
    assert faults == {"cuda:0": set(), "cuda:1": {"link"}}
    assert done.returncode == 1


@pytest.mark.thorough
def test_each_rank_checks_its_device_in_one_line(build: Build, isthmus: Run) -> None:
    build("libcuda.so.1", "fake_cuda.cpp")
    build("libnvidia-ml.so.1", "fake_nvml.cpp")
    environment = {"FAKE_CUDA_DEVICES": "2", "SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "1", "SLURM_LOCALID": "1"}
    done = isthmus("check", FAKE_NVML_LINK="5 16 5 16", **environment)
    assert len(done.stdout.splitlines()) == 1, done.stdout
    assert "cuda:1" in done.stdout
