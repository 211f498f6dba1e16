"""Records of an export of nsys that can be right, and what the numbers in them stand for."""

from collections.abc import Mapping, Sequence

import numpy as np

from isthmus.trace.columns import UNKNOWN, Integers, direction_index, memory_index
from isthmus.trace.nsys.tables import Tables
from isthmus.trace.recorded import CORRELATIONS, NO_NUMBER, looked_up, sound_rows
from isthmus.trace.trace import Process

# As nsys has always counted them, for exports that do not say; CUPTI counts otherwise.
_MEMORY_KINDS = ("PAGEABLE", "PINNED", "DEVICE", "ARRAY", "MANAGED", "DEVICE_STATIC", "MANAGED_STATIC", "UNKNOWN")
_OPERATIONS = (
    *("UNKNOWN", "HTOD", "DTOH", "HTOA", "ATOH", "ATOA", "ATOD", "DTOA", "DTOD", "HTOH", "PTOP"),
    *("UVM_HTOD", "UVM_DTOH", "UVM_DTOD"),
)
_SYNCHRONIZATIONS = ("UNKNOWN", "EVENT_SYNCHRONIZE", "STREAM_WAIT_EVENT", "STREAM_SYNCHRONIZE", "CONTEXT_SYNCHRONIZE")

_MEMORY = {
    "PAGEABLE": "pageable",
    "PINNED": "pinned",
    "DEVICE": "device",
    "ARRAY": "device",
    "MANAGED": "managed",
    "DEVICE_STATIC": "device",
    "MANAGED_STATIC": "managed",
}
_DIRECTION = {
    **dict.fromkeys(("HTOD", "HTOA", "UVM_HTOD"), "h2d"),
    **dict.fromkeys(("DTOH", "ATOH", "UVM_DTOH"), "d2h"),
    **dict.fromkeys(("DTOD", "DTOA", "ATOD", "ATOA"), "d2d"),
    # Pages of managed memory that move between devices.
    **dict.fromkeys(("PTOP", "UVM_DTOD"), "peer"),
    "HTOH": "h2h",
}
_WAITED_FOR = {
    "EVENT_SYNCHRONIZE": "event",
    "STREAM_WAIT_EVENT": "stream wait",
    "STREAM_SYNCHRONIZE": "stream",
    "CONTEXT_SYNCHRONIZE": "device",
}
Columns = dict[str, Integers]

# Columns that this package calls by other names.
_NAMES = {
    **{"start": "start_ns", "end": "end_ns"},
    **{"deviceId": "device", "streamId": "stream", "correlationId": "correlation"},
}
# Times count from when the recording began.
_FIRST_NS = 0


def records(tables: Tables, table: str, required: Sequence[str], optional: Sequence[str]) -> Columns:
    """The records of a table that can be right, by when they began."""
    columns = tables.numbers(table, ("start", "end", *required), optional)
    count = columns["start"].size
    rows = sound_rows(columns["start"], columns["end"], columns.get("bytes"), _FIRST_NS)
    if wrong := int(count - rows.size):
        tables.notes.append(f"{table}: left out {wrong} of {count} records, whose times or sizes cannot be right.")
    columns = {_NAMES.get(name, name): column[rows] for name, column in columns.items()}
    for name in ("device", "stream", "correlation"):
        if name in columns:
            columns[name][(columns[name] < 0) | (columns[name] >= NO_NUMBER)] = UNKNOWN
    return columns


def number_processes(recorded: Sequence[Columns]) -> Integers:
    """The keys of all processes found; each table's column ``process`` gets their places among them.

    A key is all of a global number but the thread's 24 bits, so that machines recorded together are kept apart.
    """
    keys = [columns["globalPid" if "globalPid" in columns else "globalTid"] >> 24 for columns in recorded]
    distinct = np.unique(np.concatenate(keys))
    distinct = distinct[distinct >= 0]
    for columns, key in zip(recorded, keys, strict=True):
        columns["process"] = np.where(key < 0, UNKNOWN, np.searchsorted(distinct, key))
    return distinct


