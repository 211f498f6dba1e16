"""Large copies by a device's own link alone, by that of each neighbour, too, and by all of them.

The library itself copies: it divides copies of pinned memory and of pageable memory that is used again while they run.
Then what it costs the neighbour: copies of its own at the full rate of its link, and a kernel that computes there. Both
alone, beside copies that go over its link, and beside copies by the own link alone, which share the host's memory.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from isthmus.errors import IsthmusError
from isthmus.experiment.engine.batch import Batch, Planned, Prepared
from isthmus.experiment.engine.blocks import over_budget
from isthmus.experiment.engine.buffers import TransferBuffers
from isthmus.experiment.engine.options import Effort, ModeName, Options
from isthmus.experiment.engine.rounds import Subject
from isthmus.experiment.engine.sampling import reason_of, skipped_case
from isthmus.experiment.paths.machine import Machine
from isthmus.experiment.paths.points import DIRECTIONS, MEMORY_KINDS, NAME, Point, points, template
from isthmus.experiment.paths.subjects import BesideSubject, WaySubject
from isthmus.machine.binding import near, on_node
from isthmus.machine.devices import OpenDevice, neighbours, probe
from isthmus.record import GIB, MIB, Case, Device

__all__ = ["DIRECTIONS", "EFFORTS", "MEMORY_KINDS", "NAME", "plan"]

EFFORTS: Mapping[ModeName, Effort] = {
    "quick": Effort([64 * MIB, 256 * MIB], 10.0, 0.3),
    "default": Effort([16 * MIB, 64 * MIB, 256 * MIB, GIB], 60.0, 1.0),
    "full": Effort([16 * MIB << power for power in range(7)], 300.0, 4.0),
}
_NEEDS_TWO = "needs two devices of one backend; there is one"
# A quick run measures the copies of all devices where there are two, else those of its own.
_MOST_QUICK = 2


def plan(device: OpenDevice, options: Options, memory_bytes: int) -> Planned:
    """Every device of the backend that can work at once with the others, one after the other, the run's own first."""
    devices = neighbours(device.description, probe())
    own = device.description.spec
    sizes = options.effort(EFFORTS).sizes
    if len(devices) < 2:
        alone = Point("own", MEMORY_KINDS[0], DIRECTIONS[0], max(sizes))
        return Planned([], [skipped_case(template(alone, own), _NEEDS_TWO)])
    batches: list[Batch] = []
    skipped: list[Case] = []
    for target in sorted(devices, key=lambda each: each.spec != own):
        is_own = target.spec == own
        if not is_own and options.mode == "quick" and len(devices) > _MOST_QUICK:
            continue
        others = [other for other in devices if other.spec != target.spec]
        possible = []
        for point in points([other.spec for other in others], sizes, options, is_own=is_own):
            if reason := _why_not(device, target, len(others), point, memory_bytes):
                skipped.append(skipped_case(template(point, target.spec), reason))
            else:
                possible.append(point)
        if possible:
            weight = float(sum(3 if point.work else 1 for point in possible))
            prepare = partial(_prepare, device, target, others, possible, options.seed)
            batches.append(Batch(len(possible), weight, prepare))
    return Planned(batches, skipped)


def _why_not(device: OpenDevice, target: Device, others: int, point: Point, memory_bytes: int) -> str | None:
    # Each way and kind of memory has its own, where the device's is the host's that, too, and each neighbour at work.
    copies = (6 if device.description.shares_host_memory else 4) + (others if point.work else 0)
    if copies * point.bytes > memory_bytes:
        return over_budget(memory_bytes)
    bound = device.placement.bound_node
    if point.memory == "pageable" and None not in (bound, target.numa_node) and bound != target.numa_node:
        return (
            f"{target.spec} is on NUMA node {target.numa_node}, and the threads that pack on node {bound}; measure "
            f"with --device {target.spec}"
        )
    return None


def _prepare(
    device: OpenDevice, target: Device, others: Sequence[Device], wanted: Sequence[Point], seed: int
) -> Prepared:
    """Open the devices and get memory for those points that can be measured."""
    try:
        machine = Machine(device, target, others)
    except IsthmusError as error:
        return Prepared([], [[skipped_case(template(point, target.spec), reason_of(error))] for point in wanted])
    reasons = {point: machine.why_not(point.method, point.peer) for point in wanted}
    usable = [point for point, reason in reasons.items() if reason is None]
    ended = [[skipped_case(template(point, target.spec), reason)] for point, reason in reasons.items() if reason]
    if not usable:
        return Prepared([], ended)
    buffers = on_node(
        near(target, device.allowed_cpus),
        lambda: TransferBuffers([point.buffers for point in usable], machine.native, 0, seed),
    )
    subjects: list[Subject] = []
    for point in usable:
        case = template(point, target.spec)
        if reason := buffers.why_not(point.buffers):
            ended.append([skipped_case(case, reason)])
            continue
        lanes = buffers.lanes(point.buffers)
        try:
            session = machine.session(point.paths)
            if point.work:
                load = machine.load(point.peer, point.work, point.bytes)
                subjects.append(BesideSubject(case, lanes, session, load, seed))
            else:
                subjects.append(WaySubject(case, lanes, session, seed))
        except IsthmusError as error:
            ended.append([skipped_case(case, reason_of(error))])
    return Prepared(subjects, ended, buffers.placement())
