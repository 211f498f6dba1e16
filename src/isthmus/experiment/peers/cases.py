"""All that there is between the devices of a host.

Every pair one way and both ways, by copy engines and by kernels, one to all and all to one, accesses, small to large;
with ``--together`` what the host's links give at once. Copies are made and timed as nvbandwidth's device-to-device
tests are, whose buffers have 512 MiB.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import permutations

from isthmus.errors import IsthmusError
from isthmus.experiment.engine.batch import Batch, Planned, Prepared
from isthmus.experiment.engine.blocks import over_budget
from isthmus.experiment.engine.options import Effort, ModeName, Options
from isthmus.experiment.engine.rounds import Subject
from isthmus.experiment.engine.sampling import reason_of, skipped_case
from isthmus.experiment.latency.cases import LINES, AccessSubject, access_chase
from isthmus.experiment.peers.links import plan_links
from isthmus.experiment.peers.machine import Machine
from isthmus.experiment.peers.points import NAME, Point, points, template
from isthmus.experiment.peers.subjects import CopySubject
from isthmus.machine.devices import OpenDevice, neighbours, probe
from isthmus.record import GIB, KIB, MIB, Case, Device

EFFORTS: Mapping[ModeName, Effort] = {
    "quick": Effort([128 * MIB], 3.0, 0.05),
    "default": Effort([4 * KIB, 64 * KIB, MIB, 16 * MIB, 128 * MIB, 512 * MIB], 30.0, 0.3),
    "full": Effort([*(4 * KIB << power for power in range(0, 18, 2)), 512 * MIB, GIB], 240.0, 2.0),
}
_NEEDS_TWO = "needs two devices of one backend; there is one"
# Fewer than `latency` takes, since there are many pairs: a mean of some milliseconds.
_CHAIN = LINES._replace(hops=4 * KIB)


def plan(device: OpenDevice, options: Options, memory_bytes: int) -> Planned:
    """Everything between the devices of the backend that can work at once, then their links."""
    devices = neighbours(device.description, probe())
    sizes = options.effort(EFFORTS).sizes
    if len(devices) < 2:
        return Planned([], [skipped_case(template(Point("copy_write", "peer", max(sizes), "", "")), _NEEDS_TWO)])
    parts = [plan_pairs(device, devices, options, memory_bytes)]
    if options.together:
        parts.append(plan_links(device, devices, options, memory_bytes))
    return Planned(
        [batch for part in parts for batch in part.batches], [case for part in parts for case in part.skipped]
    )


def plan_pairs(device: OpenDevice, devices: Sequence[Device], options: Options, memory_bytes: int) -> Planned:
    """All copies and accesses between `devices`; skipped where device memory is host memory, and that is short."""
    sizes = options.effort(EFFORTS).sizes
    specs = [each.spec for each in devices]
    wanted = list(points(specs, device.description.spec, sizes, options.mode))
    if device.description.shares_host_memory and len(devices) ** 2 * max(sizes) > memory_bytes:
        return Planned([], [skipped_case(template(point), over_budget(memory_bytes)) for point in wanted])
    count = len(wanted) + len(devices) * (len(devices) - 1)
    return Planned([Batch(count, 1.0, partial(_prepare, device, devices, wanted, sizes, options.seed))])


def _prepare(
    device: OpenDevice, devices: Sequence[Device], wanted: Sequence[Point], sizes: Sequence[int], seed: int
) -> Prepared:
    """Open the other devices, and allocate and fill on all of them."""
    machine = Machine(device, devices, sizes, seed)
    subjects: list[Subject] = []
    ended: list[list[Case]] = []
    for point in wanted:
        ends = point.lanes(machine.specs)
        case = template(point, len(ends), machine.path(point.source, point.destination) if len(ends) < 3 else "")
        reasons = (machine.why_no_lane(*each, point.method, point.bytes) for each in ends)
        if reason := next(filter(None, reasons), None):
            ended.append([skipped_case(case, reason)])
            continue
        lanes = [machine.lane(*each, point.method) for each in ends]
        copies, by_kernel = point.copies(len(devices)), point.method.startswith("kernel")
        subjects.append(CopySubject(case, lanes, copies, by_kernel=by_kernel, parts=_parts(point, case)))
    for here, there in permutations(machine.specs, 2):
        access = _access(machine, here, there)
        if isinstance(access, Case):
            ended.append([access])
        else:
            subjects.append(access)
    return Prepared(subjects, ended)


def _parts(point: Point, case: Case) -> dict[str, tuple[Case, Sequence[int]]]:
    """Of both ways each by itself: a copy beside the other one."""
    if point.direction != "both":
        return {}
    ends = ((point.source, point.destination), (point.destination, point.source))
    one_way = point._replace(direction="peer")
    return {
        f"{source} to {to}": (
            template(one_way._replace(source=source, destination=to, devices=2), path=case.path),
            [number],
        )
        for number, (source, to) in enumerate(ends)
    }


def _access(machine: Machine, here: str, there: str) -> Subject | Case:
    """One thread of a device that follows a chain through another one's memory, or the case skipped."""
    case = Case(
        experiment=NAME,
        method="access",
        host_memory="device",
        bytes=_CHAIN.bytes,
        pieces=_CHAIN.hops,
        stride_bytes=_CHAIN.stride_bytes,
        target=here,
        peer=there,
        path=machine.path(here, there),
    )
    if reason := machine.why_unusable(here, there):
        return skipped_case(case, reason)
    reader, owner = machine.native(here), machine.native(there)
    assert reader is not None, "why_unusable says so"
    assert owner is not None, "likewise"
    if reason := reader.why_no_peer_reach(owner):
        return skipped_case(case, reason)
    try:
        return AccessSubject(case, access_chase(reader, owner, "device", _CHAIN))
    except IsthmusError as error:
        return skipped_case(case, reason_of(error, f"{here} to {there}: "))
