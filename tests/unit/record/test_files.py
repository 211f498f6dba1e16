"""Files that are no run files: each refused by name, within the memory and the time that one may take."""

import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from isthmus import files
from isthmus.commands.main import main
from isthmus.errors import RunFileError
from isthmus.fleet.gathering import gathered
from isthmus.fleet.reading import Reader
from isthmus.record import End, RunWriter, read_run
from tests.processes import python
from tests.synthetic import runs as synthetic

READERS = [read_run, Reader().read]


def bomb(path: Path) -> None:
    path.write_bytes(gzip.compress(bytes(1 << 16)))


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        os.truncate(file.fileno(), 1 << 40)


def brackets(path: Path) -> None:
    path.write_bytes(b'{"x":' + b"[" * 1100 + b"]" * 1100 + b"}")


def unclosed(path: Path) -> None:
    path.write_bytes(b'{"x":' + b"[" * 1100)


def with_strings(path: Path) -> None:
    path.write_bytes(rb'{"\\":"]","x\"":' + b'["]",' * 1100)


@pytest.mark.parametrize("read", READERS, ids=["run", "fleet"])
@pytest.mark.parametrize(
    ("make", "why"),
    [
        (bomb, "more than 1024 unpacked bytes"),
        (sparse, "1099511627776 bytes"),
        (os.mkfifo, "a named pipe"),
        (Path.mkdir, "Is a directory"),
        (lambda path: path.symlink_to("/dev/zero"), "a device"),
    ],
    ids=["bomb", "sparse", "pipe", "folder", "device"],
)
def test_what_is_no_run_file_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: object, make: object, why: str
) -> None:
    monkeypatch.setattr(files, "MOST_BYTES", 1024)
    path = tmp_path / "run.json"
    make(path)  # type: ignore[operator]
    with pytest.raises(RunFileError, match=why) as caught:
        read(path)  # type: ignore[operator]
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("read", READERS, ids=["run", "fleet"])
@pytest.mark.parametrize("make", [brackets, unclosed, with_strings], ids=["closed", "unclosed", "strings"])
def test_brackets_without_end_are_refused(tmp_path: Path, read: object, make: object) -> None:
    make(tmp_path / "run.json")  # type: ignore[operator]
    with pytest.raises(RunFileError, match=r"run\.json: brackets are nested more than 64 deep"):
        read(tmp_path / "run.json")  # type: ignore[operator]


@pytest.mark.parametrize(
    "text",
    [
        "[" * 64 + "]" * 64,
        '{"a":' * 64 + "1" + "}" * 64,
        json.dumps({"[" * 100: "]{" * 100, '"[[' * 50: "\\[" * 99, "\\": "[" * 99}),
        json.dumps(["[" * 70, "", '"', "\\", "[" * 70]),
        json.dumps([[]] * 1000),
        '"' + "[" * 1000,
    ],
)
def test_what_strings_hold_is_no_nesting(tmp_path: Path, text: str) -> None:
    """Nothing but brackets outside of strings counts, at whichever place backslashes and quotes lie."""
    path = tmp_path / "some.json"
    path.write_text(text)
    assert files.read_bounded(path) == text.encode()
    path.write_text(" " * 100 + "[" * 65 + text + "]" * 65)
    with pytest.raises(RunFileError, match="nested more than 64 deep"):
        files.read_bounded(path)


@pytest.mark.thorough
def test_a_bomb_of_gigabytes_takes_the_memory_of_what_it_may_be(tmp_path: Path) -> None:
    """3 MB that unpack to 3 GB: members of gzip one after the other, made once."""
    path = tmp_path / "run.json.gz"
    path.write_bytes(gzip.compress(bytes(3 << 20)) * 1024)
    assert path.stat().st_size < 4 << 20
    code = (
        "import resource, sys\nfrom pathlib import Path\nfrom isthmus.record import read_run\n"
        "resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))\nread_run(Path(sys.argv[1]))"
    )
    ended = python(code, path)
    assert f"RunFileError: {path}: more than" in ended.stderr
    assert "unpacked bytes" in ended.stderr


