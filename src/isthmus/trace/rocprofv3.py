"""Reads the JSON of rocprofv3 (ROCprofiler-SDK), recorded as `ROCPROFV3` says."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from isthmus.errors import TraceFileError
from isthmus.messages import printable
from isthmus.trace.columns import UNKNOWN, Calls, Copies, Integers, Intervals, direction_index
from isthmus.trace.json_text import Text
from isthmus.trace.recorded import MOST_BYTES, Names, places_of, sound_rows
from isthmus.trace.trace import Knowledge, Process, Trace
from isthmus.trace.vendors import ROCPROFV3

TOOL = b'"rocprofiler-sdk-tool"'
# All of it is in memory at once, at some five times its size.
_MOST_MIB = 512
# rocprofiler_memory_copy_operation_t.
_DIRECTIONS = {1: "h2h", 2: "h2d", 3: "d2h", 4: "d2d"}
_GPU = 2


class _Id(msgspec.Struct, frozen=True, gc=False):
    internal: int = 0
    handle: int = 0


class _Dispatch(msgspec.Struct, frozen=True, gc=False):
    agent_id: _Id = _Id()
    queue_id: _Id = _Id()
    kernel_id: int = UNKNOWN


class _Record(msgspec.Struct, frozen=True, gc=False):
    start_timestamp: int
    end_timestamp: int
    kind: int = UNKNOWN
    operation: int = UNKNOWN
    thread_id: int = UNKNOWN
    correlation_id: _Id = _Id()
    bytes: int = UNKNOWN
    src_agent_id: _Id = _Id()
    dst_agent_id: _Id = _Id()
    dispatch_info: _Dispatch = _Dispatch()


class _Records(msgspec.Struct, frozen=True):
    memory_copy: list[_Record] = []
    kernel_dispatch: list[_Record] = []
    hip_api: list[_Record] = []


class _Kind(msgspec.Struct, frozen=True):
    kind: str = ""
    operations: list[str] = []


class _Strings(msgspec.Struct, frozen=True):
    buffer_records: list[_Kind] = []


class _Symbol(msgspec.Struct, frozen=True):
    kernel_id: int = UNKNOWN
    formatted_kernel_name: str = ""


class _Agent(msgspec.Struct, frozen=True):
    id: _Id = _Id()
    type: int = 0
    product_name: str = ""
    name: str = ""


class _Metadata(msgspec.Struct, frozen=True):
    pid: int = 0
    command: list[str] = []


class _Process(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    agents: list[_Agent] = []
    strings: _Strings = _Strings()
    kernel_symbols: list[_Symbol] = []
    buffer_records: _Records = _Records()


class _File(msgspec.Struct, frozen=True, rename={"processes": "rocprofiler-sdk-tool"}):
    processes: list[_Process]


def read_rocprofv3(path: Path) -> Trace:
    """The trace in a JSON file of rocprofv3. Raises TraceFileError for what is damaged, too large, or no such file."""
    try:
        text, size = Text(path), 0
        chunks = []
        for chunk in text.chunks():
            chunks.append(chunk)
            size += len(chunk)
            if size > _MOST_MIB << 20:
                raise TraceFileError(f"{path}: larger than {_MOST_MIB} MiB; record a shorter time")
        content = msgspec.json.decode(b"".join(chunks), type=_File)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise TraceFileError(
            f"{path}: damaged, or of another version of rocprofv3: {printable(str(error))}; expected the file of "
            f"{ROCPROFV3}"
        ) from error
    return _trace(path, content.processes)


def _trace(path: Path, processes: Sequence[_Process]) -> Trace:
    devices: dict[int, int] = {}
    device_names: dict[int, str] = {}
    for agent in (agent for process in processes for agent in process.agents if agent.type == _GPU):
        number = devices.setdefault(agent.id.handle, len(devices))
        device_names[number] = printable((agent.product_name or agent.name)[:100])
    names = Names()
    notes: list[str] = []
    copied = _columns("memory_copy", _copies(processes, devices), notes)
    called = _columns("hip_api", _calls(processes, names), notes)
    run = _columns("kernel_dispatch", _kernels(processes, devices, names), notes)
    call = places_of(copied["process"], copied["correlation"], called["process"], called["correlation"])
    of_kernel = places_of(run["process"], run["correlation"], called["process"], called["correlation"])
    knows: dict[Knowledge, bool] = {"calls": called["start_ns"].size > 0, "kernels": run["start_ns"].size > 0}
    return Trace(
        path=path,
        maker="rocprof",
        version="3",
        processes=tuple(
            Process(each.metadata.pid, printable(each.metadata.command[0][:100]) if each.metadata.command else "")
            for each in processes
        ),
        devices=device_names,
        names=names.all,
        copies=Copies.filled(copied, direction=copied["operation"], call=call, migration=np.zeros_like(call)),
        calls=Calls.filled(called),
        kernels=Intervals.filled(run, call=of_kernel),
        memsets=Intervals.empty(),
        synchronizations=Intervals.empty(),
        knows=frozenset(knowledge for knowledge, known in knows.items() if known),
        notes=tuple(notes),
        lost=tuple(notes),
    )


_COLUMNS = (
    *("start_ns", "end_ns", "process", "correlation"),
    *("operation", "device", "stream", "thread", "bytes", "name"),
)


def _row(process: int, record: _Record, values: Mapping[str, int]) -> tuple[int, ...]:
    known = {
        "start_ns": record.start_timestamp,
        "end_ns": record.end_timestamp,
        "process": process,
        "correlation": record.correlation_id.internal,
        **values,
    }
    row = (known.get(name, UNKNOWN) for name in _COLUMNS)
    # Handles, numbers and times that a column has no room for are as good as none.
    return tuple(value if -(1 << 63) <= value < 1 << 63 else UNKNOWN for value in row)


def _columns(table: str, rows: Iterable[tuple[int, ...]], notes: list[str]) -> dict[str, Integers]:
    """The records of all processes that can be right, by when they began."""
    columns = np.array(list(rows), np.int64).reshape(-1, len(_COLUMNS)).T
    named = dict(zip(_COLUMNS, columns, strict=True))
    sound = sound_rows(named["start_ns"], named["end_ns"], None, 1)
    if wrong := columns.shape[1] - sound.size:
        notes.append(f"{table}: left out {wrong} of {columns.shape[1]} records, whose times cannot be right.")
    named["bytes"] = np.where(named["bytes"] > MOST_BYTES, UNKNOWN, named["bytes"])
    return {name: column[sound] for name, column in named.items()}


def _copies(processes: Sequence[_Process], devices: Mapping[int, int]) -> Iterator[tuple[int, ...]]:
    for number, process in enumerate(processes):
        for record in process.buffer_records.memory_copy:
            direction = _DIRECTIONS.get(record.operation)
            agents = (record.src_agent_id.handle, record.dst_agent_id.handle)
            ends = [devices[agent] for agent in agents if agent in devices]
            if direction == "d2d" and len(set(ends)) > 1:
                direction = "peer"
            operation = UNKNOWN if direction is None else direction_index(direction)
            device = ends[0] if ends else UNKNOWN
            yield _row(number, record, {"operation": operation, "device": device, "bytes": record.bytes})


def _calls(processes: Sequence[_Process], names: Names) -> Iterator[tuple[int, ...]]:
    for number, process in enumerate(processes):
        kinds = [each.operations for each in process.strings.buffer_records]
        for record in process.buffer_records.hip_api:
            operations = kinds[record.kind] if 0 <= record.kind < len(kinds) else []
            known = 0 <= record.operation < len(operations)
            name = names.place(printable(operations[record.operation][:100])) if known else UNKNOWN
            yield _row(number, record, {"thread": record.thread_id, "name": name})


def _kernels(processes: Sequence[_Process], devices: Mapping[int, int], names: Names) -> Iterator[tuple[int, ...]]:
    for number, process in enumerate(processes):
        symbols = {each.kernel_id: each.formatted_kernel_name for each in process.kernel_symbols}
        for record in process.buffer_records.kernel_dispatch:
            info = record.dispatch_info
            name = names.place(printable(symbols.get(info.kernel_id, "")[:1000]))
            device = devices.get(info.agent_id.handle, UNKNOWN)
            yield _row(number, record, {"device": device, "stream": info.queue_id.handle, "name": name})
