"""How much a trace moved in each direction, and how busy each device was."""

from dataclasses import dataclass

import numpy as np

from isthmus.trace import DIRECTIONS, UNKNOWN, Copies, Integers, Intervals, Trace, Union, union


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
