"""Files that others may read at the same time: read as they are at one moment, and replaced whole."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from isthmus.errors import RunFileError

# Each time a case may end while its file is read.
_TRIES = 5


def file_bytes(path: Path) -> bytes:
    """The content of a file, decompressed where it is gzip.

    Raises RunFileError when it cannot be read or is damaged.
    """
    try:
        data = _read_whole(path)
        return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise RunFileError(f"{path}: damaged gzip data: {error}; copy the file again") from error
    except OSError as error:
        raise RunFileError(f"{path}: cannot be read: {error.strerror or error}") from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file beside `path` to write to; it takes the place of `path` when all went well, and is removed otherwise."""
    part = path.with_name(f"{path.name}.part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _read_whole(path: Path) -> bytes:
    """All bytes as they are at one moment, also of a run that is still being measured: its file only ever grows."""
    for _ in range(_TRIES):
        bytes_before = path.stat().st_size
        data = path.read_bytes()
        if len(data) == bytes_before or not path.is_file():
            break
    return data
