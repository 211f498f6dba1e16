"""The copies of a trace one by one, for scripts: names in place of numbers, None for what is not known."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from isthmus.trace import CAUSES, DIRECTIONS, MEMORY_KINDS, UNKNOWN, Calls, Copies, Intervals, Trace

# Scripts rely on them: new ones are only ever appended. Times count from the first record of the trace.
COPY_COLUMNS = (
    *("start_ns", "duration_ns", "direction", "source", "destination", "bytes", "pid", "rank", "device", "stream"),
    *("migration", "cause", "call", "thread", "call_start_ns", "call_duration_ns"),
    *("source_address", "destination_address", "rows", "content", "estimated", "site"),
)
# Columns of copies after their times, in the order in which `copy_records` takes them.
_OWN = (
    *("direction", "source", "destination", "bytes", "process", "device", "stream", "migration", "cause"),
    *("source_address", "destination_address", "rows", "content", "estimated"),
)
# Rows that are Python objects at a time.
_CHUNK = 1 << 16
_WORD = (1 << 64) - 1
_Chunked = TypeVar("_Chunked", Calls, Copies, Intervals)


def copy_records(trace: Trace) -> Iterator[tuple[Any, ...]]:
    """A value for each of COPY_COLUMNS of every copy and migration, by when they began on the device."""
    first, _ = trace.span_ns
    calls = trace.calls
    for copies in in_chunks(trace.copies):
        has_call = (copies.call >= 0) & (copies.call < len(calls))
        # Copies without a call get any; it is not shown.
        call = np.where(has_call, copies.call, 0)
        of_calls = [
            column[call].tolist() if len(calls) else [UNKNOWN] * len(copies)
            for column in (calls.name, calls.thread, calls.start_ns - first, calls.lasted_ns, calls.site)
        ]
        own = (copies.start_ns - first, copies.lasted_ns, *(getattr(copies, name) for name in _OWN))
        rows = zip(*(column.tolist() for column in own), has_call.tolist(), *of_calls, strict=True)
        for start, lasted, direction, source, destination, size, process, device, stream, *more in rows:
            migration, cause, begin, end, lines, content, estimated, called, name, thread, begun, took, site = more
            known = 0 <= process < len(trace.processes)
            yield (
                start,
                lasted,
                named(DIRECTIONS, direction),
                named(MEMORY_KINDS, source),
                named(MEMORY_KINDS, destination),
                known_number(size),
                trace.processes[process].pid if known else None,
                trace.processes[process].rank if known else None,
                known_number(device),
                known_number(stream),
                migration == 1,
                named(CAUSES, cause),
                named(trace.names, name) if called else None,
                known_number(thread) if called else None,
                begun if called else None,
                took if called else None,
                _hexadecimal(begin),
                _hexadecimal(end),
                known_number(lines),
                _hexadecimal(content),
                estimated == 1,
                list(trace.sites[site]) if called and 0 <= site < len(trace.sites) else None,
            )


def in_chunks(table: _Chunked) -> Iterator[_Chunked]:
    """A table in parts of so many records that each is small as Python objects."""
    for begin in range(0, len(table), _CHUNK):
        yield table.taken(np.arange(begin, min(begin + _CHUNK, len(table))))


def known_number(value: int) -> int | None:
    """None for what is not known."""
    return None if value == UNKNOWN else value


def _hexadecimal(value: int) -> str | None:
    """As text: no number of JSON holds 64 bits for everybody."""
    return None if value == UNKNOWN else f"0x{value & _WORD:x}"


def named(names: Sequence[str], number: int) -> str | None:
    """The name of this number; None for numbers that point nowhere."""
    return names[number] if 0 <= number < len(names) else None
