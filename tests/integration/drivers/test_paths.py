"""`isthmus measure paths` over the fake driver: several devices, none that reach each other, and wrong data."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]
Measured = Callable[..., tuple[subprocess.CompletedProcess[str], list[dict[str, Any]]]]


def is_late(case: dict[str, Any]) -> bool:
    """Whether a machine at work on much else did not get to it."""
    return "the time for this experiment was up" in case.get("note", "")


@pytest.fixture
def paths(tmp_path: Path, build: Callable[..., None], isthmus: Run) -> Measured:
    """What came of a quick measurement of two devices, or of more, with these arguments and this environment."""

    def measure(*words: str, **environment: str) -> tuple[subprocess.CompletedProcess[str], list[dict[str, Any]]]:
        build("libcuda.so.1", "fake_cuda.cpp")
        fast = ("--quick", "--sizes", "9MiB", "--time", "0.2s")
        done = isthmus("measure", "paths", *fast, "-o", "run.json", *words, **{"FAKE_CUDA_DEVICES": "2"} | environment)
        return done, json.loads((tmp_path / "run.json").read_text("utf-8"))["cases"]

    return measure


def test_two_devices_by_own_links_and_each_others_and_what_that_costs(paths: Measured) -> None:
    done, cases = paths("--memory", "pinned")
    assert done.returncode == 0, done.stderr
    assert [case for case in cases if case.get("verified") != "yes" and not is_late(case)] == []
    at_once = [case for case in cases if case["method"] == "link"]
    assert {case["direction"] for case in at_once} == {"h2d", "d2h"}
    rates = [case for case in cases if not case.get("neighbour") and case not in at_once]
    assert not all(map(is_late, rates))
    assert {(case["target"], case["method"], case.get("peer", "")) for case in rates} == {
        (own, method, other if method == "one" else "")
        for own, other in (("cuda:0", "cuda:1"), ("cuda:1", "cuda:0"))
        for method in ("own", "one")
    }
    for case in rates:
        assert is_late(case) or list(case.get("carried", {})) == (
            [case["target"], case["peer"]] if case["method"] == "one" else []
        )
    work = [case for case in cases if case.get("neighbour")]
    assert {(case["neighbour"], case["direction"]) for case in work} == {
        (each, way) for way in ("h2d", "d2h") for each in (f"copies_{way}", "compute")
    }
    for case in work:
        assert is_late(case) or {each["metric"] for each in case["series"]} == {
            "alone_seconds",
            "beside_seconds",
            "host_seconds",
        }
    assert "Over neighbours' links, 9 MiB" in done.stdout


def test_three_devices_have_a_way_over_all(paths: Measured) -> None:
    done, cases = paths("--memory", "pageable", "--direction", "h2d", FAKE_CUDA_DEVICES="3")
    assert done.returncode == 0, done.stderr
    # The device's own link comes first.
    over_all = {case["target"]: case for case in cases if case["method"] == "all"}
    assert list(over_all) == ["cuda:0", "cuda:1", "cuda:2"]
    assert not is_late(over_all["cuda:0"])
    for own, case in over_all.items():
        assert is_late(case) or list(case["carried"]) == [own, *(other for other in over_all if other != own)]
    assert {case["target"] for case in cases if case["method"] == "one"} == {"cuda:0"}


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"FAKE_CUDA_NO_PEERS": "1"}, "gives this device no access to the other one's memory"),
        ({"FAKE_CUDA_DEVICES": "1"}, "needs two devices of one backend; there is one"),
    ],
)
def test_devices_without_neighbours_say_why(paths: Measured, environment: dict[str, str], reason: str) -> None:
    _, cases = paths(**environment)
    # Each by its own link they can copy at once.
    by_several = [case for case in cases if case["method"] != "link"]
    assert by_several
    assert all(case["skipped"] and reason in case["note"] for case in by_several)


def test_wrong_data_over_the_neighbour_is_a_fault(paths: Measured) -> None:
    done, cases = paths("--memory", "pageable", "--direction", "d2h", FAKE_CUDA_CORRUPT_PEERS="")
    assert done.returncode == 1
    wrong = [case for case in cases if case.get("verified") == "no"]
    assert wrong
    assert {case["method"] for case in wrong} == {"one"}
