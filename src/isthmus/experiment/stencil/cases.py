"""Halos of a stencil between ranks: packed by the processor or by the device, in explicit and in managed memory.

Section 5.3 of IPSJ HPC-177-13, which asks whether managed memory makes an exchange of halos slower or faster than
copies by hand do. A four-point Laplacian on a square of doubles, cut into tiles, one for each MPI rank; besides the
paper's strips also in a grid.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

from isthmus.errors import IsthmusError
from isthmus.experiment.engine.batch import Batch, Planned, Prepared
from isthmus.experiment.engine.blocks import most_managed_bytes, over_budget, over_half
from isthmus.experiment.engine.options import Effort, ModeName, Options
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import least_seconds, reason_of
from isthmus.experiment.engine.sweep import Bench, Samples, Start, Sweep, Timed, planned
from isthmus.experiment.stencil.points import MEMORY_KINDS, Cut, HaloPoint, Tile, cuts, points_of
from isthmus.experiment.stencil.rank import Room
from isthmus.experiment.stencil.team import Phases, Team
from isthmus.machine.devices import OpenDevice
from isthmus.record import MIB, Case, Metric, format_bytes

_ARRAYS = 2
_MIRRORED = ("cpu_whole", "cpu_columns", "cpu_rows")
# Contexts, kernels and the driver's own buffers need some.
_USABLE = 0.9
# Sides and halos take the place of sizes.
EFFORTS: Mapping[ModeName, Effort] = {
    "quick": Effort([], 8.0, 0.2),
    "default": Effort([], 40.0, 1.0),
    "full": Effort([], 300.0, 6.0),
}
_NEEDS_PREFETCH = ("cpu_whole", "managed")


def check_options(options: Options, shares_host_memory: bool, ranks: int) -> None:
    """Raises UsageError where a side is too short for its halos."""
    cuts(options, shares_host_memory, ranks)


def plan(device: OpenDevice, options: Options, memory_bytes: int) -> Planned:
    """For every cut field all methods interleaved where memory allows; else one kind of memory after the other."""
    sweep = StencilSweep(device, options, memory_bytes)
    batches, skipped = planned(sweep)
    # What comes next in a run needs the memory.
    release = [Batch((), 0.0, partial(_release, sweep.team))] if batches else []
    return Planned([*batches, *release], skipped)


def _release(team: Team) -> Prepared:
    team.release()
    return Prepared([])


class StencilSweep(Sweep):
    """Every cut field on the ranks of a team."""

    def __init__(self, device: OpenDevice, options: Options, memory_bytes: int) -> None:
        super().__init__(device, options, memory_bytes)
        self.team = Team(device)
        rooms = self.team.rooms()
        self._devices = len({(room.host, room.device) for room in rooms})
        share = Share.of(rooms, memory_bytes // self.team.local_count, self.shares_host_memory)
        self._most_reference_bytes = share.reference_bytes
        self._limits = {cut: Limits(share, cut) for cut in cuts(options, self.shares_host_memory, self.team.count)}
        # Sums of fields as they come out without exchanges, however they are cut.
        self._references: dict[tuple[int, int, int], int] = {}

    def cases(self) -> Iterator[Case]:
        """Every method with every kind of memory, cut by cut."""
        kinds = self.options.chosen(MEMORY_KINDS, self.options.memory)
        for cut in self._limits:
            yield from (point.case(self._devices) for point in points_of(cut, kinds, self.options.mode))

    def why_not(self, case: Case) -> str | None:
        """By what the device lacks, and by size."""
        point = HaloPoint.of(case)
        return _why_not(self.device, point) or self._limits[point.cut].why_not(point)

    def shares(self, case: Case) -> Cut:
        """The cut field."""
        return HaloPoint.of(case).cut

    def groups(self, cases: Sequence[Case]) -> Sequence[Sequence[Case]]:
        """A batch for each cut if memory suffices, else one kind of memory after the other."""
        groups: list[Sequence[Case]] = []
        for of_cut in super().groups(cases):
            points = [HaloPoint.of(case) for case in of_cut]
            if self._limits[points[0].cut].fits(points):
                groups.append(of_cut)
            else:
                kinds = dict.fromkeys(case.host_memory for case in of_cut)
                groups += [[case for case in of_cut if case.host_memory == kind] for kind in kinds]
        return groups

    def weight(self, cases: Sequence[Case]) -> float:
        """By what the least number of samples takes."""
        return least_seconds(self._limits[HaloPoint.of(cases[0]).cut].moved_bytes) * len(cases)

    def prepare(self, cases: Sequence[Case]) -> Bench:
        """Compute the reference of a field that is new, then allocate on the ranks that have a part of it."""
        points = [HaloPoint.of(case) for case in cases]
        cut = points[0].cut
        key, expected = (cut.rows, cut.columns, cut.iterations), 0
        try:
            if key not in self._references:
                self._references[key] = self.team.reference(cut, self._most_reference_bytes)
            expected = self._references[key]
        except IsthmusError as error:
            reasons = dict.fromkeys(points, reason_of(error, "what the ranks' result is compared with: "))
        else:
            reasons = self.team.prepare(points)

        def start(case: Case) -> Start | str:
            point = HaloPoint.of(case)
            return reasons.get(point) or cache(partial(_Exchanged, self.team, point, expected))

        return Bench(start)


def _why_not(device: OpenDevice, point: HaloPoint) -> str | None:
    """Why the device cannot do that, whatever the size."""
    native = device.native
    why = native.why_no_doubles() or native.why_not(point.memory)
    if point.method == "gpu_pack_mapped":
        why = why or native.why_not("mapped") or native.why_no_reach("mapped")
    if point.memory == "managed":
        why = why or native.why_no_reach("managed")
    if (point.method, point.memory) == _NEEDS_PREFETCH:
        why = why or native.why_no_prefetch()
    return why


class _Exchanged(Timed):
    """One method; its first sample is checked against what comes out without exchanges."""

    def __init__(self, team: Team, point: HaloPoint, reference: int) -> None:
        self._team, self._point, self._reference = team, point, reference
        self._is_first, self._wrong = True, ""

    def run(self, quota: Quota) -> Samples:
        """The slowest rank's times, phase by phase."""
        samples: dict[Metric, list[float]] = {}
        count, spent = 0, 0.0
        if self._is_first:
            self._is_first = False
            first = _slowest(self._team.sample(self._point, True))
            if not quota.warmups:
                # What takes long takes no longer the first time.
                _add(samples, first)
                count, spent = 1, first["host_seconds"]
            self._wrong = self._checked()
        while count < quota.most and (count < quota.least or spent < quota.seconds):
            slowest = _slowest(self._team.sample(self._point, False))
            _add(samples, slowest)
            count += 1
            spent += slowest["host_seconds"]
        return samples

    def verify(self) -> str:
        """What the sums over all points and halos of the first sample say."""
        return self._wrong

    def _checked(self) -> str:
        sums = self._team.checksum(self._point)
        after = f"after {self._point.cut.iterations} iterations"
        if sums.points != self._reference:
            return (
                f"wrong data: {after} the words of all points sum up to {sums.points:#018x} "
                f"modulo 2**64, those of a single rank to {self._reference:#018x}"
            )
        if sums.halos:
            return (
                f"wrong data: {after} the words of all halos differ from those that were "
                f"sent for them, by {sums.halos:#018x} modulo 2**64"
            )
        return ""


