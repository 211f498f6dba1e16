"""The two doors to files: read within bounds as they are at one moment, and replaced whole by a file written next to
them.

What is streamed (traces), made by the kernel, or part of this package has doors of its own; `tests/layout` lists them.
"""

import fcntl
import gzip
import io
import os
import re
import stat
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import BinaryIO

from isthmus.errors import RunFileError

# Each time a case may end while its file is read.
_TRIES = 5
# Between looks whether the file is free.
_TURN_SECONDS = 0.05
# A fleet of ten thousand nodes has less; what is larger is refused before it takes the memory.
MOST_BYTES = 1 << 31
_PIECE = 1 << 20
# Runs pack to a tenth or so; gzip packs nothing but one byte repeated a thousand times over.
_MOST_PACKED = 100
_ALWAYS_ALLOWED = 1 << 26
# A run has 8. Decoders call themselves for each level, and how many a stack has room for differs between Pythons.
MOST_LEVELS = 64
_ADDRESS = re.compile(r"(https?|ftp|s3|gs):/+(.*)", re.DOTALL)
_JSON = re.compile(rb"\s*[\[{]")
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_OTHERS = bytes(set(range(256)) - set(b'[]{}"'))


def read_bounded(path: Path) -> bytes:
    """The content of a file, decompressed where it is gzip.

    Raises RunFileError when it cannot be read or is damaged, is no plain file, is larger than any run is, packed or
    unpacked, or is JSON nested more deeply. A pipe that is open already, as a shell's ``<(...)`` is, is read as a file.
    """
    try:
        data = _read_whole(path)
        if data[:2] == b"\x1f\x8b":
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
                data = _all_of(file, path, "unpacked bytes", max(_ALWAYS_ALLOWED, _MOST_PACKED * len(data)))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise RunFileError(f"{path}: damaged gzip data: {error}; copy the file again") from error
    except OSError as error:
        raise _unreadable(path, error) from error
    if _JSON.match(data) and _is_deep(data):
        raise RunFileError(
            f"{path}: brackets are nested more than {MOST_LEVELS} deep, as no file of Isthmus has them; is it another "
            "kind of file, or damaged?"
        )
    return data


def of_address(path: Path) -> str:
    """What to do about an address of the web that was given as a path; empty for any other path."""
    address = _ADDRESS.match(str(path))
    if address is None:
        return ""
    # A path has one slash where an address has two.
    whole = f"{address[1]}://{address[2]}"
    return f"{whole}: an address, and files are read from this machine; get it first: curl -LO {whole}"


def _unreadable(path: Path, error: OSError) -> RunFileError:
    return RunFileError(of_address(path) or f"{path}: cannot be read: {error.strerror or error}")


def read_begin(path: Path, most: int) -> bytes:
    """So many bytes from the begin of a file, fewer where it is shorter. Raises RunFileError as `read_bounded` does."""
    try:
        with open_plain(path) as file:
            return file.read(most)
    except OSError as error:
        raise _unreadable(path, error) from error


def read_ends(path: Path, most: int) -> tuple[bytes, bytes]:
    """So many bytes from the begin of a file, unpacked where it is gzip, and from its end as they are.

    Raises RunFileError as `read_bounded` does.
    """
    begin = read_begin(path, most)
    try:
        if begin[:2] == b"\x1f\x8b":
            return zlib.decompressobj(31).decompress(begin, most), b""
        with open_plain(path) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - most))
            return begin, file.read(most)
    except (OSError, zlib.error) as error:
        raise RunFileError(f"{path}: cannot be read: {error}") from error


def open_plain(path: Path) -> BinaryIO:
    """A plain file to read from, or a pipe that is open already: one without a writer would be waited for.

    Raises OSError where it cannot be opened, and RunFileError for anything else.
    """
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    mode = os.fstat(file.fileno()).st_mode
    is_pipe = stat.S_ISFIFO(mode) and path.parts[:2] in (("/", "dev"), ("/", "proc"))
    if not stat.S_ISREG(mode) and not is_pipe:
        file.close()
        names = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
        raise RunFileError(f"{path}: {names.get(stat.S_IFMT(mode), 'a device')}; expected a plain file")
    os.set_blocking(file.fileno(), True)
    return file


