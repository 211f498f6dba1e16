"""What tests of commands share: the command line in an empty folder, in this process or in another."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from isthmus.commands import main
from isthmus.record import Run, read_run
from tests import processes
from tests.processes import Done

Isthmus = Callable[..., Done]
Measure = Callable[..., tuple[Done, Run]]


@pytest.fixture
def isthmus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Isthmus:
    """Runs a command line in this process: to start another takes several times as long as a quick measurement."""

    def run(*words: str | Path, **variables: str) -> Done:
        command = [str(word) for word in words]
        capsys.readouterr()
        with monkeypatch.context() as patch:
            patch.chdir(tmp_path)
            patch.setattr(sys, "argv", ["isthmus", *command])
            for name, value in variables.items():
                patch.setenv(name, value)
            code = main(command)
        out, err = capsys.readouterr()
        return Done(command, code, out, err)

    return run


@pytest.fixture
def own_process(tmp_path: Path) -> Isthmus:
    """Runs a command line in a process of its own, for what a process has once: drivers, limits, its PATH."""

    def run(*words: str | Path, **variables: str) -> Done:
        return processes.isthmus(*words, cwd=tmp_path, env=variables)

    return run


@pytest.fixture
def measure(isthmus: Isthmus, tmp_path: Path) -> Measure:
    """Runs a quick measurement of an experiment into a.json; gives how it ended, and the run."""

    def run(*words: str, **variables: str) -> tuple[Done, Run]:
        done = isthmus("measure", *words, "--quick", "-o", "a.json", **variables)
        return done, read_run(tmp_path / "a.json")

    return run
