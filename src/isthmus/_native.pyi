"""The native core: devices, buffers and timed transfers, timed allocations.

Sizes and offsets are bytes, times are seconds. Every function raises a class of `isthmus.errors`.
"""

import builtins
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

class LinkDict(TypedDict):
    generation: int | None
    width: int | None
    max_generation: int | None
    max_width: int | None

class SamplesDict(TypedDict):
    host_seconds: list[float]
    enqueue_seconds: list[float]
    device_seconds: list[float]
    lanes: list[list[float]]

class AllocationDict(TypedDict):
    allocate: list[float]
    touch: list[float]
    free: list[float]

class TripDict(TypedDict):
    totals: dict[int, list[float]]
    further: list[float]

class ConcurrentSamplesDict(TypedDict):
    host_seconds: list[float]
    lanes: list[list[float]]

class BackendDict(TypedDict):
    name: str
    devices: list[dict[str, Any]]
    library: str
    looked_for: list[str]
    absent_because: str

class Device:
    """A device that is open: a context and a stream for work that is not timed."""

    @property
    def info(self) -> dict[str, Any]:
        """What the backend knows of the device without measuring."""
    def why_not(self, kind: str) -> str | None:
        """Why the device cannot have memory of this kind; None when it can."""
    def why_no_prefetch(self) -> str | None:
        """Why prefetching managed memory would show nothing; None when it moves pages."""
    def why_no_peer(self, other: Device) -> str | None:
        """Why memory of this device cannot be copied to that of the other one; None when it can."""
    def kernels_reach(self, kind: str) -> bool:
        """Whether kernels can read and write memory of this kind where it is."""
    def copy_blocks(self, kind: str) -> bool:
        """Whether enqueueing a copy from or to this kind occupies the calling thread."""
    def why_no_reach(self, kind: str) -> str | None:
        """Why kernels cannot read and write memory of this kind where it is; None when they can."""
    def why_no_doubles(self) -> str | None:
        """Why kernels cannot compute on 64-bit floats; None when they can."""
    def why_no_advice(self) -> str | None:
        """Why advice on managed memory would change nothing; None when the driver takes it."""
    def why_no_migration(self) -> str | None:
        """Why pages of managed memory do not move to the side that touches them; None when they do."""
    def free_bytes(self) -> int:
        """Free device memory now; for OpenCL, which does not tell, all of it."""
    def allocate(self, kind: str, bytes: int) -> Buffer:
        """Memory of one kind; host kinds are touched."""

class Buffer:
    """Memory of one kind. `side` says where managed memory is wanted: ``host`` or ``device``."""

    @property
    def kind(self) -> str: ...
    @property
    def bytes(self) -> int: ...
    def fill_pattern(self, offset: int, bytes: int, seed: int, side: str = "host") -> None:
        """Fill a region with the incompressible pattern of this seed, which starts at the region's first byte."""
    def verify_pattern(self, offset: int, bytes: int, seed: int, side: str = "host") -> tuple[int, int]:
        """How many 8-byte words differ from the pattern, and the index of the first (2**64 - 1 for none)."""
    def set_bytes(self, offset: int, bytes: int, value: int) -> None: ...
    def read(self, offset: int, bytes: int) -> builtins.bytes: ...
    def write(self, offset: int, data: builtins.bytes) -> None: ...
    def begin_host_access(self) -> None:
        """Make the memory readable and writable by the host; streams that use it must be idle."""
    def end_host_access(self) -> None:
        """Hand the memory back to the device."""
    def host_array(self) -> npt.NDArray[np.uint8]:
        """The memory itself, as bytes, without a copy; to be used between `begin_host_access` and `end_host_access`.

        It keeps the buffer alive. Raises Unsupported for memory that the host cannot address.
        """
    def advise(self, advice: str, given: bool = True) -> None:
        """Give advice on managed memory, or take it back.

        ``read_mostly``, ``prefer_device`` (its preferred location is the device) or ``accessed_by_device`` (mapped for
        it wherever it is).
        """
    def nodes(self, count: int) -> list[int]:
        """NUMA nodes of up to `count` of its pages, -1 where the kernel cannot say; empty for device memory."""

class Event:
    """A moment on a stream."""

    def __init__(self, device: Device) -> None: ...
    def has_passed(self) -> bool: ...
    def seconds_until(self, stop: Event) -> float: ...

class Gate:
    """Holds a stream back until it is opened."""

    def open(self) -> None: ...

