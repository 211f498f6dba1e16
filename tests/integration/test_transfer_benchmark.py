"""benchmarks/transfer.py finds what is wrong, holds figures against bars, and runs where there is no GPU."""

from __future__ import annotations

import gzip
import json
import random
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from isthmus.errors import UsageError
from isthmus.machine.devices import probe

pytestmark = pytest.mark.thorough

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
OPENCL = next((device.spec for backend in probe() if backend.name == "opencl" for device in backend.devices), None)


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The script, whose other modules are found as Python finds what lies beside a script."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield import_module("transfer")
    for name in [each for each in sys.modules if each == "transfer" or each.startswith("transfer_")]:
        del sys.modules[name]


def _found(folder: Path) -> dict[str, dict[str, object]]:
    kept = json.loads(gzip.decompress((folder / "transfer.json.gz").read_bytes()))
    assert kept["fingerprint"]["device"]["name"]
    return {finding["name"]: finding for finding in kept["findings"]}


@pytest.mark.parametrize(
    "spec", ["host", pytest.param(OPENCL, marks=pytest.mark.skipif(not OPENCL, reason="no OpenCL"))]
)
def test_every_case_is_measured_or_says_why_not(
    module: ModuleType, spec: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = module.main(["--device", spec, "--largest", "256KiB", "--time", "0", "-o", str(tmp_path)])
    shown = capsys.readouterr().out
    table = (tmp_path / "transfer.md").read_text("utf-8")
    findings = _found(tmp_path)
    assert list(findings) == list(module.CASES)
    for finding in findings.values():
        assert f"{finding['case']}: " in shown
        assert f"| {finding['case']} | {finding['bar']} |" in table
        assert finding["met"] is not None or finding["why_not"]
        turns = finding["turns"]
        assert isinstance(turns, dict)
        assert not turns["wrong"]
        assert all(seconds > 0 for samples in turns["samples"].values() for seconds in samples)
    # Only what is no rate can be met where device memory is the host's.
    judged = {case for case, finding in findings.items() if finding["met"] is not None}
    held = findings["pinned"]["figures"]
    assert isinstance(held, dict)
    any_held = any(held[name] for name in held if not name.endswith("budget"))
    assert judged == ({"idle", "pinned"} if any_held else {"idle"})
    assert code == (0 if all(findings[case]["met"] for case in judged) else 1)


def test_one_case_alone_can_be_asked_for(module: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    module.main(["--device", "host", "--largest", "64KiB", "--time", "0", "--only", "4mib-d2h"])
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 5
    assert shown[1].startswith("64 KiB device -> warm pageable: ")
    assert {name for name in ("pinned ", "isthmus ") if name in shown[2]} == {"pinned ", "isthmus "}
    assert shown[3] == "  without torch, CuPy, JAX, Numba: measured on CUDA devices alone"
    assert shown[4].startswith("0 met, 0 missed, 1 without a verdict")


def test_a_case_that_is_not_there_is_named_with_those_that_are(
    module: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        module.main(["--only", "pageble-h2d"])
    message = capsys.readouterr().err
    assert "no case pageble-h2d" in message
    assert "untouched" in message


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
