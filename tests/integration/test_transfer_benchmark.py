"""benchmarks/transfer.py finds what is wrong, holds figures against bars, and runs where there is no GPU."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from isthmus.errors import UsageError

pytestmark = pytest.mark.thorough

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The script, whose other modules are found as Python finds what lies beside a script."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield import_module("transfer")
    for name in [each for each in sys.modules if each == "transfer" or each.startswith("transfer_")]:
        del sys.modules[name]


def test_contenders_take_turns_and_one_that_fails_is_left_out(module: ModuleType) -> None:
    turns = import_module("transfer_turns")
    ran: list[str] = []
    numbers: list[int] = []

    def contender(name: str, seconds: float, wrong: str = "", fails_at: int | None = None) -> object:
        def once(number: int) -> float:
            ran.append(name)
            numbers.append(number)
            if ran.count(name) == fails_at:
                raise UsageError("no more")
            return seconds

        return turns.Contender(name, once, lambda: wrong)

    contenders = [contender("quick", 1.0), contender("slow", 2.0, wrong="7 differ"), contender("dies", 3.0, fails_at=3)]
    found = turns.take_turns(contenders, 0.0, random.Random(1))
    assert set(found.samples) == {"quick", "slow"}
    assert found.samples["quick"] == [1.0] * 6
    assert found.wrong == {"slow": "7 differ"}
    assert found.left_out == {"dies": "UsageError: no more"}
    assert len(set(numbers[3:])) == len(numbers[3:])
    # After the warm-up, every round has each once.
    assert all(sorted(ran[3 + 3 * at :][:3]) == ["dies", "quick", "slow"] for at in range(2))


def test_data_that_differs_misses_a_bar_whatever_the_rate(module: ModuleType) -> None:
    findings = import_module("finding")
    finding = findings.Finding("case", "bar")
    finding.turns.wrong["isthmus"] = "3 of 4 B differ, the first at 1"
    assert findings.decided(finding, True, "").met is False
    assert "the first at 1" in finding.why_not
    assert findings.decided(findings.Finding("case", "bar"), True, "").met is True
    assert findings.decided(findings.Finding("case", "bar"), True, "memory is shared").met is None


def test_a_difference_says_where_it_begins(module: ModuleType) -> None:
    bench = import_module("transfer_bench")
    expected = np.arange(100, dtype=np.uint8)
    found = expected.copy()
    assert bench.difference(found, expected) == ""
    found[[40, 99]] ^= 1
    assert bench.difference(found, expected) == "2 of 100 B differ, the first at 40"
