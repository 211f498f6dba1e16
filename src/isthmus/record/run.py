"""One run as plain data: what was asked, where it was measured, every case with its raw samples."""

from operator import attrgetter
from typing import Annotated, Literal

import msgspec

from isthmus.record.fingerprint import Fingerprint, Link, Placement

FORMAT = "isthmus.run"
SCHEMA_VERSION = 5

Direction = Literal["h2d", "d2h", "both", "peer"]
# What a stream's commands are timed by.
CommandMetric = Literal["host_seconds", "device_seconds", "enqueue_seconds"]
# Besides, times of phases, where one sample has several: copies in with the device's computing, copies out with the
# CPU's (the paper on OpenACC reports them so), and those of a stencil, of which "mpi" is not part of the sample's time,
# but of what elapsed. Of work concurrent with copies what it takes without and with them.
Metric = Literal[
    CommandMetric,
    "in_seconds",
    "out_seconds",
    "compute_seconds",
    "pack_seconds",
    "copy_seconds",
    "unpack_seconds",
    "mpi_seconds",
    "elapsed_seconds",
    "alone_seconds",
    "beside_seconds",
]
# What rates are made of; a phase besides may have had nothing to do.
RATED = ("host_seconds", "device_seconds", "enqueue_seconds", "elapsed_seconds")
Verified = Literal["yes", "no", "n/a"]
LayoutName = Literal["", "contiguous", "strided", "scattered"]
StageName = Literal["in", "work", "out"]
# How a fleet is measured: one device of a node at a time, or all of them at once.
Phase = Literal["alone", "together"]
# No bytes and no count of anything are negative, or more than floating point counts, and nothing took thirty years: a
# file that was edited so is refused where it is read.
Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
# No clock tells less apart.
LEAST_SECONDS = 1e-12
_Time = Annotated[float, msgspec.Meta(ge=-1e9, le=1e9)]


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """The raw samples of one metric, in seconds, in the order in which they were taken."""

    metric: Metric
    samples: list[Seconds]


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """When one stage of one chunk was in progress, in seconds since the first stage of all began."""

    stage: StageName
    chunk: Count
    begin: _Time
    end: _Time


class Migrations(msgspec.Struct, frozen=True, kw_only=True):
    """Migrations of managed pages of one size, for one cause, in one direction, as the driver counted them."""

    direction: Literal["h2d", "d2h"]
    cause: str  # CUPTI's words: user, coherence, prefetch, eviction, access_counters; unknown
    bytes: Count  # of each
    count: Count
    alignment_bytes: Count  # the largest power of two that divides all their offsets in the array


class Faults(msgspec.Struct, frozen=True, kw_only=True):
    """Page faults of one side, as the driver counted them."""

    side: Literal["host", "device"]
    count: Count
    groups: Count  # of faults that were handled together; as many as faults where they are not grouped


