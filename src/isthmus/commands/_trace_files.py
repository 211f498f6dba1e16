"""Where `isthmus trace` writes: the trace itself, exports by the suffixes of their names, and how the program ended."""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import typer

from isthmus.commands._own_files import check_replaceable, kept_place
from isthmus.errors import IsthmusError, UsageError
from isthmus.files import new_file
from isthmus.messages import to_stderr
from isthmus.report import formats_for

SUFFIX = ".itrace"
# What a file is for; a table for terminals goes to standard error.
_FORMATS = {suffix: each.name for each in formats_for("trace")[1:] for suffix in each.suffixes}


@dataclass(frozen=True)
class Outputs:
    """Files that were asked for: the trace, None where none was named, and exports with their formats."""

    trace: Path | None
    exports: tuple[tuple[Path, str], ...]


def outputs_of(paths: Iterable[Path], rank: int | None = None, *, force: bool) -> Outputs:
    """What to write where; of one of several MPI ranks its number goes into each name.

    Raises UsageError for a suffix that says no format, for a folder that cannot be written to, and for a file that is
    there and that only `force` replaces.
    """
    traces, exports = [], []
    for named in paths:
        path = named if rank is None else _of_rank(named, rank)
        suffix = path.suffix.lower()
        if suffix != SUFFIX and suffix not in _FORMATS:
            known = ", ".join([SUFFIX, *sorted(_FORMATS)])
            raise UsageError(f"{named}: its suffix says no format of a trace; expected one of {known}")
        check_folder(path)
        check_replaceable(path, force=force)
        if suffix == SUFFIX:
            traces.append(path)
        else:
            exports.append((path, _FORMATS[suffix]))
    if len(traces) > 1:
        raise UsageError(f"one program gives one trace; name {SUFFIX} once with -o")
    return Outputs(traces[0] if traces else None, tuple(exports))


def reserved(outputs: Outputs, program: str, rank: int | None = None) -> Path:
    """An empty file for the trace: the one that was named, else a new one next to the exports or in the state folder.

    Raises UsageError where it cannot be written.
    """
    path = outputs.trace
    if path is None:
        if outputs.exports:
            first = outputs.exports[0][0].with_suffix("")
            path = first.with_name(f"{first.name}{SUFFIX}")
        else:
            stem = Path(Path(program).name or "program")
            stem = stem if rank is None else _of_rank(stem, rank)
            path = kept_place("traces", f"{stem.name}{SUFFIX}")
    elif path.exists():
        return path
    try:
        return new_file(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}; name another file with -o") from error


@contextmanager
def parts_folder(trace: Path) -> Iterator[Path]:
    """A folder next to the trace, by its whole path, for the parts of its processes.

    It stays where they cannot be joined.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"{trace.name}.", suffix=".parts", dir=trace.parent.absolute()))
    try:
        yield folder
    except BaseException:
        # Goes if it is empty.
        with suppress(OSError):
            folder.rmdir()
        raise
    shutil.rmtree(folder, ignore_errors=True)


def _of_rank(path: Path, rank: int) -> Path:
    """``out.rank3.html`` of ``out.html``."""
    return path.with_name(f"{path.stem}.rank{rank}{path.suffix}")


def check_folder(path: Path) -> None:
    """Raise UsageError where nothing can be written there: now, rather than when the program has run for an hour."""
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        why = "is a folder" if path.is_dir() else f"{path.parent} cannot be written to"
        raise UsageError(f"{path}: {why}; name another file with -o")


def raise_or_say(error: IsthmusError, code: int | None) -> None:
    """Raise what failed for a program that ended well, else say it: what became of the program matters more."""
    if not code:
        raise error
    with suppress(OSError):
        to_stderr(f"isthmus: {error}")


def end_as(code: int | None) -> None:
    """With its exit code, or by the signal that killed it."""
    if code is not None and code < 0:
        import resource

        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        # The program has left its core; ours would tell nothing.
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with suppress(OSError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
        # Where that signal is blocked, as a shell would say it.
        raise typer.Exit(128 - code)
    raise typer.Exit(code or 0)
