"""A trace as figures: what moved in each direction, how busy each device was, and the rows of nvprof's two tables."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from isthmus.report.trace.names import copy_kinds
from isthmus.trace import DIRECTIONS, UNKNOWN, Copies, Integers, Intervals, Trace, Union, grouped, kernel_name, union


@dataclass(frozen=True)
class Moved:
    """Copies of one direction, or migrations of it; `busy_ns` counts time once in which several were in progress."""

    direction: int
    migration: bool
    copies: int
    bytes: int
    busy_ns: int
    # Whether some do not tell their size, so that there were more bytes.
    is_least: bool = False


@dataclass(frozen=True)
class DeviceShare:
    """Time in which a device copied, computed or set memory, both at once or nothing, in nanoseconds."""

    device: int
    copying_ns: int
    computing_ns: int
    both_ns: int
    idle_ns: int


@dataclass(frozen=True)
class KernelsRecorded:
    """In how many windows kernels were recorded where not all were, and how much of the time that is."""

    windows: int
    recorded_ns: int
    share: float


def kernels_recorded(trace: Trace) -> KernelsRecorded | None:
    """None where all kernels were recorded, or none."""
    if not len(trace.windows):
        return None
    recorded = union(trace.windows.start_ns, trace.windows.end_ns).length
    begin, end = trace.span_ns
    return KernelsRecorded(len(trace.windows), recorded, recorded / max(end - begin, recorded))


def moved(trace: Trace) -> list[Moved]:
    """In the order of the directions, copies before migrations; those that do not occur are left out."""
    copies, totals = trace.copies, []
    for migration in (False, True):
        for direction in (*range(len(DIRECTIONS)), UNKNOWN):
            chosen: Integers = (copies.direction == direction) & ((copies.migration == 1) == migration)
            if chosen.any():
                busy = union(copies.start_ns[chosen], copies.end_ns[chosen]).length
                total = int(copies.bytes[chosen].clip(0).sum())
                is_least = bool((copies.bytes[chosen] < 0).any())
                totals.append(Moved(direction, migration, int(chosen.sum()), total, busy, is_least))
    return totals


def shares(trace: Trace) -> list[DeviceShare]:
    """One for every device that did anything, within the span of the trace.

    Where kernels were recorded in windows alone, what those took is taken for as much of the whole time.
    """
    begin, end = trace.span_ns
    whole = Union(np.array([begin]), np.array([end]))
    all_shares = []
    for device in devices_of(trace):
        known = recorded_on(trace, device)
        scale = (end - begin) / known.length if known and known.length else 1.0
        copying = _busy_ns(device, whole, trace.copies)
        copied, computing, busy = (
            round(scale * _busy_ns(device, known or whole, *tables))
            for tables in (
                (trace.copies,),
                (trace.kernels, trace.memsets),
                (trace.copies, trace.kernels, trace.memsets),
            )
        )
        idle = max(end - begin - busy - max(copying - copied, 0), 0)
        all_shares.append(DeviceShare(device, copying, computing, copied + computing - busy, idle))
    return all_shares


def recorded_on(trace: Trace, device: int) -> Union | None:
    """When kernels of a device were recorded: in windows of processes that run there; None for all the time."""
    running = np.unique(trace.kernels.process[trace.kernels.device == device])
    windows = trace.windows.taken(np.isin(trace.windows.process, running))
    if not len(windows.process):
        return None
    return union(windows.start_ns, windows.end_ns)


def devices_of(trace: Trace) -> list[int]:
    """The devices that did anything, by number; those that are not known share UNKNOWN."""
    used = [table.device for table in (trace.copies, trace.kernels, trace.memsets)]
    return sorted({int(device) for column in used for device in np.unique(column)})


def _busy_ns(device: int, within: Union, *tables: Copies | Intervals) -> int:
    """Time in which at least one record of these tables was in progress on the device."""
    chosen = [table.taken(table.device == device) for table in tables]
    starts, ends = (np.concatenate([getattr(table, name) for table in chosen]) for name in ("start_ns", "end_ns"))
    return int(union(starts, ends).covered(within.begin, within.end).sum())


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
