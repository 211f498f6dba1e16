"""What sets the rate of pageable copies: the host's own memcpy, and the NUMA node of the memory and its thread."""

from collections.abc import Iterator, Sequence
from functools import partial

import msgspec

from isthmus.experiment.engine.blocks import bytes_needed, over_budget
from isthmus.experiment.engine.buffers import TransferBuffers, TransferLane
from isthmus.experiment.engine.options import Options
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import least_seconds
from isthmus.experiment.engine.sweep import Bench, Samples, Start, Sweep
from isthmus.experiment.engine.transfers import Transfer
from isthmus.machine.binding import NodeBinding, binding_to, on_node, why_not_bound
from isthmus.machine.devices import OpenDevice, open_native
from isthmus.record import Case, NumaNode

MEMCPY = "memcpy"


class CauseSweep(Sweep):
    """One thread's memcpy of pageable memory, and `transfers` of one size from every NUMA node with processors.

    All are measured interleaved: what the host does meanwhile is then done to all of them.
    """

    def __init__(
        self,
        device: OpenDevice,
        options: Options,
        memory_bytes: int,
        transfers: Sequence[Case],
        nodes: Sequence[NumaNode],
    ) -> None:
        super().__init__(device, options, memory_bytes)
        self.transfers = transfers
        self.nodes = [node.id for node in nodes if node.cpus]

    def cases(self) -> Iterator[Case]:
        """Where there is one node, none is near or far."""
        yield msgspec.structs.replace(self.transfers[0], method=MEMCPY, direction=None)
        for node in self.nodes if len(self.nodes) > 1 else ():
            yield from (msgspec.structs.replace(case, node=node) for case in self.transfers)

    def why_not(self, case: Case) -> str | None:
        """All have their buffers at once, those of memcpy two on the host."""
        needed = 2 * case.bytes + len(self.nodes) * bytes_needed(self.transfers, self.shares_host_memory)
        return over_budget(self.memory_bytes) if needed > self.memory_bytes else None

    def weight(self, cases: Sequence[Case]) -> float:
        """By what the least number of samples takes."""
        return sum(least_seconds(case.bytes) for case in cases)

    def prepare(self, cases: Sequence[Case]) -> "_Bench":
        """Allocate and fill, on each node what its copies need."""
        return _Bench(self, cases)


class _Bench(Bench):
    def __init__(self, sweep: CauseSweep, cases: Sequence[Case]) -> None:
        self._seed = sweep.seed
        memcpys = [case for case in cases if case.method == MEMCPY]
        # The host's own device copies by one thread's memcpy.
        self._memcpy = TransferBuffers(memcpys, open_native("host", 0), 0, sweep.seed) if memcpys else None
        self._nodes: dict[int, tuple[NodeBinding, TransferBuffers] | str] = {}
        for node in sorted({case.node for case in cases if case.node is not None}):
            binding = binding_to(node, sweep.device.allowed_cpus)
            if reason := why_not_bound(binding):
                self._nodes[node] = reason
            else:
                make = partial(TransferBuffers, sweep.transfers, sweep.native, 0, sweep.seed)
                self._nodes[node] = binding, on_node(binding, make)

    def start(self, case: Case) -> Start | str:
        binding, buffers = None, self._memcpy
        if case.node is not None:
            ready = self._nodes[case.node]
            if isinstance(ready, str):
                return ready
            binding, buffers = ready
        assert buffers is not None, "prepared for these cases"
        if reason := buffers.why_not(case):
            return reason
        return partial(_Bound, case, buffers.lanes(case), self._seed, binding)


class _Bound(Transfer):
    """A copy by a thread that is bound to a node, or to none."""

    def __init__(self, case: Case, lanes: Sequence[TransferLane], seed: int, binding: NodeBinding | None) -> None:
        super().__init__(msgspec.structs.replace(case, method="copy"), lanes, seed)
        self._binding = binding

    def run(self, quota: Quota) -> Samples:
        """As `Transfer` does; the thread begins before anything is timed."""
        return on_node(self._binding, partial(super().run, quota))
