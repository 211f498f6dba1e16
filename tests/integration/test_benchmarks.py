"""Scripts of benchmarks run where there is no GPU, notice wrong data, and say by their status what misses a bar."""

import json
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import msgspec
import numpy as np
import pytest

import isthmus
from isthmus.record import MIB, BufferNeed, ManagedNeed, PiecesNeed, SectionNeed
from tests.processes import ended
from tests.synthetic import runs as synthetic

pytestmark = pytest.mark.thorough

REPOSITORY = Path(__file__).resolve().parents[2]
BENCHMARKS = REPOSITORY / "benchmarks"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """A script as a module, which is gone afterwards with all that it imported from its folder."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield import_module
    for name in set(sys.modules) - before:
        if str(BENCHMARKS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_a_row_that_goes_astray_is_noticed(
    script: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def astray(self: isthmus.Session, dsts: list[object], srcs: list[object]) -> None:
        isthmus.copy_batch(dsts, srcs[::-1])

    monkeypatch.setattr(isthmus.Session, "copy_batch", astray)
    words = ["--device", "host", "--pieces", "16", "--bytes", "1KiB", "--time", "0"]
    assert script("batches").main(words) == 1
    assert "differ, the first at" in capsys.readouterr().out


def test_a_small_fleet_meets_every_bar(tmp_path: Path) -> None:
    words = [sys.executable, str(BENCHMARKS / "fleet.py"), "--hosts", "40", "--seed", "3", "-o", str(tmp_path / "made")]
    done = ended(*words, env={"TMPDIR": str(tmp_path)}, timeout=600)
    assert (done.returncode, "MISSED" in done.stdout) == (0, False), done.stdout + done.stderr
    assert json.loads((tmp_path / "made.json").read_text())["devices"] == 320
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == [], "the made files are gone"


def test_predictions_say_by_their_status_which_runs_miss_the_bar(
    script: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    predictions, written = script("predictions"), tmp_path / "predictions.md"
    run = REPOSITORY / "results" / "h200-cuda.json.gz"
    monkeypatch.setattr(sys, "argv", ["predictions.py", str(run), "-o", str(written)])
    assert predictions.main() == 0
    assert "| all transfers | 378 | 1.4 | 14.3 | 93 |" in written.read_text("utf-8")
    truth = synthetic.Truth(7e-6, 10e9, 0.05, swings=(1.0, 1.1, 1.8))
    assert not predictions.meets_bar(synthetic.run(synthetic.cases({("copy", "h2d", "pinned"): truth})))


def test_answers_of_a_plan_are_held_against_every_method(
    script: Callable[[str], ModuleType],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan_check, run = script("plan_check"), tmp_path / "run.json"
    needs = [
        BufferNeed(100_000, "both", 3, "pinned"),
        PiecesNeed(100, 700),
        SectionNeed(300, 100, 800, "d2h", "pinned"),
        ManagedNeed(MIB, fraction=0.37),
    ]
    run.write_bytes(msgspec.json.encode(synthetic.h200(), enc_hook=float))
    monkeypatch.setattr(plan_check, "draw_needs", lambda *_, **__: needs)
    plan_check.main(["--run", str(run), "--device", "host", "--time", "1", "-o", str(tmp_path / "checked.json.gz")])
    assert "4 of 4 needs measured" in capsys.readouterr().out


def test_data_that_differs_misses_a_bar_whatever_the_rate(script: Callable[[str], ModuleType]) -> None:
    findings = script("finding")
    finding = findings.Finding("case", "bar")
    finding.turns.wrong["isthmus"] = "3 of 4 B differ, the first at 1"
    assert findings.decided(finding, True, "").met is False
    assert "the first at 1" in finding.why_not
    assert findings.decided(findings.Finding("case", "bar"), True, "").met is True
    assert findings.decided(findings.Finding("case", "bar"), True, "memory is shared").met is None


def test_a_difference_says_where_it_begins(script: Callable[[str], ModuleType]) -> None:
    bench = script("transfer_bench")
    expected = np.arange(100, dtype=np.uint8)
    found = expected.copy()
    assert bench.difference(found, expected) == ""
    found[[40, 99]] ^= 1
    assert bench.difference(found, expected) == "2 of 100 B differ, the first at 40"
