"""Traces are told apart by what they begin with, not by their names."""

from __future__ import annotations

import gzip
import json
import sqlite3
from pathlib import Path

import pytest

from isthmus.errors import TraceFileError
from isthmus.trace import open_trace


def test_makers_are_told_apart_by_the_file(tmp_path: Path) -> None:
    events = json.dumps({"schemaVersion": 1, "traceEvents": []})
    (tmp_path / "plain").write_text("\n " + events)
    (tmp_path / "marked").write_bytes(b"\xef\xbb\xbf" + events.encode())
    (tmp_path / "compressed").write_bytes(gzip.compress(events.encode()))
    with sqlite3.connect(tmp_path / "export.json") as connection:
        connection.execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")
    connection.close()
    found = {path.name: open_trace(path).maker for path in tmp_path.iterdir()}
    assert found == {"plain": "kineto", "marked": "kineto", "compressed": "kineto", "export.json": "nsys"}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("none", b"", "found an empty file"),
        ("text", b"hello", "expected a file of isthmus trace"),
        ("app.nsys-rep", b"\x00\x01", "nsys export --type sqlite app.nsys-rep"),
    ],
)
def test_what_is_no_trace_is_said_to_be_none(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TraceFileError, match=said):
        open_trace(tmp_path / name)


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(TraceFileError, match="cannot be read"):
            open_trace(path)
