"""nvprof's table of a trace as figures: what the device did by kinds, and the calls of the program by names."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from isthmus.report.trace.names import copy_kinds
from isthmus.trace import Copies, Integers, Intervals, Trace, grouped, kernel_name


@dataclass(frozen=True)
class TraceRow:
    """All records of one kind, with the name that a report gives it; times in nanoseconds, bytes None where none move.

    `kind` is the name for scripts: ``copy``, ``migration``, ``memset``, ``kernel``, ``call``.
    """

    kind: str
    name: str
    calls: int
    total_ns: int
    least_ns: int
    most_ns: int
    bytes: int | None = None
    # While they were in progress, of those that the device timed; None where it timed none.
    bytes_per_second: float | None = None

    @property
    def mean_ns(self) -> float:
        """What each record took."""
        return self.total_ns / self.calls


def activity_rows(trace: Trace) -> list[TraceRow]:
    """Copies and migrations by direction and memory, memory that was set, and kernels by name; the longest first."""
    rows = [*_copies(trace.copies), *_memsets(trace.memsets)]
    # Rows of one name as one: a kernel's instances differ in what its short name leaves out.
    by_name: dict[str, TraceRow] = {}
    for row in _named("kernel", trace.kernels.name, trace.kernels.lasted_ns, trace.names, kernel_name):
        same = by_name.get(row.name)
        by_name[row.name] = row if same is None else _sum(same, row)
    rows += list(by_name.values())
    return sorted(rows, key=lambda row: -row.total_ns)


def call_rows(trace: Trace) -> list[TraceRow]:
    """Calls of the driver and the runtime by name, the longest first."""
    rows = _named("call", trace.calls.name, trace.calls.lasted_ns, trace.names, str)
    return sorted(rows, key=lambda row: -row.total_ns)


def _copies(copies: Copies) -> list[TraceRow]:
    rows = []
    for kind in copy_kinds(copies):
        row = _row("migration" if kind.migration else "copy", kind.name, copies.lasted_ns[kind.rows])
        rows.append(_with_bytes(row, copies.taken(kind.rows), copies.estimated[kind.rows] == 1))
    return rows


def _memsets(memsets: Intervals) -> list[TraceRow]:
    if not len(memsets):
        return []
    row = _row("memset", "memset", memsets.lasted_ns)
    return [_with_bytes(row, memsets, np.zeros(len(memsets), np.bool_))]


def _named(
    kind: str, numbers: Integers, lasted_ns: Integers, names: Sequence[str], shown: Callable[[str], str]
) -> list[TraceRow]:
    made = []
    for rows in grouped(numbers):
        number = int(numbers[rows[0]])
        name = shown(names[number]) if 0 <= number < len(names) else ""
        made.append(_row(kind, name or "?", lasted_ns[rows]))
    return made


def _with_bytes(row: TraceRow, records: Copies | Intervals, estimated: npt.NDArray[np.bool_]) -> TraceRow:
    """The row of these records with what they moved; without a size, or with an estimated time, none tells a rate."""
    sizes, lasted = records.bytes.clip(0), records.lasted_ns.clip(0)
    timed = ~estimated & (records.bytes >= 0)
    bytes_timed, ns_timed = int(sizes[timed].sum()), int(lasted[timed].sum())
    rate = bytes_timed / ns_timed * 1e9 if bytes_timed and ns_timed else None
    return replace(row, bytes=int(sizes.sum()), bytes_per_second=rate)


def _row(kind: str, name: str, lasted_ns: Integers) -> TraceRow:
    # Clocks of devices are set now and then: nothing lasts less than no time.
    lasted = lasted_ns.clip(0)
    return TraceRow(kind, name, lasted.size, int(lasted.sum()), int(lasted.min()), int(lasted.max()))


def _sum(one: TraceRow, other: TraceRow) -> TraceRow:
    return replace(
        one,
        calls=one.calls + other.calls,
        total_ns=one.total_ns + other.total_ns,
        least_ns=min(one.least_ns, other.least_ns),
        most_ns=max(one.most_ns, other.most_ns),
    )