def _add(samples: dict[Metric, list[float]], phases: Phases) -> None:
    for metric, seconds in phases.items():
        samples.setdefault(metric, []).append(seconds)


def _slowest(ranks: Sequence[Phases]) -> Phases:
    """The longest of each phase, and the longest total, in which MPI has no part, as in the paper; then with MPI."""
    for phases in ranks:
        phases["host_seconds"] = sum(seconds for metric, seconds in phases.items() if metric != "mpi_seconds")
        phases["elapsed_seconds"] = phases["host_seconds"] + phases["mpi_seconds"]
    return {metric: max(phases[metric] for phases in ranks) for metric in ("host_seconds", *ranks[0])}


class Share(NamedTuple):
    """What one rank may take: of its device's free memory, which `sharers` divide, and of the host's."""

    free_bytes: int
    sharers: int
    host_bytes: int
    shares_host_memory: bool

    @property
    def reference_bytes(self) -> int:
        """What a rank may take to compute what results are compared with, while there is nothing else."""
        return self.free_bytes // (2 * self.sharers)

    @classmethod
    def of(cls, rooms: Sequence[Room], host_bytes: int, shares_host_memory: bool) -> "Share":
        """That of the rank that has least."""
        places = [(room.host, room.device) for room in rooms]
        least = min(range(len(rooms)), key=lambda rank: rooms[rank].free_bytes // places.count(places[rank]))
        sharers = places.count(places[least])
        return cls(rooms[least].free_bytes, sharers, host_bytes, shares_host_memory)


@dataclass(frozen=True)
class Limits:
    """Those of one cut; rank 0's tile is the largest."""

    share: Share
    cut: Cut

    @property
    def tile(self) -> Tile:
        """The largest."""
        return self.cut.tile(0)

    @property
    def moved_bytes(self) -> int:
        """What copies of whole arrays there and back amount to in a sample; for the time that a case may need."""
        return 2 * self.cut.iterations * self.tile.bytes

    def why_not(self, point: HaloPoint) -> str | None:
        """Why a case is left out even if nothing else is in memory."""
        share, arrays = self.share, _ARRAYS * self.tile.bytes
        if point.memory == "managed":
            limit = most_managed_bytes(share.free_bytes)
            if share.sharers * arrays > limit:
                return f"{_all_arrays(share.sharers, arrays)}, {over_half(limit)}"
        elif share.sharers * arrays > _USABLE * share.free_bytes:
            free = _whole(share.free_bytes)
            return f"{_all_arrays(share.sharers, arrays)}, exceeds the device's free {free}"
        return over_budget(share.host_bytes) if self.host_bytes([point]) > share.host_bytes else None

    def host_bytes(self, points: Sequence[HaloPoint]) -> int:
        """What one rank needs of the host for all of these, with the device's part where that is the host's memory."""
        memories = {point.memory for point in points}
        mirrors = {point.memory for point in points if point.method in _MIRRORED and point.memory != "managed"}
        # One array of managed memory is on the host while it is packed there.
        total = (len(mirrors) + ("managed" in memories)) * self.tile.bytes
        if self.share.shares_host_memory:
            total += _ARRAYS * len({memory == "managed" for memory in memories}) * self.tile.bytes
        return total

    def fits(self, points: Sequence[HaloPoint]) -> bool:
        """Whether all of these can be in memory at the same time."""
        share, arrays = self.share, _ARRAYS * self.tile.bytes * self.share.sharers
        explicit = arrays if any(point.memory != "managed" for point in points) else 0
        managed = arrays if any(point.memory == "managed" for point in points) else 0
        in_device = explicit <= _USABLE * share.free_bytes and managed <= most_managed_bytes(share.free_bytes, explicit)
        return in_device and self.host_bytes(points) <= share.host_bytes


def _all_arrays(sharers: int, arrays: int) -> str:
    """``2 arrays for each of 2 ranks on the device, 30.0 GiB in all``."""
    each = f" for each of {sharers} ranks on the device" if sharers > 1 else ""
    return f"two arrays{each}, {_whole(sharers * arrays)} in all"


def _whole(count: int) -> str:
    """A size without the bytes that nobody counts in."""
    return format_bytes(count >> 20 << 20 if count >= MIB else count)
