"""Every NUMA node against every device: one pinned copy, with its memory and its thread on the node."""

from collections.abc import Sequence
from functools import partial

from isthmus.experiment.engine.batch import Batch, Planned, Prepared
from isthmus.experiment.engine.blocks import TransferPoint, bytes_needed, over_budget
from isthmus.experiment.engine.buffers import TransferBuffers
from isthmus.experiment.engine.options import Options
from isthmus.experiment.engine.rounds import Subject
from isthmus.experiment.engine.sampling import least_seconds, skipped_case
from isthmus.experiment.threads import concurrent
from isthmus.experiment.threads.concurrent import ConcurrentSubject, Division, native_lanes
from isthmus.machine.binding import binding_to, on_node, why_not_bound
from isthmus.machine.devices import OpenDevice, open_neighbour
from isthmus.record import Case, Device, NumaNode

_DIVISION = Division(1)


def plan_nodes(
    device: OpenDevice,
    others: Sequence[Device],
    nodes: Sequence[NumaNode],
    points: Sequence[TransferPoint],
    options: Options,
    memory_bytes: int,
) -> Planned:
    """`points`, of one size, from every node of the host with processors, to every device; a batch for each device."""
    possible = [node for node in nodes if node.cpus]
    everything = [template(point, other.spec, node.id) for other in others for node in possible for point in points]
    if len(possible) < 2:
        lone = template(points[0], device.description.spec, possible[0].id if possible else 0)
        return Planned([], [skipped_case(lone, "needs two NUMA nodes with processors; there is one")])
    if len(possible) * bytes_needed(points, device.description.shares_host_memory) > memory_bytes:
        return Planned([], [skipped_case(case, over_budget(memory_bytes)) for case in everything])
    weight = sum(least_seconds(point.bytes) for point in points) * len(possible)
    return Planned(
        [
            Batch(len(possible) * len(points), weight, partial(prepare, device, other, possible, points, options))
            for other in others
        ]
    )


def template(point: TransferPoint, target: str, node: int) -> Case:
    """The case of a point between a node and a device, without results."""
    return concurrent.template(point, _DIVISION, target=target, node=node)


def prepare(
    device: OpenDevice, other: Device, nodes: Sequence[NumaNode], points: Sequence[TransferPoint], options: Options
) -> Prepared:
    """Allocate and fill on each node what the copies to one device need. What cannot be had there is skipped.

    Raises CallFailed when the device fails at more than the lack of memory.
    """
    subjects: list[Subject] = []
    ended: list[list[Case]] = []
    native = open_neighbour(device, other)
    for node in nodes:
        cases = {point: template(point, other.spec, node.id) for point in points}
        binding = binding_to(node.id, device.allowed_cpus)
        if reason := why_not_bound(binding):
            ended += [[skipped_case(case, reason)] for case in cases.values()]
            continue
        buffers = on_node(binding, partial(TransferBuffers, points, native, 0, options.seed))
        for point, case in cases.items():
            if reason := buffers.why_not(point):
                ended.append([skipped_case(case, reason)])
                continue
            lanes = native_lanes(buffers.lanes(point), options.seed, f"node {node.id} ", binding)
            subjects.append(ConcurrentSubject(case, lanes, _DIVISION))
    return Prepared(subjects, ended)
