"""Several devices of one backend: each alone, all at the same time, and copies from one to another."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import permutations
from typing import NamedTuple

import msgspec

from isthmus import _native
from isthmus.errors import IsthmusError
from isthmus.experiment.engine.arena import Arena, allocate_largest
from isthmus.experiment.engine.batch import Batch, Planned, Prepared
from isthmus.experiment.engine.blocks import TransferPoint, bytes_needed, over_budget
from isthmus.experiment.engine.buffers import TransferBuffers, wrong_data
from isthmus.experiment.engine.options import Options
from isthmus.experiment.engine.rounds import Quota, Subject
from isthmus.experiment.engine.sampling import Collected, least_seconds, reason_of, skipped_case
from isthmus.experiment.threads import concurrent
from isthmus.experiment.threads.concurrent import ConcurrentSubject, Division, ThreadLane, native_lanes
from isthmus.machine.binding import NodeBinding, binding_to, on_node, why_not_bound
from isthmus.machine.devices import OpenDevice, open_neighbour
from isthmus.machine.numa import read_numa_nodes
from isthmus.record import Case, CommandMetric, Device

_METRICS: tuple[CommandMetric, ...] = ("host_seconds", "device_seconds", "enqueue_seconds")
# Links between devices can be several times faster than those to the host.
_PEER_FACTOR = 4
# A set of threads for each device, as programs have that feed several.
_DIVISION = Division(4, own_streams=True)
_NEEDS_TWO = "needs two devices of one backend; there is one"


def plan_devices(
    device: OpenDevice, others: Sequence[Device], points: Sequence[TransferPoint], options: Options, memory_bytes: int
) -> Planned:
    """`points`, of one size, on each of the devices alone and on all of them at once, then copies between each pair.

    `others` are all devices that can work at once, `device` included.
    """
    skipped = [template(point, len(others)) for point in points]
    pairs = [_peer_case(*pair, _peer_bytes(points)) for pair in permutations((each.spec for each in others), 2)]
    if len(others) < 2:
        alone = [*[msgspec.structs.replace(case, devices=2) for case in skipped[:1]], _peer_case("", "", 0)]
        return Planned([], [skipped_case(case, _NEEDS_TWO) for case in alone])
    needed = len(others) * bytes_needed(points, device.description.shares_host_memory)
    if needed > memory_bytes:
        return Planned([], [skipped_case(case, over_budget(memory_bytes)) for case in [*skipped, *pairs]])
    subjects = len(points) * (len(others) + 1) + len(pairs)
    weight = sum(least_seconds(point.bytes) for point in points) * (2 * len(others))
    return Planned([Batch(subjects, weight, partial(prepare, device, others, points, options))])


def template(point: TransferPoint, devices: int, target: str = "") -> Case:
    """The case of a point on so many devices at once, without results; of one of them, or of all for no `target`."""
    return concurrent.template(point, _DIVISION, devices=devices, target=target)


def prepare(
    device: OpenDevice, others: Sequence[Device], points: Sequence[TransferPoint], options: Options
) -> Prepared:
    """Open the other devices, and allocate and fill on all of them, each from the node that is nearest to it.

    A device that cannot be used costs the cases that it has part in.
    """
    machine = _Machine(device, others, points, options)
    subjects: list[Subject] = []
    ended: list[list[Case]] = []
    for point in points:
        lanes: list[ThreadLane] = []
        parts: dict[str, tuple[Case, Sequence[int]]] = {}
        missing = ""
        for spec in machine.specs:
            case = template(point, 1, spec)
            if reason := machine.why_not(spec, point):
                missing = missing or reason
                ended.append([skipped_case(case, reason)])
                continue
            own = machine.lanes(spec, point)
            subjects.append(ConcurrentSubject(case, own, _DIVISION))
            parts[spec] = template(point, len(others), spec), range(len(lanes), len(lanes) + len(own))
            lanes += own
        together = template(point, len(others))
        if missing:
            ended.append([skipped_case(together, missing)])
        else:
            subjects.append(ConcurrentSubject(together, lanes, _DIVISION, parts))
    for source, destination in permutations(machine.specs, 2):
        case = _peer_case(source, destination, _peer_bytes(points))
        if reason := machine.why_no_copy(source, destination):
            ended.append([skipped_case(case, reason)])
        else:
            subjects.append(_PeerSubject(case, machine.ends(source, destination), options.seed))
    return Prepared(subjects, ended)


class _Ready(NamedTuple):
    """An open device with its buffers; `peers` are a source that is filled and a destination for copies to others."""

    native: _native.Device
    buffers: TransferBuffers
    binding: NodeBinding | None
    peers: Mapping[str, Arena]


class _Machine:
    """The devices that take part, by name, and why others cannot."""

    def __init__(
        self, device: OpenDevice, others: Sequence[Device], points: Sequence[TransferPoint], options: Options
    ) -> None:
        self.specs = [other.spec for other in others]
        self._seed = options.seed
        self._peer_bytes = _peer_bytes(points)
        self._ready: dict[str, _Ready] = {}
        self._unusable: dict[str, str] = {}
        for other in others:
            try:
                self._ready[other.spec] = self._make_ready(device, other, points)
            except IsthmusError as error:
                self._unusable[other.spec] = reason_of(error, f"{other.spec}: ")

    def _make_ready(self, device: OpenDevice, other: Device, points: Sequence[TransferPoint]) -> _Ready:
        native = open_neighbour(device, other)
        binding = _near(other, device)
        buffers = on_node(binding, lambda: TransferBuffers(points, native, 0, self._seed))
        peers = allocate_largest(native, "device", {end: [self._peer_bytes] for end in ("source", "destination")})
        if peers["source"].buffer is not None:
            peers["source"].buffer.fill_pattern(0, self._peer_bytes, self._seed)
        return _Ready(native, buffers, binding, peers)

    def why_not(self, spec: str, point: TransferPoint) -> str | None:
        """Why the device cannot take part in a point; None when it can."""
        return self._unusable.get(spec) or self._ready[spec].buffers.why_not(point)

    def lanes(self, spec: str, point: TransferPoint) -> list[ThreadLane]:
        """What the device copies. Precondition: why_not is None."""
        ready = self._ready[spec]
        return native_lanes(ready.buffers.lanes(point), self._seed, f"{spec} ", ready.binding)

    def why_no_copy(self, source: str, destination: str) -> str | None:
        """Why the one device cannot copy to the other; None when it can."""
        if reason := self._unusable.get(source) or self._unusable.get(destination):
            return reason
        here, there = self._ready[source], self._ready[destination]
        return (
            here.native.why_no_peer(there.native)
            or here.peers["source"].too_large.get(self._peer_bytes)
            or there.peers["destination"].too_large.get(self._peer_bytes)
        )

    def ends(self, source: str, destination: str) -> tuple[_native.Buffer, _native.Buffer]:
        """Where a copy starts, and where it ends. Precondition: why_no_copy is None."""
        start, end = self._ready[source].peers["source"].buffer, self._ready[destination].peers["destination"].buffer
        assert start is not None, "why_no_copy finds what could not be allocated"
        assert end is not None, "likewise"
        return start, end


def _near(other: Device, device: OpenDevice) -> NodeBinding | None:
    """The device's node; None where it is not known, the only one, or none to be bound to."""
    if other.numa_node is None or len(read_numa_nodes()) < 2:
        return None
    binding = binding_to(other.numa_node, device.allowed_cpus)
    return None if why_not_bound(binding) else binding


