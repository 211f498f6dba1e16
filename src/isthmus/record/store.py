"""Run files: read with errors that name the place, written case by case so that an interrupted file stays valid."""

import errno
import os
import shutil
from pathlib import Path
from types import TracebackType

import msgspec

from isthmus.errors import RunFileError, as_text
from isthmus.files import begin_whole, read_bounded, write_whole
from isthmus.installing import OURS
from isthmus.own_files import mixed_up
from isthmus.record.run import FORMAT, LEAST_SECONDS, RATED, SCHEMA_VERSION, Case, End, Run, case_key


class Header(msgspec.Struct):
    """What a file says it is."""

    format: str = ""
    schema_version: int = 0

    @property
    def words(self) -> str:
        """Its format, for an error."""
        return f"format {self.format!r}" if self.format else "no format field"

    def check_version(self, path: Path, newest: int) -> None:
        """Raise RunFileError for a schema that is newer than this."""
        if self.schema_version > newest:
            raise RunFileError(
                f"{path}: written by a newer Isthmus: schema version {self.schema_version}, this one reads up to "
                f"{newest}; install a newer one: {OURS}"
            )

    def misfit(self, path: Path, error: msgspec.DecodeError) -> RunFileError:
        """The error for a file that is not as its schema says: where, and what was expected there."""
        what, _, place = str(error).partition(" - at ")
        what = what[:1].lower() + what[1:]
        problem = f"{place.strip('`')}: {what}" if place else what
        return RunFileError(f"{path}: not as a file of schema version {self.schema_version} is: {problem}")


def read_run(path: Path) -> Run:
    """The run in a JSON file, plain or gzip.

    Raises RunFileError for a file that is unreadable, truncated, not JSON, of another program, of a newer schema, or
    whose values are not what the schema says; the message names the file, the place and what was expected.
    """
    data = read_bounded(path)
    if mixed := mixed_up(path, data, "run of measurements", "run"):
        raise RunFileError(mixed)
    try:
        header = msgspec.json.decode(data, type=Header)
    except msgspec.ValidationError as error:
        raise RunFileError(f"{path}: not an Isthmus run: {error}; expected an object with format {FORMAT!r}") from error
    except msgspec.DecodeError as error:
        raise RunFileError(f"{path}: {_what_it_is(data, error)}") from error
    if header.format != FORMAT:
        raise RunFileError(f"{path}: not an Isthmus run: found {header.words}, expected format {FORMAT!r}")
    header.check_version(path, SCHEMA_VERSION)
    try:
        run = msgspec.json.decode(data, type=Run)
    except msgspec.DecodeError as error:
        raise header.misfit(path, error) from error
    cases = list(map(_timed, run.cases))
    places: dict[tuple[object, ...], int] = {}
    for number, case in enumerate(cases):
        if (first := places.setdefault(case_key(case), number)) != number:
            raise RunFileError(
                f"{path}: $.cases[{number}]: found the same point as $.cases[{first}], and a run has each once; the "
                "file was edited or put together by hand: leave one of them out"
            )
    return msgspec.structs.replace(run, cases=cases)


def _what_it_is(data: bytes, error: Exception) -> str:
    begin = data[:40].strip()
    if not begin:
        return "an empty file; a run file has one JSON object, and this was never written or is cut off"
    if begin[:1] != b"{":
        first = as_text(begin.splitlines()[0][:20].decode(errors="surrogateescape"))
        return f"no run file, which is one JSON object: it begins with {first!r}"
    return f"not readable as JSON after {len(data)} bytes: {error}; the file is truncated or damaged"


def _timed(case: Case) -> Case:
    """The case without times that a clock was too coarse for, which its note says.

    Where the host's clock was, as for touching a page that is there already, nothing is left: such a case is skipped.
    """
    none = [each for each in case.series if each.metric in RATED and min(each.samples, default=1) < LEAST_SECONDS]
    if not none:
        return case
    names = ", ".join(series.metric for series in none)
    note = "; ".join(filter(None, [case.note, f"{names} left out: samples of 0 s"]))
    if {"host_seconds", "elapsed_seconds"} & {series.metric for series in none}:
        return msgspec.structs.replace(case, series=[], verified="n/a", skipped=True, note=note)
    return msgspec.structs.replace(case, series=[each for each in case.series if each not in none], note=note)


class RunWriter:
    """Writes a run file that is complete, valid JSON after every case.

    Each case replaces the closing brackets of the file by itself and the same brackets, in one write, so that a run
    that is interrupted, or whose process dies, leaves a file that `read_run` accepts. A file whose name ends in ``.gz``
    is plain while it grows, which `read_run` accepts too, and compressed at the end.

    Raises RunFileError when the file cannot be created or written (a full disk, say).
    """

    def __init__(self, path: Path, run: Run) -> None:
        self.path = path
        head = msgspec.json.encode(msgspec.structs.replace(run, cases=[], end=None))
        begin, self._brackets = head[:-1] + b',"cases":[\n', b"]}\n"
        try:
            self._file = begin_whole(path, begin + self._brackets)
        except OSError as error:
            raise self._error("created", error) from error
        self._tail = self._first_case = len(begin)

    @classmethod
    def write(cls, path: Path, run: Run) -> None:
        """Write a run that has ended."""
        with cls(path, run) as writer:
            for case in run.cases:
                writer.add(case)
            if run.end is not None:
                writer.finish(run.end)

    def add(self, case: Case) -> None:
        """Append one case; the file is valid again when this returns."""
        separator = b"" if self._tail == self._first_case else b",\n"
        self._replace_tail(separator + msgspec.json.encode(case), b"\n]}\n")

    def finish(self, end: End) -> None:
        """Write how the run ended, and compress the file if its name asks for it."""
        self._replace_tail(b'\n],"end":' + msgspec.json.encode(end), b"}\n")
        if self.path.suffix == ".gz":
            try:
                self._file.seek(0)
                with write_whole(self.path, packed=True) as packed:
                    shutil.copyfileobj(self._file, packed)
            except OSError as error:
                raise self._error("compressed", error) from error
        self.close()

    def close(self) -> None:
        """Close the file; what was added stays readable."""
        self._file.close()

    def __enter__(self) -> "RunWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _replace_tail(self, content: bytes, tail: bytes) -> None:
        data = content + tail
        try:
            written = os.pwrite(self._file.fileno(), data, self._tail)
            if written != len(data):
                # A disk that fills up takes a part: cut it off, which makes room to put the old brackets back.
                os.ftruncate(self._file.fileno(), self._tail)
                os.pwrite(self._file.fileno(), self._brackets, self._tail)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            end = self._tail + len(data)
            # Longer only if an interruption came before the case written last was recorded below; it is given up.
            if os.fstat(self._file.fileno()).st_size > end:
                os.ftruncate(self._file.fileno(), end)
        except OSError as error:
            raise self._error("written", error) from error
        self._tail += len(content)
        self._brackets = tail

    def _error(self, action: str, error: OSError) -> RunFileError:
        advice = "free some space or name" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "name"
        return RunFileError(
            f"{self.path}: cannot be {action}: {error.strerror or error}; {advice} another place with -o"
        )
