"""Parses a file of events in slices of a mebibyte: whole lists of events at a time, which is several times as fast.

A slice ends where an event seems to; that it does is known because the slice parses. Whatever does not parse so is left
to the thorough parser: the beginning and the end of a file, damage, and what no profiler writes.
"""

import re
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import ijson
import msgspec

from isthmus.errors import TraceFileError
from isthmus.trace.json_text import CHUNK_BYTES, EXPECTED, Text, reason_of, shown
from isthmus.trace.kineto.event import ARGUMENT_FIELDS, EVENT_FIELDS, Arguments, Event

# Real events nest six deep, and the longest value of a real one is a list of shapes.
_DEEPEST = 200
_LONGEST_VALUE_BYTES = 16 << 20
_TOP_KEYS_SHOWN = 5
_STARTS = frozenset({"start_map", "start_array"})
_ENDS = frozenset({"end_map", "end_array"})
SECTIONS = frozenset({"traceEvents", "deviceProperties", "distributedInfo"})
_OF_HEADER = frozenset({"schemaVersion"})
_WANTED = EVENT_FIELDS | ARGUMENT_FIELDS.keys() | _OF_HEADER
SLICE_BYTES = 1 << 20
_BEGINNING = re.compile(rb'\s*(?:\[|\{.*?"traceEvents"\s*:\s*\[)', re.DOTALL)
_BETWEEN = re.compile(rb"\}\s*,\s*\{")
# In so many bytes before the end of a slice an event begins, as a rule.
_TAIL_BYTES = 16 << 10
_MOST_CUTS = 4
# Doubles hold nanoseconds exactly until here; times since 1970 in microseconds have sixteen digits.
_LONG_TIME = re.compile(rb'"ts"\s*:\s*-?\d{13}')
_DOUBLES = msgspec.json.Decoder(list[Event])
_EXACT = msgspec.json.Decoder(list[Event], float_hook=Decimal)


