"""`isthmus measure peers` over the fake driver: several devices, and every fault that there can be between them."""

import json
import subprocess
from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from tests.processes import python

Run = Callable[..., subprocess.CompletedProcess[str]]
Build = Callable[..., None]
Measured = Callable[..., tuple[subprocess.CompletedProcess[str], list[dict[str, Any]]]]


@pytest.fixture
def peers(tmp_path: Path, build: Build, isthmus: Run) -> Measured:
    """What came of a measurement of two devices, or of more, with these arguments and this environment."""

    def measure(
        *words: str, omitted: Sequence[str] = (), **environment: str
    ) -> tuple[subprocess.CompletedProcess[str], list[dict[str, Any]]]:
        build("libcuda.so.1", "fake_cuda.cpp", *omitted)
        build("libnvidia-ml.so.1", "fake_nvml.cpp", *omitted)
        fast = ("--quick", "--sizes", "4KiB,64KiB", "--time", "0.3s")
        done = isthmus("measure", "peers", *fast, "-o", "run.json", *words, **{"FAKE_CUDA_DEVICES": "2"} | environment)
        return done, json.loads((tmp_path / "run.json").read_text("utf-8"))["cases"]

    return measure


def measured(cases: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [case for case in cases if not case.get("skipped")]


def test_three_devices_are_measured_in_every_way(peers: Measured) -> None:
    done, cases = peers("--together", FAKE_CUDA_DEVICES="3", FAKE_NVML_SWITCHED="18", FAKE_NVML_ANCESTOR="50")
    assert done.returncode == 0, done.stderr
    pairs = set(permutations(("cuda:0", "cuda:1", "cuda:2"), 2))
    for method in ("copy_write", "kernel_write", "access"):
        found = {(case["target"], case["peer"]) for case in cases if case["method"] == method and "devices" not in case}
        assert pairs <= found
    assert {case["verified"] for case in cases} == {"yes"}
    assert {case["path"] for case in cases if case.get("target") and case.get("peer")} == {"nvlink 18"}
    assert {case["devices"] for case in cases if case["method"] == "link"} == {1, 3}
    assert "NV18, 6 pairs" in done.stdout


@pytest.mark.parametrize(
    ("environment", "omitted", "path"),
    [
        ({"FAKE_NVML_STRAIGHT": "4"}, (), "nvlink 4"),
        ({"FAKE_NVML_STRAIGHT": "4"}, ("nvmlDeviceGetP2PStatus",), "nvlink 4"),
        ({"FAKE_NVML_SWITCHED": "0", "FAKE_NVML_ANCESTOR": "10"}, (), "pcie PIX"),
        # Whether it is NVLink over switches nobody says then.
        ({"FAKE_NVML_SWITCHED": "18", "FAKE_NVML_ANCESTOR": "30"}, ("nvmlDeviceGetP2PStatus",), "peer PHB"),
        ({"FAKE_NVML_SWITCHED": "18"}, ("nvmlDeviceGetNvLinkState",), "nvlink"),
        ({"FAKE_NVML_SWITCHED": "0"}, ("nvmlDeviceGetTopologyCommonAncestor",), "pcie"),
        ({"FAKE_NVML_INIT": "999"}, (), "peer"),
    ],
)
def test_what_joins_devices_is_said_as_far_as_it_is_known(
    tmp_path: Path, build: Build, environment: dict[str, str], omitted: Sequence[str], path: str
) -> None:
    build("libcuda.so.1", "fake_cuda.cpp")
    build("libnvidia-ml.so.1", "fake_nvml.cpp", *omitted)
    program = "\n".join(
        [
            "from isthmus.machine.devices import open_device",
            "from isthmus.machine.devices import path_between",
            "print(path_between(*(open_device(name).native for name in ('cuda:0', 'cuda:1'))))",
        ]
    )
    done = python(program, env={"LD_LIBRARY_PATH": str(tmp_path), "FAKE_CUDA_DEVICES": "2"} | environment)
    assert (done.returncode, done.stdout) == (0, f"{path}\n"), done.stderr


def test_without_access_copies_pass_through_the_host_and_kernels_are_left_out(peers: Measured) -> None:
    done, cases = peers(FAKE_CUDA_NO_PEERS="1", FAKE_NVML_ANCESTOR="20")
    assert done.returncode == 0, done.stderr
    assert {case["method"] for case in measured(cases)} == {"copy_write", "copy_read"}
    assert {case["path"] for case in cases} == {"host PXB"}
    notes = {case["note"] for case in cases if case.get("skipped")}
    assert len(notes) == 1
    assert "gives this device no access to the other one's memory" in notes.pop()
    assert "Pairs that copy through the host's memory: 2 of 2" in done.stdout


def test_silent_corruption_fails_the_run_and_names_its_causes(peers: Measured) -> None:
    done, cases = peers(FAKE_CUDA_CORRUPT_PEERS="1")
    assert done.returncode == 1
    wrong = [case for case in cases if case["verified"] == "no"]
    one_way = {(case["method"], case["target"], case["peer"]) for case in wrong if "devices" not in case}
    assert {(method, "cuda:0", "cuda:1") for method in ("copy_write", "copy_read")} <= one_way
    assert not [case for case in wrong if case["method"].startswith("kernel")]
    assert all(case["note"].startswith("wrong data cuda:0 to cuda:1: 1 of ") for case in wrong)
    told = " ".join(done.stdout.split())
    assert "FAULT" in told
    for words in ("PCIe ACS", "IOMMU", "virtual machines", "NCCL_P2P_DISABLE=1"):
        assert words in told


@pytest.mark.parametrize(
    "function", ["cuMemcpyPeerAsync", pytest.param("cuStreamWaitEvent", marks=pytest.mark.thorough)]
)
def test_a_call_that_fails_fails_its_cases_and_no_others(peers: Measured, function: str) -> None:
    done, cases = peers(FAKE_CUDA_FAIL=function)
    assert done.returncode == 1
    failed = [case for case in cases if case.get("note", "").startswith("failed:")]
    assert failed
    assert {case["verified"] for case in measured(cases)} == {"yes"}
    assert all(f"{function} failed: CUDA_ERROR (999)" in case["note"] for case in failed)


@pytest.mark.thorough
def test_a_device_that_fails_to_open_leaves_the_others(peers: Measured) -> None:
    done, cases = peers(FAKE_CUDA_DEVICES="3", FAKE_CUDA_FAIL="cuDevicePrimaryCtxRetain@2")
    assert done.returncode == 1
    ends = {(case["target"], case["peer"]) for case in measured(cases)}
    assert ends == {("cuda:0", "cuda:2"), ("cuda:2", "cuda:0")}


@pytest.mark.thorough
def test_a_driver_too_old_for_peer_copies_says_which_it_needs(peers: Measured) -> None:
    _, cases = peers(omitted=("cuMemcpyPeerAsync",))
    notes = {case["note"] for case in cases if case["method"] != "access"}
    assert notes == {"cuMemcpyPeerAsync is absent: the driver is too old; it needs CUDA 4.0"}


def test_one_device_is_a_skip_in_a_sentence(peers: Measured) -> None:
    done, cases = peers("--together", FAKE_CUDA_DEVICES="1")
    assert done.returncode == 1
    assert [case["note"] for case in cases] == ["needs two devices of one backend; there is one"]
    assert "nothing was measured" in done.stderr


def test_together_is_for_peers_alone(build: Build, isthmus: Run) -> None:
    build("libcuda.so.1", "fake_cuda.cpp")
    done = isthmus("measure", "bandwidth", "--together")
    assert done.returncode == 2
    assert "--together" in done.stderr
    assert "peers" in done.stderr
