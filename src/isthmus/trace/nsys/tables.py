"""Tables of numbers and names in an SQLite file that somebody else wrote, read within bounds.

SQLite takes a value of any type in any column, and believes much of what a file says of itself. So each value's type is
looked at, only plain tables and their stored columns are read, statements name none but tables and columns that this
program names, and the work is bounded by the size of the file.
"""

import sqlite3
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from isthmus.errors import TraceFileError
from isthmus.files import read_begin
from isthmus.messages import printable
from isthmus.trace.columns import UNKNOWN, Integers

_HEADER_BYTES = 100
_ADVICE = "make an export with: nsys export --type sqlite REPORT.nsys-rep"
_NOT_AN_INTEGER = np.iinfo(np.int64).min
_ROWS_AT_ONCE = 16384
# Longest name of a kernel, which templates make long; and longest value that SQLite takes into memory.
_MOST_CHARACTERS = 1000
_MOST_BYTES = 64 << 20
# A damaged file can name the same page many times over. Whole records take more than 8 bytes each in a file, and a byte
# takes one to two steps of SQLite's to read.
_LEAST_BYTES = 8
_MOST_RECORDS = 100_000_000
_STEPS_AT_ONCE = 100_000
_STEPS_OF_ANY_FILE = 10_000_000
_STEPS_PER_BYTE = 16


class _Steps:
    """Asked by SQLite every `_STEPS_AT_ONCE` steps; stops it when more were made than a file of this size takes."""

    def __init__(self, file_bytes: int) -> None:
        self.left = (_STEPS_OF_ANY_FILE + _STEPS_PER_BYTE * file_bytes) // _STEPS_AT_ONCE

    def __call__(self) -> bool:
        self.left -= 1
        return self.left < 0


