"""A program's transfers as some tool recorded them: one model for the traces of all makers.

Columns are NumPy's, one entry a record, so that millions of records take tens of bytes each. Times are nanoseconds of
one clock for the whole trace; which one does not matter. What a maker's trace cannot say is -1 in a column of numbers,
and missing from `Trace.knows`.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy.typing as npt

__all__ = [
    "DIRECTIONS",
    "MEMORY_KINDS",
    "UNKNOWN",
    "Calls",
    "Copies",
    "Integers",
    "Intervals",
    "Knowledge",
    "Maker",
    "Process",
    "Trace",
    "direction_index",
    "memory_index",
]

Integers = npt.NDArray[Any]
Maker = Literal["isthmus", "nsys", "kineto"]
# What a trace may hold beyond the copies themselves.
Knowledge = Literal[
    "calls",  # which call of the driver or the runtime made a copy, by which thread, and how long it took
    "kernels",  # when the device computed
    "synchronizations",  # when a thread waited for the device
    "migrations",  # pages of managed memory that moved, as copies
    "faults",  # and what of that was faulted for
    "addresses",  # where copies began on both sides
    "allocations",  # when memory was got, registered and given back, and how much
    "call_sites",  # the lines of the program that called
    "contents",  # a hash of what was copied
]

UNKNOWN = -1
# As the columns `direction`, `source` and `destination` count them. Arrays of CUDA count as the device's memory.
DIRECTIONS = ("h2d", "d2h", "d2d", "peer", "h2h")
MEMORY_KINDS = ("pageable", "pinned", "device", "managed")


def direction_index(name: str) -> int:
    """The number of one of `DIRECTIONS`."""
    return DIRECTIONS.index(name)


def memory_index(name: str) -> int:
    """The number of one of `MEMORY_KINDS`."""
    return MEMORY_KINDS.index(name)


@dataclass(frozen=True)
class Copies:
    """Copies and migrations, by when they began on the device."""

    start_ns: Integers
    end_ns: Integers
    bytes: Integers
    direction: Integers
    # Kinds of memory.
    source: Integers
    destination: Integers
    # Indices into `Trace.processes` and, UNKNOWN where no call is known, `Trace.calls`.
    process: Integers
    call: Integers
    device: Integers
    stream: Integers
    # Whether pages of managed memory moved by themselves, without a copy of the program.
    migration: Integers

    def __len__(self) -> int:
        return int(self.start_ns.size)


@dataclass(frozen=True)
class Calls:
    """Calls of the driver and the runtime, by when they began on the host."""

    start_ns: Integers
    end_ns: Integers
    process: Integers
    thread: Integers
    # Index into `Trace.names`: ``cudaMemcpyAsync``, without the version that makers append.
    name: Integers

    def __len__(self) -> int:
        return int(self.start_ns.size)


@dataclass(frozen=True)
class Intervals:
    """Kernels, memory that is set, or waits for the device, by when they began."""

    start_ns: Integers
    end_ns: Integers
    process: Integers
    device: Integers
    stream: Integers
    # Index into `Trace.names`: of kernels theirs, of waits what was waited for (``stream``, ``device``, ``event``).
    name: Integers
    # Of memory that is set; of others 0.
    bytes: Integers

    def __len__(self) -> int:
        return int(self.start_ns.size)


@dataclass(frozen=True)
class Process:
    """One process of the program."""

    pid: int
    name: str = ""
    rank: int | None = None


@dataclass(frozen=True)
class Trace:
    """What was recorded of one program, and what is known of it."""

    path: Path
    maker: Maker
    # Of the file: ``3.25`` of nsys's exports; empty where it names none.
    version: str
    processes: tuple[Process, ...]
    # Of devices by their index, as far as the trace tells.
    devices: dict[int, str]
    names: tuple[str, ...]
    copies: Copies
    calls: Calls
    kernels: Intervals
    memsets: Intervals
    synchronizations: Intervals
    knows: frozenset[Knowledge]
    # What was left out or looked wrong, each a sentence: records with an end before their beginning, cut-off files.
    notes: tuple[str, ...] = field(default=())

    @property
    def span_ns(self) -> tuple[int, int]:
        """From the first beginning to the last end of anything; (0, 0) of an empty trace."""
        tables = (self.copies, self.calls, self.kernels, self.memsets, self.synchronizations)
        filled = [table for table in tables if len(table)]
        if not filled:
            return 0, 0
        return min(int(each.start_ns.min()) for each in filled), max(int(each.end_ns.max()) for each in filled)
