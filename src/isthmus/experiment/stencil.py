"""Halos of a stencil between ranks: packed by the processor or by the device, in explicit and in managed memory.

Section 5.3 of IPSJ HPC-177-13, which asks whether managed memory makes an exchange of halos slower or faster than
copies by hand do. A four-point Laplacian on a square of doubles, cut into tall tiles, one for each MPI rank.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from isthmus.errors import IsthmusError
from isthmus.experiment.batch import Batch, Planned, Prepared
from isthmus.experiment.devices import OpenDevice
from isthmus.experiment.options import Effort, ModeName, Options
from isthmus.experiment.reasons import reason_of, skipped_case
from isthmus.experiment.rounds import Quota, Subject
from isthmus.experiment.sampling import Collected, least_seconds
from isthmus.experiment.stencil_limits import Limits, Share, split
from isthmus.experiment.stencil_points import MEMORY_KINDS, NAME, Point, grids, points_of, template
from isthmus.experiment.stencil_team import Phases, Team
from isthmus.experiment.stencil_tile import ITERATIONS, check_cut
from isthmus.record import Case

__all__ = ["DIRECTIONS", "EFFORTS", "MEMORY_KINDS", "NAME", "check_options", "plan"]

DIRECTIONS: Sequence[str] = ()
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
    """Raises UsageError where a side is too short for its halos."""
    for side, halo in grids(options, shares_host_memory):
        check_cut(side, halo, ranks)


def plan(device: OpenDevice, options: Options, memory_bytes: int) -> Planned:
    """For every side and halo all ways interleaved where memory allows; else one kind of memory after the other."""
    team = Team(device)
    rooms = team.rooms()
    share = Share.of(rooms, memory_bytes // team.local_count, device.description.shares_host_memory)
    devices = len({(room.host, room.device) for room in rooms})
    kinds = options.chosen(MEMORY_KINDS, options.memory)
    references: dict[int, int] = {}
    batches: list[Batch] = []
    skipped: list[Case] = []
    for side, halo in grids(options, device.description.shares_host_memory):
        check_cut(side, halo, team.count)
        limits = Limits(share, side, halo, team.count)
        measurable = []
        for point in points_of(side, halo, kinds):
            if why := _why_not(device, point) or limits.why_not(point):
                skipped.append(skipped_case(template(point, team.count, devices), why))
            else:
                measurable.append(point)
        for group in split(measurable, limits):
            prepare = partial(_prepare, team, group, devices, references)
            batches.append(Batch(len(group), least_seconds(limits.moved_bytes) * len(group), prepare))
    if batches:
        batches.append(Batch(0, 0.0, partial(_release, team)))  # What comes next in a run needs the memory.
    return Planned(batches, skipped)


def _release(team: Team) -> Prepared:
    team.release()
    return Prepared([])


def _why_not(device: OpenDevice, point: Point) -> str | None:
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


def _prepare(team: Team, points: Sequence[Point], devices: int, references: dict[int, int]) -> Prepared:
    """Compute the reference of a side that is new, then allocate on all ranks."""

    def refused(point: Point, reason: str) -> list[Case]:
        return [skipped_case(template(point, team.count, devices), reason)]

    side = points[0].side
    if side not in references:
        try:
            references[side] = team.reference(side)
        except IsthmusError as error:
            reason = reason_of(error, "one rank alone, whose result the ranks' is compared with: ")
            return Prepared([], [refused(point, reason) for point in points])
    reasons = team.prepare(points)
    subjects: list[Subject] = [
        StencilSubject(team, point, devices, references[side]) for point in points if point not in reasons
    ]
    return Prepared(subjects, [refused(point, reason) for point, reason in reasons.items()])


class StencilSubject:
    """One way; its first sample is checked against the result of a single rank."""

    def __init__(self, team: Team, point: Point, devices: int, reference: int) -> None:
        self.template = template(point, team.count, devices)
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
    """The longest of each phase, and the longest total, in which MPI has no part, as in the paper."""
    for phases in ranks:
        phases["host_seconds"] = sum(seconds for metric, seconds in phases.items() if metric != "mpi_seconds")
    return {metric: max(phases[metric] for phases in ranks) for metric in ("host_seconds", *ranks[0])}
