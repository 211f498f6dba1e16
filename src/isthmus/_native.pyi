"""The native core: devices, buffers and timed transfers, timed allocations, and copies for callers.

Sizes and offsets are bytes, times seconds; errors are `isthmus.errors`. help() comes from here by make_descriptions.py.
"""

import builtins
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, Literal, TypeAlias, TypedDict, overload

import numpy as np
import numpy.typing as npt

class LinkDict(TypedDict):
    generation: int | None
    width: int | None
    max_generation: int | None
    max_width: int | None
    replays: int | None

class ExplanationDict(TypedDict):
    device: str
    method: str
    direction: str
    host_memory: str
    bytes: int
    pieces: int
    width_bytes: int
    chunk_bytes: int
    threads: int
    kernel_blocks: int
    stores: str
    seconds: float
    why: str
    ways: dict[str, float]

class BackendDict(TypedDict):
    name: str
    devices: list[dict[str, Any]]
    library: str
    looked_for: list[str]
    absent_because: str
    is_parents: bool

class MemoryKindDict(TypedDict):
    name: str
    locked: bool
    huge: bool
    by_cpu: bool
    on_device: bool

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
    def why_no_peer_reach(self, other: Device) -> str | None:
        """Why kernels of this device cannot read the other one's memory where it is; None when they can."""
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
    @property
    def context_handle(self) -> int:
        """What memory and streams of callers must belong to: CUcontext, cl_context; 0 where there is no such thing."""
    def enter(self) -> int:
        """Make the device current for the calling thread; returns the context that was current before."""
    def leave(self, previous: int) -> None:
        """Make what `enter` returned current again."""
    def identify(self, address: int) -> tuple[str, int, int, int]:
        """What the driver knows of the memory at an address of the process: kind, device, first address and end.

        The kind is ``pageable`` where it knows nothing, ``pinned``, ``managed`` or ``device``; the device is -1 for
        memory of the host; the two addresses are 0 where the driver cannot say.
        """
    def borrow(self, kind: str, address: int, bytes: int) -> Buffer:
        """A view of memory that somebody else keeps alive; for OpenCL's device memory `address` is the cl_mem."""
    def why_no_latch(self) -> str | None:
        """Why streams cannot be held by a latch; None when they can."""

class Buffer:
    """Memory of one kind. `side` says where managed memory is wanted: ``host`` or ``device``."""

    @property
    def kind(self) -> str: ...
    @property
    def bytes(self) -> int: ...
    @property
    def handle(self) -> int:
        """The address; for OpenCL's device memory the cl_mem; 0 while neither is there."""
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
    def evict(self) -> None:
        """Empty the memory of the host out of the processors' caches; streams that use it must be idle."""
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

class Latch:
    """Keeps what a stream was given after it from beginning until it is opened, however long that takes."""

    def open(self) -> None: ...

class Stream:
    """Commands run in order; nothing has ended before `synchronize` returns."""

    def __init__(self, device: Device) -> None: ...
    @staticmethod
    def borrow(device: Device, handle: int) -> Stream:
        """A stream that somebody else owns and keeps: CUstream, cl_command_queue, or `handle` of another one."""
    @property
    def handle(self) -> int: ...
    def synchronize(self) -> None: ...
    def copy(self, to: Buffer, to_offset: int, from_: Buffer, from_offset: int, bytes: int) -> None: ...
    def copy_by_kernel(
        self, to: Buffer, to_offset: int, from_: Buffer, from_offset: int, bytes: int, blocks: int = 0
    ) -> None:
        """By at most so many blocks of 1,024 threads, or as many as fill the device."""
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
    def wait(self, event: Event) -> None:
        """What is given from now on begins after what the event was last recorded behind has ended."""
    def close_latch(self) -> Latch: ...
    def close_gate(self) -> Gate: ...

class Timed:
    """One timed case, as the functions `create_...` make it, which say what its samples are."""

    def poison(self) -> None:
        """Overwrite where data will arrive, so that stale data cannot pass for it."""
    def run(self, warmups: int, least: int, most: int, seconds: float) -> dict[str, list[float]]:
        """Between `least` and `most` samples, until `seconds` have passed, after `warmups` that are not kept.

        Seconds by metric: ``host_seconds`` on the host's clock, ``device_seconds`` on the device's, ``enqueue_seconds``
        until the call that starts something returned; empty where a metric does not apply.
        """
    @property
    def lanes(self) -> list[list[float]]:
        """Seconds of each lane in the last `run`, on the clock of the whole; empty where there is one lane."""
    def verify(self) -> list[tuple[int, int]]:
        """For each lane: 8-byte words that differ from what had to arrive, and the index of the first."""

