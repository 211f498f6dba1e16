"""Collects what the torch profiler recorded of accelerators, in columns of 64 bits each."""

from array import array
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal

import numpy as np

from isthmus.trace.columns import UNKNOWN, Integers, direction_index
from isthmus.trace.kineto.copies import direction_of_kind, ends_of
from isthmus.trace.kineto.items import Item, shown
from isthmus.trace.kineto.xla import XlaProcesses, details_of
from isthmus.trace.recorded import MOST_BYTES, MOST_NS, NO_NUMBER, call_name

_WHEN = ("start_ns", "end_ns")
_WHERE = ("device", "stream", "correlation")
COPIES = (*_WHEN, *_WHERE, "bytes", "direction", "source", "destination")
# The last three stand only on calls of ROCm.
CALLS = (*_WHEN, "pid", "thread", "correlation", "name", "bytes", "source", "destination")
FRAMES = (*_WHEN, "pid", "thread", "name")
INTERVALS = (*_WHEN, *_WHERE, "bytes", "name")
# At most 72 bytes each; a gzip file of any size can unpack to more than memory holds.
MOST_RECORDS = 20_000_000
# Bounds of what is kept as Python objects.
_MOST_NAMES = 10_000
_MOST_PROCESSES = 1000
_MOST_DEVICES = 1000
_MOST_FRAMES = 200_000
# Above what systems number threads by.
_FIRST_NAMED_THREAD = 1 << 62
# The runtimes and drivers of all vendors, as they are called since 2021, and before.
_CALL_CATEGORIES = (
    *("cuda_runtime", "cuda_driver", "runtime", "driver", "xpu_runtime", "xpu_driver"),
    *("hip_runtime", "mtia_runtime", "mtia_ccp_events", "privateuse1_runtime", "privateuse1_driver"),
)
# Times count from 1970 or later.
_MOST_US = MOST_NS // 1000
_LAST_US = 100 * _MOST_US

_WAITED_FOR = {
    "Event Sync": "event",
    "Stream Wait Event": "stream wait",
    "Stream Sync": "stream",
    "Context Sync": "device",
}


class Table:
    """Records of one kind, as they come."""

    def __init__(self, columns: tuple[str, ...]) -> None:
        self._columns = columns
        self._values = array("q")

    def __len__(self) -> int:
        return len(self._values) // len(self._columns)

    def add(self, *values: int) -> None:
        """One record, a value a column; the first is when it began."""
        self._values.extend(values)

    def sorted_columns(self) -> dict[str, Integers]:
        """The columns by their names, by when the records began."""
        rows = np.frombuffer(self._values, np.int64).reshape(len(self), len(self._columns))
        order = np.argsort(rows[:, 0], kind="stable")
        return {name: rows[order, index] for index, name in enumerate(self._columns)}


