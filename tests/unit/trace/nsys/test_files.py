"""The reader of nsys's SQLite exports on any file: names, foreign, cut off, damaged and hostile ones, and long ones."""

import os
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isthmus.errors import TraceFileError, exit_code
from isthmus.trace.nsys.reader import read_nsys
from tests.synthetic.nsys import CALLS, COPIES, KERNELS, Rows, call, copy

Export = Callable[..., Path]


@pytest.mark.parametrize("name", ["a?mode=rwc", "50%41.sqlite", "#1.sqlite", "ein name ü.sqlite", "x" * 250])
def test_any_file_name_will_do_and_nothing_is_written(export: Export, tmp_path: Path, name: str) -> None:
    path = export({COPIES: [copy()]}, name="trace.sqlite").rename(tmp_path / name)
    path.chmod(0o400)
    before = path.read_bytes()
    assert len(read_nsys(path).copies) == 1
    assert [each.name for each in tmp_path.iterdir()] == [name]
    assert path.read_bytes() == before


def test_a_relative_name_will_do(export: Export, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(export({COPIES: [copy()]}).parent)
    assert len(read_nsys(Path("trace.sqlite")).copies) == 1


def test_a_journal_beside_the_export_is_told_of(export: Export) -> None:
    path = export({COPIES: [copy()]})
    path.with_name("trace.sqlite-journal").write_bytes(b"")
    assert any("trace.sqlite-journal lies beside" in note for note in read_nsys(path).notes)


def fails(path: Path, *expected: str) -> None:
    with pytest.raises(TraceFileError) as failure:
        read_nsys(path)
    for text in (str(path), *expected):
        assert text in str(failure.value)
    assert exit_code(failure.value) == 2


def test_files_that_are_no_databases_say_what_was_expected(tmp_path: Path) -> None:
    path = tmp_path / "trace.sqlite"
    fails(path, "cannot be read: No such file or directory")
    fails(tmp_path, "not a regular file", "nsys export --type sqlite")
    fails(Path("a\0b"), "cannot be read")
    os.mkfifo(tmp_path / "pipe")
    fails(tmp_path / "pipe", "not a regular file")


def test_a_database_of_something_else_is_named(tmp_path: Path) -> None:
    path = tmp_path / "nvprof.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE StringTable (_id_, value)")
        connection.execute(f"CREATE TABLE {COPIES} (_id_, copyKind, bytes, start, end)")
    fails(path, "a database of nvprof", "nsys profile --trace=cuda")
    with closing(sqlite3.connect(other := tmp_path / "other.sqlite")) as connection:
        connection.execute("CREATE TABLE StringTable (_id_, value)")
    fails(other, "expected a table StringIds, found the tables StringTable", "nsys export --type sqlite")


def test_a_table_without_a_needed_column_is_named(export: Export) -> None:
    fails(export(sql=[f'CREATE TABLE {COPIES} (start, "end", copyKind)']), f"table {COPIES} has no column bytes")


@pytest.mark.parametrize(
    "sql",
    [
        f"CREATE VIEW {COPIES} AS WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n) SELECT i AS start FROM n",
        f"CREATE VIRTUAL TABLE {COPIES} USING fts4(start, end, bytes, copyKind)",
        f"CREATE VIRTUAL TABLE {KERNELS} USING rtree(id, start, end)",
    ],
)
def test_only_plain_tables_are_read(export: Export, sql: str) -> None:
    fails(export(sql=[sql]), "is not a plain table")


def test_columns_that_compute_are_not_read(export: Export) -> None:
    path = export(sql=[f'CREATE TABLE {COPIES} (start, "end", copyKind, bytes AS (length(zeroblob(900000000))))'])
    fails(path, f"table {COPIES} has no column bytes")


def many_copies(export: Export, count: int = 3000, **more: Any) -> Path:
    generator = random.Random(1)
    rows = [copy(start, start + generator.randrange(99), correlationId=start) for start in range(1, count + 1)]
    return export({COPIES: rows, CALLS: [call(start, start + 1, start) for start in range(1, count + 1)]}, **more)


