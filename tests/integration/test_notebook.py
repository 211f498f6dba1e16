"""Measuring from a notebook or a script: what it leaves as it was, how it is interrupted, and the page's example."""

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import isthmus
from isthmus import errors
from isthmus.record import Case
from tests.processes import python

DOCS = Path(__file__).resolve().parents[2] / "docs"
SMALL = {"device": "host", "mode": "quick", "sizes": [4096, 65536], "seconds": 0.2}


def measured(**changes: object) -> isthmus.MeasuredRun:
    return isthmus.measure("bandwidth", **(SMALL | {"memory": ["pageable"]} | changes))  # type: ignore[arg-type]


def case_name(case: Case) -> tuple[object, ...]:
    return case.method, case.bytes, case.direction or ""


def test_a_run_is_measured_and_kept_where_it_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    allowed, threads = os.sched_getaffinity(0), threading.active_count()
    path = tmp_path / "run.json"
    run = measured(output=path, sizes="4KiB,64KiB", direction="h2d")
    assert {case.bytes for case in run.record.cases} == {4096, 65536}
    assert {case.direction for case in run.record.cases} == {"h2d"}
    assert {case.host_memory for case in run.record.cases} == {"pageable"}
    assert isthmus.open_run(path).record == run.record
    assert run.record.settings.command[:4] == ["isthmus", "measure", "bandwidth", "--quick"]
    assert (os.sched_getaffinity(0), threading.active_count()) == (allowed, threads)
    assert capfd.readouterr() == ("", ""), "progress is off unless asked for"
    with pytest.raises(errors.UsageError, match="exists"):
        measured(output=path)


def test_the_command_in_the_record_measures_the_same(tmp_path: Path) -> None:
    run = measured(seed=7)
    path = tmp_path / "again.json"
    command = [sys.executable, "-m", *run.record.settings.command, "-o", str(path)]
    subprocess.run(command, capture_output=True, check=True)
    again = isthmus.open_run(path).record
    assert again.settings.options == run.record.settings.options
    assert sorted(map(case_name, again.cases)) == sorted(map(case_name, run.record.cases))
    assert (again.settings.seed, again.settings.budget_seconds) == (7, run.record.settings.budget_seconds)


def test_progress_is_one_line_on_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    measured(progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert re.search(r"\rbandwidth 1/1, (\d+) of \1 cases", err)
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "wrong",
    [{"mode": "quik"}, {"memory": ["pined"]}, {"device": "cudda"}, {"device": "host:0x"}, {"sizes": "4 apples"}],
)
def test_what_makes_no_sense_is_an_error_of_the_call(wrong: dict[str, object]) -> None:
    with pytest.raises(errors.UsageError):
        measured(**wrong)


def test_a_check_has_a_verdict() -> None:
    run = isthmus.check("host")
    assert run.level == run.conclusions()["verdict"]["level"] == "none"
    assert run.columns["experiment"]


def test_two_threads_measure_one_after_the_other() -> None:
    """Each by itself has all its cases, and this thread went on meanwhile."""
    runs: list[isthmus.MeasuredRun] = []
    threads = [threading.Thread(target=lambda: runs.append(measured())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    first, second = sorted((run.record for run in runs), key=lambda record: record.created)
    assert len(first.cases) == len(second.cases) > 0
    assert first.run != second.run


def test_ctrl_c_ends_a_run_and_keeps_what_was_measured(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    code = f"""if True:
        import os, signal, threading, time, isthmus
        def press():
            while True:
                time.sleep(0.05)
                try:
                    if len(isthmus.open_run({str(path)!r})):
                        break
                except isthmus.errors.RunFileError:
                    pass
            for _ in range(3):
                os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=press, daemon=True).start()
        try:
            isthmus.measure("allocation", "latency", device="host", mode="full", output={str(path)!r})
        except KeyboardInterrupt:
            run = isthmus.open_run({str(path)!r})
            print(run.record.end.status, len(run) > 0, threading.active_count() <= 2)
        again = isthmus.measure("bandwidth", device="host", mode="quick", sizes=[4096], seconds=0.1)
        print(again.record.end.status)
    """
    ended = python(code, timeout=300)
    assert ended.stdout == "interrupted True True\ncomplete\n", ended.stderr


@pytest.mark.thorough
def test_the_example_of_the_page_works_in_a_notebook(tmp_path: Path) -> None:
    needed = ("nbclient", "nbformat", "ipykernel", "polars")
    why = "a package is not installed that the extra `notebook` has"
    nbclient, nbformat, *_ = (pytest.importorskip(package, reason=why) for package in needed)
    page = (DOCS / "recipes" / "notebook.md").read_text("utf-8")
    cells = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(cells) == 2
    code = [
        {
            "cell_type": "code",
            "id": f"cell-{at}",
            "source": cell,
            "metadata": {},
            "outputs": [],
            "execution_count": None,
        }
        for at, cell in enumerate(cells)
    ]
    notebook = nbformat.reads(
        json.dumps({"cells": code, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}), as_version=4
    )
    kernel = {"kernel_name": "python3", "resources": {"metadata": {"path": str(tmp_path)}}}
    nbclient.NotebookClient(notebook, timeout=300, **kernel).execute()
    screen, frame = (cell.outputs[-1]["data"]["text/html"] for cell in notebook.cells)
    assert 'class="isthmus"' in screen
    assert screen.count("<table") >= 2
    assert "shape:" in frame