class AllocationCase(Timed):
    """Memory of one kind and size that is got, used for the first time and given back, again and again."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Width in bytes, rows and pitch in bytes of 2-D memory once it was held; zeros where there is none."""

class Staging:
    """Memory, streams and threads through which pieces are packed; for one transfer at a time."""

    @property
    def threads(self) -> int: ...

class PieceTransfer(Timed):
    """Pieces of equal size that go in one direction, again and again, moved by one method."""

    @property
    def bytes_moved(self) -> int:
        """What crosses the link."""

class Pipeline(Timed):
    """Data goes to the device in chunks, is worked on, and comes back."""

    def trace(self) -> list[tuple[str, int, float, float]]:
        """Stage, chunk, begin and end in seconds since the first stage began, of one pass with events around each."""

class MigrationCounter:
    """Migrations and faults of managed memory in this process, by the driver; one at a time; until it is dropped."""

    @property
    def library(self) -> str:
        """The libcupti that is used."""
    @property
    def version(self) -> int:
        """The version of CUPTI's interface."""
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

def arrow_stream(rows: int, columns: list[tuple[str, str, int, list[bytes]]]) -> object:
    """A capsule with an Arrow C stream of one batch of so many rows, which copies what it is given.

    A column is its name, its format as Arrow names it (``l``, ``g``, ``U``), how many of its values are null, and its
    buffers: the bitmap of what is not null, then for text 64-bit offsets, then the values.
    """

def count_migrations(libraries: list[str]) -> MigrationCounter:
    """Begin to count, with a libcupti that is loaded or else the first of `libraries` (names or paths) that is found.

    Raises DeviceAbsent without CUDA's driver, CallFailed in a child of the process that began it, LibraryAbsent without
    CUPTI, FunctionAbsent when it is too old, and Unsupported with what to do when another profiler has it, counting is
    not allowed, or it does not suit the driver.
    """

def create_staging(device: Device, bytes: int, threads: int, pieces: int, blocks: int = 0) -> Staging:
    """For transfers of up to so many bytes and pieces, whose kernels get at most so many blocks.

    Raises Unsupported when the system grants fewer threads.
    """

def create_pieces(
    method: str,
    destination: tuple[Buffer, int, int, int, npt.NDArray[np.uint64] | None],
    source: tuple[Buffer, int, int, int, npt.NDArray[np.uint64] | None],
    extent: tuple[int, int, int],
    reference: Buffer,
    staging: Staging,
    threads: int = 0,
    chunk_bytes: int = 0,
    stores: str = "",
    from_caches: bool = False,
) -> PieceTransfer:
    """Pieces that `method` moves, or with ``isthmus`` the library, as it chooses.

    Sides are a buffer, an offset, a pitch, a slice pitch and offsets of the pieces or None; an extent is the width in
    bytes, rows and slices. `reference` is ordinary memory with the contents of the source's buffer. ``host_seconds``
    are from before the first call until all has arrived. `Timed.verify` gives the pieces that differ and the first of
    them, and then the bytes that were written outside all pieces, from a guard zone before the first to one after the
    last.

    Where threads pack, `threads` of the staging memory's do, chunks of no more than `chunk_bytes`, by ``ordinary``,
    ``streaming`` or ``demoted`` stores; what is left out suits the size. Where the CPU copies, its caches are emptied
    before each transfer, unless it is to be `from_caches`.

    Raises UsageError for layouts that cannot be (nothing to copy, rows wider than their pitch, overlaps in the
    destination, sizes that overflow 64 bits, what leaves a buffer), and Unsupported where the device or the layouts
    rule the method out.
    """

def can_demote() -> bool:
    """Whether this processor can hand what it has written to the cache that all cores share (CLDEMOTE). Without it
    ``demoted`` stores are ``streaming`` ones.
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
    `staging`, chunks pass through it on as many of its threads as there are streams. ``host_seconds`` are from before
    the first call until all has come back. `Timed.verify` counts 32-bit words that are not what the work makes of the
    source; it raises UsageError for a plan without a stage.
    """

class BufferRuleDict(TypedDict):
    """How a buffer is copied between pageable memory and the device, from a size on."""

    direction: str
    from_bytes: int
    method: str  # driver or staged; what follows is of staged ones
    threads: int
    chunk_bytes: int
    stores: str
    seconds: float

class DirectTimeDict(TypedDict):
    """What the driver's copy between page-locked memory and the device took."""

    direction: str
    bytes: int
    seconds: float

class KernelRuleDict(TypedDict):
    direction: str
    blocks: int

