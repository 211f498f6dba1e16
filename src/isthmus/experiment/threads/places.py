"""Several devices, each alone and all at once, and NUMA nodes against devices: copies whose places have own buffers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from isthmus.errors import IsthmusError
from isthmus.experiment.engine.blocks import bytes_needed, over_budget
from isthmus.experiment.engine.buffers import TransferBuffers
from isthmus.experiment.engine.options import Options
from isthmus.experiment.engine.sampling import least_seconds, reason_of
from isthmus.experiment.engine.sweep import Bench, Start, Sweep
from isthmus.experiment.threads.concurrent import Concurrent, Division, ThreadLane, native_lanes
from isthmus.machine.binding import NodeBinding, binding_to, near, on_node, why_not_bound
from isthmus.machine.devices import OpenDevice, open_neighbour
from isthmus.record import Case, Device, NumaNode

# A set of threads for each device, as programs have that feed several.
_ON_DEVICES = Division(4, own_streams=True)
_ON_NODES = Division(1)

# A device or a node: what its lanes are called, its buffers, and the node that its threads run on.
_Ready = tuple[str, TransferBuffers, NodeBinding | None]


class _PlaceSweep(Sweep):
    """`transfers`, of one size, of `others`, all devices that can work at once, at places that all have own buffers."""

    needs_two: str

    def __init__(
        self,
        device: OpenDevice,
        options: Options,
        memory_bytes: int,
        others: Sequence[Device],
        transfers: Sequence[Case],
    ) -> None:
        super().__init__(device, options, memory_bytes)
        self.others, self.transfers, self.count = others, transfers, len(others)

    def why_not(self, _case: Case) -> str | None:
        """Where there is one place, one case represents all that needs two."""
        if self.count < 2:
            return self.needs_two
        needed = self.count * bytes_needed(self.transfers, self.shares_host_memory)
        return over_budget(self.memory_bytes) if needed > self.memory_bytes else None

    def buffers_on(self, other: Device, binding: NodeBinding | None) -> TransferBuffers:
        """Allocate and fill, on the node. Raises the errors of `isthmus.errors`."""
        native = open_neighbour(self.device, other)
        return on_node(binding, partial(TransferBuffers, self.transfers, native, 0, self.seed))


class DeviceSweep(_PlaceSweep):
    """On each of the devices alone and on all of them at once: a case without a target."""

    needs_two = "needs two devices of one backend; there is one"

    def cases(self) -> Iterator[Case]:
        """Each device alone, then all."""
        if len(self.others) < 2:
            yield _ON_DEVICES.case(self.transfers[0], devices=2)
            return
        for case in self.transfers:
            yield from (_ON_DEVICES.case(case, devices=1, target=other.spec) for other in self.others)
            yield _ON_DEVICES.case(case, devices=len(self.others))

    def weight(self, _cases: Sequence[Case]) -> float:
        """All devices at once count for each of them."""
        return sum(least_seconds(case.bytes) for case in self.transfers) * (2 * len(self.others))

    def prepare(self, _cases: Sequence[Case]) -> Bench:
        """Open the other devices, and allocate and fill on all of them, each from the node that is nearest to it."""
        ready: dict[object, _Ready | str] = {}
        for other in self.others:
            try:
                binding = near(other, self.device.allowed_cpus)
                ready[other.spec] = f"{other.spec} ", self.buffers_on(other, binding), binding
            except IsthmusError as error:
                ready[other.spec] = reason_of(error, f"{other.spec}: ")
        return _bench(self.seed, ready, lambda case: case.target)


class NodeSweep(_PlaceSweep):
    """From every node of the host with processors, to every device, device by device: memory and thread on the node."""

    needs_two = "needs two NUMA nodes with processors; there is one"
    by_bytes = True

    def __init__(
        self,
        device: OpenDevice,
        options: Options,
        memory_bytes: int,
        others: Sequence[Device],
        transfers: Sequence[Case],
        nodes: Sequence[NumaNode],
    ) -> None:
        super().__init__(device, options, memory_bytes, others, transfers)
        self.nodes = [node.id for node in nodes if node.cpus]
        self.count = len(self.nodes)

    def cases(self) -> Iterator[Case]:
        """Device by device, node by node."""
        if len(self.nodes) < 2:
            (node,) = self.nodes or [0]
            yield _ON_NODES.case(self.transfers[0], target=self.device.description.spec, node=node)
            return
        for other in self.others:
            for node in self.nodes:
                yield from (_ON_NODES.case(case, target=other.spec, node=node) for case in self.transfers)

    def shares(self, case: Case) -> str:
        """A batch for each device."""
        return case.target

    def prepare(self, cases: Sequence[Case]) -> Bench:
        """Allocate and fill on each node what the copies to one device need."""
        (other,) = (each for each in self.others if each.spec == cases[0].target)
        ready: dict[object, _Ready | str] = {}
        for node in self.nodes:
            binding = binding_to(node, self.device.allowed_cpus)
            ready[node] = why_not_bound(binding) or (f"node {node} ", self.buffers_on(other, binding), binding)
        return _bench(self.seed, ready, lambda case: case.node)


def _bench(seed: int, at: Mapping[object, _Ready | str], place_of: Callable[[Case], object]) -> Bench:
    """What is at each place, or why nothing can be, which costs the cases that it has part in."""

    def start(case: Case) -> Start | str:
        place = place_of(case)
        lanes: list[ThreadLane] = []
        parts: list[tuple[Case, Sequence[int]]] = []
        for name in at if place == "" else [place]:
            ready = at[name]
            if isinstance(ready, str):
                return ready
            prefix, buffers, binding = ready
            if reason := buffers.why_not(case):
                return reason
            own = native_lanes(buffers.lanes(case), seed, prefix, binding)
            if place == "":
                parts.append((_ON_DEVICES.case(case, target=str(name)), range(len(lanes), len(lanes) + len(own))))
            lanes += own
        return partial(Concurrent, case, lanes, parts)

    return Bench(start)
