"""What commands print of kept files: comparisons, checks, fleets and plans."""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from isthmus.commands import main
from isthmus.commands._output import write_report
from isthmus.commands.devices import describe
from isthmus.document.grid import spread
from isthmus.record import Backend, Member
from isthmus.report.calibration import calibration_document
from tests.snapshots.documents import WIDTH, abridged, in_format, on_terminal
from tests.snapshots.subjects import MADE
from tests.snapshots.test_runs import RESULTS
from tests.synthetic import fleet, runs
from tests.unit.outputs import printed as printed_by

Printed = Callable[..., str]
H100, H200 = (f"{RESULTS / name}.json.gz" for name in ("h100", "h200-trace-run"))
# Of tables for programs.
MOST_LINES = 40
PLANS = {
    "buffer": ("--bytes 64MiB --uses 100", H200),
    "pipeline": ("--bytes 64MiB --compute 5ms --chunks auto", H200),
    "pieces": ("--pieces 300 --piece-bytes 3KiB --source pinned --explain", H200),
    "rows": ("--rows 30720 --width 8 --pitch 240KiB --snippet torch", H200),
    "sparse": ("--bytes 1GiB --touched 30%", H200),
    "unknown": ("--bytes 3MiB --source new --direction both", H100),
}
COMMANDS = {
    "compare-cards": f"compare {RESULTS / 'h100-default.json.gz'} {H100} --fail-if slower:5%",
    "compare-experiments": f"compare {RESULTS / 'h200-managed.json.gz'} {H200} --margin 10%",
    "compare-itself": f"compare {RESULTS / 'h200-overlap.json.gz'} {RESULTS / 'h200-overlap.json.gz'}",
    "compare-wrong": "compare small.json wrong.json --fail-if different:5%",
    "reference-right": f"compare reference:h100-pcie5 {H100}",
    "reference-outside": f"compare reference:h200-pcie5 {H100} --fail-if outside",
    "check-right": f"check --run {H100}",
    "check-wrong": "check --run wrong.json",
    "check-no-link": f"check --run {RESULTS / 'pocl.json.gz'}",
    "check-no-reference": f"check --run {RESULTS / 'h200-opencl.json.gz'}",
    "check-from-slow": "check --from slow.txt",
    "check-from-links": "check --from query.txt --from topology.txt",
    "fleet-two": f"fleet {RESULTS / 'h100x2-fleet.json.gz'}",
    "fleet-slow": "fleet hosts --fail-if outliers",
    "fleet-reference": "fleet hosts --reference reference:h200-pcie5",
    **{f"plan-{name}": f"plan {need} --run {run}" for name, (need, run) in PLANS.items()},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs without and with faults, and a fleet with devices that are slow for different reasons."""
    made = tmp_path_factory.mktemp("made")
    for name in ("small", "wrong"):
        (made / f"{name}.json").write_bytes(msgspec.json.encode(MADE[name](), enc_hook=float))
    rates = printed_by.both_ways([56.7, 57.1, 57.1, 14.2], [55.0] * 4, [44.0] * 3 + [7.0], [50.0] * 3 + [7.0])
    (made / "slow.txt").write_text(printed_by.nvbandwidth("NVIDIA H100 80GB HBM3", rates))
    (made / "query.txt").write_text(printed_by.nvidia_smi("NVIDIA L40S", (4, 4), (8, 16), busy=80, gpus=2))
    (made / "topology.txt").write_text(printed_by.topology([0, 1]))
    narrow = msgspec.structs.replace(runs.GEN5, width_under_load=8, width=8)
    slow: dict[tuple[int, int], Member | fleet.Slower] = {
        (1, 1): fleet.by_link(1.4),
        (2, 5): fleet.together_only(1.3),
        (3, 0): fleet.everything(1.2),
        (4, 7): fleet.member("n4", 7, fleet.by_link(2.0), of=fleet.fingerprint("n4", 7, link=narrow)),
    }
    fleet.save_hosts(made / "hosts", 6, slow)
    fleet.save(fleet.fleet([fleet.member("n9", 0)]), made / "hosts" / "n9.json")
    return made


@pytest.fixture
def printed(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Printed:
    """The output of a command line with its messages and its exit code; folders of this machine are left out."""
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    monkeypatch.chdir(folder)

    def run(command: str, *more: str) -> str:
        code = main([*command.split(), *more])
        out, messages = capsys.readouterr()
        if "--json" in more:
            return abridged(out)
        return f"{out}{messages}exit code {code}\n".replace(f"{RESULTS}{os.sep}", "")

    return run


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command(name: str, printed: Printed, text_file: SnapshotAssertion, json_file: SnapshotAssertion) -> None:
    assert printed(COMMANDS[name]) == text_file
    assert printed(COMMANDS[name], "--json") == json_file


@pytest.mark.parametrize("name", ["csv", "prometheus", "slurm", "kubectl"])
def test_a_fleet_for_programs(name: str, printed: Printed, text_file: SnapshotAssertion) -> None:
    lines = printed("fleet hosts", "--format", name).splitlines(keepends=True)
    assert "".join(lines[at] for at in spread(len(lines), MOST_LINES)) == text_file


@pytest.mark.parametrize("name", ["devices"])
def test_devices(
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text_file: SnapshotAssertion,
    json_file: SnapshotAssertion,
) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    host = runs.h200().fingerprint.host
    backends = [
        Backend(name="cuda", devices=[runs.gpu(), runs.gpu(index=1, numa_node=None, link=None)]),
        Backend(name="opencl", devices=[runs.cpu_device()]),
        Backend(name="host", devices=[]),
    ]
    write_report(describe(backends, host, range(16)), "terminal", None)
    assert capsys.readouterr().out == text_file
    write_report(describe(backends, host, range(16)), "json", None)
    assert abridged(capsys.readouterr().out) == json_file


@pytest.mark.parametrize("name", ["calibrate"])
def test_a_calibration(name: str, text_file: SnapshotAssertion, json_file: SnapshotAssertion) -> None:
    """A table of each kind of rule, and what it gained."""
    piece = {"direction": "d2h", "pageable": False, "apart_on_host": True, "scattered": False}
    table = {
        "path": "tables/a-long-name-of-a-table-that-is-neither-cut-nor-broken-where-the-terminal-is-narrower",
        "origin": "NVIDIA H200, driver 580; isthmus 1.0 on 2026-11-27",
        "built_in": False,
        "buffers": [
            {"direction": "h2d", "from_bytes": 0, "method": "driver", "seconds": 2e-5, "driver_seconds": 2e-5},
            {"direction": "h2d", "from_bytes": 1 << 20, "method": "staged", "seconds": 1e-4, "driver_seconds": 2e-4}
            | {"threads": 4, "chunk_bytes": 1 << 18, "stores": "streaming"},
        ],
        "direct": [],
        "kernels": [{"direction": "h2d", "blocks": 32}],
        "pieces": [piece | {"apart_on_device": both, "method": "kernel"} for both in (True, True, False)],
        "ways": [
            {"direction": "h2d", "device": "0000:01:00.0", "gains": gains, "from_bytes": gains << 26}
            | {"bytes": 1 << 28, "seconds": 5e-3}
            for gains in (1, 0)
        ],
        "gains": [
            {"direction": "h2d", "bytes": 1 << power, "situation": "warm"}
            | {"built_in": {"median": 1 + power / 100}, "driver": {"median": 2.0}}
            for power in (20, 22)
        ],
        "new_pieces": 2,
    }
    document = calibration_document(runs.gpu(), table)
    assert on_terminal(document) == text_file
    assert abridged(in_format(document, "json")) == json_file