class PieceRuleDict(TypedDict):
    """The fastest method for pieces of one shape, and what it took."""

    direction: str
    pageable: bool
    apart_on_host: bool
    apart_on_device: bool
    scattered: bool
    width_bytes: int
    pieces: int
    method: str
    threads: int
    seconds: float

class WayRuleDict(TypedDict):
    direction: str
    device: str  # whose link takes a part of copies: its address on the PCI bus
    gains: bool
    from_bytes: int
    bytes: int
    seconds: float  # of so many bytes that way, meanwhile

class TransferTable:
    """Which way is fastest for which copy, as measured on one machine."""

    @property
    def origin(self) -> str:
        """Who measured it where, in a line."""
    @property
    def built_in(self) -> bool: ...
    @property
    def buffers(self) -> list[BufferRuleDict]: ...
    @property
    def direct(self) -> list[DirectTimeDict]: ...
    @property
    def kernels(self) -> list[KernelRuleDict]:
        """How many blocks of a kernel fill the link; directions without one have what suits the kind of link."""
    def direct_seconds(self, direction: str, bytes: int) -> float:
        """What such a copy is expected to take; 0 where the table does not say."""
    @property
    def pieces(self) -> list[PieceRuleDict]: ...
    @property
    def ways(self) -> list[WayRuleDict]: ...
    def text(self) -> str:
        """What `parse_transfer_table` reads, to the last digit."""
    def buffer(self, direction: str, bytes: int) -> BufferRuleDict:
        """The rule for a buffer of so many bytes, with the seconds that it promises for them."""
    def piece(
        self,
        *,
        direction: str,
        pageable: bool,
        apart_on_host: bool,
        apart_on_device: bool,
        scattered: bool,
        width_bytes: int,
        pieces: int,
    ) -> PieceRuleDict | None:
        """The nearest rule whose method can move such pieces, with the seconds that it promises for them, if any."""

class RingPlanDict(TypedDict):
    """What a session does with the page-locked memory of one direction."""

    ring_bytes: int
    pieces: int  # that there are offsets for
    chunk_bytes: int
    slots: int  # chunks that are packed or under way at once

def ring_plan(direction: str, chunk_bytes: int = 0, pinned_budget: int = ...) -> RingPlanDict:
    """How a large copy goes through the ring of a session with such a budget (its default one), where a table wants
    chunks of `chunk_bytes`, or names none. Raises UsageError for a budget without room for a ring.
    """

def parse_transfer_table(text: str) -> TransferTable:
    """Raises UsageError, which names the line, what was found there and what was expected."""

def read_transfer_table(path: str) -> TransferTable:
    """The same of a file, which the error names too."""

def default_transfer_table(backend: str, device: str = "") -> TransferTable:
    """What is used until a machine is calibrated, for a device of this name."""

def machine_transfer_table(device: Device) -> TransferTable:
    """The machine's table if it was calibrated, else the built-in one, whose origin says why if there is a reason."""

def transfer_table_path(device: Device) -> str:
    """Where the machine's table for this device is kept; empty where the user has no home."""

def create_trip(kind: str, work: str, in_place: bool, bytes: int, source: Buffer, device: Buffer) -> Timed:
    """A buffer is allocated and filled, its data is worked on by the device and comes back, and the buffer is freed.

    `work` is a ``round_trip`` or a ``reduction``; `source` is pageable, has contents and is a page larger than `bytes`.
    ``uses_1``, ``uses_2``, ``uses_5`` and ``uses_10`` are by the number of uses between getting the buffer and giving
    it back, empty for those that take too long; ``further`` is each use after the first. `Timed.verify` counts 32-bit
    words that did not come back as computed; of a reduction, wrong sums.
    """

def create_allocation(device: Device, kind: str, bytes: int, beside: bool = False) -> AllocationCase:
    """Timed allocations; with `beside`, a small block of the same kind is held all the while.

    Seconds per call: ``allocate``, ``touch`` (empty where memory is there once it was allocated) and ``free``. Calls
    shorter than ten microseconds are means over up to 64 blocks held at once.
    """

def allowed_processors() -> int:
    """How many threads can work at once: the processors that this thread may use, and the quotas of its cgroups."""

def memory_kinds() -> list[MemoryKindDict]:
    """The core's table of memory kinds, a row each: what `allocate` and `create_allocation` take."""