@contextmanager
def write_whole(path: Path, *, packed: bool = False) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of `path` when all went well; else what was there stays as it was.

    With `packed` it is compressed, without a time stamp inside, so that the same content gives the same bytes. A link
    is replaced and never written through; a device or a pipe, such as /dev/stdout, is written to. Raises OSError.
    """
    with _taking_place_of(path) as part:
        if packed:
            with gzip.GzipFile("", "wb", fileobj=part, mtime=0) as file:
                yield file  # type: ignore[misc]
        else:
            yield part


def begin_whole(path: Path, content: bytes) -> io.FileIO:
    """A file that grows from then on, as a run's does: it takes the place of `path` with this content. Raises OSError.

    It is open for reading, too.
    """
    with _taking_place_of(path) as part:
        part.write(content)
        part.flush()
        return io.FileIO(os.dup(part.fileno()), "r+")


def new_file(path: Path) -> Path:
    """A new, empty file of this name, or else ``name.2.json``, ``name.3.json``, ...: the first that is free.

    Raises OSError.
    """
    for tried in numbered(path):
        try:
            os.close(os.open(tried, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
        except FileExistsError:
            continue
        return tried
    raise AssertionError


@contextmanager
def in_turn(path: Path) -> Iterator[None]:
    """While no other process that asks for it has this file; the file is empty and stays. Raises OSError."""
    with path.open("ab") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:  # waited for in Python, which Ctrl-C ends in any thread
                time.sleep(_TURN_SECONDS)
        yield


def numbered(path: Path) -> Iterator[Path]:
    """The path, then with 2, 3, ... before its suffix."""
    yield path
    yield from (path.with_name(f"{path.stem}.{number}{path.suffix}") for number in count(2))


@contextmanager
def _taking_place_of(path: Path) -> Iterator[BinaryIO]:
    if is_stream(path):
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC), "wb") as stream:
            yield stream
        return
    part = path.with_name(f".{os.urandom(8).hex()}.part")
    # By a name that cannot be guessed, and only if nothing is there: no link or file is ever written through.
    descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(descriptor, "w+b") as file:
            if path.is_file() and not path.is_symlink():
                # Who hid a report goes on hiding it.
                os.fchmod(descriptor, path.stat().st_mode & 0o777)
            yield file
            file.flush()
            part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def is_stream(path: Path) -> bool:
    """Whether there is something to write into rather than to replace: a device, a pipe, a file that is open."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return path.parts[:2] == ("/", "proc") or path.parent in (Path("/dev"), Path("/dev/fd")) or not stat.S_ISREG(mode)


def _read_whole(path: Path) -> bytes:
    """All bytes as they are at one moment, also of a run that is still being measured: its file only ever grows."""
    for _ in range(_TRIES):
        with open_plain(path) as file:
            status = os.fstat(file.fileno())
            if status.st_size > MOST_BYTES:
                raise RunFileError(_too_large(path, f"{status.st_size} bytes", MOST_BYTES))
            data = _all_of(file, path, "bytes")
        if not stat.S_ISREG(status.st_mode) or len(data) == status.st_size:
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


def _is_deep(data: bytes) -> bool:
    """Whether brackets outside of strings are nested too deeply; takes a tenth of the time of decoding."""
    if b"\\" in data:
        data = data.replace(rb"\\", b"").replace(rb"\"", b"")
    # Two quotes side by side end what the brackets around them are in, and begin it again: strings stay strings.
    brackets = data.translate(_BRACKETS, _OTHERS).replace(b'""', b"")
    if b'"' in brackets:
        brackets = b"".join(brackets.split(b'"')[::2])
    for _ in range(MOST_LEVELS):
        if b"[]" not in brackets:
            # What is left was never closed, or closed too often, and is refused by the decoder at that place.
            return brackets.count(b"[") > MOST_LEVELS
        brackets = brackets.replace(b"[]", b"")
    return bool(brackets)


def _too_large(path: Path, content: str, most: int) -> str:
    return f"{path}: {content}, and a file of its size may have {most}; is it another kind of file, or damaged?"
