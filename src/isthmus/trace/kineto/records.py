"""Collects what the torch profiler recorded of accelerators, in columns of 64 bits each."""

import re
from array import array
from collections.abc import Callable
from contextlib import suppress

import numpy as np

from isthmus.trace.columns import UNKNOWN, Integers, direction_index
from isthmus.trace.json_text import shown
from isthmus.trace.kineto.copies import direction_of_kind, ends_of, level_zero
from isthmus.trace.kineto.event import Arguments, Event
from isthmus.trace.kineto.flows import Flows, is_of_flow
from isthmus.trace.kineto.pairs import Pairs
from isthmus.trace.kineto.rocprof import ends_of_call, is_call, is_of_rocprof
from isthmus.trace.kineto.times import decimal_of, number_of, when, whole
from isthmus.trace.kineto.xla import XlaProcesses, details_of
from isthmus.trace.recorded import MOST_BYTES, MOST_NS, NO_NUMBER, call_name

_WHEN = ("start_ns", "end_ns")
_WHERE = ("device", "stream", "correlation")
COPIES = (*_WHEN, *_WHERE, "bytes", "direction", "source", "destination")
# The last three are only on calls of ROCm.
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
    *("hip_runtime", "mtia_runtime", "privateuse1_runtime", "privateuse1_driver"),
)
# unitrace has calls of Level Zero and OpenCL in the category that torch has its operators in.
_OF_UNITRACE = re.compile(r"(ze|cl)[A-Z]\w+")
_IS_CALL = -2

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

    def span_ns(self) -> tuple[int, int] | None:
        """When the first record and the last one began; None of none."""
        begun = np.frombuffer(self._values, np.int64)[:: len(self._columns)]
        return (int(begun.min()), int(begun.max())) if begun.size else None

    def drop_before_zero(self) -> int:
        """Without the records that begin before zero; how many there were."""
        rows = np.frombuffer(self._values, np.int64).reshape(len(self), len(self._columns))
        kept = rows[rows[:, 0] >= 0]
        dropped = len(self) - int(kept.shape[0])
        self._values = array("q", kept.tobytes())
        return dropped

    def sorted_columns(self) -> dict[str, Integers]:
        """The columns by their names, by when the records began."""
        rows = np.frombuffer(self._values, np.int64).reshape(len(self), len(self._columns))
        order = np.argsort(rows[:, 0], kind="stable")
        return {name: rows[order, index] for index, name in enumerate(self._columns)}