def list_devices(backend: str, opencl_drivers: list[str]) -> BackendDict: ...
def open_device(backend: str, index: int, model: str, opencl_drivers: list[str]) -> Device: ...
def bind_to_node(node: int, cpus: list[int]) -> None: ...
def create_transfer(
    method: str,
    lanes: list[tuple[str, Buffer, Buffer | None]],
    offset: int,
    bytes: int,
    seed: int,
    from_caches: bool = False,
    untouched: bool = False,
    session: Session | None = None,
) -> Timed:
    """A transfer by ``copy``, ``kernel``, ``prefetch`` or the library itself, ``isthmus``, which the host's clock alone
    times; a lane is (``h2d`` or ``d2h``, host, device memory).

    The source of an h2d lane holds the pattern of `seed`, that of a d2h lane the pattern of `seed` + 1. Where the CPU
    copies, its caches are emptied before each transfer, unless it is to be `from_caches`. Where both are device memory,
    of one device or of two, the lane is (``h2d``, source, destination). With `untouched`, the pages of ordinary memory
    that is copied to are given back to the system before each transfer. `session` makes the library's copies.
    """

def create_interference(
    neighbour: str,
    load: Buffer,
    method: str,
    to: Buffer,
    from_: Buffer,
    bytes: int,
    seed: int,
    seconds: float,
    blocks: int = 0,
    session: Session | None = None,
    load_source: Buffer | None = None,
) -> Timed:
    """Work that takes `seconds` alone, during copies of the pattern of `seed`: ``alone_seconds`` and ``beside_seconds``
    of the work, ``host_seconds`` of one copy meanwhile.

    The neighbour is ``compute``, ``memory`` (both on `load`, device memory), ``thread``, or ``copies`` to `load` from
    `load_source`, between the host and a device; the method ``copy``, ``isthmus`` (by `session`), or ``kernel`` of at
    most so many blocks. `load` may be another device's where the library copies. Raises UsageError for what makes no
    sense.
    """

def create_peer_copies(
    lanes: Sequence[tuple[str, Buffer, Buffer, int, bool]], bytes: int, copies: int, by_kernel: bool
) -> Timed:
    """At most so many copies of `bytes` in each sample, one behind the other, by copy engines or by kernels.

    There are fewer where they take long. ``device_seconds`` are of one copy, the mean of a sample's, on the clock of
    the device that copies: from the common start until all lanes have ended; `Timed.lanes` is each lane by itself.

    A lane is its name for messages, a source, a destination, the seed of the source's pattern, and whether the device
    with the destination copies (a read), not the one with the source. Raises Unsupported where a device cannot.
    """

Level: TypeAlias = Literal["FAULT", "ATTENTION", "OK", "note", "none"]
Basis: TypeAlias = Literal["measured", "public", "theory", "alike", "card"]
TextTuple: TypeAlias = tuple[str, dict[str, str | float | list[str]]]

class VerdictDict(TypedDict):
    """What `judge` says of a device; texts are keys of the catalogue and what their placeholders get."""

    kind: str  # of the card in the table; empty where it has none
    # Level, topic, text, cause and cures, the gravest first.
    findings: list[tuple[Level, str, TextTuple, TextTuple | None, list[TextTuple]]]
    normals: list[list[tuple[Basis, float, int, tuple[str, ...]]]]  # of each rate, the best evidence first

class ShownDict(TypedDict, total=False):
    """A device for `styled`; one without `index` was not checked, for the reason that it gives."""

    level: Level
    mark: str  # the level in the language of the user
    reason: str
    device: str
    host: str
    name: str
    uuid: str
    index: int
    rates: list[tuple[str, str, float, float]]  # memory, direction, bytes per second and the least that is normal, or 0
    replays: int | None

def styled(devices: Sequence[ShownDict], style: str, strict: bool) -> tuple[str, int]:
    """What a program that watches nodes takes of devices, without a newline at its end, and the exit code.

    Styles are plain, nagios, npd, nhc, prometheus and json, whose text is empty. Raises UsageError for others, and
    without devices.
    """

def judge(
    device: object,
    links: Iterable[object],
    rates: Sequence[tuple[object, Sequence[float]]],
    *,
    iommu: str = "",
    bound_node: int | None = None,
    reference: tuple[str, str] | None = None,
) -> VerdictDict:
    """Judge a `Device` by its `Link` before and after copies and by each `Rate`: the one table of rules.

    A rate comes with the same rate of all devices like it in the machine, in bytes per second. `bound_node` is the NUMA
    node that copies ran on, `reference` a reference's name and that of its device.
    """

class PeerReadingDict(TypedDict):
    has_nvlink: bool | None
    nvlinks: int | None
    ancestor: int | None

def read_peer(here: Device, there: Device) -> PeerReadingDict:
    """What lies between two devices: NVLink, how many, and the closest ancestor of both (nvmlGpuTopologyLevel_t).

    None where the vendor's library does not say.
    """

