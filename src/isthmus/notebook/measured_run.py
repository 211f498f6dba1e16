"""One run as notebooks show it and as data frames take it."""

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from isthmus import _native
from isthmus.analysis.conclusions import conclude
from isthmus.compare import Health, Reference, judge, read_reference, reference_for
from isthmus.record import COLUMN_TYPES, Run, columns, read_run
from isthmus.report.check import check_data
from isthmus.report.renderers import terminal
from isthmus.report.screen import screen_document

SCHEMA_VERSION = 1
_COLUMNS_OF_TEXT = 100
_Values = Sequence[str | int | float | None]


@dataclass(frozen=True, eq=False, repr=False)
class MeasuredRun:
    """What was measured on one device.

    `record` is the whole of it with raw samples in seconds, as `docs/report.md` describes run files; `path` is its
    file, None where it was not kept. pandas, polars and pyarrow take the tidy table by its Arrow stream:
    ``polars.DataFrame(run)``, ``pandas.DataFrame.from_arrow(run)``, ``pyarrow.table(run)``.
    """

    record: Run
    path: Path | None = None
    reference: Reference | None = None

    @cached_property
    def _health(self) -> Health:
        return judge(self.record, self.reference)

    @property
    def level(self) -> str:
        """``OK``, ``ATTENTION``, ``FAULT``, or ``none`` where the device cannot be judged: as of `isthmus check`."""
        return self._health.level

    @property
    def columns(self) -> dict[str, list[str | int | float | None]]:
        """The tidy table, as in CSV: a row a case and metric, times in seconds; None where a column does not apply."""
        return columns([self.record])

    def conclusions(self) -> dict[str, Any]:
        """The verdict on the device, as ``isthmus check --json`` has it, and what was concluded of the run.

        Keys and topics keep their names within a ``schema_version``; sentences are for people.
        """
        name = self.reference.name if self.reference else ""
        data = {
            "format": "isthmus.conclusions",
            "schema_version": SCHEMA_VERSION,
            "run": self.record.run,
            "verdict": check_data(self.record, self._health, name),
            "findings": list(map(asdict, conclude(self.record).findings)),
        }
        plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(data))
        return plain

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The tidy table as a stream of Arrow's PyCapsule interface; a schema that is asked for is left to its reader.

        Nulls are where a column does not apply. The memory is the stream's own.
        """
        del requested_schema
        return _stream_of(self.columns)

    def __len__(self) -> int:
        """How many cases there are."""
        return len(self.record.cases)

    def __repr__(self) -> str:
        return (
            f"<isthmus run {self.record.run}: {self.record.fingerprint.device.name}, {len(self)} cases, {self.level}>"
        )

    def __str__(self) -> str:
        out = io.StringIO()
        terminal.write(screen_document(self.record), out, width=_COLUMNS_OF_TEXT)
        return out.getvalue()

    def _repr_html_(self) -> str:
        """The first screen, without scripts."""
        from isthmus.report.renderers import html

        return html.fragment(screen_document(self.record), self.record.run)


def named_reference(name: str | None) -> Reference | None:
    """The reference of this name or file, if one is named. Raises UsageError and RunFileError."""
    return read_reference(name) if name else None


def of(run: Run, path: Path | None, named: Reference | None) -> MeasuredRun:
    """The run, judged by the reference that was named, else by the one for its device, if any."""
    return MeasuredRun(run, path, named or reference_for(run.fingerprint.device))


def open_run(path: str | os.PathLike[str], *, reference: str | None = None) -> MeasuredRun:
    """Open a run file, also one that is still being measured or was interrupted.

    `reference` is what the device is judged by: a name such as ``h200-pcie5``, or a file; by default the one for the
    device. Raises RunFileError for any other file.
    """
    return of(read_run(Path(path)), Path(path), named_reference(reference))


def _stream_of(columns: Mapping[str, _Values]) -> object:
    """A capsule of the PyCapsule interface with columns of the tidy table, all of one length.

    Whole numbers are int64, others float64, texts large_string.
    """
    rows = len(next(iter(columns.values()), ()))
    return _native.arrow_stream(rows, [_column(name, values) for name, values in columns.items()])


def _column(name: str, values: _Values) -> tuple[str, str, int, list[bytes]]:
    there = np.packbits(np.array([value is not None for value in values], bool), bitorder="little").tobytes()
    nulls = sum(value is None for value in values)
    if COLUMN_TYPES[name] is str:
        texts = [b"" if value is None else str(value).encode() for value in values]
        ends = np.array([0, *accumulate(map(len, texts))], np.int64)
        return name, "U", nulls, [there, ends.tobytes(), b"".join(texts)]
    kind, arrow = (np.float64, "g") if COLUMN_TYPES[name] is float else (np.int64, "l")
    numbers = np.array([0 if value is None else value for value in values], kind)
    return name, arrow, nulls, [there, numbers.tobytes()]
