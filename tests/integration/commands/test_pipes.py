"""A reader that has all it wanted, such as head, decides no gate and is no failure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from isthmus.record import Case, End, Run, RunWriter, Series, read_run

RESULTS = Path(__file__).resolve().parents[3] / "results"


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a card whose copies take twice as long as such a card's do."""

    def slowed(case: Case) -> Case:
        series = [Series(metric=each.metric, samples=[2 * time for time in each.samples]) for each in case.series]
        return replace(case, series=series)

    run: Run = read_run(RESULTS / "h100-default.json.gz")
    path = tmp_path_factory.mktemp("slow") / "slow.json"
    with RunWriter(path, run) as writer:
        for case in run.cases:
            writer.add(slowed(case))
        writer.finish(End(status="complete"))
    return path


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("check --run SLOW", 1),
        ("check --run SLOW --json", 1),
        ("check --run FAST", 0),
        ("compare FAST SLOW --fail-if slower:5%", 1),
        ("compare reference:h100-pcie5 SLOW --fail-if outside", 1),
        ("report SLOW", 0),
        ("report SLOW --all", 0),
    ],
)
def test_a_reader_that_leaves_changes_no_exit_code(slow: Path, words: str, code: int) -> None:
    places = {"SLOW": str(slow), "FAST": str(RESULTS / "h100-default.json.gz")}
    reads, writes = os.pipe()
    os.close(reads)
    try:
        command = [sys.executable, "-m", "isthmus", *(places.get(word, word) for word in words.split())]
        ended = subprocess.run(command, stdout=writes, stderr=subprocess.PIPE, text=True, check=False)
    finally:
        os.close(writes)
    assert (ended.returncode, ended.stderr) == (code, "")
