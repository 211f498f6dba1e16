"""`isthmus plan` after `isthmus measure`, as a user runs them: other processes, one cache."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Isthmus = Callable[..., "subprocess.CompletedProcess[str]"]

QUICK = ("--device", "host", "--quick", "--time", "0.3s", "--sizes", "4KiB,64KiB,1MiB", "--memory", "pageable,pinned")


@pytest.fixture
def isthmus(tmp_path: Path) -> Isthmus:
    """Runs `python -m isthmus` in an empty folder, with a cache of its own unless `cache` names another."""

    def run(*words: str, cache: Path = tmp_path / "cache") -> "subprocess.CompletedProcess[str]":
        environment = os.environ | {"XDG_CACHE_HOME": str(cache), "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-m", "isthmus", *words]
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
        )

    return run


def test_what_was_measured_is_planned_with_without_a_file(isthmus: Isthmus, tmp_path: Path) -> None:
    before = isthmus("plan", "--bytes", "64KiB", "--source", "pinned", "--device", "host")
    assert before.returncode == 2
    assert "isthmus measure bandwidth --quick --device host" in before.stderr
    assert isthmus("measure", "bandwidth", *QUICK, "-o", "a.json").returncode == 0
    planned = isthmus("plan", "--bytes", "64KiB", "--source", "pinned", "--device", "host", "--json")
    assert planned.returncode == 0, planned.stderr
    found = json.loads(planned.stdout)
    assert found["run"] == json.loads((tmp_path / "a.json").read_text())["run"]
    assert found["fastest"] == "pinned"


@pytest.mark.thorough
def test_a_modelled_host_is_no_machine_to_plan_for(isthmus: Isthmus) -> None:
    words = ("host:rate=1GB/s", *QUICK[2:])
    assert isthmus("measure", "bandwidth", "--device", *words, "-o", "a.json").returncode == 0
    assert isthmus("plan", "--bytes", "64KiB", "--source", "pinned", "--device", "host").returncode == 2


@pytest.mark.thorough
def test_a_cache_that_cannot_be_written_costs_one_line(isthmus: Isthmus, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.mkdir()
    (blocked / "isthmus").write_text("")
    done = isthmus("measure", "bandwidth", *QUICK, "-o", "a.json", cache=blocked)
    assert done.returncode == 0
    assert sum("is not kept for plans" in line for line in done.stderr.splitlines()) == 1


@pytest.mark.thorough
def test_runs_in_a_cache_that_others_may_write_to_are_not_used(isthmus: Isthmus, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    assert isthmus("measure", "bandwidth", *QUICK, "-o", "a.json", cache=shared).returncode == 0
    (shared / "isthmus").chmod(0o770)
    done = isthmus("plan", "--bytes", "64KiB", "--source", "pinned", "--device", "host", cache=shared)
    assert done.returncode == 2
    assert done.stderr.count("kept runs are not used") == 1
    assert "on this machine is kept yet" in done.stderr
