"""Which device the process of a rank opens, and what it does where its rank is gone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from isthmus.errors import DeviceAbsent, UsageError, exit_code
from isthmus.experiment import fleet_member
from isthmus.experiment.devices import OpenDevice
from isthmus.experiment.fleet_member import Said, Task, open_in_turn
from isthmus.experiment.options import Options
from isthmus.record import Backend, Device, Launch, read_run

HANGS_SECONDS = 60
GPUS = [Device(backend="cuda", index=index, name="H200", pci_address=f"0000:{index}1:00.0") for index in range(3)]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The devices that are opened on a machine with three."""
    host = Device(backend="host", index=0, name="memory", shares_host_memory=True)
    backends = [Backend(name="cuda", devices=GPUS), Backend(name="host", devices=[host])]
    asked: list[str] = []

    def open_device(spec: str, bind: bool) -> OpenDevice:
        assert bind
        asked.append(spec)
        return None  # type: ignore[return-value]

    monkeypatch.setattr("isthmus.experiment.devices.probe", lambda: backends)
    monkeypatch.setattr(fleet_member, "probe", lambda: backends)
    monkeypatch.setattr(fleet_member, "open_device", open_device)
    return asked


@pytest.mark.parametrize(
    ("spec", "local_rank", "expected"),
    [
        (None, 0, "cuda:0"),
        (None, 2, "cuda:2"),
        (None, 4, "cuda:1"),
        ("cuda", 1, "cuda:1"),
        ("CUDA", 1, "cuda:1"),
        ("cuda:0", 1, "cuda:0"),
        ("host", 1, "host"),
        ("host:rate=1GB/s", 1, "host:rate=1GB/s"),
    ],
)
def test_the_local_rank_picks_the_device(opened: list[str], spec: str | None, local_rank: int, expected: str) -> None:
    open_in_turn(spec, local_rank)
    assert opened == [expected]


def test_a_backend_that_is_not_there_is_an_error(opened: list[str]) -> None:
    with pytest.raises(UsageError, match="did you mean cuda"):
        open_in_turn("cudda", 0)
    assert not opened


def task(path: Path, spec: str, waits: bool) -> bytes:
    launch = Launch(fleet="f", phase="together", rank=1, ranks=2, local_rank=1, node=0)
    options = Options(mode="quick", sizes=[4096], memory=["pageable"], directions=["h2d"], budget_seconds=0.1)
    asked = Task(
        spec=spec,
        experiments=["bandwidth"],
        options=options,
        path=str(path),
        command=["isthmus", "measure"],
        launch=launch,
        waits=waits,
    )
    return msgspec.json.encode(asked) + b"\n"


def started() -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "isthmus.experiment.fleet_member"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)


def test_it_waits_for_the_word_and_writes_its_launch(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    with started() as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(task(path, "host", waits=True))
        process.stdin.flush()
        assert msgspec.json.decode(process.stdout.readline(), type=Said).kind == "ready"
        assert not path.exists()
        process.stdin.write(b"go\n")
        process.stdin.flush()
        assert process.wait(HANGS_SECONDS) == 0
    found = read_run(path)
    assert found.launch == Launch(fleet="f", phase="together", rank=1, ranks=2, local_rank=1, node=0)
    assert [case.bytes for case in found.cases] == [4096]


def test_it_ends_where_its_rank_is_gone(tmp_path: Path) -> None:
    with started() as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(task(tmp_path / "run.json", "host", waits=True))
        process.stdin.flush()
        process.stdout.readline()
        process.stdin.close()
        assert process.wait(HANGS_SECONDS) == 1


def test_it_says_why_it_cannot_measure(tmp_path: Path) -> None:
    with started() as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(task(tmp_path / "run.json", "opencl:99", waits=False))
        process.stdin.flush()
        said = msgspec.json.decode(process.stdout.readline(), type=Said)
        process.wait(HANGS_SECONDS)
    assert said.kind == "failed"
    assert "opencl" in said.why
    assert process.returncode == exit_code(DeviceAbsent())