class Records:
    """Everything of one file that concerns accelerators."""

    def __init__(self) -> None:
        self.copies = Table(COPIES)
        self.calls = Table(CALLS)
        self.kernels = Table(INTERVALS)
        self.memsets = Table(INTERVALS)
        self.waits = Table(INTERVALS)
        self.names: dict[str, int] = {}
        self.process_names: dict[int, str] = {}
        # Those that are labelled as processes, where others are devices.
        self.host_pids: dict[int, None] = {}
        self.devices: dict[int, str] = {}
        self.xla = XlaProcesses()
        self.rank: int | None = None
        # Lines of Python, and operators of torch, that calls were made in.
        self.frames = Table(FRAMES)
        self.operators = Table(FRAMES)
        self.frame_names: dict[str, int] = {}
        self._tables = (
            *(self.copies, self.calls, self.kernels, self.memsets, self.waits),
            *(self.frames, self.operators),
        )
        self.without_time = self.fills_without_bytes = 0
        # Threads by the texts that some writers name them with.
        self._named_threads: dict[str, int] = {}
        # Both as they are called since 2021, and before.
        self._adders = {
            **dict.fromkeys(("gpu_memcpy", "memcpy"), self._add_copy),
            **dict.fromkeys(("gpu_memset", "memset"), self._add_memset),
            **dict.fromkeys(_CALL_CATEGORIES, self._add_call),
            "python_function": self._add_frame,
            "cpu_op": self._add_operator,
            "kernel": self._add_kernel,
            "cuda_sync": self._add_wait,
        }

    def __len__(self) -> int:
        return sum(map(len, self._tables))

    @property
    def has_accelerator(self) -> bool:
        """Whether anything was recorded of an accelerator, or of calls to one."""
        return any(map(len, (self.copies, self.calls, self.kernels, self.memsets, self.waits)))

    def add(self, item: Item) -> None:
        """Keeps what concerns accelerators of an item."""
        fields = item.fields
        if item.section == "deviceProperties":
            if len(self.devices) < _MOST_DEVICES and (number := _number(fields.get("id"))) != UNKNOWN:
                self.devices[number] = _text(fields.get("name"))
        elif item.section == "distributedInfo":
            rank = _number(fields.get("rank"))
            self.rank = None if rank == UNKNOWN else rank
        elif fields.get("ph") == "M":
            self._add_label(item)
        elif fields.get("ph") == "X":
            category = fields.get("cat")
            adder = self._adders.get(category.lower()) if isinstance(category, str) else self._adder_of_xla(item)
            if adder is not None:
                if (when := _when(item)) is None:
                    self.without_time += 1
                else:
                    adder(item, *when)

    def _add_label(self, item: Item) -> None:
        pid = _number(item.fields.get("pid"))
        if pid == UNKNOWN or max(len(self.process_names), len(self.host_pids)) >= _MOST_PROCESSES:
            return
        if item.fields.get("name") == "process_name":
            self.process_names[pid] = name = _text(item.arguments.get("name"))
            self.xla.add(pid, name)
        elif item.fields.get("name") == "process_labels" and item.arguments.get("labels") == "CPU":
            self.host_pids[pid] = None

    def _add_copy(self, item: Item, start_ns: int, end_ns: int) -> None:
        direction, source, destination = ends_of(_text(item.fields.get("name")))
        if direction == UNKNOWN:
            direction = direction_of_kind(_text(item.arguments.get("kind")))
        begin, end = (_number(item.arguments.get(key)) for key in ("fromDevice", "toDevice"))
        if direction == direction_index("d2d") and begin != end and UNKNOWN not in {begin, end}:
            direction = direction_index("peer")
        self.copies.add(start_ns, end_ns, *_where(item), _bytes(item), direction, source, destination)

    def _adder_of_xla(self, item: Item) -> Callable[[Item, int, int], None] | None:
        """What takes an event without a category: only traces of XLA have such of devices and of calls to them."""
        if "correlation_id" not in item.arguments:
            return None
        pid = _number(item.fields.get("pid"))
        if pid in self.xla.devices:
            return self._add_on_xla_device
        return self._add_xla_call if pid in self.xla.hosts else None

    def _add_on_xla_device(self, item: Item, start_ns: int, end_ns: int) -> None:
        # Streams are threads.
        stream = _number(item.fields.get("tid"))
        where = (self.xla.devices[_number(item.fields.get("pid"))], stream, _counted(item, "correlation_id"))
        name = _text(item.fields.get("name"))
        if (details := details_of(item)) is None:
            self.kernels.add(start_ns, end_ns, *where, 0, self._name(name))
            return
        count, *kinds = details
        self.copies.add(start_ns, end_ns, *where, min(count, MOST_BYTES), ends_of(name).direction, *kinds)

    def _add_xla_call(self, item: Item, start_ns: int, end_ns: int) -> None:
        pid, thread = _number(item.fields.get("pid")), self._thread(item)
        if len(self.host_pids) < _MOST_PROCESSES:
            self.host_pids[pid] = None
        name = self._name(_text(item.fields.get("name")))
        self.calls.add(start_ns, end_ns, pid, thread, _counted(item, "correlation_id"), name, *[UNKNOWN] * 3)

    def _add_memset(self, item: Item, start_ns: int, end_ns: int) -> None:
        if (count := _bytes(item)) == UNKNOWN:
            self.fills_without_bytes += 1
            return
        self.memsets.add(start_ns, end_ns, *_where(item), count, self._name(_text(item.fields.get("name"))))

    def _add_kernel(self, item: Item, start_ns: int, end_ns: int) -> None:
        self.kernels.add(start_ns, end_ns, *_where(item), 0, self._name(_text(item.fields.get("name"))))

    def _add_wait(self, item: Item, start_ns: int, end_ns: int) -> None:
        name = _WAITED_FOR.get(_text(item.fields.get("name")), "unknown")
        self.waits.add(start_ns, end_ns, *_where(item), 0, self._name(name))

    def _add_call(self, item: Item, start_ns: int, end_ns: int) -> None:
        pid, thread = _number(item.fields.get("pid")), self._thread(item)
        if pid != UNKNOWN and len(self.host_pids) < _MOST_PROCESSES:
            self.host_pids[pid] = None
        name = self._name(call_name(_text(item.fields.get("name"))))
        ends = (_address(item.arguments.get(key)) for key in ("src", "dst"))
        correlation = _number(item.arguments.get("correlation"))
        self.calls.add(start_ns, end_ns, pid, thread, correlation, name, _bytes(item), *ends)

    def _add_frame(self, item: Item, start_ns: int, end_ns: int) -> None:
        self._add_to(self.frames, item, start_ns, end_ns)

    def _add_operator(self, item: Item, start_ns: int, end_ns: int) -> None:
        self._add_to(self.operators, item, start_ns, end_ns)

    def _add_to(self, table: Table, item: Item, start_ns: int, end_ns: int) -> None:
        name = _text(item.fields.get("name"))
        if len(self.frame_names) >= _MOST_FRAMES and name not in self.frame_names:
            return
        number = self.frame_names.setdefault(name, len(self.frame_names))
        table.add(start_ns, end_ns, _number(item.fields.get("pid")), self._thread(item), number)

    def _thread(self, item: Item) -> int:
        """The number of a thread, which may stand there as text; such as are none get numbers of their own."""
        value = item.fields.get("tid")
        if not isinstance(value, str):
            return _number(value)
        if (number := _decimal(value)) != UNKNOWN:
            return number
        if len(self._named_threads) >= _MOST_PROCESSES and value not in self._named_threads:
            return UNKNOWN
        return self._named_threads.setdefault(value, _FIRST_NAMED_THREAD + len(self._named_threads))

    def _name(self, name: str) -> int:
        if len(self.names) >= _MOST_NAMES and name not in self.names:
            name = "others"
        return self.names.setdefault(name, len(self.names))