def test_one_file_that_is_refused_costs_a_survey_that_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.json", "b.json"):
        with RunWriter(tmp_path / name, synthetic.run([])) as writer:
            writer.finish(End(status="complete"))
    for make in (sparse, brackets):
        make(tmp_path / f"{make.__name__}.json")
    (tmp_path / "bomb.json.gz").write_bytes(gzip.compress(bytes(1 << 27)))
    # Passed over in folders, as is what is no file at all: neither is waited for.
    os.mkfifo(tmp_path / "pipe.json")
    found = gathered([tmp_path])
    assert len(found.devices) == 2
    told = "\n".join(found.unreadable)
    bad = ("bomb.json.gz", "sparse.json", "brackets.json")
    assert all(f"{name}: " in told for name in bad)
    # A shell's *.json names them: the survey is shown, and the command fails.
    assert main(["fleet", *(str(tmp_path / name) for name in ("a.json", *bad, "b.json"))]) == 2
    out, said = capsys.readouterr()
    assert out.startswith("Fleet: 2 devices")
    assert said.startswith(f"isthmus: {tmp_path / 'bomb.json.gz'}: more than ")
    assert said.endswith("; and 2 more files that were named cannot be used; the survey is of all others\n")
    assert main(["fleet", str(tmp_path / "sparse.json")]) == 2
    assert capsys.readouterr()[0] == ""


def test_what_is_replaced_is_never_written_through_a_link_and_whole_or_as_it_was(tmp_path: Path) -> None:
    elsewhere, path = tmp_path / "elsewhere", tmp_path / "run.json"
    elsewhere.write_text("precious")
    path.symlink_to(elsewhere)
    with files.write_whole(path) as file:
        file.write(b"new")
        assert path.is_symlink(), "nothing is replaced before all is written"
    assert elsewhere.read_text() == "precious"
    assert not path.is_symlink()
    assert path.read_text() == "new"
    with pytest.raises(ZeroDivisionError), files.write_whole(path) as file:
        file.write(b"%d" % (1 // 0))
    assert path.read_text() == "new"
    assert {file.name for file in tmp_path.iterdir()} == {"elsewhere", "run.json"}


@pytest.mark.parametrize("guess", ["part", "link"])
def test_a_file_that_lies_where_is_written_beside_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guess: str
) -> None:
    """Even by one who guesses the name, a link or a file."""
    monkeypatch.setattr(os, "urandom", bytes)
    elsewhere, planted = tmp_path / "elsewhere", tmp_path / f".{bytes(8).hex()}.part"
    elsewhere.write_text("precious")
    planted.symlink_to(elsewhere) if guess == "link" else planted.write_text("precious")
    with pytest.raises(FileExistsError), files.write_whole(tmp_path / "run.json") as file:
        file.write(b"new")
    with pytest.raises(FileExistsError):
        files.begin_whole(tmp_path / "run.json", b"new")
    assert elsewhere.read_text() == "precious"
    assert planted.read_text() == "precious"
    assert not (tmp_path / "run.json").exists()


def test_a_kill_while_writing_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    code = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom isthmus.files import write_whole\n"
        "with write_whole(Path(sys.argv[1])) as file:\n"
        "    file.write(b'half' * 100000)\n    file.flush()\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, path], check=False).returncode == -signal.SIGKILL
    assert path.read_text() == "old"
    # What is left does not have the name of any format.
    assert {file.suffix for file in tmp_path.iterdir()} == {".html", ".part"}


def test_what_was_hidden_stays_so_and_streams_are_written_to(tmp_path: Path) -> None:
    path = tmp_path / "report.txt"
    path.write_text("old")
    path.chmod(0o600)
    with files.write_whole(path) as file:
        file.write(b"new")
    assert path.stat().st_mode & 0o777 == 0o600
    with files.write_whole(Path(os.devnull)) as file:
        file.write(b"new")
    assert not Path(os.devnull).is_file()
    code = (
        "from pathlib import Path\nfrom isthmus.files import write_whole\n"
        "with write_whole(Path('/dev/stdout')) as file:\n    file.write(b'new')\n"
    )
    with path.open("ab") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert path.read_text() == "newnew"


@pytest.mark.parametrize(
    ("where", "field"), [("link", "width_under_load"), ("link", "replays"), ("placement", "bound_node")]
)
@pytest.mark.parametrize("number", [-1, 1 << 32, (1 << 63) - 1])
def test_a_reading_that_no_driver_has_is_refused_by_name(tmp_path: Path, where: str, field: str, number: int) -> None:
    run = json.loads(files.read_bounded(Path(__file__).resolve().parents[3] / "results" / "h100-latency.json.gz"))
    inside = run["fingerprint"]["device"] if where == "link" else run["end"]
    inside.setdefault(where, {})[field] = number
    (tmp_path / "run.json").write_text(json.dumps(run), "utf-8")
    with pytest.raises(RunFileError, match=rf"{where}\.{field}"):
        read_run(tmp_path / "run.json")