# As torch names what it records of MTIA, Gaudi, Ascend, and devices by plug-ins.
_OF_OTHER_DEVICES = ("mtia_", "hpu_", "npu_", "privateuse1_")


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
        self.flows = Flows()
        self.pairs = Pairs()
        self.is_of_rocprof = False
        self.rank: int | None = None
        # Lines of Python, operators of torch, and ranges that the program named itself, that calls were made in.
        self.frames = Table(FRAMES)
        self.operators = Table(FRAMES)
        self.ranges = Table(FRAMES)
        self.frame_names: dict[str, int] = {}
        # What was looked at already, by what the file says.
        self._numbers: dict[object, int] = {}
        self._name_numbers: dict[object, int] = {}
        # Processes that are devices, where nothing numbers these.
        self._device_of: dict[int, int] = {}
        self._tables = (
            *(self.copies, self.calls, self.kernels, self.memsets, self.waits),
            *(self.frames, self.operators, self.ranges),
        )
        self.without_time = self.fills_without_bytes = 0
        # Kinds of events of which nothing is kept.
        self.unread: set[object] = set()
        # Threads by the texts that some writers name them with, and numbers below zero.
        self._named_threads: dict[object, int] = {}
        # Both as they are called since 2021, and before.
        adders: dict[str, Callable[[Event, int, int], None]] = {
            **dict.fromkeys(("gpu_memcpy", "memcpy"), self._add_copy),
            **dict.fromkeys(("gpu_memset", "memset"), self._add_memset),
            **dict.fromkeys(_CALL_CATEGORIES, self._add_call),
            "python_function": self._add_frame,
            "cpu_op": self._add_operator,
            "user_annotation": self._add_range,
            "kernel": self._add_kernel,
            "cuda_sync": self._add_wait,
            "gpu_op": self._add_unitrace,
        }
        self._adders = adders | {name.capitalize(): adder for name, adder in adders.items()}

    def __len__(self) -> int:
        return sum(map(len, self._tables))

    @property
    def has_accelerator(self) -> bool:
        """Whether anything was recorded of an accelerator, or of calls to one."""
        return any(map(len, (self.copies, self.calls, self.kernels, self.memsets, self.waits)))

    @property
    def unread_devices(self) -> list[str]:
        """Kinds of events by devices of vendors that are not known."""
        return sorted(name for name in map(str, self.unread) if name.startswith(_OF_OTHER_DEVICES))[:3]

    @property
    def has_device(self) -> bool:
        """Whether anything that a device did was recorded; of some vendors torch records calls alone."""
        of_cuda = any(name.startswith(("cu", "hip")) for name in self.names)
        return any(map(len, (self.copies, self.kernels, self.memsets))) or (self.has_accelerator and not of_cuda)

    @property
    def is_of_torch(self) -> bool:
        """Whether anything is of a kind that torch's profiler, or one of the others, records."""
        return self.has_accelerator or len(self.operators) > 0 or len(self.ranges) > 0

    def add(self, section: str, events: list[Event]) -> None:
        """Keeps what concerns accelerators of the events of a section."""
        if section != "traceEvents":
            for event in events:
                self._add_header(section, event)
            return
        adders = self._adders
        for each in events:
            event = each
            if each.ph != "X":
                if (whole_event := self._add_other(each)) is None:
                    continue
                event = whole_event
            category = event.cat
            adder = adders.get(category) if category.__class__ is str else self._adder_without_category(event)
            if adder is not None:
                if (times := when(event)) is None:
                    self.without_time += 1
                else:
                    adder(event, *times)
            elif category.__class__ is str:
                self.unread.add(category)

    def drop_moments_before_a_clock(self) -> None:
        """Without records before zero where others count from 1970: those are no times of a file that was re-based."""
        spans = [span for table in self._tables if (span := table.span_ns()) is not None]
        if spans and min(first for first, _ in spans) < 0 and max(last for _, last in spans) > MOST_NS:
            self.without_time += sum(table.drop_before_zero() for table in self._tables)

    def _add_other(self, event: Event) -> Event | None:
        """Keeps what an event says that has no duration of its own; the whole event where it is the end of one."""
        phase = event.ph
        if phase in ("B", "E"):
            return self.pairs.joined(event)
        if phase == "M":
            self._add_label(event)
        elif phase in ("s", "t") and is_of_flow(event):
            self.flows.add(event)
        return None

    def _add_header(self, section: str, event: Event) -> None:
        if section == "deviceProperties":
            if len(self.devices) < _MOST_DEVICES and (number := number_of(event.id)) != UNKNOWN:
                self.devices[number] = _text(event.name)
        else:
            rank = number_of(event.rank)
            self.rank = None if rank == UNKNOWN else rank

    def _add_label(self, event: Event) -> None:
        pid = whole(event.pid)
        if pid == UNKNOWN or max(len(self.process_names), len(self.host_pids)) >= _MOST_PROCESSES:
            return
        if event.name == "process_name":
            self.process_names[pid] = name = _text(event.arguments.name)
            self.xla.add(pid, name)
        elif event.name == "process_labels" and event.arguments.labels == "CPU":
            self.host_pids[pid] = None

    def _add_copy(self, event: Event, start_ns: int, end_ns: int) -> None:
        arguments = event.arguments
        direction, source, destination = ends_of(_text(event.name))
        if direction == UNKNOWN:
            direction = direction_of_kind(_text(arguments.kind))
        begin, end = number_of(arguments.from_device), number_of(arguments.to_device)
        if direction == direction_index("d2d") and begin != end and UNKNOWN not in {begin, end}:
            direction = direction_index("peer")
        self.copies.add(start_ns, end_ns, *_where(event), _bytes(arguments), direction, source, destination)

    def _adder_without_category(self, event: Event) -> Callable[[Event, int, int], None] | None:
        """What takes an event without a category: XLA and rocprof have such of devices and of calls to them."""
        if event.cat is not None or event.args is None:
            return None
        if is_of_rocprof(event):
            self.is_of_rocprof = True
            return self._add_rocprof
        pid = number_of(event.pid)
        if event.args.step_num is not None and pid in self.xla.hosts:
            return self._add_range
        if event.args.correlation_id is None:
            return None
        if pid in self.xla.devices:
            return self._add_on_xla_device
        return self._add_xla_call if pid in self.xla.hosts else None

    def _add_on_xla_device(self, event: Event, start_ns: int, end_ns: int) -> None:
        # Streams are threads.
        stream = number_of(event.tid)
        where = (self.xla.devices[number_of(event.pid)], stream, whole(event.arguments.correlation_id))
        name = _text(event.name)
        direction = ends_of(name).direction
        if (details := details_of(event, direction)) is None:
            self.kernels.add(start_ns, end_ns, *where, 0, self._name(name))
            return
        count, *kinds = details
        self.copies.add(start_ns, end_ns, *where, count if count <= MOST_BYTES else UNKNOWN, direction, *kinds)

    def _add_xla_call(self, event: Event, start_ns: int, end_ns: int) -> None:
        pid, thread = number_of(event.pid), self._thread(event)
        self._add_host(pid)
        name = self._name(_text(event.name))
        correlation = whole(event.arguments.correlation_id)
        self.calls.add(start_ns, end_ns, pid, thread, correlation, name, *[UNKNOWN] * 3)

    def _add_rocprof(self, event: Event, start_ns: int, end_ns: int) -> None:
        name, pid, thread = _text(event.name), whole(event.pid), self._thread(event)
        if is_call(event):
            self._add_host(pid)
            size, *ends = ends_of_call(event.arguments.args)
            addresses = (_address(each) for each in ends)
            self.calls.add(start_ns, end_ns, pid, thread, UNKNOWN, self._name(name), size, *addresses)
            return
        where = (whole(event.arguments.dev_id), thread, UNKNOWN)
        self.flows.queues[pid, thread] = where[:2]
        if (direction := ends_of(name).direction) == UNKNOWN:
            self.kernels.add(start_ns, end_ns, *where, 0, self._name(name))
        else:
            self.copies.add(start_ns, end_ns, *where, UNKNOWN, direction, UNKNOWN, UNKNOWN)

    def _add_unitrace(self, event: Event, start_ns: int, end_ns: int) -> None:
        name, pid, thread = _text(event.name), whole(event.pid), self._thread(event)
        number = whole(event.arguments.id)
        # The number of the device whose queue is written as a thread of this process.
        device = self._device_of.setdefault(pid, len(self._device_of))
        self.flows.queues[pid, thread] = (device, thread)
        where = (device, thread, UNKNOWN if number == UNKNOWN else number + 1)
        if (copy := level_zero(name)) is None:
            self.kernels.add(start_ns, end_ns, *where, 0, self._name(name))
        else:
            (direction, *kinds), size = copy
            self.copies.add(start_ns, end_ns, *where, size, direction, *kinds)

    def _add_memset(self, event: Event, start_ns: int, end_ns: int) -> None:
        if (count := _bytes(event.arguments)) == UNKNOWN:
            self.fills_without_bytes += 1
            return
        self.memsets.add(start_ns, end_ns, *_where(event), count, self._name(event.name))

    def _add_kernel(self, event: Event, start_ns: int, end_ns: int) -> None:
        self.kernels.add(start_ns, end_ns, *_where(event), 0, self._name(event.name))

    def _add_wait(self, event: Event, start_ns: int, end_ns: int) -> None:
        name = _WAITED_FOR.get(_text(event.name), "unknown")
        self.waits.add(start_ns, end_ns, *_where(event), 0, self._name(name))

    def _add_call(self, event: Event, start_ns: int, end_ns: int) -> None:
        pid, thread, arguments = number_of(event.pid), self._thread(event), event.arguments
        self._add_host(pid)
        name, correlation = self._name(event.name, call_name), number_of(arguments.correlation)
        ends = (_address(arguments.src), _address(arguments.dst))
        self.calls.add(start_ns, end_ns, pid, thread, correlation, name, _bytes(arguments), *ends)

    def _add_host(self, pid: int) -> None:
        if pid != UNKNOWN and len(self.host_pids) < _MOST_PROCESSES:
            self.host_pids[pid] = None

    def _add_frame(self, event: Event, start_ns: int, end_ns: int) -> None:
        if (number := self._frame(event.name)) >= 0:
            self.frames.add(start_ns, end_ns, number_of(event.pid), self._thread(event), number)

    def _add_operator(self, event: Event, start_ns: int, end_ns: int) -> None:
        if (number := self._frame(event.name)) >= 0:
            self.operators.add(start_ns, end_ns, number_of(event.pid), self._thread(event), number)
        elif number == _IS_CALL:
            self._add_call(event, start_ns, end_ns)

    def _add_range(self, event: Event, start_ns: int, end_ns: int) -> None:
        if (number := self._frame(event.name)) >= 0:
            self.ranges.add(start_ns, end_ns, number_of(event.pid), self._thread(event), number)

    def _frame(self, name: object) -> int:
        """The number of a frame's name; UNKNOWN where there are too many, `_IS_CALL` where it is a function's."""
        if name.__class__ is not str:
            name = ""
        if (number := self._numbers.get(name)) is not None:
            return number
        if len(self._numbers) >= _MOST_FRAMES:
            return UNKNOWN
        text = _text(name)
        is_call = _OF_UNITRACE.fullmatch(text) is not None
        number = _IS_CALL if is_call else self.frame_names.setdefault(text, len(self.frame_names))
        self._numbers[name] = number
        return number

    def _thread(self, event: Event) -> int:
        """The number of a thread, which may be a text; what is none, or is negative, gets a number of its own."""
        value = event.tid
        if value.__class__ is int and 0 <= value < 1 << 62:
            return int(value)
        if value.__class__ is str:
            if (number := decimal_of(value)) != UNKNOWN:
                return number
        elif value.__class__ is not int:
            return UNKNOWN
        if len(self._named_threads) >= _MOST_PROCESSES and value not in self._named_threads:
            return UNKNOWN
        return self._named_threads.setdefault(value, _FIRST_NAMED_THREAD + len(self._named_threads))

    def _name(self, raw: object, spelling: Callable[[str], str] = str) -> int:
        """The number of a name that is shown; each is looked at once."""
        known = self._name_numbers.get(raw) if raw.__class__ is str else None
        if known is not None:
            return known
        name = spelling(_text(raw))
        if len(self.names) >= _MOST_NAMES and name not in self.names:
            name = "others"
        number = self.names.setdefault(name, len(self.names))
        if raw.__class__ is str and len(self._name_numbers) < 2 * _MOST_NAMES:
            self._name_numbers[raw] = number
        return number


def _where(event: Event) -> tuple[int, int, int]:
    """Device, stream and correlation."""
    arguments = event.arguments
    # Copies between devices name three; the process of what a device does is the device.
    device = arguments.device if arguments.device is not None else arguments.in_device
    stream = number_of(arguments.stream)
    return (
        number_of(event.pid if device is None else device),
        UNKNOWN if stream == NO_NUMBER else stream,
        number_of(arguments.correlation),
    )


def _bytes(arguments: Arguments) -> int:
    """Bytes moved, which calls of ROCm tell as text; UNKNOWN where nothing tells."""
    for value in (arguments.bytes, arguments.size):
        if value is not None and (count := whole(value)) != UNKNOWN:
            return count if count <= MOST_BYTES else UNKNOWN
    return UNKNOWN


def _address(value: object) -> int:
    """An address, which is written as hexadecimal digits; UNKNOWN for anything else, and for the null pointer."""
    if not isinstance(value, str) or not value.startswith("0x") or len(value) > len("0x") + 16:
        return UNKNOWN
    with suppress(ValueError):
        return number_of(int(value, 16)) or UNKNOWN
    return UNKNOWN


def _text(value: object) -> str:
    return shown(value) if isinstance(value, str) else ""