class Case(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One measured point: its parameters, its samples and whether the data arrived.

    `bytes` is what one direction moves; with direction ``both`` that many bytes went each way at the same time. It is 0
    where no memory is concerned. `direction` is None where nothing crosses the link, or where data goes there and comes
    back within one sample. `threads` and `streams` count those of one direction. A skipped case has no series and the
    reason in `note`.
    """

    experiment: str
    method: str
    host_memory: str
    bytes: Count
    direction: Direction | None = None
    threads: Count | None = None
    streams: Count | None = None
    pieces: Count | None = None
    width_bytes: Count | None = None
    rows: Count | None = None
    pitch_bytes: Count | None = None
    stride_bytes: Count | None = None
    fraction: Annotated[float, msgspec.Meta(ge=0, le=1e6)] | None = None
    alignment_bytes: Count | None = None
    uses: Count | None = None  # how often a buffer was used between its allocation and its release
    devices: Count | None = None  # how many work at the same time, where an experiment varies that
    target: str = ""  # the device concerned, such as cuda:1, where it is not that of the run
    peer: str = ""  # the device on the other side of a copy between devices
    node: Count | None = None  # NUMA node of the host's memory and threads, where an experiment varies that
    # Pieces and sections: where they lie on either side. Pitches above are the host's.
    slices: Count | None = None
    slice_pitch_bytes: Count | None = None
    device_pitch_bytes: Count | None = None
    device_slice_pitch_bytes: Count | None = None
    host_layout: LayoutName = ""
    device_layout: LayoutName = ""
    moved_bytes: Count | None = None  # what crosses the link, where more than `bytes` may have to
    work_ratio: Annotated[float, msgspec.Meta(ge=1e-6, le=1e6)] | None = None  # times the slower copy's, as meant
    ranks: Count | None = None  # processes that took part, over MPI
    halo: Count | None = None  # columns of a halo
    iterations: Count | None = None  # in a sample of a stencil, where they are not 20
    compiler: str = ""  # of a program that was measured
    cut: str = ""  # ranks down and across, 2x3, where rows are cut too
    blocks: Count | None = None  # of 1,024 threads, of a kernel that copies; 0 for as many as fill the device
    neighbour: str = ""  # what runs during the copies, or the root port that devices at work at once share
    path: str = ""  # between two devices: nvlink and their number, pcie, host or peer (unknown), and how near they are
    migrations: list[Migrations] = []  # of one pass of the case, in the order of directions, causes and sizes
    faults: list[Faults] = []
    # CPUs that the process kept busy during its transfers, on average; waiting that spins counts.
    busy_cpus: Annotated[float, msgspec.Meta(ge=0, le=1e6)] | None = None
    carried: dict[str, Count] = {}  # bytes by the device whose link took them of divided copies, the target's first
    spans: list[Span] = []  # of one pass with events around every stage
    series: list[Series] = []
    verified: Verified = "n/a"
    skipped: bool = False
    note: str = ""

    def samples(self, metric: Metric) -> list[float]:
        """Raw samples of one metric in seconds; empty when it was not measured."""
        # A loop: a report asks a hundred thousand times.
        for series in self.series:
            if series.metric == metric:
                return series.samples
        return []

    @property
    def bytes_moved(self) -> int:
        """Bytes that crossed the link in one sample: twice `bytes` when both directions ran at once."""
        return 2 * self.bytes if self.direction == "both" else self.bytes

    @property
    def is_between_devices(self) -> bool:
        """Whether one device copied to, or read, the memory of another one."""
        return self.host_memory == "device" and (bool(self.peer) or self.direction == "peer")


# What came of a case; every other field says which case it is. `moved_bytes` and
# `path` follow from those and from the machine.
_RESULTS = {
    *("migrations", "faults", "carried", "spans", "series", "verified", "skipped", "note", "moved_bytes", "path"),
    "busy_cpus",
}
PARAMETERS = tuple(name for name in Case.__struct_fields__ if name not in _RESULTS)
_parameters = attrgetter(*PARAMETERS)


def case_key(case: Case) -> tuple[object, ...]:
    """The values of PARAMETERS: the same for one case in several runs."""
    return _parameters(case)


class Settings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the run was asked to do; enough to repeat it."""

    command: list[str] = []
    mode: str = "default"
    seed: int = 0
    target_relative_half_width: float = 0.02
    minimum_samples: int = 10
    # For transfers whose median is `long_seconds` or more.
    minimum_long_samples: int = 10
    long_seconds: float = 0.0
    budget_seconds: float = 0.0
    options: dict[str, str] = {}


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """The process among those that a launcher started to measure a fleet.

    `node` is the lowest rank on the same machine, since names of hosts may repeat.
    """

    fleet: str
    phase: Phase
    rank: Count
    ranks: Count
    local_rank: Count
    node: Count


class End(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the run ended; written last, so a file without it was cut off while it was measured."""

    status: Literal["complete", "interrupted", "failed"]
    seconds: float = 0.0
    placement: Placement | None = None
    # The link under load when all was measured: it may have changed since the beginning.
    link: Link | None = None
    message: str = ""

    @property
    def note(self) -> str:
        """What is to be known of a run that has measured everything; why it has not is no note."""
        return self.message if self.status == "complete" else ""


class Run(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run file. `run` names the run, `created` is UTC in ISO 8601."""

    format: str
    schema_version: Annotated[int, msgspec.Meta(ge=1)]
    run: str
    created: str
    fingerprint: Fingerprint
    settings: Settings = Settings()
    launch: Launch | None = None
    cases: list[Case] = []
    end: End | None = None

    @property
    def brief(self) -> list[str]:
        """The experiments of which it holds no more than a sentence of the first screen needs."""
        return [name for name in self.settings.options.get("brief", "").split(",") if name]