class Tables:
    """The tables of one open file; `notes` collects a sentence for each of which records were left out."""

    def __init__(self, path: Path, connection: sqlite3.Connection, file_bytes: int) -> None:
        self.path = path
        self.notes: list[str] = []
        self._connection = connection
        self._most_records = min(file_bytes // _LEAST_BYTES, _MOST_RECORDS)

    def names(self, most: int) -> list[str]:
        """The first tables' names, as they may be shown."""
        rows = self._connection.execute(
            "SELECT substr(name, 1, 100) FROM sqlite_master WHERE type = 'table' LIMIT ?", [most]
        )
        return [printable(str(name)) for (name,) in rows]

    def has(self, table: str) -> bool:
        """Whether the table is there. Raises TraceFileError where a view or a virtual table has its name."""
        # SQLite itself writes these words before what makes a table a plain one.
        row = self._connection.execute(
            "SELECT type = 'table' AND substr(sql, 1, 13) = 'CREATE TABLE ' FROM sqlite_master WHERE name = ?", [table]
        ).fetchone()
        if row is not None and not row[0]:
            raise TraceFileError(f"{self.path}: {table} is not a plain table, as nsys writes them; {_ADVICE}")
        return row is not None

    def has_records(self, table: str) -> bool:
        """Whether the table has rows."""
        return self.has(table) and self._connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is not None

    def numbers(self, table: str, required: Sequence[str], optional: Sequence[str] = ()) -> dict[str, Integers]:
        """Columns of integers, one entry a record; empty where there is no such table.

        Records without an integer in a required column are left out and recorded; in an optional one, that counts as
        UNKNOWN. Raises TraceFileError for a table without a required column.
        """
        names = [*required, *optional]
        if not self.has(table):
            return {name: np.empty(0, np.int64) for name in names}
        present = self._columns(table)
        if absent := [name for name in required if name not in present]:
            raise TraceFileError(
                f"{self.path}: table {table} has no column {', '.join(absent)}, which every version of nsys since 2021 "
                f"writes; {_ADVICE}"
            )
        selected = ", ".join(
            f'CASE typeof("{name}") WHEN \'integer\' THEN "{name}" ELSE {_NOT_AN_INTEGER} END'
            if name in present
            else str(_NOT_AN_INTEGER)
            for name in names
        )
        batches = [np.empty((0, len(names)), np.int64)]
        cursor = self._connection.execute(f"SELECT {selected} FROM {table}")
        count = kept = 0
        while rows := cursor.fetchmany(_ROWS_AT_ONCE):
            count += len(rows)
            self._check_count(table, count)
            values = np.array(rows, dtype=np.int64)
            values = values[(values[:, : len(required)] != _NOT_AN_INTEGER).all(axis=1)]
            values[values == _NOT_AN_INTEGER] = UNKNOWN
            kept += len(values)
            batches.append(values)
        if kept < count:
            self.notes.append(f"{table}: left out {count - kept} of {count} records, in which a number is missing.")
        return {name: np.concatenate([values[:, index] for values in batches]) for index, name in enumerate(names)}

    def texts(self, table: str, key: str, value: str, wanted: set[int] | None = None) -> dict[int, str]:
        """Texts by their integers, all or those wanted, cut to a length to show; none where a column is missing."""
        if not self.has(table) or not {key, value} <= self._columns(table):
            return {}
        # Asked before the text is read, which may be the whole output of a program.
        self._connection.create_function("wanted", 1, lambda number: wanted is None or number in wanted)
        cursor = self._connection.execute(
            f'SELECT "{key}", substr("{value}", 1, {_MOST_CHARACTERS}) FROM {table} '
            f'WHERE typeof("{key}") = \'integer\' AND wanted("{key}") AND typeof("{value}") = \'text\''
        )
        by_id: dict[int, str] = {}
        for count, (number, text) in enumerate(cursor, 1):
            self._check_count(table, count)
            by_id[number] = printable(text)
        return by_id

    def setting(self, table: str, name: str) -> str:
        """The text in the column ``value`` of the record of this name; empty where there is none."""
        if not self.has(table) or not {"name", "value"} <= self._columns(table):
            return ""
        row = self._connection.execute(
            f"SELECT substr(value, 1, 100) FROM {table} WHERE name = ? AND typeof(value) = 'text'", [name]
        ).fetchone()
        return "" if row is None else printable(row[0])

    def _columns(self, table: str) -> set[str]:
        """The stored columns and the rows' numbers; no generated ones, which run what the file says."""
        return {"rowid", *(row[1] for row in self._connection.execute(f"PRAGMA table_info({table})"))}

    def _check_count(self, table: str, count: int) -> None:
        if count > self._most_records:
            raise TraceFileError(
                f"{self.path}: table {table} holds more than {self._most_records} records, the most of a file of this "
                "size that is read; it is damaged or far too long: export it again, or record a shorter time"
            )


@contextmanager
def opened(path: Path) -> Iterator[Tables]:
    """The tables of a file while it is open; nothing is ever written.

    Raises TraceFileError for what cannot be read or is no SQLite file, then or while its tables are read.
    """
    file_bytes = _checked_bytes(path)
    steps = _Steps(file_bytes)
    try:
        # Immutable: no locks, no journal that was left next to the file, and no file created there.
        uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            connection.set_progress_handler(steps, _STEPS_AT_ONCE)
            if sys.version_info >= (3, 11):
                connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_BYTES)
            for setting in ("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON"):
                connection.execute(f"PRAGMA {setting}")
            yield Tables(path, connection, file_bytes)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        # SQLite's messages quote the file; those that are no UTF-8 come as the other exception.
        reason = printable(str(error)) if isinstance(error, sqlite3.Error) else "its schema is no text"
        problem = "it takes more steps to read than a file of its size can" if steps.left < 0 else reason
        raise TraceFileError(f"{path}: cut off or damaged: {problem}; copy it again, or {_ADVICE}") from error


def _checked_bytes(path: Path) -> int:
    """The size of a file that begins as SQLite's do, which `open_trace` has looked at."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise TraceFileError(f"{path}: not a regular file; expected an export of nsys; {_ADVICE}")
        header = read_begin(path, _HEADER_BYTES)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise TraceFileError(f"{path}: cannot be read: {reason or error}") from error
    # SQLite takes what is missing of the last page for zeros. The count of pages holds if these two counters agree, and
    # a page of 64 KiB is written as 1.
    page_bytes = int.from_bytes(header[16:18], "big")
    bytes_written = (65536 if page_bytes == 1 else page_bytes) * int.from_bytes(header[28:32], "big")
    if status.st_size < _HEADER_BYTES or (header[24:28] == header[92:96] and status.st_size < bytes_written):
        raise TraceFileError(
            f"{path}: cut off: has {status.st_size} bytes of {bytes_written}; copy it again, or {_ADVICE}"
        )
    return status.st_size
