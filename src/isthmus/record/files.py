"""Files that others may read at the same time: read as they are at one moment, and replaced whole."""

import gzip
import io
import os
import secrets
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from isthmus.errors import RunFileError

# Each time a case may end while its file is read.
_TRIES = 5
# A fleet of ten thousand nodes has less; what is larger is refused before it takes the memory.
MOST_BYTES = 1 << 31
_PIECE = 1 << 20
# Runs pack to a tenth or so; gzip packs nothing but one byte repeated a thousand times over.
_MOST_PACKED = 100
_ALWAYS_ALLOWED = 1 << 26

T = TypeVar("T")


def file_bytes(path: Path) -> bytes:
    """The content of a file, decompressed where it is gzip.

    Raises RunFileError when it cannot be read or is damaged, is no plain file, or is larger than any run is, packed or
    unpacked. A pipe that is open already, as a shell's ``<(...)`` is, is read as a file.
    """
    try:
        data = _read_whole(path)
        if data[:2] != b"\x1f\x8b":
            return data
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            return _all_of(file, path, "unpacked bytes", max(_ALWAYS_ALLOWED, _MOST_PACKED * len(data)))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise RunFileError(f"{path}: damaged gzip data: {error}; copy the file again") from error
    except OSError as error:
        raise RunFileError(f"{path}: cannot be read: {error.strerror or error}") from error


def decode_json(data: bytes, kind: type[T]) -> T:
    """As msgspec decodes it. Raises msgspec.DecodeError, for brackets that are nested too deeply, too."""
    try:
        return msgspec.json.decode(data, type=kind)
    except RecursionError as error:
        raise msgspec.DecodeError("brackets are nested more deeply than any run file has them") from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file beside `path` to write to; it takes the place of `path` when all went well, and is removed otherwise."""
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    # Made here, so that a link or a file that lies under that name is never written through.
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _read_whole(path: Path) -> bytes:
    """All bytes as they are at one moment, also of a run that is still being measured: its file only ever grows."""
    for _ in range(_TRIES):
        # A pipe that nobody writes to would be waited for.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            status = os.fstat(file.fileno())
            is_pipe = stat.S_ISFIFO(status.st_mode) and path.parts[:2] in (("/", "dev"), ("/", "proc"))
            if not stat.S_ISREG(status.st_mode) and not is_pipe:
                raise RunFileError(f"{path}: {_kind(status.st_mode)}; expected a plain file")
            if status.st_size > MOST_BYTES:
                raise RunFileError(_too_large(path, f"{status.st_size} bytes", MOST_BYTES))
            os.set_blocking(file.fileno(), True)
            data = _all_of(file, path, "bytes")
        if is_pipe or len(data) == status.st_size:
            break
    return data


def _all_of(file: BinaryIO | gzip.GzipFile, path: Path, what: str, most: int | None = None) -> bytes:
    """Read piece by piece, so that what is too large takes no memory that it was not allowed."""
    pieces, size, most = [], 0, min(MOST_BYTES, most or MOST_BYTES)
    while piece := file.read(_PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > most:
            raise RunFileError(_too_large(path, f"more than {most} {what}", most))
    return b"".join(pieces)


def _too_large(path: Path, found: str, most: int) -> str:
    return (
        f"{path}: {found}, and a run or fleet file of its size may have {most}; is it another kind of file, or damaged?"
    )


def _kind(mode: int) -> str:
    names = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
    return names.get(stat.S_IFMT(mode), "a device")