def _peer_bytes(points: Sequence[TransferPoint]) -> int:
    return _PEER_FACTOR * max(point.bytes for point in points)


def _peer_case(source: str, destination: str, size: int) -> Case:
    return Case(
        experiment="threads",
        method="peer_copy",
        direction="peer",
        host_memory="device",
        bytes=size,
        threads=1,
        streams=1,
        target=source,
        peer=destination,
    )


class _PeerSubject:
    """A copy from the memory of one device to that of another, enqueued by one thread."""

    def __init__(self, template: Case, ends: tuple[_native.Buffer, _native.Buffer], seed: int) -> None:
        self.template = template
        self._ends = ends
        self._seed = seed

    def visit(self, quota: Quota, collected: Collected) -> None:
        """Take samples and check every byte that arrived."""
        size = self.template.bytes
        transfer = _native.create_transfer("copy", [("h2d", *self._ends)], 0, size, self._seed)
        transfer.poison()
        collected.begin()
        # The first copy between two devices connects them.
        samples = transfer.run(max(quota.warmups, 1), quota.least, quota.most, quota.seconds)
        [(words, first)] = transfer.verify()
        for metric in _METRICS:
            collected.samples.setdefault(metric, []).extend(samples[metric])
        collected.verified = True
        if words:
            name = f"{self.template.target} to {self.template.peer}"
            collected.wrong = wrong_data(name, words, first, size)
