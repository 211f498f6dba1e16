"""Every NUMA node against every device: one pinned copy, with its memory and its thread on the node."""

from collections.abc import Iterator, Sequence
from functools import partial

from isthmus.experiment.engine.blocks import bytes_needed, over_budget
from isthmus.experiment.engine.buffers import TransferBuffers
from isthmus.experiment.engine.options import Options
from isthmus.experiment.engine.sampling import least_seconds
from isthmus.experiment.engine.sweep import Bench, Start, Sweep
from isthmus.experiment.threads.concurrent import Concurrent, Division, native_lanes
from isthmus.machine.devices import OpenDevice, open_neighbour
from isthmus.machine.numa import NodeBinding, binding_to, on_node, why_not_bound
from isthmus.record import Case, Device, NumaNode

_DIVISION = Division(1)
_NEEDS_TWO = "needs two NUMA nodes with processors; there is one"


class NodeSweep(Sweep):
    """`transfers`, of one size, from every node of the host with processors, to every device, device by device."""

    def __init__(
        self,
        device: OpenDevice,
        options: Options,
        memory_bytes: int,
        others: Sequence[Device],
        transfers: Sequence[Case],
        nodes: Sequence[NumaNode],
    ) -> None:
        super().__init__(device, options, memory_bytes)
        self.others, self.transfers = {other.spec: other for other in others}, transfers
        self.nodes = [node.id for node in nodes if node.cpus]

    def cases(self) -> Iterator[Case]:
        """Where there is one node, one case represents all that needs two."""
        if len(self.nodes) < 2:
            (node,) = self.nodes or [0]
            yield _DIVISION.case(self.transfers[0], target=self.device.description.spec, node=node)
            return
        for spec in self.others:
            for node in self.nodes:
                yield from (_DIVISION.case(case, target=spec, node=node) for case in self.transfers)

    def why_not(self, _case: Case) -> str | None:
        """All nodes have their buffers for one device at once."""
        if len(self.nodes) < 2:
            return _NEEDS_TWO
        needed = len(self.nodes) * bytes_needed(self.transfers, self.shares_host_memory)
        return over_budget(self.memory_bytes) if needed > self.memory_bytes else None

    def shares(self, case: Case) -> str:
        """A batch for each device."""
        return case.target

    def weight(self, cases: Sequence[Case]) -> float:
        """By what the least number of samples takes."""
        return sum(least_seconds(case.bytes) for case in cases)

    def prepare(self, cases: Sequence[Case]) -> "_Bench":
        """Allocate and fill on each node what the copies to one device need."""
        return _Bench(self, self.others[cases[0].target])


class _Bench(Bench):
    def __init__(self, sweep: NodeSweep, other: Device) -> None:
        self._seed = sweep.seed
        self._nodes: dict[int | None, tuple[NodeBinding, TransferBuffers] | str] = {}
        native = open_neighbour(sweep.device, other)
        for node in sweep.nodes:
            binding = binding_to(node, sweep.device.allowed_cpus)
            if reason := why_not_bound(binding):
                self._nodes[node] = reason
            else:
                make = partial(TransferBuffers, sweep.transfers, native, 0, sweep.seed)
                self._nodes[node] = binding, on_node(binding, make)

    def start(self, case: Case) -> Start | str:
        ready = self._nodes[case.node]
        if isinstance(ready, str):
            return ready
        binding, buffers = ready
        if reason := buffers.why_not(case):
            return reason
        lanes = native_lanes(buffers.lanes(case), self._seed, f"node {case.node} ", binding)
        return partial(Concurrent, case, lanes)
