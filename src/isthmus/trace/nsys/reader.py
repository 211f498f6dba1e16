"""Reads the SQLite exports of Nsight Systems: ``nsys export --type sqlite``."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from isthmus.errors import TraceFileError
from isthmus.trace.columns import UNKNOWN, Calls, Copies, Integers, Intervals, Ranges, memory_index
from isthmus.trace.nsys.records import (
    Columns,
    device_names,
    directions,
    memory_kinds,
    migrations,
    number_devices,
    number_processes,
    operations,
    processes,
    records,
    synchronizations,
    version,
)
from isthmus.trace.nsys.tables import Tables, opened
from isthmus.trace.others import what_database
from isthmus.trace.recorded import CAUSE_OF, Names, call_name, looked_up, places_of, sound_rows
from isthmus.trace.trace import Knowledge, Process, Trace

_COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
_CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"  # Those of the driver, too.
_KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
_MEMSETS = "CUPTI_ACTIVITY_KIND_MEMSET"
_WAITS = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
_GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
# What a trace knows where these hold anything: nsys makes most tables only for what was recorded.
_EVIDENCE: dict[str, Knowledge] = {
    _CALLS: "calls",
    _KERNELS: "kernels",
    _WAITS: "synchronizations",
    "CUDA_UM_CPU_PAGE_FAULT_EVENTS": "faults",
    "CUDA_UM_GPU_PAGE_FAULT_EVENTS": "faults",
    "CUDA_CALLCHAINS": "call_sites",
}
_ON_DEVICE = ("globalPid", "deviceId", "streamId", "correlationId")
_OF_COPIES = (*_ON_DEVICE, "srcKind", "dstKind", "migrationCause", "virtualAddress")
_RANGES = "NVTX_EVENTS"
_DIAGNOSTICS = "DIAGNOSTIC_EVENT"
_ERROR = 3
# Pushed and popped, and started and ended.
_RANGE_TYPES = (59, 60)
_LOW_24_BITS = 0xFFFFFF


def read_nsys(path: Path) -> Trace:
    """The trace in an SQLite export of nsys.

    Devices are numbered as the machine does where the export tells how, else as each process does. Raises
    TraceFileError for a file that is unreadable, cut off, damaged or no such export. Single records that cannot be
    right are left out and counted in `Trace.notes`.
    """
    with opened(path) as tables:
        _check_export(tables)
        copies = records(tables, _COPIES, ("bytes", "copyKind"), _OF_COPIES)
        calls = records(tables, _CALLS, ("nameId",), ("globalTid", "correlationId"))
        kernels = records(tables, _KERNELS, ("demangledName",), _ON_DEVICE)
        memsets = records(tables, _MEMSETS, ("bytes",), _ON_DEVICE)
        waits = records(tables, _WAITS, ("syncType",), _ON_DEVICE)

        members = processes(tables, number_processes((copies, calls, kernels, memsets, waits)))
        number_devices(tables, [process.pid for process in members], (copies, kernels, memsets, waits))

        wanted = {*np.unique(calls["nameId"]).tolist(), *np.unique(kernels["demangledName"]).tolist()}
        strings = tables.texts("StringIds", "id", "value", wanted)
        names = Names()
        called = names.places(calls["nameId"], {number: call_name(string) for number, string in strings.items()})
        run = names.places(kernels["demangledName"], strings)
        waited_for = names.places(waits["syncType"], synchronizations(tables))
        trace_copies = _copies(tables, copies, calls)
        ranges, range_names = _ranges(tables, members)
        notes = (*tables.notes, *_remarks(tables, trace_copies))
        return Trace(
            path=path,
            maker="nsys",
            version=version(tables),
            processes=members,
            devices=device_names(tables),
            names=names.all,
            copies=trace_copies,
            calls=Calls.filled(
                calls, thread=np.where(calls["globalTid"] < 0, UNKNOWN, calls["globalTid"] & _LOW_24_BITS), name=called
            ),
            kernels=Intervals.filled(kernels, call=_calls_of(kernels, calls), name=run),
            memsets=Intervals.filled(memsets, call=_calls_of(memsets, calls)),
            synchronizations=Intervals.filled(waits, call=_calls_of(waits, calls), name=waited_for),
            knows=_knowledge(tables, trace_copies),
            ranges=ranges,
            range_names=range_names,
            notes=notes,
            lost=notes,
        )


# Names of tables that are looked at to tell whose a database is.
_MOST_TABLES = 1000


def _check_export(tables: Tables) -> None:
    """Raises TraceFileError for a database of something else: every export of nsys has its strings in this table."""
    if not tables.has("StringIds"):
        if known := what_database(tables.names(_MOST_TABLES)):
            raise TraceFileError(f"{tables.path}: no export of nsys: {known}")
        some = ", ".join(tables.names(5)) or "none"
        raise TraceFileError(
            f"{tables.path}: no export of nsys: expected a table StringIds, found the tables {some}; "
            "make an export with: nsys export --type sqlite REPORT.nsys-rep"
        )


def _copies(tables: Tables, columns: Columns, calls: Columns) -> Copies:
    operation, kinds = operations(tables), memory_kinds(tables)
    migration = np.isin(columns["copyKind"], migrations(operation))
    source, destination = (
        np.where(migration, memory_index("managed"), looked_up(columns[name], kinds)) for name in ("srcKind", "dstKind")
    )
    address = np.where(migration, columns["virtualAddress"], UNKNOWN)
    return Copies.filled(
        columns,
        direction=looked_up(columns["copyKind"], directions(operation)),
        source=source,
        destination=destination,
        call=_calls_of(columns, calls),
        migration=migration.astype(np.int64),
        cause=np.where(migration, looked_up(columns["migrationCause"], CAUSE_OF), UNKNOWN),
        source_address=address,
        destination_address=address,
    )


def _calls_of(columns: Columns, calls: Columns) -> Integers:
    return places_of(columns["process"], columns["correlation"], calls["process"], calls["correlation"])


def _ranges(tables: Tables, members: Sequence[Process]) -> tuple[Ranges, tuple[str, ...]]:
    """NVTX ranges of the processes that used devices, with their texts, which are in the record or in another table."""
    columns = tables.numbers(_RANGES, ("start",), ("end", "eventType", "textId", "globalTid", "rowid"))
    # Marks and ranges that were not ended have no end.
    rows = sound_rows(columns["start"], columns["end"], None, 0)
    rows = rows[np.isin(columns["eventType"][rows], _RANGE_TYPES)]
    columns = {name: column[rows] for name, column in columns.items()}
    texts = tables.texts("StringIds", "id", "value", set(np.unique(columns["textId"]).tolist()))
    own = tables.texts(_RANGES, "rowid", "text", set(columns["rowid"][columns["textId"] == UNKNOWN].tolist()))
    names = Names()
    name = names.places(columns["textId"], texts)
    name = np.where(name == UNKNOWN, names.places(columns["rowid"], own), name)
    pids = {member.pid: place for place, member in enumerate(members)}
    return (
        Ranges(
            start_ns=columns["start"],
            end_ns=columns["end"],
            process=looked_up((columns["globalTid"] >> 24) & _LOW_24_BITS, pids),
            thread=columns["globalTid"] & _LOW_24_BITS,
            name=name,
        ),
        names.all,
    )


def _knowledge(tables: Tables, copies: Copies) -> frozenset[Knowledge]:
    known: set[Knowledge] = {word for table, word in _EVIDENCE.items() if tables.has_records(table)}
    if copies.migration.any():
        known.add("migrations")
    return frozenset(known)


def _remarks(tables: Tables, copies: Copies) -> Iterator[str]:
    """What else a reader of the trace should know of it."""
    if unknown := int((copies.direction == UNKNOWN).sum()):
        yield f"{_COPIES}: {unknown} of {len(copies)} copies name no direction that is known."
    if tables.has_records(_GRAPHS):
        yield (
            "CUDA graphs were recorded as wholes: the copies and kernels in them are missing; "
            "record them with nsys profile --cuda-graph-trace=node."
        )
    if not any(map(tables.has_records, (_COPIES, _CALLS, _KERNELS))):
        yield "Nothing of CUDA was recorded: record it with nsys profile --trace=cuda."
    elif not any(map(tables.has_records, (_COPIES, _KERNELS, _MEMSETS, _GRAPHS))):
        yield f"Calls were recorded, and nothing that a device did{_reported(tables)}"
    for suffix in ("-wal", "-journal"):
        with suppress(OSError):  # A name that is too long for a file is the name of none.
            if (journal := tables.path.with_name(tables.path.name + suffix)).exists():
                yield f"{journal.name} lies beside the export: whatever wrote the export did not end its work."


def _reported(tables: Tables) -> str:
    """What nsys itself says went wrong: the first of its errors."""
    columns = tables.numbers(_DIAGNOSTICS, (), ("severity", "rowid"))
    texts = tables.texts(_DIAGNOSTICS, "rowid", "text", set(columns["rowid"][columns["severity"] == _ERROR].tolist()))
    return f"; nsys reports: {next(iter(texts.values()))}" if texts else "; nsys shows why in its diagnostics."
