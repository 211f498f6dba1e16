"""Files that are no run files: each refused by name, within the memory and the time that one may take."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from isthmus.errors import RunFileError
from isthmus.fleet.reading import Reader
from isthmus.record import files, read_run

READERS = [read_run, Reader().read]


def bomb(path: Path) -> None:
    path.write_bytes(gzip.compress(bytes(1 << 16)))


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        os.truncate(file.fileno(), 1 << 40)


def brackets(path: Path) -> None:
    path.write_bytes(b'{"x":' + b"[" * 1100 + b"]" * 1100 + b"}")


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
def test_brackets_without_end_are_refused(tmp_path: Path, read: object) -> None:
    brackets(tmp_path / "run.json")
    with pytest.raises(RunFileError, match="nested more deeply"):
        read(tmp_path / "run.json")  # type: ignore[operator]


def test_what_is_replaced_is_never_written_through_a_link_and_whole_or_as_it_was(tmp_path: Path) -> None:
    elsewhere, path = tmp_path / "elsewhere", tmp_path / "run.json"
    elsewhere.write_text("precious")
    path.symlink_to(elsewhere)
    (tmp_path / "run.json.part").symlink_to(elsewhere)
    with files.replacing(path) as part:
        part.write_text("new")
    assert elsewhere.read_text() == "precious"
    assert not path.is_symlink()
    assert path.read_text() == "new"
    with pytest.raises(FileNotFoundError), files.replacing(path) as part:
        part.with_name("missing").read_bytes()
    assert path.read_text() == "new"
    assert {file.name for file in tmp_path.iterdir()} == {"elsewhere", "run.json", "run.json.part"}
