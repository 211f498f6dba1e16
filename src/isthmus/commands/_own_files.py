"""Which files Isthmus wrote, by what is in them, and so what a command may write over: nothing else without --force."""

import os
import re
import stat
import struct
import zlib
from datetime import datetime
from pathlib import Path

from isthmus import __version__
from isthmus.errors import RunFileError, UsageError
from isthmus.files import is_stream, numbered, read_ends
from isthmus.messages import printable
from isthmus.own_files import BEGIN_BYTES, own_file

_BY = f"Report of Isthmus {__version__}"
# Pictures and Prometheus; `own_file` knows all that a command could take for another file.
_BEGINS = re.compile(rb"\x89PNG.{,64}Report of Isthmus \d|# HELP isthmus_", re.DOTALL)
_ENDS = re.compile(rb"\n(?:<!-- )?Report of Isthmus \d[^\n]*\n\Z|isthmus\.fleet.*PAR1\Z", re.DOTALL)
_PNG_HEAD_BYTES = 33


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