def create_chase(
    device: Device, memory: Buffer, offset: int, bytes: int, stride_bytes: int, hops: int, shuffled: bool = False
) -> Timed:
    """A chase by one thread of `device` through `bytes` of `memory`, from line to line `stride_bytes` apart, in order.

    ``device_seconds`` of one hop, a launch of all hops a sample. A hop is one dependent 8-byte load: from the thread to
    the memory and back. The time is the device's, between events around the launch, divided by the hops; a launch of a
    few thousand hops or more hides what the launch itself costs. Managed memory is written by the host before every
    sample, warmups included, so that its pages start there: the first hop into each page moves it, and later ones into
    the same page find it on the device, unless it was advised to stay (`Buffer.advise`). The host backend takes its
    model's latency for every hop. `Timed.verify` says whether the latest launch read the lines that it had to, as the
    last of them shows; it raises UsageError before the first.

    The lines are overwritten. Lines in order are what nvbandwidth's host_device_latency_sm reads, 128 bytes apart; with
    `shuffled` they come in a random order, which the prefetchers of a CPU (PoCL, the host backend) do not foresee.
    After the last line comes the first again, so `hops` may be more than there are lines; loads pass by the caches of a
    multiprocessor, but device memory that fits the second-level cache is read from there. `memory` may be another
    device's: see `Device.why_no_peer_reach`. Raises Unsupported with the reason (that of `Device.why_no_reach` or
    `why_no_peer_reach`) where kernels do not reach the memory, and UsageError unless offset and stride are multiples of
    8 bytes and there are two lines and a hop.
    """

def time_launches(device: Device, warmups: int, least: int, most: int, seconds: float) -> dict[str, list[float]]:
    """A kernel that does nothing, launched again and again on a stream with nothing else on it.

    Seconds on the host's clock, one sample a launch: ``enqueue_seconds`` until the call that launches has returned,
    ``host_seconds`` from before that call until the host, waiting for the stream, knew that the kernel had ended.
    `warmups`, `least`, `most` and `seconds` as for `Timed.run`.
    """

def time_events(device: Device, warmups: int, least: int, most: int, seconds: float) -> dict[str, list[float]]:
    """Events on a stream with nothing else on it.

    ``host_seconds`` is one call that records an event, on the host's clock, each sample a mean over 16;
    ``device_seconds`` lies between two events that were recorded one after the other, on the device's clock: what every
    time between events contains. Both have as many samples.
    """

def time_waits(device: Device, warmups: int, least: int, most: int, seconds: float) -> dict[str, list[float]]:
    """Waits that find nothing to wait for: what the calls themselves cost, on the host's clock, each a mean over 16.

    ``synchronize_seconds`` waits for a stream whose work has ended, ``query_seconds`` asks whether an event has passed
    that has. What it takes to learn that work has ended which had not yet is in `time_launches`.
    """

def create_concurrent(
    lanes: list[tuple[str, Buffer, Buffer, int, tuple[int, list[int]] | None]],
    bytes: int,
    threads: int,
    own_streams: bool,
    chunk_bytes: int,
    spawn: bool,
    limit_seconds: float = 60.0,
) -> Timed:
    """The first `bytes` of each lane, copied by `threads` host threads of its own; all lanes work at once.

    A lane is (name for messages, source, destination, seed of the source's pattern, NUMA node with the processors of it
    that its threads run on, if they are bound). Threads have one slice each, or take chunks of `chunk_bytes` from a
    common counter if that is not 0; one stream each or one for the lane; with `spawn` new ones for every transfer.

    ``host_seconds`` run from before the threads are woken, or created, until all have ended; `Timed.lanes` end with
    each lane's own threads. `Timed.run` raises CallFailed with lane, size and thread when one fails or has not ended
    after `limit_seconds`, and Unsupported when the system grants fewer threads.
    """

def read_link_under_load(memory: Buffer, device: Buffer) -> LinkDict:
    """Generation and width of the link, read while copies keep it busy."""

