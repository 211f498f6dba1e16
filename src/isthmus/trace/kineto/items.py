"""Goes through a JSON file of the torch profiler and keeps a few values of each event: such files have gigabytes.

Memory is bounded whatever the file says: values are taken out of 64 KiB at a time, and only those that somebody asks
for are kept, until their event ends.
"""

import codecs
import gzip
import stat
import zlib
from collections.abc import Iterator
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from typing import Any, NamedTuple

import ijson

from isthmus.errors import TraceFileError
from isthmus.messages import printable

# How errors about files of others end.
EXPECTED = "expected a trace of the torch profiler; make one with: profiler.export_chrome_trace('trace.json')"
_GZIP = b"\x1f\x8b"
_CHUNK_BYTES = 64 << 10
# Real events nest six deep, and the longest value of a real one is a list of shapes.
_DEEPEST = 200
_LONGEST_VALUE_BYTES = 16 << 20
_LONGEST_TEXT = 1000
_TOP_KEYS_SHOWN = 5
# The profiler writes control characters and half characters into names (pytorch#136180, pytorch#130622, kineto#988),
# which no JSON may hold. Outside texts, those that may stand there mean as much as a space.
_CONTROL_CHARACTERS = bytes.maketrans(bytes(range(32)), b" " * 32)

_STARTS = frozenset({"start_map", "start_array"})
_ENDS = frozenset({"end_map", "end_array"})
_SECTIONS = frozenset({"traceEvents", "deviceProperties", "distributedInfo"})
_OF_EVENTS = {"ph", "cat", "name", "pid", "tid", "ts", "dur"}
_OF_ARGUMENTS = {"device", "stream", "correlation", "bytes", "size", "src", "dst", "kind"}
_OF_XLA = {"correlation_id", "memcpy_details"}
_OF_PEER_COPIES = {"fromDevice", "inDevice", "toDevice"}
_OF_THE_REST = {"labels", "id", "rank", "schemaVersion"}
_WANTED = frozenset(_OF_EVENTS | _OF_ARGUMENTS | _OF_XLA | _OF_PEER_COPIES | _OF_THE_REST)


class Item(NamedTuple):
    """One object of a section of the file: an event, or the description of a device or of the run."""

    section: str
    fields: dict[str, object]
    # Those of the object ``args`` within.
    arguments: dict[str, object]


class Items:
    """The items of one file, once; the rest of what it says stands in the attributes afterwards."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Values of the file as a whole.
        self.header: dict[str, object] = {}
        self.notes: list[str] = []
        self._top_keys: list[str] = []
        self._has_events = False
        self._bytes_read = 0
        # What is wrong with the file from there on, if anything.
        self._damage = ""

    def __iter__(self) -> Iterator[Item]:
        """Raises TraceFileError for what cannot be read, or holds no list of events; notes where a list breaks off."""
        yield from self._items()
        if not self._has_events:
            keys = f"with the keys {', '.join(self._top_keys)}" if self._top_keys else "without keys"
            damage = self._damage or f"JSON {keys}"
            raise TraceFileError(f"{self.path}: no list of events: {damage}; {EXPECTED}")
        if self._damage:
            self.notes.append(f"Only about the first {self._bytes_read >> 10} KiB of JSON were read: {self._damage}.")

    def _items(self) -> Iterator[Item]:
        # Chrome takes a bare list of events, too.
        section, key = "traceEvents", ""
        item: Item | None = None
        # Where the values of each object or list that is open go.
        targets: list[dict[str, object] | None] = [None]
        for batch in self._batches():
            for kind, value in batch:
                if kind == "map_key":
                    key = value
                    if targets[-1] is self.header:
                        section = value
                        self._add_top_key(value)
                elif kind in _STARTS:
                    is_map = kind == "start_map"
                    target = self.header if len(targets) == 1 else None
                    if item is None and is_map and 1 < len(targets) <= 3 and section in _SECTIONS:
                        item = Item(section, {}, {})
                        target = item.fields
                    elif item is not None and is_map and key == "args" and targets[-1] is item.fields:
                        target = item.arguments
                    targets.append(target)
                    if len(targets) > _DEEPEST:
                        self._damage = f"something nests more than {_DEEPEST} deep"
                        return
                elif kind in _ENDS:
                    if item is not None and targets[-1] is item.fields:
                        yield item
                        self._has_events = self._has_events or (section == "traceEvents" and "ph" in item.fields)
                        item = None
                    targets.pop()
                elif key in _WANTED and (target := targets[-1]) is not None and kind != "boolean":
                    target[key] = value

    def _batches(self) -> Iterator[list[tuple[str, Any]]]:
        """What the parser makes of each chunk: kinds and values, which are int or Decimal where they are numbers."""
        batch = ijson.sendable_list()
        parser = ijson.basic_parse_coro(batch)
        without_end = 0
        try:
            for chunk in self._chunks():
                parser.send(chunk)
                # The parser keeps what it has of a value until that ends.
                without_end = 0 if batch else without_end + len(chunk)
                if without_end > _LONGEST_VALUE_BYTES:
                    self._damage = f"a single value is longer than {_LONGEST_VALUE_BYTES >> 20} MiB"
                    return
                yield batch
                batch.clear()
            if not self._damage:
                parser.send(b"")
        except StopIteration:
            pass
        except ijson.JSONError as error:
            self._damage = f"cut off or damaged ({_reason(error)})"
        except (ArithmeticError, SystemError, ValueError):
            # A number of thousands of digits, of which ijson leaves a tuple that must not be looked at.
            batch.clear()
            self._damage = "a number is absurdly long"
        finally:
            # Parsers in Python complain on stderr of what they are left with.
            with suppress(ijson.JSONError):
                parser.close()
        yield batch

    def _chunks(self) -> Iterator[bytes]:
        """The file's text as UTF-8 without control characters, decompressed."""
        decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        try:
            # Anything else, a pipe say, might never end.
            if not stat.S_ISREG(self.path.stat().st_mode):
                raise TraceFileError(f"{self.path}: not a regular file; {EXPECTED}")
            with self.path.open("rb") as file:
                begin = file.peek(len(_GZIP))[: len(_GZIP)]
                source = gzip.GzipFile(fileobj=file) if begin == _GZIP else file
                while data := self._read(source):
                    self._bytes_read += len(data)
                    yield decoder.decode(data).encode().translate(_CONTROL_CHARACTERS)
            if not self._bytes_read and not self._damage:
                self._damage = "the file is empty"
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            raise TraceFileError(f"{self.path}: cannot be read: {reason or error}") from error

    def _read(self, source: BufferedReader | gzip.GzipFile) -> bytes:
        try:
            return source.read1(_CHUNK_BYTES)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self._damage = f"its gzip data is cut off or damaged ({_reason(error)})"
            return b""

    def _add_top_key(self, key: str) -> None:
        self._has_events = self._has_events or key == "traceEvents"
        if len(self._top_keys) < _TOP_KEYS_SHOWN:
            self._top_keys.append(shown(key, 40))


def _reason(error: Exception) -> str:
    """The first line of a message; the others show a part of the file."""
    return shown(str(error).strip().partition("\n")[0], 100)


def shown(text: str, most: int = _LONGEST_TEXT) -> str:
    """A text cut to a length that can be shown, which no terminal takes for a command."""
    return printable(text[:most])
