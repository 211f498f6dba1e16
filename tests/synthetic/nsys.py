"""SQLite exports of nsys with the tables and columns that its own have, and records that tests choose."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

MACHINE = 1 << 48
COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
MEMSETS = "CUPTI_ACTIVITY_KIND_MEMSET"
WAITS = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
COLUMNS = {
    COPIES: "start end deviceId streamId correlationId globalPid bytes copyKind srcKind dstKind virtualAddress",
    CALLS: "start end eventClass globalTid correlationId nameId returnValue callchainId",
    KERNELS: "start end deviceId streamId correlationId globalPid demangledName shortName",
    MEMSETS: "start end deviceId streamId correlationId globalPid value bytes memKind",
    WAITS: "start end deviceId streamId correlationId globalPid syncType eventId",
    "StringIds": "id value",
    "PROCESSES": "globalPid pid name",
    "META_DATA_EXPORT": "name value",
    "ENUM_CUDA_MEM_KIND": "id name label",
    "ENUM_CUDA_MEMCPY_OPER": "id name label",
    "ENUM_CUPTI_SYNC_TYPE": "id name label",
    "TARGET_INFO_GPU": "id name busLocation",
    "TARGET_INFO_CUDA_DEVICE": "gpuId cudaId pid uuid",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": "start end graphId",
    "CUDA_UM_CPU_PAGE_FAULT_EVENTS": "start globalPid address",
    "CUDA_UM_GPU_PAGE_FAULT_EVENTS": "start end globalPid address numberOfPageFaults",
    "CUDA_CALLCHAINS": "id symbol module stackDepth",
    "DIAGNOSTIC_EVENT": "severity source text",
}
TEXTS = {"value", "name", "label", "busLocation", "uuid", "text"}
STRINGS = [
    (1, "cudaMemcpyAsync_v3020"),
    (2, "cuMemcpyHtoDAsync_v2"),
    (3, "void saxpy<float>(int)"),
    (4, "an NVTX range"),
]
Rows = Sequence[Sequence[object]]


def pid(number: int) -> int:
    return MACHINE | number << 24


def copy(start: object = 100, end: object = 200, **more: object) -> list[object]:
    """A copy of 4 KiB from pinned memory by process 7."""
    values: dict[str, object] = {
        "deviceId": 0,
        "streamId": 7,
        "correlationId": 1,
        "globalPid": pid(7),
        "bytes": 4096,
        "copyKind": 1,
    }
    values |= {"srcKind": 1, "dstKind": 2, "virtualAddress": None}
    return list(({"start": start, "end": end} | values | more).values())


def call(start: object, end: object, correlation: object, tid: object = pid(7) | 70, name: object = 1) -> list[object]:
    return [start, end, 0, tid, correlation, name, 0, None]


def create(connection: sqlite3.Connection, table: str, rows: Iterable[Sequence[object]]) -> None:
    columns = COLUMNS[table].split()
    declared = ", ".join(f'"{name}" {"TEXT" if name in TEXTS else "INTEGER"}' for name in columns)
    if table == "StringIds":
        declared = "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL"
    connection.execute(f"CREATE TABLE {table} ({declared})")
    connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})", rows)


def write_export(path: Path, tables: Mapping[str, Rows] | None = None, sql: Sequence[str] = ()) -> Path:
    """An export with these tables, and with StringIds in any case; the statements come first."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in sql:
            connection.execute(statement)
        for table, rows in ({"StringIds": STRINGS} | dict(tables or {})).items():
            create(connection, table, rows)
        connection.commit()
    return path
