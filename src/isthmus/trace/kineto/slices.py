"""Parses a file of events in slices of a mebibyte: whole lists of events at a time, which is several times as fast.

A slice ends where an event seems to; that it does is known because the slice parses. Whatever does not parse so is left
to the thorough parser: the beginning and the end of a file, damage, and what no profiler writes.
"""

import re
from collections.abc import Generator, Iterable, Iterator
from decimal import Decimal
from itertools import chain
from pathlib import Path

import msgspec

from isthmus.errors import TraceFileError
from isthmus.trace.json_text import CHUNK_BYTES, EXPECTED, Text
from isthmus.trace.kineto.event import Event
from isthmus.trace.kineto.items import Items

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
