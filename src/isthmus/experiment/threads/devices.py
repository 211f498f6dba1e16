"""Several devices of one backend: each alone, and all at the same time."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from isthmus import _native
from isthmus.errors import IsthmusError
from isthmus.experiment.engine.batch import Batch, Planned, Prepared
from isthmus.experiment.engine.blocks import TransferPoint, bytes_needed, over_budget
from isthmus.experiment.engine.buffers import TransferBuffers
from isthmus.experiment.engine.options import Options
from isthmus.experiment.engine.rounds import Subject
from isthmus.experiment.engine.sampling import least_seconds, reason_of, skipped_case
from isthmus.experiment.threads import concurrent
from isthmus.experiment.threads.concurrent import ConcurrentSubject, Division, ThreadLane, native_lanes
from isthmus.machine.binding import NodeBinding, near, on_node
from isthmus.machine.devices import OpenDevice, open_neighbour
from isthmus.record import Case, Device

# A set of threads for each device, as programs have that feed several.
_DIVISION = Division(4, own_streams=True)
_NEEDS_TWO = "needs two devices of one backend; there is one"


def plan_devices(
    device: OpenDevice, others: Sequence[Device], points: Sequence[TransferPoint], options: Options, memory_bytes: int
) -> Planned:
    """`points`, of one size, on each of the devices alone and on all of them at once.

    `others` are all devices that can work at once, `device` included.
    """
    skipped = [template(point, len(others)) for point in points]
    if len(others) < 2:
        alone = msgspec.structs.replace(skipped[0], devices=2)
        return Planned([], [skipped_case(alone, _NEEDS_TWO)])
    needed = len(others) * bytes_needed(points, device.description.shares_host_memory)
    if needed > memory_bytes:
        return Planned([], [skipped_case(case, over_budget(memory_bytes)) for case in skipped])
    subjects = len(points) * (len(others) + 1)
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
    return Prepared(subjects, ended)


class _Ready(NamedTuple):
    """An open device with its buffers."""

    native: _native.Device
    buffers: TransferBuffers
    binding: NodeBinding | None


class _Machine:
    """The devices that take part, by name, and why others cannot."""

    def __init__(
        self, device: OpenDevice, others: Sequence[Device], points: Sequence[TransferPoint], options: Options
    ) -> None:
        self.specs = [other.spec for other in others]
        self._seed = options.seed
        self._ready: dict[str, _Ready] = {}
        self._unusable: dict[str, str] = {}
        for other in others:
            try:
                self._ready[other.spec] = self._make_ready(device, other, points)
            except IsthmusError as error:
                self._unusable[other.spec] = reason_of(error, f"{other.spec}: ")

    def _make_ready(self, device: OpenDevice, other: Device, points: Sequence[TransferPoint]) -> _Ready:
        native = open_neighbour(device, other)
        binding = near(other, device.allowed_cpus)
        buffers = on_node(binding, lambda: TransferBuffers(points, native, 0, self._seed))
        return _Ready(native, buffers, binding)

    def why_not(self, spec: str, point: TransferPoint) -> str | None:
        """Why the device cannot take part in a point; None when it can."""
        return self._unusable.get(spec) or self._ready[spec].buffers.why_not(point)

    def lanes(self, spec: str, point: TransferPoint) -> list[ThreadLane]:
        """What the device copies. Precondition: why_not is None."""
        ready = self._ready[spec]
        return native_lanes(ready.buffers.lanes(point), self._seed, f"{spec} ", ready.binding)