class Stream:
    """Commands run in order; nothing has ended before `synchronize` returns."""

    def __init__(self, device: Device) -> None: ...
    def synchronize(self) -> None: ...
    def copy(self, to: Buffer, to_offset: int, from_: Buffer, from_offset: int, bytes: int) -> None: ...
    def copy_by_kernel(self, to: Buffer, to_offset: int, from_: Buffer, from_offset: int, bytes: int) -> None: ...
    def copy_section(
        self,
        to: Buffer,
        to_offset: int,
        to_pitch: int,
        from_: Buffer,
        from_offset: int,
        from_pitch: int,
        width_bytes: int,
        rows: int,
    ) -> None:
        """The driver's 2-D copy between the sides; pitches in bytes."""
    def copy_section_by_kernel(
        self,
        to: Buffer,
        to_offset: int,
        to_pitch: int,
        from_: Buffer,
        from_offset: int,
        from_pitch: int,
        width_bytes: int,
        rows: int,
    ) -> None:
        """The same by a kernel, between any memory that kernels reach."""
    def prefetch(
        self, memory: Buffer, offset: int, bytes: int, side: str, count: int = 1, stride_bytes: int = 0
    ) -> None:
        """Migrate `count` parts of managed memory to ``host`` or ``device``, one call each, a stride apart."""
    def add_doubles(self, memory: Buffer, offset: int, count: int, stride_bytes: int, value: float) -> None:
        """Add to `count` 64-bit floats, a stride (a multiple of 8) apart, all at once."""
    def touch_in_turn(self, memory: Buffer, offset: int, count: int, stride_bytes: int) -> None:
        """Add 1 to `count` 32-bit words, a stride (a multiple of 4) apart, by one thread that waits for each."""
    def fill_ramp(self, memory: Buffer, rows: int, columns: int, first_column: int, side: int) -> None:
        """Set each 64-bit float (i, j) of rows of `columns` to (i + (first_column + j) % side) % 3343."""
    def laplacian(self, to: Buffer, from_: Buffer, rows: int, columns: int, halo: int) -> None:
        """Set every (i, j) but `halo` columns on either side to (up + down + left + right) * 0.25, added in that order.

        Rows are periodic; memory is of rows x columns 64-bit floats.
        """
    def record(self, event: Event) -> None: ...
    def close_gate(self) -> Gate: ...

class Transfer:
    """One timed case."""

    def poison(self) -> None:
        """Overwrite the destinations, so that what is found there afterwards was transferred."""
    def run(self, warmups: int, least: int, most: int, seconds: float) -> SamplesDict:
        """Between `least` and `most` samples, until `seconds` have passed, after `warmups` that are not kept."""
    def verify(self) -> list[tuple[int, int]]:
        """For each lane: 8-byte words that differ, and the index of the first."""

class ConcurrentTransfer:
    """One timed case on many host threads."""

    def poison(self) -> None:
        """Overwrite the destinations, so that what is found there afterwards was transferred."""
    def run(self, warmups: int, least: int, most: int, seconds: float, limit_seconds: float) -> ConcurrentSamplesDict:
        """Between `least` and `most` samples, until `seconds` have passed, after `warmups` that are not kept.

        `host_seconds` run from before the threads are woken, or created, until all have ended; `lanes` end with each
        lane's own threads. Raises CallFailed with lane, size and thread when one fails or has not ended after
        `limit_seconds`, and Unsupported when the system grants fewer threads.
        """
    def verify(self) -> list[tuple[int, int]]:
        """For each lane: 8-byte words that differ, and the index of the first."""

class AllocationCase:
    """Memory of one kind and size that is got, used for the first time and given back, again and again."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Width in bytes, rows and pitch in bytes of 2-D memory once it was held; zeros where there is none."""
    def run(self, warmups: int, least: int, most: int, seconds: float) -> AllocationDict:
        """As `Transfer.run`; seconds per call, ``touch`` empty where memory is there once it was got.

        Calls shorter than ten microseconds are means over up to 64 blocks held at once.
        """

class Trip:
    """A buffer is got and filled, its data is worked on by the device and comes back, and the buffer is given back."""

    @property
    def wrong_words(self) -> int:
        """32-bit words that did not come back as computed; of a reduction, wrong sums."""
    def run(self, warmups: int, least: int, most: int, seconds: float) -> TripDict:
        """As `Transfer.run`. ``totals`` by the number of uses between getting the buffer and giving it back, empty for
        those that take too long; ``further`` is each use after the first.
        """

class Staging:
    """Memory, streams and threads through which pieces are packed; for one transfer at a time."""

    @property
    def threads(self) -> int: ...

class PieceTransfer:
    """Pieces of equal size that go one way, again and again, moved by one method."""

    @property
    def bytes_moved(self) -> int:
        """What crosses the link."""
    def poison(self) -> None:
        """Overwrite the destination, from a guard zone before its first piece to one after its last."""
    def run(self, warmups: int, least: int, most: int, seconds: float) -> list[float]:
        """As `Transfer.run`; seconds from before the first call until all has arrived."""
    def verify(self) -> tuple[int, int, int]:
        """Pieces that differ, the first of them, and bytes that were written outside all pieces."""

class Pipeline:
    """Data goes to the device in chunks, is worked on, and comes back."""

    def poison(self) -> None:
        """Overwrite the results."""
    def run(self, warmups: int, least: int, most: int, seconds: float) -> list[float]:
        """As `Transfer.run`; seconds from before the first call until all has come back."""
    def trace(self) -> list[tuple[str, int, float, float]]:
        """Stage, chunk, begin and end in seconds since the first stage began, of one pass with events around each."""
    def verify(self) -> int:
        """32-bit words that are not what the work makes of the source. Raises UsageError for a plan without a stage."""

