"""Records of one kind as columns of NumPy, one entry a record, so that millions take tens of bytes each."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[Any]
_AnyTable = TypeVar("_AnyTable", bound="_Table")

UNKNOWN = -1
# As the columns `direction`, `source`, `destination` and `kind` count them. CUDA's arrays count as the device's memory.
DIRECTIONS = ("h2d", "d2h", "d2d", "peer", "h2h")
MEMORY_KINDS = ("pageable", "pinned", "device", "managed")
# Why pages of managed memory moved: asked for by the program, as by a prefetch; touched by the other side; guessed by
# the driver, apart from what was touched; to make room; because the device had touched them often.
CAUSES = ("user", "fault", "prefetch", "eviction", "access counters")
# What the driver of managed memory did besides moving pages: a processor or a device faulted; pages went to and fro;
# a processor was held back for it; pages were mapped where they lay.
FAULTS = ("cpu", "device", "thrashing", "throttling", "remote map")
# The number of each name.
direction_index = DIRECTIONS.index
memory_index = MEMORY_KINDS.index
cause_index = CAUSES.index
fault_index = FAULTS.index


@dataclass(frozen=True)
class _Table:
    """What all tables have: when each record began and ended."""

    start_ns: Integers
    end_ns: Integers

    def __len__(self) -> int:
        return int(self.start_ns.size)

    @classmethod
    def filled(cls: type[_AnyTable], known: Mapping[str, Integers] | None = None, /, **columns: Integers) -> _AnyTable:
        """A table of these columns, else of those of its names that are `known`, with UNKNOWN in all others."""
        chosen = {**(known or {}), **columns}
        unknown = np.full(chosen["start_ns"].size, UNKNOWN, np.int64)
        return cls(**{field.name: chosen.get(field.name, unknown) for field in fields(cls)})

    @classmethod
    def empty(cls: type[_AnyTable]) -> _AnyTable:
        """A table without records."""
        nothing = np.zeros(0, np.int64)
        return cls.filled(start_ns=nothing, end_ns=nothing)

    def taken(self: _AnyTable, rows: Integers) -> _AnyTable:
        """The records at these places, or where a mask says so, in their order."""
        return type(self)(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})

    def moved(self: _AnyTable, offset_ns: Integers) -> _AnyTable:
        """The same records, each later by so much."""
        return replace(self, start_ns=self.start_ns + offset_ns, end_ns=self.end_ns + offset_ns)

    @property
    def lasted_ns(self) -> Integers:
        """How long each record lasted."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True)
class Copies(_Table):
    """Copies and migrations, by when they began on the device."""

    # UNKNOWN where nothing tells, as on ROCm.
    bytes: Integers
    direction: Integers
    # Kinds of memory.
    source: Integers
    destination: Integers
    # Indices into `Trace.processes` and, UNKNOWN where no call is known, `Trace.calls`.
    process: Integers
    call: Integers
    device: Integers
    stream: Integers
    # 1 where pages of managed memory moved by themselves, without a copy of the program, else 0; and why they did.
    migration: Integers
    cause: Integers
    # Where the bytes began. Of a migration both are where the pages are.
    source_address: Integers
    destination_address: Integers
    # In how many rows they lay; 1 of whole buffers.
    rows: Integers
    # A hash of what was copied; equal ones are of equal bytes.
    content: Integers
    # 1 where the device was not asked when it made the copy, so that both times are estimates.
    estimated: Integers
    # What its thread did since its last large copy: nanoseconds in the kernel, and pages that were put in place; and
    # for how many nanoseconds all threads of the process ran while it was copied.
    system_ns: Integers
    faults: Integers
    running_ns: Integers


@dataclass(frozen=True)
class Calls(_Table):
    """Calls of the driver and the runtime, by when they began on the host."""

    process: Integers
    thread: Integers
    # Index into `Trace.names`: ``cudaMemcpyAsync``, without the version that makers append.
    name: Integers
    # Index into `Trace.sites`: the lines of the program that called.
    site: Integers
    # 1 where a copy's call waited for it, 0 where it did not; UNKNOWN where its name alone tells, as all of CUDA's do.
    blocking: Integers


@dataclass(frozen=True)
class Ranges(_Table):
    """What the program named itself, by when that began: steps of a profiler, NVTX ranges, `record_function`."""

    process: Integers
    thread: Integers
    # Index into `Trace.range_names`.
    name: Integers


@dataclass(frozen=True)
class Windows(_Table):
    """When all kernels that a process launched were recorded, where only some were."""

    process: Integers
    # From when on it launched none until the window began.
    launched_ns: Integers


@dataclass(frozen=True)
class Intervals(_Table):
    """Kernels, memory that is set, or waits for the device, by when they began."""

    process: Integers
    # Index into `Trace.calls`.
    call: Integers
    device: Integers
    stream: Integers
    # Index into `Trace.names`: of kernels theirs, of waits what was waited for (``stream``, ``device``, ``event``).
    name: Integers
    # Bytes of memory that is set.
    bytes: Integers


@dataclass(frozen=True)
class Allocations(_Table):
    """Memory that was allocated or freed, by when the calls began; registered memory counts as pinned."""

    process: Integers
    # Index into `Trace.calls`.
    call: Integers
    address: Integers
    # UNKNOWN for memory that is given back and whose allocation was not recorded.
    bytes: Integers
    kind: Integers
    # 1 where memory was freed, 0 where it was allocated.
    release: Integers


@dataclass(frozen=True)
class Faults(_Table):
    """Faults on managed memory, by when they began; one record may be of many pages."""

    process: Integers
    # One of `FAULTS`.
    kind: Integers
    # The device that faulted; UNKNOWN for processors.
    device: Integers
    address: Integers
    # Pages or groups of them.
    count: Integers