def _when(item: Item) -> tuple[int, int] | None:
    """From when to when, in nanoseconds; None where that is missing or cannot be."""
    start, duration = item.fields.get("ts"), item.fields.get("dur")
    # Both in microseconds, with fractions since 2024. Bounds come first: no power of ten is too high for a Decimal.
    if not isinstance(start, int | Decimal) or not 0 <= start <= _LAST_US:
        return None
    if not isinstance(duration, int | Decimal) or not 0 <= duration <= _MOST_US:
        return None
    # CUPTI gives both as 0 where it did not get to know them.
    if start == duration == 0:
        return None
    start_ns, duration_ns = round(start * 1000), round(duration * 1000)
    return start_ns, start_ns + duration_ns


def _where(item: Item) -> tuple[int, int, int]:
    """Device, stream and correlation."""
    arguments = item.arguments
    # Copies between devices name three; the process of what a device does is the device.
    device = next((arguments[key] for key in ("device", "inDevice") if key in arguments), item.fields.get("pid"))
    stream = _number(arguments.get("stream"))
    return _number(device), UNKNOWN if stream == NO_NUMBER else stream, _number(arguments.get("correlation"))


def _bytes(item: Item) -> int:
    """Bytes moved, which calls of ROCm tell as text; UNKNOWN where nothing tells."""
    for key in ("bytes", "size"):
        if (count := _counted(item, key)) != UNKNOWN:
            return count if count <= MOST_BYTES else UNKNOWN
    return UNKNOWN


def _counted(item: Item, key: str) -> int:
    """A number that may stand there as text."""
    value = item.arguments.get(key)
    return _decimal(value) if isinstance(value, str) else _number(value)


def _address(value: object) -> int:
    """An address, which is written as hexadecimal digits; UNKNOWN for anything else, and for the null pointer."""
    if not isinstance(value, str) or not value.startswith("0x") or len(value) > len("0x") + 16:
        return UNKNOWN
    with suppress(ValueError):
        return _number(int(value, 16)) or UNKNOWN
    return UNKNOWN


def _decimal(text: str) -> int:
    """The number in a text of a few digits; UNKNOWN for any other."""
    return _number(int(text)) if text.isascii() and text.isdecimal() and len(text) < 20 else UNKNOWN


def _number(value: object) -> int:
    """A number that identifies or counts something; UNKNOWN for anything else."""
    return value if isinstance(value, int) and 0 <= value < 1 << 63 else UNKNOWN


def _text(value: object) -> str:
    return shown(value) if isinstance(value, str) else ""
