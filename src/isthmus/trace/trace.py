"""A program's transfers as some tool recorded them: one model for the traces of all makers.

Times are nanoseconds of one clock for the whole trace; which one does not matter. What a maker's trace cannot say is
UNKNOWN in a column of numbers, and missing from `Trace.knows`.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from isthmus.errors import as_text
from isthmus.trace.columns import Allocations, Calls, Copies, Faults, Intervals, Ranges, Windows

Maker = Literal["isthmus", "nsys", "kineto", "xla", "rocprof"]
# What a trace may hold beyond the copies themselves.
Knowledge = Literal[
    "calls",  # which call of the driver or the runtime made a copy, by which thread, and how long it took
    "kernels",  # when the device computed
    "synchronizations",  # when a thread waited for the device
    "migrations",  # pages of managed memory that moved, as copies
    "faults",  # and what of that was faulted for
    "addresses",  # where copies began on both sides
    "allocations",  # when memory was allocated, registered and freed, and how much
    "call_sites",  # the lines of the program that called
    "contents",  # a hash of what was copied
]
# Where a call came from, the innermost frame first: ``train.py:42 step``, ``libapp.so+0x1f40 exchange``.
Site = tuple[str, ...]


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
    # The file's version, such as ``3.25`` of nsys's exports; empty where it names none.
    version: str
    processes: tuple[Process, ...]
    # Names of devices by their index, as far as the trace tells.
    devices: dict[int, str]
    names: tuple[str, ...]
    copies: Copies
    calls: Calls
    kernels: Intervals
    memsets: Intervals
    synchronizations: Intervals
    knows: frozenset[Knowledge]
    allocations: Allocations = field(default_factory=Allocations.empty)
    faults: Faults = field(default_factory=Faults.empty)
    sites: tuple[Site, ...] = ()
    ranges: Ranges = field(default_factory=Ranges.empty)
    range_names: tuple[str, ...] = ()
    # When kernels of a process were recorded, where that was a part of the time; a process without has all.
    windows: Windows = field(default_factory=Windows.empty)
    # What was left out or looked wrong, each a sentence: records with an end before their beginning, cut-off files.
    notes: tuple[str, ...] = ()
    # Those of the notes by which records are missing or wrong: over them nothing can be reported to be all right.
    lost: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The file's name, as text."""
        return as_text(self.path.name)

    @property
    def span_ns(self) -> tuple[int, int]:
        """From the first beginning to the last end of anything; (0, 0) of an empty trace."""
        tables = (self.copies, self.calls, self.kernels, self.memsets, self.synchronizations)
        filled = [table for table in tables if len(table)]
        if not filled:
            return 0, 0
        return min(int(each.start_ns.min()) for each in filled), max(int(each.end_ns.max()) for each in filled)