class MigrationCounter:
    """Migrations and faults of managed memory in this process, as the driver reports them; one at a time.

    Counting ends when it is dropped.
    """

    @property
    def library(self) -> str:
        """The libcupti that is used."""
    @property
    def version(self) -> int:
        """Of CUPTI's interface."""
    def collect(
        self, quiet_seconds: float, most_seconds: float
    ) -> tuple[list[tuple[str, str, int, int, int, int]], int]:
        """All reports since the last call, and how many the driver could not keep.

        A report is (what, cause, value, address, begin, end in ns). ``h2d`` and ``d2h`` are migrations, with their
        bytes as value and the cause ``user``, ``coherence``, ``prefetch``, ``eviction``, ``access_counters`` or
        ``unknown``; ``device_fault`` has the faults that were handled together, the value of ``host_fault`` says
        nothing; others are numbers of CUPTI's kinds. Reports come late: waits until none came for `quiet_seconds`, at
        most `most_seconds`.
        """

def count_migrations(libraries: list[str]) -> MigrationCounter:
    """Begin to count, with a libcupti that is loaded or else the first of `libraries` (names or paths) that is found.

    Raises DeviceAbsent without CUDA's driver, LibraryAbsent without CUPTI, FunctionAbsent when it is too old, and
    Unsupported with what to do when another profiler has it, counting is not allowed, or it does not suit the driver.
    """

def create_staging(device: Device, bytes: int, threads: int, pieces: int) -> Staging:
    """For transfers of up to so many bytes and pieces; raises Unsupported when the system grants fewer threads."""

def create_pieces(
    method: str,
    destination: tuple[Buffer, int, int, int, npt.NDArray[np.uint64] | None],
    source: tuple[Buffer, int, int, int, npt.NDArray[np.uint64] | None],
    extent: tuple[int, int, int],
    reference: Buffer,
    staging: Staging,
) -> PieceTransfer:
    """Sides are a buffer, an offset, a pitch, a slice pitch and offsets of the pieces or None; an extent is the width
    in bytes, rows and slices. `reference` is ordinary memory with the contents of the source's buffer.

    Raises UsageError for layouts that cannot be (nothing to copy, rows wider than their pitch, overlaps in the
    destination, sizes that overflow 64 bits, what leaves a buffer), and Unsupported where the device or the layouts
    rule the method out.
    """

def create_pipeline(
    source: Buffer,
    work: Buffer,
    results: Buffer,
    staging: Staging | None,
    bytes: int,
    chunks: int,
    streams: int,
    rounds: int,
    stages: list[str],
) -> Pipeline:
    """`rounds` of arithmetic on each 32-bit word; `stages` are those that take place of ``in``, ``work``, ``out``. With
    `staging`, chunks pass through it on as many of its threads as there are streams.
    """

def create_trip(way: str, work: str, in_place: bool, bytes: int, source: Buffer, device: Buffer) -> Trip:
    """A ``round_trip`` or a ``reduction``; `source` is pageable, has contents and is a page larger than `bytes`."""

def create_allocation(device: Device, kind: str, bytes: int, beside: bool = False) -> AllocationCase:
    """Timed allocations; with `beside`, a small block of the same kind is held all the while."""

def list_devices(opencl_drivers: list[str]) -> list[BackendDict]: ...
def open_device(backend: str, index: int, model: str, opencl_drivers: list[str]) -> Device: ...
def bind_to_node(node: int, cpus: list[int]) -> None: ...
def create_transfer(
    method: str,
    lanes: list[tuple[str, Buffer, Buffer | None]],
    offset: int,
    bytes: int,
    seed: int,
    from_caches: bool = False,
) -> Transfer:
    """A transfer by ``copy``, ``kernel`` or ``prefetch``; a lane is (``h2d`` or ``d2h``, host, device memory).

    The source of an h2d lane holds the pattern of `seed`, that of a d2h lane the pattern of `seed` + 1. Where the CPU
    copies, its caches are emptied before each transfer, unless it is to be `from_caches`.
    """

def create_concurrent(
    lanes: list[tuple[str, Buffer, Buffer, int, tuple[int, list[int]] | None]],
    bytes: int,
    threads: int,
    own_streams: bool,
    chunk_bytes: int,
    spawn: bool,
) -> ConcurrentTransfer:
    """The first `bytes` of each lane, copied by `threads` host threads of its own; all lanes work at once.

    A lane is (name for messages, source, destination, seed of the source's pattern, NUMA node with the processors of it
    that its threads run on, if they are bound). Threads have one slice each, or take chunks of `chunk_bytes` from a
    common counter if that is not 0; one stream each or one for the lane; with `spawn` they are created for every
    transfer.
    """

def read_link_under_load(memory: Buffer, device: Buffer) -> LinkDict:
    """Generation and width of the link, read while copies keep it busy."""
