"""Several devices of one backend: each alone, and all at the same time."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from isthmus.errors import IsthmusError
from isthmus.experiment.engine.blocks import bytes_needed, over_budget
from isthmus.experiment.engine.buffers import TransferBuffers
from isthmus.experiment.engine.options import Options
from isthmus.experiment.engine.sampling import least_seconds, reason_of
from isthmus.experiment.engine.sweep import Bench, Start, Sweep
from isthmus.experiment.threads.concurrent import Concurrent, Division, ThreadLane, native_lanes
from isthmus.machine.devices import OpenDevice, open_neighbour
from isthmus.machine.numa import NodeBinding, near, on_node
from isthmus.record import Case, Device

# A set of threads for each device, as programs have that feed several.
_DIVISION = Division(4, own_streams=True)
_NEEDS_TWO = "needs two devices of one backend; there is one"


class DeviceSweep(Sweep):
    """`transfers`, of one size, on each of the devices alone and on all of them at once.

    `others` are all devices that can work at once, `device` included; a case without a target is all of them.
    """

    def __init__(
        self,
        device: OpenDevice,
        options: Options,
        memory_bytes: int,
        others: Sequence[Device],
        transfers: Sequence[Case],
    ) -> None:
        super().__init__(device, options, memory_bytes)
        self.others, self.transfers = others, transfers

    def cases(self) -> Iterator[Case]:
        """Where there is one device, one case represents all that needs two."""
        if len(self.others) < 2:
            yield _DIVISION.case(self.transfers[0], devices=2)
            return
        for case in self.transfers:
            yield from (_DIVISION.case(case, devices=1, target=other.spec) for other in self.others)
            yield _DIVISION.case(case, devices=len(self.others))

    def why_not(self, _case: Case) -> str | None:
        """All devices have their buffers at once."""
        if len(self.others) < 2:
            return _NEEDS_TWO
        needed = len(self.others) * bytes_needed(self.transfers, self.shares_host_memory)
        return over_budget(self.memory_bytes) if needed > self.memory_bytes else None

    def weight(self, _cases: Sequence[Case]) -> float:
        """All devices at once count for each of them."""
        return sum(least_seconds(case.bytes) for case in self.transfers) * (2 * len(self.others))

    def prepare(self, _cases: Sequence[Case]) -> "_Bench":
        """Open the other devices, and allocate and fill on all of them, each from the node that is nearest to it."""
        return _Bench(self)


class _Ready(NamedTuple):
    """An open device with its buffers."""

    buffers: TransferBuffers
    binding: NodeBinding | None


class _Bench(Bench):
    """The devices that take part, by name, and why others cannot, which costs the cases that they have part in."""

    def __init__(self, sweep: DeviceSweep) -> None:
        self._seed = sweep.seed
        self._devices: dict[str, _Ready | str] = {}
        for other in sweep.others:
            try:
                native = open_neighbour(sweep.device, other)
                binding = near(other, sweep.device.allowed_cpus)
                buffers = on_node(binding, partial(TransferBuffers, sweep.transfers, native, 0, sweep.seed))
                self._devices[other.spec] = _Ready(buffers, binding)
            except IsthmusError as error:
                self._devices[other.spec] = reason_of(error, f"{other.spec}: ")

    def start(self, case: Case) -> Start | str:
        lanes: list[ThreadLane] = []
        parts: list[tuple[Case, Sequence[int]]] = []
        for spec in [case.target] if case.target else self._devices:
            ready = self._devices[spec]
            if reason := ready if isinstance(ready, str) else ready.buffers.why_not(case):
                return reason
            assert isinstance(ready, _Ready), "it has no reason"
            own = native_lanes(ready.buffers.lanes(case), self._seed, f"{spec} ", ready.binding)
            if not case.target:
                part = _DIVISION.case(case, target=spec)
                parts.append((part, range(len(lanes), len(lanes) + len(own))))
            lanes += own
        return partial(Concurrent, case, lanes, parts)
