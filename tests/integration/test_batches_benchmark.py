"""benchmarks/batches.py checks every contender, finds what is wrong, and runs where there is no GPU."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import isthmus

pytestmark = pytest.mark.thorough

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
SMALL = ["--device", "host", "--pieces", "16", "--bytes", "1KiB", "--time", "0"]


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The script, whose other modules are found as Python finds what lies beside a script."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield import_module("batches")
    for name in set(sys.modules) - before:
        if str(BENCHMARKS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_a_row_that_goes_astray_is_found(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def astray(self: isthmus.Session, dsts: list[object], srcs: list[object]) -> None:
        isthmus.copy_batch(dsts, srcs[::-1])

    monkeypatch.setattr(isthmus.Session, "copy_batch", astray)
    assert module.main(SMALL) == 1
    assert "differ, the first at" in capsys.readouterr().out
