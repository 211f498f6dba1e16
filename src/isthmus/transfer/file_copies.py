"""Copies from files: a file's bytes go to host memory or to a device, with no array on the host in between."""

import contextlib
import os
from pathlib import Path
from typing import BinaryIO, SupportsIndex

from isthmus import _native
from isthmus.errors import RunFileError, UsageError, WrongType
from isthmus.files import open_plain
from isthmus.transfer.sessions import Session


def copy_from_file(
    dst: object, file: object, *, offset: SupportsIndex = 0, stream: object = None, session: Session | None = None
) -> None:
    """Fill a contiguous array with a file's bytes from `offset` on, and return when all have arrived.

    `dst` is an array of any library as `copy` takes them, of any type, on either side; as many bytes are read as it
    has. `file` is a path, a descriptor (an int), or an open file with `fileno()`, whose position is neither used nor
    moved. To a device threads read into page-locked chunks that cross the link meanwhile; nothing of the file is
    mapped. The copy begins after what `stream` holds, as `copy` has it.

    Raises OSError where the file cannot be opened, UsageError for what makes no sense, and CopyFailed with how much had
    arrived where the file ends too early, also while it is read, or the system cannot read it.
    """
    try:
        first = offset.__index__()
    except (AttributeError, TypeError):
        raise WrongType(f"the offset is {offset!r}; expected a number of bytes as an int") from None
    if not 0 <= first < 1 << 63:
        raise UsageError(f"the offset is {first}; expected 0 or more bytes, and less than 2**63")
    if isinstance(file, str | os.PathLike):
        with open_source(Path(file)) as opened:
            _native.copy_from_file(dst, opened.fileno(), first, stream=stream, session=session)
        return
    _native.copy_from_file(dst, _descriptor(file), first, stream=stream, session=session)


def open_source(path: Path) -> BinaryIO:
    """A file to copy from. Raises OSError where it cannot be opened, and UsageError for anything but a plain file."""
    try:
        file = open_plain(path)
    except RunFileError as error:
        raise UsageError(str(error)) from None
    # Threads read alternate parts, which the system is not to take for jumps: it reads ahead from a disk.
    with contextlib.suppress(OSError):
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
    return file


def _descriptor(file: object) -> int:
    if isinstance(file, int) and not isinstance(file, bool):
        if not 0 <= file < 1 << 31:
            raise UsageError(f"the file is {file}; expected a path, an open file, or a descriptor of 0 or more")
        return file
    fileno = getattr(file, "fileno", None)
    if fileno is None:
        raise WrongType(f"the file is of type {type(file).__name__}; expected a path, an open file, or a descriptor")
    return int(fileno())