class Slices:
    """The events of one file, once; the rest of what it says is in the attributes afterwards."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: list[str] = []
        self._text = Text(path)
        self._items = Items()

    @property
    def header(self) -> dict[str, object]:
        """Values of the file as a whole."""
        return self._items.header

    def __iter__(self) -> Iterator[tuple[str, list[Event]]]:
        """Events with the section that they are in; those of a device or of the run are events of their own kind.

        Raises TraceFileError for what cannot be read, or holds no list of events; notes where a list breaks off.
        """
        yield from self._batches()
        items, text = self._items, self._text
        damage = text.damage or items.damage
        if not items.has_events:
            keys = f"with the keys {', '.join(items.top_keys)}" if items.top_keys else "without keys"
            raise TraceFileError(f"{self.path}: no list of events: {damage or f'JSON {keys}'}; {EXPECTED}")
        if damage:
            self.notes.append(f"Only about the first {text.bytes_read >> 10} KiB of JSON were read: {damage}.")

    def _batches(self) -> Iterator[tuple[str, list[Event]]]:
        chunks = self._text.chunks()
        rest = b"".join(_until(chunks, SLICE_BYTES))
        begin = _BEGINNING.match(rest)
        if begin is not None and len(rest) >= SLICE_BYTES:
            # The head is looked at as a file without events.
            is_list = begin[0].strip() == b"["
            yield from self._thorough([begin[0] + (b"]" if is_list else b"]}")])
            if not self._items.damage:
                rest = yield from self._fast(chunks, rest[begin.end() :])
                rest = (b"[" if is_list else b'{"traceEvents":[') + rest
            self._items.damage = ""
        yield from self._thorough(chain(_pieces(rest), chunks))

    def _fast(self, chunks: Iterator[bytes], rest: bytes) -> Generator[tuple[str, list[Event]], None, bytes]:
        """Slice by slice as long as they parse; what remains."""
        while True:
            rest += b"".join(_until(chunks, SLICE_BYTES - len(rest)))
            parsed = _parsed(rest) if len(rest) >= SLICE_BYTES else None
            if parsed is None:
                return rest
            events, end = parsed
            self._items.has_events = self._items.has_events or any(event.ph is not None for event in events)
            yield "traceEvents", events
            # Behind the comma.
            rest = rest[rest.index(b",", end) + 1 :]

    def _thorough(self, chunks: Iterable[bytes]) -> Iterator[tuple[str, list[Event]]]:
        for section, event in self._items.events(chunks):
            yield section, [event]


def _until(chunks: Iterator[bytes], size: int) -> Iterator[bytes]:
    """Chunks until they have this many bytes."""
    while size > 0 and (chunk := next(chunks, b"")):
        yield chunk
        size -= len(chunk)


def _pieces(text: bytes) -> Iterator[bytes]:
    """The text as chunks: what a parser has of one is lost where it breaks off within."""
    return (text[at : at + CHUNK_BYTES] for at in range(0, len(text), CHUNK_BYTES))


def _parsed(text: bytes) -> tuple[list[Event], int] | None:
    """The events until where one seems to end near the end of the text, and that place; None where nothing parses."""
    decoder = _EXACT if _LONG_TIME.search(text, 0, _TAIL_BYTES) else _DOUBLES
    ends = [match.start() + 1 for match in _BETWEEN.finditer(text, max(len(text) - _TAIL_BYTES, 0))]
    for end in ends[: -_MOST_CUTS - 1 : -1]:
        try:
            return decoder.decode(b"[" + text[:end] + b"]"), end
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            continue
    # What no profiler writes is read here, too, lest one odd event makes all of a large file slow.
    for end in ends[-1:]:
        items = Items()
        events = [event for _, event in items.events([b"[" + text[:end] + b"]"])]
        if not items.damage:
            return events, end
    return None


class _Item(NamedTuple):
    """One object of a section of the file, while its values come."""

    section: str
    fields: dict[str, Any]
    # Those of the object ``args`` within.
    arguments: dict[str, Any]

    @property
    def event(self) -> Event:
        arguments = {ARGUMENT_FIELDS[key]: value for key, value in self.arguments.items() if key in ARGUMENT_FIELDS}
        fields = {key: value for key, value in self.fields.items() if key in EVENT_FIELDS}
        return Event(**fields, args=Arguments(**arguments) if arguments else None)


class Items:
    """The events of one text, once; the rest of what it says is in the attributes afterwards."""

    def __init__(self) -> None:
        # Values of the file as a whole.
        self.header: dict[str, Any] = {}
        self.top_keys: list[str] = []
        self.has_events = False
        # What is wrong with the text from there on, if anything.
        self.damage = ""

    def events(self, chunks: Iterable[bytes]) -> Iterator[tuple[str, Event]]:
        """Each object with the section that it is in."""
        # Chrome takes a bare list of events, too.
        section, key = "traceEvents", ""
        item: _Item | None = None
        # Where the values of each object or list that is open go.
        targets: list[dict[str, Any] | None] = [None]
        for batch in self._batches(chunks):
            for kind, value in batch:
                if kind == "map_key":
                    key = value
                    if targets[-1] is self.header:
                        section = value
                        self._add_top_key(value)
                elif kind in _STARTS:
                    is_map = kind == "start_map"
                    target = self.header if len(targets) == 1 else None
                    if item is None and is_map and 1 < len(targets) <= 3 and section in SECTIONS:
                        item = _Item(section, {}, {})
                        target = item.fields
                    elif item is not None and is_map and key == "args" and targets[-1] is item.fields:
                        target = item.arguments
                    targets.append(target)
                    if len(targets) > _DEEPEST:
                        self.damage = f"something nests more than {_DEEPEST} deep"
                        return
                elif kind in _ENDS:
                    if item is not None and targets[-1] is item.fields:
                        yield section, item.event
                        self.has_events = self.has_events or (section == "traceEvents" and "ph" in item.fields)
                        item = None
                    targets.pop()
                elif key in _WANTED and (target := targets[-1]) is not None and kind != "boolean":
                    target[key] = value

    def _batches(self, chunks: Iterable[bytes]) -> Iterator[list[tuple[str, Any]]]:
        """What the parser makes of each chunk: kinds and values, which are int or Decimal where they are numbers."""
        batch = ijson.sendable_list()
        parser = ijson.basic_parse_coro(batch)
        without_end = 0
        try:
            for chunk in chunks:
                parser.send(chunk)
                # The parser keeps what it has of a value until that ends.
                without_end = 0 if batch else without_end + len(chunk)
                if without_end > _LONGEST_VALUE_BYTES:
                    self.damage = f"a single value is longer than {_LONGEST_VALUE_BYTES >> 20} MiB"
                    return
                yield batch
                batch.clear()
            parser.send(b"")
        except StopIteration:
            pass
        except ijson.JSONError as error:
            self.damage = f"cut off or damaged ({reason_of(error)})"
        except (ArithmeticError, SystemError, ValueError):
            # A number of thousands of digits, of which ijson leaves a tuple that must not be looked at.
            batch.clear()
            self.damage = "a number is absurdly long"
        finally:
            # Parsers in Python complain on stderr of what they are left with.
            with suppress(ijson.JSONError):
                parser.close()
        yield batch

    def _add_top_key(self, key: str) -> None:
        self.has_events = self.has_events or key == "traceEvents"
        if len(self.top_keys) < _TOP_KEYS_SHOWN:
            self.top_keys.append(shown(key, 40))
