"""Processes of Python that are started run nothing of the current folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from isthmus.python import python_command, python_environment, worker_pool

PLANTED = ("pickle", "statistics", "runpy", "struct", "sitecustomize")


@pytest.fixture(autouse=True)
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PLANTED:
        (tmp_path / f"{name}.py").write_text(f"open('ran-{name}', 'w')\nraise SystemExit('{name} was run')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)


@pytest.mark.parametrize("version", [sys.version_info[:2], (3, 10)])
def test_a_module_is_run_isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: tuple[int, int]) -> None:
    monkeypatch.setattr(sys, "version_info", version)
    command = python_command("pickletools", "--help")  # It imports pickle and struct.
    ended = subprocess.run(command, env=python_environment(), capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert not list(tmp_path.glob("ran-*"))


@pytest.mark.skipif(sys.version_info < (3, 11), reason="forked there")
def test_workers_are_isolated(tmp_path: Path) -> None:
    with worker_pool(1) as pool:
        assert pool.submit(abs, -3).result() == 3
    assert "PYTHONSAFEPATH" not in os.environ, "what this process starts later is not isolated"
    assert not list(tmp_path.glob("ran-*"))