class Session:
    """What copies for one device share; `isthmus.Session` derives from it. For its copies see the functions."""

    def __init__(
        self,
        device: Device,
        pinned_budget: int | None,
        threads: int,
        table: str | None = None,
        kernel_blocks: int = 0,
        paths: str = "",
    ) -> None:
        """`threads` and `kernel_blocks` are 0 for as many as pay; `table` is the text of one.

        `paths` is ``own``, ``all`` or names of other devices with commas between them; empty for what the environment
        says. Raises UsageError for what is wrong, and DeviceAbsent for other devices that are not there.
        """
    @property
    def device(self) -> str:
        """``cuda:0``, ``opencl:0`` or ``host``."""
    @property
    def table(self) -> str:
        """What methods are chosen by, as `isthmus calibrate` writes it."""
    @property
    def table_origin(self) -> str:
        """Where that was measured."""
    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
    @property
    def pinned_bytes(self) -> int:
        """Page-locked memory that it holds."""
    @property
    def pinned_budget_bytes(self) -> int:
        """Page-locked memory that it may hold."""
    @property
    def pinned_pool_bytes(self) -> int:
        """Page-locked memory of the arrays that `pinned_empty` gave, and kept for later ones; no part of the budget."""
    @property
    def ways(self) -> dict[str, int]:
        """Bytes of divided copies by the device whose link took them, its own first; empty without other paths."""
    def copy(self, dst: object, src: object, *, stream: object = None) -> None:
        """As `isthmus.copy`, by this session."""
    def copy_async(self, dst: object, src: object, *, stream: object = None) -> Future:
        """As `isthmus.copy_async`, by this session."""
    def copy_batch(self, dsts: Iterable[object], srcs: Iterable[object], *, stream: object = None) -> None:
        """As `isthmus.copy_batch`, by this session."""
    def copy_batch_async(self, dsts: Iterable[object], srcs: Iterable[object], *, stream: object = None) -> Future:
        """As `isthmus.copy_batch_async`, by this session."""
    def batch(self, dsts: Iterable[object], srcs: Iterable[object]) -> Batch:
        """As `isthmus.batch`, by this session."""
    def copy_rows(self, dst: object, dst_rows: object, src: object, src_rows: object, *, stream: object = None) -> None:
        """As `isthmus.copy_rows`, by this session."""
    def copy_rows_async(
        self, dst: object, dst_rows: object, src: object, src_rows: object, *, stream: object = None
    ) -> Future:
        """As `isthmus.copy_rows_async`, by this session."""
    def copy_addresses(self, dst: object, src: object, sizes: object, *, direction: str, stream: object = None) -> None:
        """As `isthmus.copy_addresses`, by this session."""
    def copy_addresses_async(
        self, dst: object, src: object, sizes: object, *, direction: str, stream: object = None
    ) -> Future:
        """As `isthmus.copy_addresses_async`, by this session."""
    def trim(self) -> None:
        """Give page-locked memory back that no copy uses at this moment, and no array; who needs some gets it anew."""
    def close(self) -> None:
        """Wait for the copies that were begun, end the threads and give everything back.

        Later copies raise UsageError. Raises the first failure of a copy that nobody waited for.
        """

def close_sessions() -> None:
    """Wait for the copies of all sessions, and close these. Raises the first failure of a copy nobody waited for."""

def tolerate_leaks() -> None:
    """Say nothing of objects that are there when the interpreter has ended."""

def forget_sessions() -> None:
    """In the child of a fork: leave the sessions of the parent to it."""

class PinnedMemory:
    """Page-locked memory of a session's pool, as a buffer. It goes back when the last array that lies in it has gone.

    In the child of a fork it is a copy, as other memory is, and is not page-locked.
    """

    def __init__(self, session: Session, bytes: int) -> None:
        """Raises OutOfMemory, with nothing held, where the process, the driver or a limit has no room for it."""
    def __buffer__(self, flags: int, /) -> memoryview: ...

class PinnedPlace:
    """Keeps an array page-locked where it is, until it is closed or goes."""

    def __init__(self, session: Session, array: object) -> None:
        """Does not keep the array. Raises UsageError, Unsupported or OutOfMemory, with nothing changed."""
    @property
    def closed(self) -> bool:
        """Whether nothing is kept page-locked by it: it was closed, or the array has no elements."""
    def close(self) -> None:
        """Let go. Precondition: no copy of the array is under way."""

