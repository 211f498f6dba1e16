"""Where a run is written, and what a command may write over: files that Isthmus wrote, and no other without --force."""

import errno
import os
import re
import stat
import struct
import tempfile
import zlib
from datetime import datetime, timezone
from pathlib import Path

from isthmus import __version__
from isthmus.cache import reason, state_folder
from isthmus.errors import RunFileError, UsageError
from isthmus.files import is_stream, numbered, read_ends
from isthmus.messages import printable, to_stderr
from isthmus.own_files import BEGIN_BYTES, own_file

_BY = f"Report of Isthmus {__version__}"
# Pictures and Prometheus; `own_file` knows all that a command could take for another file.
_BEGINS = re.compile(rb"\x89PNG.{,64}Report of Isthmus \d|# HELP isthmus_", re.DOTALL)
_ENDS = re.compile(rb"\n(?:<!-- )?Report of Isthmus \d[^\n]*\n\Z|isthmus\.fleet.*PAR1\Z", re.DOTALL)
_PNG_HEAD_BYTES = 33
_SUFFIXES = (".json", ".json.gz")


def marked(content: bytes, form: str, about: str = "") -> bytes:
    """A report of a format that does not say who wrote it, with a line that does; `about` tells reports apart."""
    # What names of runs have in them ends neither the line nor the comment.
    by = printable(f"{_BY}{f', {about}' if about else ''}")
    if form == "terminal":
        return content + f"\n{by}\n".encode()
    if form in ("markdown", "svg"):
        return content.rstrip() + f"\n\n<!-- {re.sub('-{2,}|>', '-', by)} -->\n".encode()
    if form == "png":
        # A chunk with a text, after the first one, which has the size.
        text = b"tEXtSoftware\0" + by.encode("latin-1", "replace")
        chunk = struct.pack(">I", len(text) - 4) + text + struct.pack(">I", zlib.crc32(text))
        return content[:_PNG_HEAD_BYTES] + chunk + content[_PNG_HEAD_BYTES:]
    return content


def check_replaceable(path: Path, *, force: bool) -> None:
    """Raise UsageError where something is at this path that Isthmus did not write, unless asked to replace it.

    What has nothing in it, or cannot be replaced but written to, is no loss.
    """
    try:
        status = path.lstat()
    except OSError:
        return  # Nothing is there, or writing will say what is wrong.
    if force or stat.S_ISDIR(status.st_mode) or is_stream(path):
        return
    if stat.S_ISLNK(status.st_mode):
        what = f"a link to {path.readlink()}"
    elif not status.st_size or _is_ours(path):
        return
    else:
        changed = datetime.fromtimestamp(status.st_mtime)
        what = f"a file of {status.st_size} bytes, changed {changed:%Y-%m-%d %H:%M}, that Isthmus did not write"
    raise UsageError(f"{path}: is there already, {what}; name another file with -o, or replace it with --force")


def free_path(path: Path, same: str = "") -> Path:
    """The path where nothing is there, else the first with a number in its name that is free.

    Where a report is that Isthmus wrote and that has these words in it, it is of the same, and is written anew.
    """
    for tried in numbered(path):
        if not os.path.lexists(tried) or (same and not tried.is_symlink() and _is_ours(tried, same)):
            return tried
    raise AssertionError


def _is_ours(path: Path, same: str = "") -> bool:
    try:
        begin, end = read_ends(path, BEGIN_BYTES)
    except RunFileError:
        return False
    is_ours = own_file(begin) or _BEGINS.match(begin) or _ENDS.search(end)
    return bool(is_ours) and (not same or same.encode() in begin + end)


def check_output(output: str, *, force: bool) -> None:
    """Raises UsageError for what is neither a run file's name nor a folder.

    So it does for a file in no folder, and for one that is there and not Isthmus's, which `force` replaces.
    """
    if output and not _is_folder(output) and not output.endswith(_SUFFIXES):
        raise UsageError(
            f"not a name for a run file: {output}; expected one that ends in .json or .json.gz, or a folder with / at "
            "its end"
        )
    if is_named(output):
        check_place(Path(output), force=force)


def check_place(path: Path, *, force: bool) -> None:
    """Raises UsageError where a run file's folder is not there, and what `check_replaceable` does."""
    if not path.parent.exists():
        raise UsageError(f"{path.parent}: no such folder for the run file; make it, or name another place with -o")
    check_replaceable(path, force=force)


def is_named(output: str) -> bool:
    """Whether -o says which file it is to be, and not only the folder."""
    return bool(output) and not _is_folder(output)


def file_in(output: str, name: str, otherwise: str) -> Path:
    """The file that `output` is, or the one of this `name` in the folder that it is, which is made where it is missing.

    Without `output` it is `otherwise` among the runs that are kept.

    Raises UsageError where it cannot be made.
    """
    if not output:
        return kept_place("runs", otherwise)
    if is_named(output):
        return Path(output)
    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be made: {error.strerror or error}; name another folder with -o") from error
    return folder / name


def kept_place(kind: str, name: str) -> Path:
    """Where a file goes that no -o puts elsewhere: the user's state folder, else a temporary one, which is then named.

    Raises UsageError where neither can be written.
    """
    try:
        folder = state_folder(kind)
        if os.access(folder, os.W_OK):
            return folder / name
        why = reason(PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder)), of_state=True)
    except OSError as error:
        why = reason(error, of_state=True)
    try:
        folder = Path(tempfile.mkdtemp(prefix="isthmus-"))
    except OSError as error:
        raise UsageError(f"nothing can be kept: {why}; nor in {tempfile.gettempdir()}: name a file with -o") from error
    to_stderr(f"isthmus: nothing is kept in the state folder: {why}, or name a file with -o; {folder} is used now")
    return folder / name


def stamped(name: str) -> str:
    """A file's name with the time, UTC."""
    return f"{name}-{datetime.now(timezone.utc):%Y%m%d-%H%M%S}.json"


def member_name(device: str, rank: int | None) -> str:
    """The name of one run file among many: by host, device and, if any, rank or index of the job."""
    from isthmus.experiment.fleet.measure import safe_name

    index = os.environ.get("JOB_COMPLETION_INDEX", "")
    parts = [os.uname().nodename, device.replace(":", "")]
    parts += [f"rank{rank}"] if rank is not None else [f"index{index}"] if index else []
    return stamped(safe_name("-".join(parts)))


def _is_folder(output: str) -> bool:
    # A folder whose name is a run file's is in the way, and not meant.
    return output.endswith("/") or (not output.endswith(_SUFFIXES) and Path(output).is_dir())
