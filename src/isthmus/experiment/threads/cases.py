"""Many host threads that copy one buffer to or from the device, or both ways at once, each its slice or chunks.

It answers what the author of a test for SpursEngine asked of PCI Express in 2008 (cellspe.matrix.jp, main.cpp and
mainrw.cpp): whether threads gain, and whether what arrives is right when the driver is called from many of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from isthmus.errors import IsthmusError
from isthmus.experiment.engine.batch import Planned
from isthmus.experiment.engine.blocks import bytes_needed, over_budget, split_by_memory
from isthmus.experiment.engine.buffers import TransferBuffers
from isthmus.experiment.engine.options import Effort, ModeName, Options
from isthmus.experiment.engine.sampling import least_seconds, reason_of
from isthmus.experiment.engine.sweep import Bench, Start, Sweep, planned
from isthmus.experiment.threads.concurrent import MOST_PIECES, Concurrent, Division, ThreadLane, native_lanes, undivided
from isthmus.machine.binding import NodeBinding, binding_to, near, on_node, why_not_bound
from isthmus.machine.cpu import read_numa_nodes
from isthmus.machine.devices import OpenDevice, neighbours, open_neighbour, probe
from isthmus.record import GIB, MIB, Case, Device, Direction, NumaNode

# A set of threads for each device, as programs have that feed several.
_ON_DEVICES = Division(4, own_streams=True)
_ON_NODES = Division(1)
# A device or a node: what its lanes are called, its buffers, and the node that its threads run on.
_Ready = tuple[str, TransferBuffers, NodeBinding | None]
NAME = "threads"
MEMORY_KINDS = ("pageable", "pinned")
DIRECTIONS: Sequence[Direction] = ("h2d", "d2h", "both")
EFFORTS: Mapping[ModeName, Effort] = {
    "quick": Effort([64 * MIB], 5.0, 0.1),
    "default": Effort([64 * MIB, GIB], 20.0, 0.3),
    "full": Effort([64 * MIB, 256 * MIB, GIB, 4 * GIB], 300.0, 5.0),
}
_PAGE_BYTES = 4096
# From this size on the least number of samples of pageable memory takes seconds.
_LARGE_BYTES = 256 * MIB


class Counts(NamedTuple):
    """Numbers of threads for each division of a transfer among them."""

    slices: Sequence[int]  # a slice and a stream for each thread
    shared: Sequence[int] = ()  # slices, one stream for all
    chunks: Sequence[int] = ()  # chunks from a common counter, a stream for each thread
    shared_chunks: Sequence[int] = ()
    spawn: Sequence[int] = ()  # slices and streams of their own, threads created for every transfer

    def divisions(self) -> list[Division]:
        """All of them; what does not differ with one thread appears once."""
        return [
            *(Division(threads, own_streams=True) for threads in self.slices),
            *(Division(threads) for threads in self.shared if threads > 1),
            *(Division(threads, own_streams=True, chunks=True) for threads in self.chunks),
            *(Division(threads, chunks=True) for threads in self.shared_chunks if threads > 1),
            *(Division(threads, own_streams=True, spawn=True) for threads in self.spawn),
        ]


_ALL = (1, 2, 4, 8, 16, 32)
_SOME = (1, 8, 32)
_FULL = Counts(_ALL, _ALL, _ALL, _ALL, _ALL)


def divisions_of(case: Case, mode: ModeName, threads: Sequence[int] = ()) -> list[Division]:
    """The divisions of a transfer in a mode: all of them where a transfer takes little time, fewer elsewhere.

    `threads`: all divisions among so many, in place of the mode's.
    """
    large = case.bytes >= _LARGE_BYTES
    if threads:
        taking_chunks = [count for count in threads if count <= MOST_PIECES]
        counts = Counts(threads, threads, taking_chunks, taking_chunks, threads)
    elif mode == "full":
        counts = _FULL
    elif mode == "quick":
        counts = Counts((1, 4, 16), shared=(4, 16), chunks=(4, 16), spawn=(1, 16))
    elif case.host_memory == "pinned":
        counts = Counts(_ALL, spawn=(1, 32)) if large else _FULL
    else:
        counts = Counts((1, 8)) if large else Counts(_ALL, shared=_SOME, chunks=_SOME, spawn=_SOME)
    return [each for each in counts.divisions() if not each.chunks or case.bytes > _PAGE_BYTES]


def plan(device: OpenDevice, options: Options, memory_bytes: int) -> Planned:
    """Every division of the chosen transfers, in groups whose buffers fit into `memory_bytes`.

    Then one size on all devices of the backend, and from all NUMA nodes.
    """
    ways = _Sweep(device, options, memory_bytes)
    sizes = ways.sizes(EFFORTS)
    size = max((size for size in sizes if size <= _LARGE_BYTES), default=min(sizes))
    of_size = [case for case in ways.transfers() if case.bytes == size]
    from_nodes = [case for case in of_size if case.host_memory == "pinned" and case.direction != "both"]
    sweeps: list[Sweep] = [ways]
    others = neighbours(device.description, probe())
    if of_size:
        sweeps.append(DeviceSweep(device, options, memory_bytes, others, of_size))
    if from_nodes:
        sweeps.append(NodeSweep(device, options, memory_bytes, others, from_nodes, read_numa_nodes()))
    return planned(*sweeps)


class _Sweep(Sweep):
    by_bytes = True

    def transfers(self) -> Iterator[Case]:
        """What is to be divided."""
        for kind in self.options.chosen(MEMORY_KINDS, self.options.memory):
            for direction in self.options.chosen(DIRECTIONS, self.options.directions):
                yield from (undivided(kind, direction, size) for size in self.sizes(EFFORTS))

    def cases(self) -> Iterator[Case]:
        for case in self.transfers():
            yield from (division.case(case) for division in divisions_of(case, self.options.mode, self.options.threads))

    def why_not(self, case: Case) -> str | None:
        return self.native.why_not(case.host_memory)

    def groups(self, cases: Sequence[Case]) -> Sequence[Sequence[Case]]:
        return split_by_memory(cases, self.memory_bytes, self.shares_host_memory)

    def prepare(self, cases: Sequence[Case]) -> Bench:
        buffers = TransferBuffers(cases, self.native, 0, self.seed)

        def start(case: Case) -> Start | str:
            return buffers.why_not(case) or partial(Concurrent, case, native_lanes(buffers.lanes(case), self.seed))

        return Bench(start, buffers.host_buffers)


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