class DeviceArray:
    """An array in a device's memory; `isthmus.DeviceArray` derives from it."""

    @overload
    def __init__(
        self, session: Session, shape: Sequence[int], dtype: np.dtype[Any], name: str = "", axes: Sequence[int] = ()
    ) -> None:
        """A new array; `name` of a type that NumPy lacks, `axes` the dimensions from the outermost in memory on."""
    @overload
    def __init__(self, other: DeviceArray, shape: Sequence[int], axes: Sequence[int], /) -> None:
        """A new array next to another one, of its type."""
    @overload
    def __init__(
        self,
        base: DeviceArray,
        offset_bytes: int,
        shape: Sequence[int],
        strides: Sequence[int],
        dtype: np.dtype[Any] | None = None,
        name: str = "",
    ) -> None:
        """A view of an array, by strides in bytes, as another type if one is given."""
    @property
    def shape(self) -> tuple[int, ...]:
        """Elements in each dimension."""
    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next in each dimension."""
    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements; of those that NumPy lacks ml_dtypes', if that is installed, else raw bytes."""
    @property
    def type_name(self) -> str:
        """Name of a type that NumPy lacks, such as ``bfloat16``; empty for NumPy's own."""
    @property
    def device(self) -> str:
        """``cuda:0``, ``opencl:0`` or ``host``."""
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3. Waits for copies that are under way. Raises AttributeError for memory that is not CUDA's."""
    def __dlpack_device__(self) -> tuple[int, int]:
        """CUDA (2), OpenCL (4), and the CPU (1) for the host backend, whose device memory is the host's."""
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule that keeps the memory. What `stream` is given from now on begins after copies under way.

        `dl_device` may be the array's own device, or the CPU (1, 0), for which it is copied, as it is where `copy` is
        true. Raises NotShared, a BufferError, for a type that the consumer's DLPack has not.
        """

class Future:
    """A copy that was begun. It goes on when this is dropped, and keeps its arrays until it has ended."""

    def done(self) -> bool:
        """Whether it has ended, well or not."""
    def wait(self, timeout: float | None = None) -> None:
        """Return when it has ended. Raises what it failed with, such as CopyFailed, or TimedOut after `timeout` s."""
    def result(self, timeout: float | None = None) -> Any:
        """Wait as `wait` does, and return the array of `to_device_async` and `to_host_async`, of other copies None."""
    def add_done_callback(self, function: Callable[[Future], object]) -> None:
        """Call `function(future)` once when the copy has ended, well or not: at once if it has, else from a thread that
        all callbacks share.

        What it raises is logged (logger ``isthmus``). All have been called before the interpreter ends.
        """
    def __await__(self) -> Generator[Any, None, Any]:
        """Wait in asyncio's running loop, and give what `result` does. The copy goes on if the task is cancelled."""
    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait as `wait` does, and return what it failed with, or None. Raises TimedOut after `timeout` s."""
    def wait_on(self, stream: object) -> None:
        """What the stream is given from now on begins after the copy has ended; the host does not wait."""
    @property
    def bytes_completed(self) -> int:
        """How much had arrived when it ended; 0 before."""

def copy(dst: object, src: object, *, stream: object = None, session: Session | None = None) -> None:
    """Copy an array into another one of the same shape and type, on whichever sides they are, and return when it has
    arrived.

    Arrays are NumPy's, anything with the buffer protocol, DLPack (torch, CuPy, JAX as sources) or
    `__cuda_array_interface__` (Numba), and those of `to_device`; strides may be any. The copy begins after what
    `stream` holds: None for CUDA's legacy default stream, a handle as an int, or a stream of torch, CuPy, Numba,
    pyopencl or with `__cuda_stream__`. Without a session the one that is kept for the device is used.

    Raises UsageError (of which WrongType is one) for what cannot be, saying what to do; CopyFailed and OutOfMemory with
    how much had arrived; DeviceAbsent and Unsupported.
    """

def copy_new(
    make: Callable[[list[int], str, str, list[int]], object],
    src: object,
    *,
    stream: object = None,
    session: Session | None = None,
) -> Any:
    """Copy an array into the one that `make` gives of its shape, type, type's name and order, and return that.

    The type is as NumPy writes it, the name empty where NumPy has the type, and the order, the dimensions from the
    outermost to the innermost in memory, where it is C's.
    """

def copy_new_async(
    make: Callable[[list[int], str, str, list[int]], object],
    src: object,
    *,
    stream: object = None,
    session: Session | None = None,
) -> Future:
    """As `copy_new`, without waiting: the array is the future's result, whose contents arrive with it."""

def copy_async(dst: object, src: object, *, stream: object = None, session: Session | None = None) -> Future:
    """The same without waiting; what `stream` is given afterwards begins when the copy has ended.

    Both arrays are kept until then, and are not to be changed.
    """

def copy_batch(
    dsts: Iterable[object], srcs: Iterable[object], *, stream: object = None, session: Session | None = None
) -> None:
    """Many copies at once, all from one side to one other, of pairs of arrays as `copy` takes them."""

def copy_batch_async(
    dsts: Iterable[object], srcs: Iterable[object], *, stream: object = None, session: Session | None = None
) -> Future:
    """The same without waiting, as `copy_async`."""

