"""The text of a JSON file, plain or compressed, in chunks of UTF-8 without control characters."""

import codecs
import gzip
import stat
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

from isthmus.errors import TraceFileError
from isthmus.messages import printable

# How errors about files of others end.
EXPECTED = "expected a trace of the torch profiler; make one with: profiler.export_chrome_trace('trace.json')"
_GZIP = b"\x1f\x8b"
CHUNK_BYTES = 64 << 10
_LONGEST_TEXT = 1000
# The profiler writes control characters and half characters into names (pytorch#136180, pytorch#130622, kineto#988),
# which no JSON may hold. Outside texts, those that may be there mean as much as a space.
_CONTROL_CHARACTERS = bytes.maketrans(bytes(range(32)), b" " * 32)


class Text:
    """The chunks of one file, once; afterwards, how much that was and what is wrong from there on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bytes_read = 0
        self.damage = ""

    def chunks(self) -> Iterator[bytes]:
        """Raises TraceFileError for what cannot be read."""
        decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        try:
            # Anything else, a pipe say, might never end.
            if not stat.S_ISREG(self.path.stat().st_mode):
                raise TraceFileError(f"{self.path}: not a regular file; {EXPECTED}")
            with self.path.open("rb") as file:
                begin = file.peek(len(_GZIP))[: len(_GZIP)]
                source = gzip.GzipFile(fileobj=file) if begin == _GZIP else file
                while data := self._read(source):
                    is_plain = self.bytes_read > 0 and data.isascii() and not decoder.getstate()[0]
                    self.bytes_read += len(data)
                    text = data if is_plain else decoder.decode(data).encode()
                    yield text.translate(_CONTROL_CHARACTERS)
            if not self.bytes_read and not self.damage:
                self.damage = "the file is empty"
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            raise TraceFileError(f"{self.path}: cannot be read: {reason or error}") from error

    def _read(self, source: BufferedReader | gzip.GzipFile) -> bytes:
        try:
            return source.read1(CHUNK_BYTES)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self.damage = f"its gzip data is cut off or damaged ({reason_of(error)})"
            return b""


def reason_of(error: Exception) -> str:
    """The first line of a message; the others show a part of the file."""
    return shown(str(error).strip().partition("\n")[0], 100)


def shown(text: str, most: int = _LONGEST_TEXT) -> str:
    """A text cut to a length that can be shown, which no terminal takes for a command."""
    return printable(text[:most])
