"""Reads the JSON of rocprofv3 (ROCprofiler-SDK), recorded as `ROCPROFV3` says."""

from collections.abc import Callable, Mapping, Sequence
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
    copied = _columns(processes, "memory_copy", _copy_of(devices), notes)
    called = _columns(processes, "hip_api", _call_of(names), notes)
    run = _columns(processes, "kernel_dispatch", _kernel_of(devices, names), notes)
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


# What a record has next to its times, in the order of `_FIELDS`.
_Values = tuple[int, int, int, int, int, int]
_FIELDS = ("operation", "device", "stream", "thread", "bytes", "name")


def _columns(
    processes: Sequence[_Process],
    table: str,
    values: Callable[[_Process], Callable[[_Record], _Values]],
    notes: list[str],
) -> dict[str, Integers]:
    """The records of all processes that can be right, by when they began."""
    rows = [
        tuple(map(_in_64_bits, row))
        for number, process in enumerate(processes)
        for of_process in (values(process),)
        for each in getattr(process.buffer_records, table)
        for row in (
            (each.start_timestamp, each.end_timestamp, number, each.correlation_id.internal, *of_process(each)),
        )
    ]
    columns = np.array(rows, np.int64).reshape(len(rows), 4 + len(_FIELDS)).T
    named = dict(zip(("start_ns", "end_ns", "process", "correlation", *_FIELDS), columns, strict=True))
    sound = sound_rows(named["start_ns"], named["end_ns"], None, 1)
    if wrong := len(rows) - sound.size:
        notes.append(f"{table}: left out {wrong} of {len(rows)} records, whose times cannot be right.")
    named["bytes"] = np.where(named["bytes"] > MOST_BYTES, UNKNOWN, named["bytes"])
    return {name: column[sound] for name, column in named.items()}


def _in_64_bits(value: int) -> int:
    """Handles, numbers and times that a column has no room for are as good as none."""
    return value if -(1 << 63) <= value < 1 << 63 else UNKNOWN


def _copy_of(devices: Mapping[int, int]) -> Callable[[_Process], Callable[[_Record], _Values]]:
    def of_process(_process: _Process) -> Callable[[_Record], _Values]:
        def values(record: _Record) -> _Values:
            direction = _DIRECTIONS.get(record.operation)
            agents = (record.src_agent_id.handle, record.dst_agent_id.handle)
            ends = [devices[agent] for agent in agents if agent in devices]
            if direction == "d2d" and len(set(ends)) > 1:
                direction = "peer"
            number = UNKNOWN if direction is None else direction_index(direction)
            return number, ends[0] if ends else UNKNOWN, UNKNOWN, UNKNOWN, record.bytes, UNKNOWN

        return values

    return of_process


def _call_of(names: Names) -> Callable[[_Process], Callable[[_Record], _Values]]:
    def of_process(process: _Process) -> Callable[[_Record], _Values]:
        kinds = [each.operations for each in process.strings.buffer_records]

        def values(record: _Record) -> _Values:
            operations = kinds[record.kind] if 0 <= record.kind < len(kinds) else []
            known = 0 <= record.operation < len(operations)
            name = names.place(printable(operations[record.operation][:100])) if known else UNKNOWN
            return UNKNOWN, UNKNOWN, UNKNOWN, record.thread_id, UNKNOWN, name

        return values

    return of_process


def _kernel_of(devices: Mapping[int, int], names: Names) -> Callable[[_Process], Callable[[_Record], _Values]]:
    def of_process(process: _Process) -> Callable[[_Record], _Values]:
        symbols = {each.kernel_id: each.formatted_kernel_name for each in process.kernel_symbols}

        def values(record: _Record) -> _Values:
            info = record.dispatch_info
            name = names.place(printable(symbols.get(info.kernel_id, "")[:1000]))
            return UNKNOWN, devices.get(info.agent_id.handle, UNKNOWN), info.queue_id.handle, UNKNOWN, UNKNOWN, name

        return values

    return of_process