def number_devices(tables: Tables, pids: Sequence[int], recorded: Sequence[Columns]) -> None:
    """Numbers devices as the machine does, if the export tells that of all: processes may each see others as theirs."""
    physical = physical_devices(tables)
    translated = {UNKNOWN: UNKNOWN}
    pairs = [
        np.where(columns["device"] < 0, UNKNOWN, columns["process"] * CORRELATIONS + columns["device"])
        for columns in recorded
    ]
    for pair in np.unique(np.concatenate(pairs)).tolist():
        if pair != UNKNOWN:
            process, device = divmod(pair, CORRELATIONS)
            if process < 0 or (pids[process], device) not in physical:
                return
            translated[pair] = physical[pids[process], device]
    for columns, pair_column in zip(recorded, pairs, strict=True):
        columns["device"] = looked_up(pair_column, translated)


def memory_kinds(tables: Tables) -> dict[int, int]:
    """Places in `MEMORY_KINDS` by the numbers of this export."""
    words = _words(tables, "ENUM_CUDA_MEM_KIND", "MEMORY_KIND_", _MEMORY_KINDS)
    return {number: memory_index(_MEMORY[word]) for number, word in words.items() if word in _MEMORY}


def operations(tables: Tables) -> dict[int, str]:
    """What copies do, by the numbers of this export: ``HTOD``, ``UVM_DTOH``."""
    return _words(tables, "ENUM_CUDA_MEMCPY_OPER", "MEMCPY_KIND_", _OPERATIONS)


def directions(operations: Mapping[int, str]) -> dict[int, int]:
    """Places in `DIRECTIONS` by the numbers of this export."""
    return {number: direction_index(_DIRECTION[word]) for number, word in operations.items() if word in _DIRECTION}


def migrations(operations: Mapping[int, str]) -> list[int]:
    """The numbers of operations that move pages of managed memory."""
    return [number for number, word in operations.items() if word.startswith("UVM_")]


def synchronizations(tables: Tables) -> dict[int, str]:
    """What is waited for, by the numbers of this export."""
    words = _words(tables, "ENUM_CUPTI_SYNC_TYPE", "SYNCHRONIZATION_TYPE_", _SYNCHRONIZATIONS)
    return {number: _WAITED_FOR[word] for number, word in words.items() if word in _WAITED_FOR}


def _words(tables: Tables, table: str, before: str, known: tuple[str, ...]) -> dict[int, str]:
    """The end of each number's name, which says what it means."""
    names = tables.texts(table, "id", "name")
    return {number: name.rpartition(before)[2] for number, name in names.items()} or dict(enumerate(known))


def processes(tables: Tables, keys: Integers) -> tuple[Process, ...]:
    """Processes by their keys: the number of a process in its low 24 bits, and above them the machine's."""
    names = {number >> 24: name for number, name in tables.texts("PROCESSES", "globalPid", "name").items()}
    return tuple(Process(key & 0xFFFFFF, names.get(key, "")) for key in keys.tolist())


def physical_devices(tables: Tables) -> dict[tuple[int, int], int]:
    """Devices of the machine by the number of a process and the number by which it knows them."""
    columns = tables.numbers("TARGET_INFO_CUDA_DEVICE", (), ("pid", "cudaId", "gpuId"))
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return {(pid, number): device for pid, number, device in rows if device != UNKNOWN}


def device_names(tables: Tables) -> dict[int, str]:
    """Names of devices by the machine's numbers, in a column that had another name until 2021."""
    return tables.texts("TARGET_INFO_GPU", "id", "name") or tables.texts("TARGET_INFO_GPU", "deviceId", "name")


def version(tables: Tables) -> str:
    """The version of the export's schema, ``3.25``; empty where it names none."""
    return ".".join(tables.setting("META_DATA_EXPORT", "EXPORT_SCHEMA_VERSION").split(".")[:2])
