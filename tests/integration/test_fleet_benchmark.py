"""benchmarks/fleet.py plants faults in a small fleet and holds the command's answer against them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.thorough

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
NAMES = ("fleet", "fleet_bars", "fleet_model", "fleet_usage")


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The script's module that judges, found as Python finds what lies beside a script."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield import_module("fleet_bars")
    for name in NAMES:
        sys.modules.pop(name, None)


def test_a_small_fleet_meets_every_bar(tmp_path: Path) -> None:
    words = [sys.executable, str(BENCHMARKS / "fleet.py"), "--hosts", "40", "--seed", "3", "-o", str(tmp_path / "made")]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "MISSED" not in done.stdout
    content = json.loads((tmp_path / "made.json").read_text())
    assert (content["hosts"], content["devices"]) == (40, 320)
    assert (tmp_path / "made.md").read_text().count("| met |") == 3
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == [], "the made files are gone"


def test_a_fault_that_is_not_found_misses_its_bar(bars: ModuleType) -> None:
    model = import_module("fleet_model").FleetModel(BENCHMARKS.parent / "results" / "h200-cuda.json.gz", 20, 1)
    usage = import_module("fleet_usage").Usage(0, 1.0, 1.0, 1)
    said = [
        {"host": import_module("fleet_model").name_of(host), "device": f"cuda:{device}", "cause": fault.name}
        for (host, device), fault in model.faults.items()
    ]

    def met(outliers: list[dict[str, str]]) -> dict[str, bool | None]:
        return {bar.name: bar.met for bar in bars.bars_of(model, {"outliers": outliers}, usage)}

    assert False not in met(said).values()
    assert met(said[1:])["planted faults found"] is False
    assert met([{**each, "cause": "some"} for each in said])["causes named right"] is False
    odd = [{"host": f"nobody{number}", "device": "cuda:0", "cause": "link"} for number in range(2)]
    assert met(said + odd)["devices named without a fault"] is False
