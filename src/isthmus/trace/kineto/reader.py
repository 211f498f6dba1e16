"""Reads the JSON of the torch profiler (Kineto), plain or gzipped, with lines of Python and operators of torch."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from isthmus.errors import TraceFileError
from isthmus.trace import vendors
from isthmus.trace.columns import UNKNOWN, Calls, Copies, Integers, Intervals, Ranges
from isthmus.trace.json_text import EXPECTED
from isthmus.trace.kineto.records import MOST_RECORDS, Records, Table
from isthmus.trace.kineto.slices import Slices
from isthmus.trace.recorded import grouped, looked_up
from isthmus.trace.trace import Knowledge, Process, Site, Trace

# ``train.py(42): step``; builtins and modules, which have no line, are named otherwise.
_FRAME = re.compile(r"(.+)\((\d+)\): (.+)")
# Deeper recursions are cut off at the outer end.
_DEEPEST = 64
Columns = dict[str, Integers]


def read_kineto(path: Path) -> Trace:
    """The trace in a file of the torch profiler.

    Such a file says nothing of pages of managed memory, and often nothing of waits: then a trace does not know of them,
    which does not mean that there were none. Raises TraceFileError for a file that is unreadable or holds no list of
    events. Of one that is cut off or damaged, what is before that is taken; single records that cannot be right are
    left out. `Trace.notes` tells of both.
    """
    slices = Slices(path)
    records = Records()
    for section, events in slices:
        if len(records) >= MOST_RECORDS:
            slices.notes.append(f"Only the first {MOST_RECORDS} records were read: record a shorter time.")
            break
        records.add(section, events)

    records.drop_moments_before_a_clock()
    version = slices.header.get("schemaVersion")
    if not records.is_of_torch and not slices.notes and version is None:
        raise TraceFileError(f"{path}: events of another program: none is of a profiler of torch; {EXPECTED}")
    calls = records.calls.sorted_columns()
    calls["correlation"] = records.flows.of_calls(calls)
    calls["site"], sites = call_sites(records, calls)
    pids = tuple(records.host_pids)
    process_of = {pid: place for place, pid in enumerate(pids)}
    calls["process"] = looked_up(calls.pop("pid"), process_of)
    copies = _with_ends_of_calls(_joined(records, records.copies, calls, pids), calls)
    ranges = records.ranges.sorted_columns()
    ranges["process"] = looked_up(ranges.pop("pid"), process_of)
    notes = (*slices.notes, *_notes(records, copies, whole=not slices.notes))
    return Trace(
        path=path,
        maker="xla" if records.xla.devices else "rocprof" if records.is_of_rocprof else "kineto",
        version=str(version) if isinstance(version, int) else "",
        processes=_processes(records),
        devices=records.devices,
        names=tuple(records.names),
        copies=Copies.filled(copies, migration=np.zeros_like(copies["start_ns"])),
        calls=Calls.filled(calls),
        kernels=Intervals.filled(_joined(records, records.kernels, calls, pids)),
        memsets=Intervals.filled(_joined(records, records.memsets, calls, pids)),
        synchronizations=Intervals.filled(_joined(records, records.waits, calls, pids)),
        knows=_knowledge(records, copies, sites),
        sites=sites,
        ranges=Ranges(**ranges),
        range_names=tuple(records.frame_names) if len(records.ranges) else (),
        notes=notes,
        lost=notes,
    )


def _processes(records: Records) -> tuple[Process, ...]:
    pids = tuple(records.host_pids)
    # The file of a rank is of one process; where somebody merged several, the rank is of one of them.
    rank = records.rank if len(pids) == 1 else None
    return tuple(Process(pid, records.process_names.get(pid, ""), rank) for pid in pids)


def _joined(records: Records, table: Table, calls: Columns, pids: tuple[int, ...]) -> Columns:
    """The columns of what a device did, with the call that asked for it and its process instead of the correlation."""
    columns = table.sorted_columns()
    call = _calls_of(records.flows.of_device(columns), calls)
    del columns["correlation"]
    # Devices do not name the process, but most files are of one.
    alone = 0 if len(pids) == 1 else UNKNOWN
    process = np.full_like(call, alone)
    process[call != UNKNOWN] = calls["process"][call[call != UNKNOWN]]
    return {**columns, "call": call, "process": process}


def _with_ends_of_calls(copies: Columns, calls: Columns) -> Columns:
    """The copies with sizes and addresses that only calls tell, as those of ROCm do."""
    called = np.flatnonzero(copies["call"] != UNKNOWN)
    of = copies["call"][called]
    # A call that made several copies tells the size of none.
    alone = np.bincount(of, minlength=calls["bytes"].size)[of] == 1 if of.size else np.zeros(0, np.bool_)
    lacking = called[alone & (copies["bytes"][called] == UNKNOWN)]
    sizes = copies["bytes"].copy()
    sizes[lacking] = calls["bytes"][copies["call"][lacking]]
    addresses = {f"{end}_address": np.full_like(sizes, UNKNOWN) for end in ("source", "destination")}
    for end in ("source", "destination"):
        addresses[f"{end}_address"][called[alone]] = calls[end][of[alone]]
    return {**copies, **addresses, "bytes": sizes}


def _calls_of(correlation: Integers, calls: Columns) -> Integers:
    """The call of each correlation: the first of those that have it, the outermost."""
    distinct, first, inverse = np.unique(calls["correlation"], return_index=True, return_inverse=True)
    # Two processes of a merged file may count alike; then it is unknown whose copy it is. 0 is no correlation.
    usable = distinct > 0
    usable[inverse[calls["process"] != calls["process"][first][inverse]]] = False
    distinct, first = distinct[usable], first[usable]
    if not distinct.size:
        return np.full_like(correlation, UNKNOWN)
    place = np.minimum(np.searchsorted(distinct, correlation), distinct.size - 1)
    return np.where(distinct[place] == correlation, first[place], UNKNOWN)


def _knowledge(records: Records, copies: Columns, sites: tuple[Site, ...]) -> frozenset[Knowledge]:
    addresses = [copies[end] for end in ("source_address", "destination_address")]
    recorded: dict[Knowledge, bool] = {
        "calls": len(records.calls) > 0,
        "kernels": len(records.kernels) > 0,
        "synchronizations": len(records.waits) > 0,
        "call_sites": len(sites) > 0,
        "addresses": any((column != UNKNOWN).any() for column in addresses),
    }
    return frozenset(knowledge for knowledge, known in recorded.items() if known)


def _notes(records: Records, copies: Columns, *, whole: bool) -> list[str]:
    notes = []
    if records.without_time:
        notes.append(f"Left out {records.without_time} records, whose times are missing or cannot be.")
    if incomplete := records.pairs.incomplete:
        notes.append(f"Left out {incomplete} events, whose beginning or end is missing.")
    if without := int((copies["bytes"] == UNKNOWN).sum()):
        notes.append(
            f"{without} of {copies['bytes'].size} copies do not tell their size; bytes are those of the others."
        )
    if records.fills_without_bytes:
        notes.append(f"Left out {records.fills_without_bytes} fills, whose sizes are missing or cannot be.")
    if others := records.unread_devices:
        notes.append(f"What devices did is in events that are not read: {', '.join(others)}.")
    elif whole and not records.has_device:
        # Calls alone are there where a device's own records were not asked for, or another tool took them.
        what = "what devices did" if records.has_accelerator else "an accelerator"
        activities = "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"
        notes.append(f"Nothing of {what} was recorded; profile with {activities}, and no other profiler.")
    return notes


def call_sites(records: Records, calls: Mapping[str, Integers]) -> tuple[Integers, tuple[Site, ...]]:
    """For each call the index of where it was made, and those places; only of calls that advice asks about."""
    site = np.full(calls["start_ns"].size, UNKNOWN)
    kinds = (vendors.copies, vendors.waits, vendors.pins, vendors.allocates, vendors.frees)
    asked = [any(is_one(name) for is_one in kinds) for name in records.names]
    rows = np.flatnonzero(np.isin(calls["name"], np.flatnonzero(asked)))
    lines, operators = (_around(table, calls, rows) for table in (records.frames, records.operators))
    names = list(records.frame_names)
    sites: dict[Site, int] = {}
    for row in sorted({*lines, *operators}):
        # The outermost operator is what the program called.
        frames = [names[operators[row][-1]]] if row in operators else []
        frames += [line for name in lines.get(row, ()) if (line := _line(names[name]))]
        if frames:
            site[row] = sites.setdefault(tuple(frames), len(sites))
    return site, tuple(sites)


def _around(table: Table, calls: Mapping[str, Integers], rows: Integers) -> dict[int, tuple[int, ...]]:
    """For each of these calls that has any the names of what it was made in, the innermost first."""
    if not len(table) or not rows.size:
        return {}
    frames = table.sorted_columns()
    stacks: dict[int, tuple[int, ...]] = {}
    owner = np.concatenate([np.zeros(frames["pid"].size, np.int64), np.ones(rows.size, np.int64)])
    pids, threads = (np.concatenate([frames[key], calls[key][rows]]) for key in ("pid", "thread"))
    for group in grouped(pids, threads):
        called = rows[group[owner[group] == 1] - frames["pid"].size]
        within = group[owner[group] == 0]
        begun = np.sort(calls["start_ns"][called])
        # Most hold no such call.
        first, last = (np.searchsorted(begun, frames[key][within]) for key in ("start_ns", "end_ns"))
        stacks.update(_nested(frames, within[last > first], calls["start_ns"], called))
    return stacks


def _nested(
    frames: Mapping[str, Integers], within: Integers, started: Integers, called: Integers
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Each call of one thread with what was open when it began."""
    # What begins at one moment, the longest first.
    order = within[np.lexsort((-frames["end_ns"][within], frames["start_ns"][within]))]
    begins, ends, names = (frames[key][order].tolist() for key in ("start_ns", "end_ns", "name"))
    opened: list[tuple[int, tuple[int, ...]]] = []
    place = 0
    for call in called[np.argsort(started[called], kind="stable")].tolist():
        moment = int(started[call])
        while place < len(begins) and begins[place] <= moment:
            while opened and opened[-1][0] <= begins[place]:
                opened.pop()
            outer = opened[-1][1] if opened else ()
            opened.append((ends[place], (names[place], *outer[: _DEEPEST - 1])))
            place += 1
        while opened and opened[-1][0] < moment:
            opened.pop()
        if opened:
            yield call, opened[-1][1]


def _line(name: str) -> str:
    """A frame as other traces have it, ``train.py:42 step``; empty for what has no line."""
    match = _FRAME.fullmatch(name)
    return f"{match[1]}:{match[2]} {match[3]}" if match and not name.startswith("<") else ""
