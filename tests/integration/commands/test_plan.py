"""`isthmus plan` as a user runs it, and after `isthmus measure`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.processes import Done

Isthmus = Callable[..., Done]

QUICK = ("--device", "host", "--quick", "--time", "0.3s", "--sizes", "4KiB,64KiB,1MiB", "--memory", "pageable,pinned")


@pytest.mark.thorough
def test_what_was_measured_is_predicted_from_where_it_is_named(isthmus: Isthmus, tmp_path: Path) -> None:
    assert isthmus("measure", "bandwidth", *QUICK, "-o", "a.json").returncode == 0
    planned = isthmus("plan", "--bytes", "64KiB", "--source", "pinned", "--run", "a.json", "--json")
    assert planned.returncode == 0, planned.stderr
    found = json.loads(planned.stdout)
    assert (found["measured"], found["run"]) == (False, json.loads((tmp_path / "a.json").read_text())["run"])


@pytest.mark.thorough
def test_a_cache_that_cannot_be_written_costs_one_line(isthmus: Isthmus, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.mkdir()
    (blocked / "isthmus").write_text("")
    done = isthmus("measure", "bandwidth", *QUICK, "-o", "a.json", XDG_CACHE_HOME=str(blocked))
    assert done.returncode == 0
    assert sum("is not kept for plans" in line for line in done.stderr.splitlines()) == 1
