"""`isthmus measure strided` as a user runs it: what it records, shows and refuses."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from isthmus.record import read_run
from tests.processes import Done

Isthmus = Callable[..., Done]


@pytest.mark.parametrize("device", ["host", pytest.param("opencl:0", marks=pytest.mark.thorough)])
def test_a_run_measures_sections_and_says_what_to_use(
    isthmus: Isthmus, tmp_path: Path, device: str, skip_without: Callable[[str], None]
) -> None:
    skip_without(device)
    words = ("--device", device, "--quick", "--sizes", "64", "--time", "0.05s", "-o", "a.json")
    done = isthmus("measure", "strided", *words)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    run = read_run(tmp_path / "a.json")
    assert run.end
    assert run.end.status == "complete"
    measured = [case for case in run.cases if not case.skipped]
    assert {case.experiment for case in measured} == {"strided"}
    assert {case.verified for case in measured} == {"yes"}
    assert all(case.note for case in run.cases if case.skipped)
    assert "Sections that programs know" in (tmp_path / "a.html").read_text("utf-8")
    assert "a box of 62 x 62 x 62 doubles" in done.stdout

    table = isthmus("report", "a.json", "--format", "csv")
    rows = list(csv.DictReader(table.stdout.splitlines()))
    assert {row["host_layout"] for row in rows} == {"contiguous", "strided"}
    whole = [row for row in rows if row["method"] == "whole"]
    assert whole
    assert all(int(row["moved_bytes"]) > int(row["bytes"]) for row in whole)


def test_wrong_data_fail_the_run(isthmus: Isthmus) -> None:
    words = (
        "--device",
        "host:fault=copy:partial",
        "--quick",
        "--sizes",
        "64",
        "--memory",
        "pinned",
        "--direction",
        "h2d",
        "--time",
        "0.05s",
    )
    done = isthmus("measure", "strided", *words)
    assert done.returncode == 1
    assert "moved wrong data" in done.stderr
    assert done.stdout.splitlines()[3].startswith("FAULT")


def test_a_direction_that_sections_have_not_is_refused(isthmus: Isthmus) -> None:
    done = isthmus("measure", "strided", "--device", "host", "--direction", "both")
    assert done.returncode == 2
    assert "no direction 'both'" in done.stderr
