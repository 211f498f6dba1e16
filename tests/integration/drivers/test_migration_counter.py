"""Counting migrations through CUPTI: what it reports and how it refuses, told by a CUPTI made for it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.processes import isthmus, python

pytestmark = pytest.mark.thorough

# Counts until so many reports came as the environment says, however few a call brings on a busy machine, and once
# more; says as JSON what came of it or which error it ended with.
_PROGRAM = """
import json, os, sys
from isthmus import _native
from isthmus.errors import IsthmusError
try:
    counter = _native.count_migrations(sys.argv[1:])
    reports, lost = [], 0
    for _ in range(1000):
        if len(reports) >= int(os.environ.get("EXPECTED_REPORTS", "0")):
            break
        more, missed = counter.collect(0.02, 5.0)
        reports, lost = [*reports, *more], lost + missed
    found = [(reports, lost), counter.collect(0.02, 5.0)]
    word = ""
    try:
        _native.count_migrations(sys.argv[1:])
    except IsthmusError as error:
        word = str(error)
    library, version = counter.library, counter.version
    del counter
    again = _native.count_migrations(sys.argv[1:]).library
    print(json.dumps([library, version, found, word, again]))
except IsthmusError as error:
    print(json.dumps([type(error).__name__, str(error)]))
"""

Count = Callable[..., Any]


@pytest.fixture
def count(tmp_path: Path, compiled: Callable[..., Path]) -> Count:
    """Counts with the fake libraries; `omitted` functions are not in CUPTI, which is absent without its source."""

    def count(*libraries: str, omitted: tuple[str, ...] = (), cuda: bool = True, **environment: str) -> Any:
        if cuda:
            shutil.copy(compiled("fake_cuda.cpp"), tmp_path / "libcuda.so.1")
        shutil.copy(compiled("fake_cupti.cpp", *omitted), tmp_path / "libcupti.so.13")
        done = python(_PROGRAM, *libraries, env={"LD_LIBRARY_PATH": str(tmp_path)} | environment)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return count


def test_reports_are_read_kind_by_kind_however_late_they_come(count: Count, tmp_path: Path) -> None:
    records = tmp_path / "records"
    lines = [
        (25, 1, 65536, 0x7000, 2),
        (25, 2, 4096, 0x8000, 1),
        (25, 1, 2097152, 0x9000, 3),
        (25, 2, 4096, 0xA000, 4),
        (25, 1, 4096, 0xB000, 77),
        (25, 3, 0x40B0, 0xC000, 0),
        (25, 4, 7, 0xD000, 2),
        (1, 1, 5, 0xE000, 2),  # a record of another kind
        (25, 8, 9, 0xF000, 1),
    ]
    records.write_text("".join(" ".join(map(str, line)) + "\n" for line in lines))
    log = tmp_path / "log"
    library, version, found, word, again = count(
        "libcupti.so.13",
        FAKE_CUPTI_RECORDS=str(records),
        FAKE_CUPTI_LOST="3",
        FAKE_CUPTI_LOG=str(log),
        EXPECTED_REPORTS="8",
    )
    assert (library, version, again) == ("libcupti.so.13", 130000, "libcupti.so.13")
    assert [(*report[:4],) for report in found[0][0]] == [
        ("h2d", "coherence", 65536, 0x7000),
        ("d2h", "user", 4096, 0x8000),
        ("h2d", "prefetch", 2097152, 0x9000),
        ("d2h", "eviction", 4096, 0xA000),
        ("h2d", "unknown", 4096, 0xB000),
        ("host_fault", "", 0x40B0, 0xC000),
        ("device_fault", "", 7, 0xD000),
        ("8", "", 9, 0xF000),
    ]
    assert found[0][1] == 3
    assert found[1] == [[], 0]
    assert word == "migrations are being counted already in this process"
    assert log.read_text().split() == ["enabled", "disabled", "enabled", "disabled"]


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        ("39", "another profiler holds CUPTI"),
        ("35", "NVreg_RestrictProfilingToAdminUsers=0"),
        ("28", "/dev/nvidia-uvm-tools"),
        ("30", "CUDA_VISIBLE_DEVICES"),
        ("31", "multi-process service"),
        ("999", "newer than the driver"),
        ("7", "timing alone"),
    ],
)
def test_a_refusal_says_what_to_do(count: Count, code: str, remedy: str) -> None:
    kind, message = count("libcupti.so.13", FAKE_CUPTI_ENABLE=code)
    assert kind == "Unsupported"
    assert message.startswith("cuptiActivityEnable of libcupti.so.13 failed: CUPTI_ERROR")
    assert f"({code})" in message
    assert remedy in message


def test_an_old_cupti_is_told_by_what_it_lacks(count: Count) -> None:
    kind, message = count("libcupti.so.13", omitted=("cuptiActivityConfigureUnifiedMemoryCounter",))
    assert kind == "FunctionAbsent"
    assert message == ("cuptiActivityConfigureUnifiedMemoryCounter is absent from libcupti.so.13; it needs CUDA 6.0")


def test_without_cupti_all_that_was_tried_is_named(count: Count) -> None:
    kind, message = count("libcupti_that_is_not.so", "/nowhere/libcupti.so.12")
    assert kind == "LibraryAbsent"
    assert "libcupti_that_is_not.so" in message
    assert "/nowhere/libcupti.so.12" in message


def test_the_first_library_found_is_taken(count: Count, tmp_path: Path) -> None:
    path = str(tmp_path / "libcupti.so.13")
    assert count("/nowhere/libcupti.so.12", path)[0] == path


def test_without_the_driver_there_is_nothing_to_count(count: Count, tmp_path: Path) -> None:
    (tmp_path / "libcuda.so.1").write_text("no library")
    kind, message = count("libcupti.so.13", cuda=False)
    assert kind == "LibraryAbsent"
    assert "libcuda.so.1" in message


def test_a_run_goes_on_where_another_profiler_holds_cupti(tmp_path: Path, compiled: Callable[..., Path]) -> None:
    shutil.copy(compiled("fake_cuda.cpp"), tmp_path / "libcuda.so.1")
    shutil.copy(compiled("fake_cupti.cpp"), tmp_path / "libcupti.so.13")
    words = (
        "measure",
        "managed",
        "--quick",
        "--device",
        "cuda:0",
        "--sizes",
        "1MiB",
        "--time",
        "0.3s",
        "-o",
        "run.json",
    )
    done = isthmus(*words, env={"LD_LIBRARY_PATH": str(tmp_path), "FAKE_CUPTI_ENABLE": "39"}, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    cases = json.loads((tmp_path / "run.json").read_text())["cases"]
    counted = [case for case in cases if case["method"].startswith("counted_")]
    assert len(counted) == 9
    assert all(case["skipped"] and "another profiler holds CUPTI" in case["note"] for case in counted)
    probed = [case for case in cases if case["method"].startswith(("neighbour_", "stride_"))]
    assert len(probed) == 24
    assert {case["verified"] for case in probed} == {"yes"}
    assert "another profiler holds CUPTI" in " ".join(done.stdout.split())
