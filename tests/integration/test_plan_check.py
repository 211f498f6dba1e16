"""benchmarks/plan_check.py measures what a plan names, on a device that every machine has."""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from isthmus.plan import BufferNeed, ManagedNeed, PiecesNeed, SectionNeed
from isthmus.record import KIB, MIB

pytestmark = pytest.mark.thorough

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The script as a module, found as Python finds what lies beside a script."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield import_module("plan_check")
    for name in [each for each in sys.modules if each.startswith("plan_check")]:
        del sys.modules[name]


@pytest.fixture
def run_file(
    tmp_path: Path,
    synthetic: ModuleType,
    synthetic_batching: ModuleType,
    synthetic_strided: ModuleType,
    synthetic_managed: ModuleType,
) -> Path:
    """What a plan can be made from, whatever the device that it is held against."""
    grids = [
        case
        for memory in ("pageable", "pinned")
        for direction in ("h2d", "d2h")
        for host, device in (("contiguous", "strided"), ("strided", "contiguous"), ("strided", "strided"))
        for case in synthetic_strided.grid(
            {"section": lambda width, rows: 1e-5 + 1e-9 * rows, "copies": lambda width, rows: 2e-6 * rows},
            memory=memory,
            direction=direction,
            host=host,
            device=device,
        )
    ]
    cases = [*synthetic.h200().cases, *synthetic_batching.h200_cases(), *grids, *synthetic_managed.cases()]
    path = tmp_path / "run.json"
    path.write_bytes(msgspec.json.encode(synthetic.run(cases), enc_hook=float))
    return path


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


def test_every_way_is_measured_and_compared(
    script: ModuleType,
    run_file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    needs = [
        BufferNeed(100_000, "both", 3, "pinned"),
        PiecesNeed(100, 700),
        SectionNeed(300, 100, 800, "d2h", "pinned"),
        ManagedNeed(MIB, fraction=0.37),
        ManagedNeed(MIB, stride_bytes=20 * KIB),
    ]
    monkeypatch.setattr(script, "draw_needs", lambda *_, **__: needs)
    written = tmp_path / "checked.json.gz"
    script.main(["--run", str(run_file), "--device", "host", "--time", "0", "-o", str(written)])
    shown = capsys.readouterr().out
    assert "5 of 5 needs planned and measured" in shown
    assert "(bar 95%)" in shown
    found = json.loads(gzip.decompress(written.read_bytes()))
    assert [need["need"]["kind"] for need in found["needs"]] == [type(need).__name__ for need in needs]
    for need in found["needs"]:
        assert need["samples"]
        assert all(seconds > 0 for samples in need["samples"].values() for seconds in samples)
        assert need["slowdown"] >= 1
        assert {way["name"] for way in need["ways"]} == set(need["samples"]) | set(need["left_out"])
    # The host backend moves no pages, so a way that asks for them is left out and does not keep others from running.
    assert "moves no pages" in found["needs"][3]["left_out"]["prefetch_whole"]


def test_a_need_without_a_way_is_said(
    script: ModuleType, run_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    needs = [PiecesNeed(100, 700, host_layout="contiguous")]
    monkeypatch.setattr(script, "draw_needs", lambda *_, **__: needs)
    script.main(["--run", str(run_file), "--device", "host"])
    assert "no plan: the run has no pieces" in capsys.readouterr().out
