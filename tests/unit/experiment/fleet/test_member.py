"""What the process that measures for a rank does where its rank is gone, or its device is not there."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec

from isthmus.errors import DeviceAbsent, exit_code
from isthmus.experiment.engine.options import Options
from isthmus.experiment.fleet.member import Said, Task
from isthmus.record import Launch, read_run

HANGS_SECONDS = 60


def task(path: Path, spec: str, waits: bool) -> bytes:
    launch = Launch(fleet="f", phase="together", rank=1, ranks=2, local_rank=1, node=0)
    options = Options(mode="quick", sizes=[4096], memory=["pinned"], directions=["h2d"], budget_seconds=0.1)
    asked = Task(
        spec=spec,
        experiments=["bandwidth"],
        options=options,
        path=os.fsencode(path),
        command=["isthmus", "measure"],
        launch=launch,
        waits=waits,
        has_neighbours=waits,
    )
    return msgspec.json.encode(asked) + b"\n"


def started() -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "isthmus.experiment.fleet.member"]
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
