"""Names of files that are no UTF-8, which Unix allows: every command takes them, and shows them as text."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from isthmus.commands.main import main
from isthmus.errors import RunFileError, as_text
from isthmus.record import End, RunWriter, read_run
from tests.synthetic import fleet as synthetic_fleet
from tests.synthetic import runs as synthetic

ODD = os.fsdecode(b"r\xff.json")
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / ODD
    ways = [("copy", way, memory) for way in ("h2d", "d2h") for memory in ("pinned", "pageable")]
    truth = dict.fromkeys(ways, synthetic.Truth(7e-6, 55e9))
    content = synthetic.run(synthetic.cases(truth))
    with RunWriter(path, content) as writer:
        for case in content.cases:
            writer.add(case)
        writer.finish(End(status="complete"))
    return path


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    def call(*words: object) -> tuple[int, str, str]:
        code = main([str(word) for word in words])
        return code, *capsys.readouterr()

    return call


@pytest.mark.parametrize(
    "words",
    [
        "report RUN",
        "report RUN --format csv",
        "report RUN --format html -o OUT.html",
        "report RUN --format markdown -o OUT.md",
        "report RUN --figure bandwidth-rate-h2d -o OUT.svg",
        "compare RUN RUN",
        "compare RUN RUN -o OUT.json",
        "compare RUN RUN -o OUT.html",
        "fleet RUN",
        "fleet RUN -o OUT.json",
        "fleet RUN -o OUT.csv",
        "fleet RUN -o OUT.html",
        "plan --bytes 64MiB --run RUN -o OUT.json",
    ],
)
def test_commands_take_them(tmp_path: Path, run: Path, command: Command, words: str) -> None:
    out = os.fsdecode(b"o\xfe")
    given = words.replace("RUN", str(run)).replace("OUT", str(tmp_path / out)).split(" ")
    code, printed, _ = command(*given)
    assert code == 0
    if "OUT" in words:
        path = Path(given[-1])
        assert printed == f"{tmp_path}/o\\xfe{path.suffix}\n"
        path.read_bytes().decode()


def test_the_page_beside_a_run(run: Path, command: Command) -> None:
    code, printed, _ = command("report", run, "--format", "html")
    assert code == 0
    assert printed == f"{run.parent}/r\\xff.html\n"
    assert run.with_suffix(".html").is_file()


def test_a_host_without_a_name_is_named_after_them(tmp_path: Path, run: Path, command: Command) -> None:
    run.unlink()
    member = synthetic_fleet.member("", 0)
    synthetic_fleet.save(synthetic_fleet.fleet([member]), run)
    for form in ("terminal", "html", "json", "csv", "prometheus"):
        code, printed, _ = command("fleet", run, "--format", form)
        assert code == 0
        printed.encode()
    assert r"(r\xff.json)" in command("fleet", run, "--format", "csv")[1]


def test_errors_show_them(tmp_path: Path, command: Command) -> None:
    path = tmp_path / ODD
    for words in (["report"], ["fleet"], ["compare", path], ["advise"], ["trace", "--open"]):
        code, _, said = command(*words, path)
        assert code == 2
        assert r"r\xff.json: " in said
    with pytest.raises(RunFileError) as caught:
        read_run(path)
    str(caught.value).encode()


def test_a_process_of_its_own_writes_what_no_terminal_has(run: Path) -> None:
    """Where its standard streams take ASCII alone, too."""
    for encoding in ("ascii", "utf-8"):
        ended = subprocess.run(
            [sys.executable, "-m", "isthmus", "report", run, run.with_name(os.fsdecode(b"\xff"))],
            env=os.environ | {"PYTHONIOENCODING": encoding, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=False,
        )
        assert ended.returncode == 2
        assert ended.stderr.decode().endswith("\\xff: cannot be read: No such file or directory\n")


def test_a_run_is_measured_into_them(tmp_path: Path, command: Command) -> None:
    folder = tmp_path / os.fsdecode(b"\xff")
    words = ("measure", "bandwidth", "--device", "host", "--quick", "--sizes", "4KiB", "--time", "0.2s", "-o")
    assert command(*words, folder / ODD)[0] == 2, "the folder is not there"
    folder.mkdir()
    code, printed, _ = command(*words, folder / ODD)
    assert code == 0
    assert as_text(folder / ODD) in printed
    assert read_run(folder / ODD).cases
    assert (folder / ODD).with_suffix(".html").is_file()
