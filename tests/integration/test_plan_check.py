"""benchmarks/plan_check.py measures what a plan names, on a device that every machine has."""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from isthmus.record import KIB, MIB, BufferNeed, ManagedNeed, PiecesNeed, SectionNeed
from tests.synthetic import runs as synthetic

pytestmark = pytest.mark.thorough

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The script as a module, found as Python finds what lies beside a script."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield import_module("plan_check")
    for name in [each for each in sys.modules if each.startswith("plan_check")]:
        del sys.modules[name]


def test_needs_are_the_same_for_a_seed_and_of_every_kind(script: ModuleType) -> None:
    needs = script.draw_needs(48, 5)
    assert needs == script.draw_needs(48, 5)
    assert needs != script.draw_needs(48, 6)
    assert len(Counter(type(need) for need in needs)) == 5
    assert needs[:10] == script.draw_needs(10, 5)


def test_needs_stay_within_what_they_may_take(script: ModuleType) -> None:
    for need in script.draw_needs(400, 1, 16 * MIB):
        match need:
            case BufferNeed():
                assert 4 * KIB <= need.bytes <= 16 * MIB
                assert need.bytes % 4 == 0
            case PiecesNeed():
                assert need.pieces * need.piece_bytes <= 16 * MIB
            case SectionNeed():
                assert need.rows * max(need.pitch_bytes, need.device_pitch_bytes or 0) <= 16 * MIB
                assert need.width_bytes <= need.pitch_bytes
            case ManagedNeed():
                assert need.bytes <= 16 * MIB
                assert need.stride_bytes is None or need.stride_bytes < need.bytes


def test_answers_on_the_spot_and_predictions_are_held_against_every_way(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    needs = [
        BufferNeed(100_000, "both", 3, "pinned"),
        PiecesNeed(100, 700),
        SectionNeed(300, 100, 800, "d2h", "pinned"),
        ManagedNeed(MIB, fraction=0.37),
    ]
    run, written = tmp_path / "run.json", tmp_path / "checked.json.gz"
    run.write_bytes(msgspec.json.encode(synthetic.h200(), enc_hook=float))
    monkeypatch.setattr(script, "draw_needs", lambda *_, **__: needs)
    script.main(["--run", str(run), "--device", "host", "--time", "1", "-o", str(written)])
    shown = capsys.readouterr().out
    assert "4 of 4 needs measured" in shown
    assert re.search(r"measured on the spot: first choice within 5 % of the fastest in .*% of 4 ", shown)
    assert re.search(r"run\.json: first choice within 10 % of the fastest in .*% of 1 ", shown)
    assert re.search(r"run\.json: times within their interval in .*% of \d+ ", shown)
    found = json.loads(gzip.decompress(written.read_bytes()))
    assert [need["need"]["kind"] for need in found["needs"]] == [type(need).__name__ for need in needs]
    for need in found["needs"]:
        assert need["slowdown"] >= 1
        assert set(need["spot"]) <= set(need["truth"]) | set(need["left_out"])
    # The host backend moves no pages, so a way that asks for them is left out and does not keep others from running.
    assert "moves no pages" in found["needs"][3]["left_out"]["prefetch_whole"]
