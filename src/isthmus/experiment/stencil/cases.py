"""Halos of a stencil between ranks: packed by the processor or by the device, in explicit and in managed memory.

Section 5.3 of IPSJ HPC-177-13, which asks whether managed memory makes an exchange of halos slower or faster than
copies by hand do. A four-point Laplacian on a square of doubles, cut into tiles, one for each MPI rank; besides the
paper's strips also in a grid, and on ever more ranks.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from isthmus.errors import IsthmusError, UsageError
from isthmus.experiment.engine.batch import Batch, Planned, Prepared
from isthmus.experiment.engine.options import Effort, ModeName, Options
from isthmus.experiment.engine.rounds import Quota, Subject
from isthmus.experiment.engine.sampling import Collected, least_seconds, reason_of, skipped_case
from isthmus.experiment.stencil.limits import Limits, Share, split
from isthmus.experiment.stencil.points import ITERATIONS, MEMORY_KINDS, Cut, HaloPoint, cuts, points_of, template
from isthmus.experiment.stencil.team import Phases, Team
from isthmus.machine.devices import OpenDevice
from isthmus.record import Case

# Sides and halos take the place of sizes.
EFFORTS: Mapping[ModeName, Effort] = {
    "quick": Effort([], 8.0, 0.2),
    "default": Effort([], 40.0, 1.0),
    "full": Effort([], 300.0, 6.0),
}
# The processor packing a square of the paper's larger side out of managed memory may take minutes a sample.
_LONGEST_VISIT_SECONDS = 10.0
_NEEDS_PREFETCH = ("cpu_whole", "managed")


def check_options(options: Options, shares_host_memory: bool, ranks: int) -> None:
    """Raises UsageError where a side is too short for its halos, or one rank alone is to make a curve."""
    if options.scalings and ranks == 1:
        raise UsageError(
            "--scaling needs several ranks, and this process is alone; start some, which need MPI, with: mpirun -n 4 "
            f"isthmus measure stencil --scaling {','.join(options.scalings)}"
        )
    cuts(options, shares_host_memory, ranks)


def plan(device: OpenDevice, options: Options, memory_bytes: int) -> Planned:
    """For every cut field all ways interleaved where memory allows; else one kind of memory after the other."""
    shares_host_memory = device.description.shares_host_memory
    team = Team(device)
    rooms = team.rooms()
    wanted = cuts(options, shares_host_memory, team.count)
    team.divide(sorted({cut.ranks for cut in wanted}))
    kinds = options.chosen(MEMORY_KINDS, options.memory)
    references = References(team, Share.of(rooms, 0, shares_host_memory).reference_bytes)
    batches: list[Batch] = []
    skipped: list[Case] = []
    for cut in wanted:
        members = rooms[: cut.ranks]
        devices = len({(room.host, room.device) for room in members})
        limits = Limits(Share.of(members, memory_bytes // team.local_count, shares_host_memory), cut)
        measurable = []
        for point in points_of(cut, kinds):
            if why := _why_not(device, point) or limits.why_not(point):
                skipped.append(skipped_case(template(point, devices), why))
            else:
                measurable.append(point)
        for group in split(measurable, limits):
            prepare = partial(_prepare, team, group, devices, references)
            batches.append(Batch(len(group), least_seconds(limits.moved_bytes) * len(group), prepare))
    if batches:
        batches.append(Batch(0, 0.0, partial(_release, team)))  # What comes next in a run needs the memory.
    return Planned(batches, skipped)


class References:
    """Sums of fields as they come out without exchanges, each computed when it is first needed."""

    def __init__(self, team: Team, most_bytes: int) -> None:
        self._team = team
        self._most_bytes = most_bytes
        self._known: dict[tuple[int, int], int] = {}

    def of(self, cut: Cut) -> int:
        """The checksum of the field, however it is cut."""
        key = cut.rows, cut.columns
        if key not in self._known:
            self._known[key] = self._team.reference(cut, self._most_bytes)
        return self._known[key]


def _release(team: Team) -> Prepared:
    team.release()
    return Prepared([])


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


def _prepare(team: Team, points: Sequence[HaloPoint], devices: int, references: References) -> Prepared:
    """Compute the reference of a field that is new, then allocate on the ranks that have a part of it."""

    def refused(point: HaloPoint, reason: str) -> list[Case]:
        return [skipped_case(template(point, devices), reason)]

    try:
        expected = references.of(points[0].cut)
    except IsthmusError as error:
        reason = reason_of(error, "what the ranks' result is compared with: ")
        return Prepared([], [refused(point, reason) for point in points])
    reasons = team.prepare(points)
    subjects: list[Subject] = [
        StencilSubject(team, point, devices, expected) for point in points if point not in reasons
    ]
    return Prepared(subjects, [refused(point, reason) for point, reason in reasons.items()])


class StencilSubject:
    """One way; its first sample is checked against what comes out without exchanges."""

    def __init__(self, team: Team, point: HaloPoint, devices: int, reference: int) -> None:
        self.template = template(point, devices)
        self._team = team
        self._point = point
        self._reference = reference

    def visit(self, quota: Quota, collected: Collected) -> None:
        """Take samples; of the ranks' times the slowest one's count, phase by phase."""
        taken, spent = 0, 0.0
        if not collected.count:
            first = _slowest(self._team.sample(self._point, True))
            if not quota.warmups:
                # What takes long takes no longer the first time.
                _add(collected, first)
                taken, spent = 1, first["host_seconds"]
            collected.verified = True
            found = self._team.checksum(self._point)
            if found.points != self._reference:
                collected.wrong = (
                    f"wrong data: after {ITERATIONS} iterations the words of all points sum up to {found.points:#018x} "
                    f"modulo 2**64, those of a single rank to {self._reference:#018x}"
                )
            elif found.halos:
                collected.wrong = (
                    f"wrong data: after {ITERATIONS} iterations the words of all halos differ from those that were "
                    f"sent for them, by {found.halos:#018x} modulo 2**64"
                )
        while taken < quota.most and (taken < quota.least or spent < quota.seconds):
            if spent > _LONGEST_VISIT_SECONDS:
                break  # The rounds ask again if time is left.
            slowest = _slowest(self._team.sample(self._point, False))
            _add(collected, slowest)
            taken += 1
            spent += slowest["host_seconds"]


def _add(collected: Collected, phases: Phases) -> None:
    for metric, seconds in phases.items():
        collected.samples.setdefault(metric, []).append(seconds)


def _slowest(ranks: Sequence[Phases]) -> Phases:
    """The longest of each phase, and the longest total, in which MPI has no part, as in the paper; then with MPI."""
    for phases in ranks:
        phases["host_seconds"] = sum(seconds for metric, seconds in phases.items() if metric != "mpi_seconds")
        phases["elapsed_seconds"] = phases["host_seconds"] + phases["mpi_seconds"]
    return {metric: max(phases[metric] for phases in ranks) for metric in ("host_seconds", *ranks[0])}
