"""benchmarks/predictions.py checks predictions of kept runs against what was measured."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from msgspec.structs import replace

from isthmus.record import MIB, Interval, Run, Series
from tests.synthetic import overlap as synthetic_overlap
from tests.synthetic import runs as synthetic

REPOSITORY = Path(__file__).resolve().parents[2]
LATENCY, RATE = 6e-6, 50e9


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(REPOSITORY / "benchmarks"))
    yield import_module("predictions")
    del sys.modules["predictions"]


def pipelines() -> Run:
    """Copies of pinned memory, and pipelines that reach their bound; each chunk costs what a copy's latency is."""
    truths = {("copy", way, "pinned"): synthetic.Truth(LATENCY, RATE, 1e-4) for way in ("h2d", "d2h")}
    copies = [
        replace(case, series=[*case.series, Series(metric="device_seconds", samples=case.series[0].samples)])
        for case in synthetic.cases(truths)
    ]
    seconds = 64 * MIB / RATE
    truth = synthetic_overlap.Truth(into=seconds, work=seconds, out=seconds, chunk=LATENCY)
    run: Run = synthetic.run([*copies, *synthetic_overlap.cases("pinned", truth, streams=(4, 8))])
    return run


def test_pipelines_are_predicted_from_copies_alone(script: ModuleType) -> None:
    checks = [pair for _, pair in script.pipeline_checks(pipelines())]
    assert len(checks) == 10
    # Of 2 to 64 chunks; two chunks have use for two streams alone.
    off = sorted(abs(predicted.median / seconds.median - 1) for seconds, predicted in checks)
    assert off[7] < 0.02
    staged = synthetic.run(synthetic_overlap.cases("staged", synthetic_overlap.STAGED))
    assert list(script.pipeline_checks(staged)) == []


def test_what_a_measurement_cannot_tell_from_right_is_counted_apart(script: ModuleType) -> None:
    predicted = Interval(11.5, 11.0, 12.0)
    pairs = [(Interval(10.0, 9.0, 12.0), predicted), (Interval(10.0, 9.9, 10.1), predicted)]
    assert script.row("pinned", pairs) == "| pinned | 2 | 15.0 | 15.0 | 0 | 50 |"
    assert script.row("pinned", []) == "| pinned | 0 | | | | |"


def test_runs_that_miss_the_bar_are_told_by_the_status(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    written = tmp_path / "predictions.md"
    run = REPOSITORY / "results" / "h200-cuda.json.gz"
    monkeypatch.setattr(sys, "argv", ["predictions.py", str(run), "-o", str(written)])
    assert script.main() == 0
    assert "| all transfers | 378 | 1.4 | 14.3 | 93 |" in written.read_text("utf-8")
    truth = synthetic.Truth(7e-6, 10e9, 0.05, swings=(1.0, 1.1, 1.8))
    assert not script.meets_bar(synthetic.run(synthetic.cases({("copy", "h2d", "pinned"): truth})))
    assert script.meets_bar(synthetic.run([]))