def test_more_records_than_are_read_at_once_stay_in_order(export: Export) -> None:
    trace = read_nsys(many_copies(export, 40_000))
    assert trace.copies.start_ns.tolist() == list(range(1, 40_001))
    assert np.array_equal(trace.copies.call, np.arange(40_000))


def test_cut_off_files_fail_with_what_to_do(export: Export, tmp_path: Path) -> None:
    data = many_copies(export).read_bytes()
    path = tmp_path / "cut.sqlite"
    for length in (16, 17, 50, 100, 101, 500, 4096, 5000, 8192, len(data) // 2, len(data) - 4096, len(data) - 1):
        path.write_bytes(data[:length])
        fails(path, "cut off", "nsys export --type sqlite")


@pytest.mark.parametrize("seed", range(4))
def test_damaged_files_give_a_trace_or_the_error(export: Export, tmp_path: Path, seed: int) -> None:
    """Never another exception; columns of a trace are as long as one another, whatever was read."""
    data = many_copies(export, 500, sql=["PRAGMA page_size = 512"]).read_bytes()
    generator = random.Random(seed)
    path = tmp_path / "damaged.sqlite"
    failures = 0
    for _ in range(50):
        trace = None
        damaged = bytearray(data)
        for _ in range(generator.choice((1, 3, 30))):
            # Half of them in the header, the schema and the heads of pages, where they matter most.
            page = generator.randrange(len(data) // 512) * 512
            place = generator.choice(
                (generator.randrange(len(data)), generator.randrange(2048), page + generator.randrange(12))
            )
            damaged[place] = generator.choice((0, 1, 0x7F, 0x80, 0xFF, generator.randrange(256)))
        path.write_bytes(damaged)
        with suppress(TraceFileError):
            trace = read_nsys(path)
        if trace is None:
            failures += 1
        else:
            assert len({len(getattr(trace.copies, name)) for name in trace.copies.__dataclass_fields__}) == 1
            assert (np.diff(trace.copies.start_ns) >= 0).all()
            assert trace.copies.call.max(initial=-1) < len(trace.calls)
    assert 0 < failures < 50


@pytest.mark.parametrize(
    ("table", "rows", "expected"),
    [
        (COPIES, [copy() for _ in range(400)], "holds more than"),
        # Of these none is asked for.
        ("StringIds", [[number, "x" * 40] for number in range(400)], "more steps to read than a file of its size"),
    ],
)
def test_pages_that_name_one_another_again_and_again_end(
    export: Export, tmp_path: Path, table: str, rows: Rows, expected: str
) -> None:
    """In a file of 20 KiB, 15 levels of 50 pages each are read for ever."""
    page_bytes, levels, wide = 512, 15, 50
    path = export({table: rows}, sql=["PRAGMA page_size = 512"])
    with closing(sqlite3.connect(path)) as connection:
        (root,) = connection.execute(f"SELECT rootpage FROM sqlite_master WHERE name = '{table}'").fetchone()
    data = bytearray(path.read_bytes())
    last = len(data) // page_bytes
    pages = [root, *(number for number in range(last - levels - 1, last) if number != root)]
    leaf = pages[levels]
    assert data[(leaf - 1) * page_bytes] == 0x0D, "the last page of the chain holds records"
    for page, child in pairwise(pages):
        # An inner page: its kind, no free block, the count of cells, where they begin, the last child, then the cells.
        cell = child.to_bytes(4, "big") + b"\x01"
        begin = page_bytes - wide * len(cell)
        head = b"\x05\0\0" + wide.to_bytes(2, "big") + begin.to_bytes(2, "big") + b"\0" + child.to_bytes(4, "big")
        pointers = b"".join((begin + place * len(cell)).to_bytes(2, "big") for place in range(wide))
        offset = (page - 1) * page_bytes
        data[offset : offset + page_bytes] = (head + pointers).ljust(begin, b"\0") + cell * wide
    hostile = tmp_path / "hostile.sqlite"
    hostile.write_bytes(data)
    fails(hostile, expected, "damaged")
