"""A trace in the format of chrome://tracing, which Perfetto reads: streams and threads as tracks, calls tied to copies.

The format: "Trace Event Format" of the Chromium project. Times are microseconds from the first record.
"""

import heapq
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, TextIO

import msgspec

from isthmus.document.document import Document
from isthmus.report.trace.names import copy_name
from isthmus.report.trace.records import COPY_COLUMNS, copy_records, in_chunks, known_number, named
from isthmus.trace import UNKNOWN, Calls, Intervals, Trace, direction_index, memory_index

Event = dict[str, Any]
# For records that overlap on one stream: streams themselves never do, migrations do.
_MOST_TRACKS = 32


class _Tracks:
    """Gives every stream of a process a number that no thread has, and another one to what overlaps there."""

    def __init__(self, taken: set[int]) -> None:
        self._numbers = (number for number in count(1) if number not in taken)
        # When the tracks of each stream are free again, with their numbers.
        self._free: dict[tuple[int, str], list[tuple[int, int]]] = {}
        self.names: list[Event] = []

    def track(self, pid: int, name: str, start: int, end: int) -> int:
        """Where a record belongs; records of a stream come by when they begin."""
        free = self._free.setdefault((pid, name), [])
        if free and (free[0][0] <= start or len(free) >= _MOST_TRACKS):
            number = heapq.heappop(free)[1]
        else:
            number = next(self._numbers)
            self.names.append(_label("thread_name", pid, number, name))
        heapq.heappush(free, (end, number))
        return number


def write(document: Document, out: TextIO) -> None:
    """Write the events to `out`, one a line."""
    out.write('{"format":"isthmus.events","displayTimeUnit":"ns","traceEvents":[')
    for place, event in enumerate(_events(document.subject)):
        out.write(f"{',' if place else ''}\n{msgspec.json.encode(event).decode()}")
    out.write("\n]}\n")


def _events(trace: Trace) -> Iterator[Event]:
    tracks = _Tracks(set(trace.calls.thread.tolist()))
    for process in trace.processes:
        rank = f" rank {process.rank}" if process.rank is not None else ""
        yield _label("process_name", process.pid, 0, f"{process.name or 'process'} {process.pid}{rank}")
    yield from _copies(trace, tracks)
    for table, category in ((trace.kernels, "kernel"), (trace.memsets, "memset")):
        yield from _intervals(trace, table, category, tracks)
    first, _ = trace.span_ns
    calls: Calls
    for calls in in_chunks(trace.calls):
        columns = (calls.start_ns - first, calls.lasted_ns.clip(0), calls.process, calls.thread, calls.name)
        for start, lasted, process, thread, name in zip(*(each.tolist() for each in columns), strict=True):
            yield _span(named(trace.names, name) or "", "call", _pid(trace, process), max(thread, 0), start, lasted)
    yield from tracks.names


def _copies(trace: Trace, tracks: _Tracks) -> Iterator[Event]:
    for number, record in enumerate(copy_records(trace)):
        copy = dict(zip(COPY_COLUMNS, record, strict=True))
        start, lasted, pid = copy["start_ns"], max(copy["duration_ns"], 0), copy["pid"] or 0
        stream = "migrations" if copy["migration"] else _stream(copy["stream"])
        track = tracks.track(pid, f"{_device(copy['device'])} {stream}", start, start + lasted)
        names = ("bytes", "direction", "source", "destination", "cause", "source_address", "destination_address")
        arguments = {
            name: copy[name]
            for name in (*names, "rows", "content", "estimated", "call", "site")
            if copy[name] is not None
        }
        if lasted:
            arguments["GB/s"] = round(copy["bytes"] / lasted, 3)
        yield _span(_copy_name(copy), "copy", pid, track, start, lasted) | {"args": arguments}
        if copy["call"] is not None and copy["thread"] is not None:
            flow = {"cat": "copy", "name": "copy", "id": number, "pid": pid}
            yield flow | {"ph": "s", "tid": copy["thread"], "ts": _us(copy["call_start_ns"])}
            yield flow | {"ph": "f", "bp": "e", "tid": track, "ts": _us(start)}


def _copy_name(copy: dict[str, Any]) -> str:
    def number(index: Callable[[str], int], name: str) -> int:
        return UNKNOWN if copy[name] is None else index(copy[name])

    kinds = number(memory_index, "source"), number(memory_index, "destination")
    return copy_name(number(direction_index, "direction"), *kinds, migration=copy["migration"])


def _intervals(trace: Trace, table: Intervals, category: str, tracks: _Tracks) -> Iterator[Event]:
    first, _ = trace.span_ns
    for part in in_chunks(table):
        columns = (part.start_ns - first, part.lasted_ns.clip(0), part.process, part.device, part.stream, part.name)
        for start, lasted, process, device, stream, name in zip(*(each.tolist() for each in columns), strict=True):
            pid = _pid(trace, process)
            track = tracks.track(
                pid, f"{_device(known_number(device))} {_stream(known_number(stream))}", start, start + lasted
            )
            yield _span(named(trace.names, name) or category, category, pid, track, start, lasted)


def _span(name: str, category: str, pid: int, track: int, start: int, lasted: int) -> Event:
    return {"ph": "X", "name": name, "cat": category, "pid": pid, "tid": track, "ts": _us(start), "dur": _us(lasted)}


def _label(what: str, pid: int, track: int, name: str) -> Event:
    return {"ph": "M", "name": what, "pid": pid, "tid": track, "args": {"name": name}}


def _us(nanoseconds: int) -> float:
    return nanoseconds / 1000


def _pid(trace: Trace, process: int) -> int:
    return trace.processes[process].pid if 0 <= process < len(trace.processes) else 0


def _device(number: int | None) -> str:
    return "device" if number is None else f"device {number}"


def _stream(number: int | None) -> str:
    return "stream" if number is None else f"stream {number}"