class Batch:
    """Pairs of arrays that are copied again and again. It keeps the arrays, and their memory."""

    def copy(self, *, stream: object = None, check: bool = True) -> None:
        """Copy every source into its destination, and return when all has arrived.

        Before anything moves, the address, shape, strides and type of every array are compared with what they were when
        the batch was made, and UsageError names the first one that changed (``resize_``, ``set_``, ``data``). Without
        `check` the caller answers for that. Not seen: an array that was resized in spite of its memoryview, and a
        gradient or negative bit that a tensor has since. Raises what `copy_batch` does.
        """
    def copy_async(self, *, stream: object = None, check: bool = True) -> Future:
        """The same without waiting, as `copy_async`: until it has ended, no array may be moved."""
    def __len__(self) -> int:
        """Pairs of arrays."""

def batch(dsts: Iterable[object], srcs: Iterable[object], *, session: Session | None = None) -> Batch:
    """What `copy_batch` copies, to be copied many times: pairs of arrays as `copy` takes them, read once.

    Raises what `copy_batch` does for wrong arrays, which moves nothing.
    """

def in_result_memory(make: Callable[[Any, Any], Any], shape: Any, dtype: Any) -> Any:
    """What `make` gives, such as ``numpy.empty``, in memory of earlier results; it owns its data as any other does."""

def result_bytes(bytes: int) -> Any:
    """A capsule of DLPack in memory of earlier results; None below 1 MiB and beyond the budget."""

def result_memory(budget: int | None = None, trim: bool = False) -> tuple[int, int]:
    """Bytes kept for later results, and the most that are."""

def copy_from_file(
    dst: object, descriptor: int, offset: int, *, stream: object = None, session: Session | None = None
) -> None:
    """Fill a contiguous array with the bytes of an open file from an offset on, and return when they have arrived.

    Raises CopyFailed where the file ends before or cannot be read, else as `copy` does.
    """

def copy_rows(
    dst: object,
    dst_rows: object,
    src: object,
    src_rows: object,
    *,
    stream: object = None,
    session: Session | None = None,
) -> None:
    """Copy rows of the first dimension of one array to rows of another: ``dst[dst_rows] = src[src_rows]``.

    `dst` and `src` are arrays as `copy` takes them, with rows of one shape and type, or lists of as many of them (the
    layers of a cache, of one row size), which share the lists of rows. These are ranges, lists, or one-dimensional
    arrays of integers, also on the session's device (int32 or int64). A row of the destination is named once; rows of
    the source may repeat. Returns when all has arrived.

    Raises UsageError for a row that there is not, a negative one, a destination's row that is named twice, and rows
    that are read and written to. Lists on a device are checked there: wrong ones copy nothing. Raises what `copy` does.
    """

def copy_rows_async(
    dst: object,
    dst_rows: object,
    src: object,
    src_rows: object,
    *,
    stream: object = None,
    session: Session | None = None,
) -> Future:
    """The same without waiting, as `copy_async`. What is wrong with lists on a device, the future raises.

    Lists on the host may be changed at once. Where pageable memory takes part, lists on a device are waited for.
    """

def copy_addresses(
    dst: object, src: object, sizes: object, *, direction: str, stream: object = None, session: Session | None = None
) -> None:
    """Copy pieces of memory that are given by their addresses, and return when all has arrived.

    `dst` and `src` are one-dimensional arrays of integers, `sizes` an array of bytes, or an int for all.
    `direction` is ``h2d``, ``d2h``, ``d2d`` or ``h2h``: from the host (h) or the device (d) of the session to one of
    them. Without a session: of the best device. Destinations must not overlap.
    """

def copy_addresses_async(
    dst: object, src: object, sizes: object, *, direction: str, stream: object = None, session: Session | None = None
) -> Future:
    """The same without waiting, as `copy_async`. The caller keeps the memory until the copy has ended."""

def explain_rows(
    dst: object, dst_rows: object, src: object, src_rows: object, *, session: Session | None = None
) -> ExplanationDict:
    """How `copy_rows` would copy, and why. Moves nothing."""

def explain(dst: object, src: object, *, session: Session | None = None) -> ExplanationDict:
    """How `copy` would copy, and why. Moves nothing."""

def explain_batch(dsts: Iterable[object], srcs: Iterable[object], *, session: Session | None = None) -> ExplanationDict:
    """How `copy_batch` would copy, and why. Moves nothing."""

def named_type_bytes(name: str) -> int:
    """Bytes of an element of the type, which NumPy lacks, of this name; 0 where it is not known."""

def describe(array: object) -> tuple[list[int], str, str]:
    """Shape, type as NumPy writes it, and its name where NumPy has none, of an array as `copy` takes it."""
