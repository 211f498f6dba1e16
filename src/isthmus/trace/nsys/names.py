"""What the numbers in an export of nsys stand for: kinds, operations, functions, processes and devices."""

from collections.abc import Mapping

import numpy as np

from isthmus.trace.columns import UNKNOWN, Integers, direction_index, memory_index
from isthmus.trace.joins import looked_up
from isthmus.trace.nsys.tables import Tables
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


class Names:
    """Collects the names that records refer to, each once."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def places(self, numbers: Integers, texts: Mapping[int, str]) -> Integers:
        """For each number the place of its text in `all`; UNKNOWN where it stands for none."""
        named = {number: texts[number] for number in np.unique(numbers).tolist() if number in texts}
        return looked_up(numbers, {number: self._place(text) for number, text in named.items()})

    def _place(self, text: str) -> int:
        return self._places.setdefault(text, len(self._places))

    @property
    def all(self) -> tuple[str, ...]:
        """Every name, as they came."""
        return tuple(self._places)


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
    found = zip(*(column.tolist() for column in columns.values()), strict=True)
    return {(pid, number): device for pid, number, device in found if device != UNKNOWN}


def version(tables: Tables) -> str:
    """Of the export's schema, ``3.25``; empty where it names none."""
    return ".".join(tables.setting("META_DATA_EXPORT", "EXPORT_SCHEMA_VERSION").split(".")[:2])
