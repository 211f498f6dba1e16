"""Rates and latencies of every kind of host memory, each way and both ways at once, from 1 B to 1 GiB.

It answers what bandwidthTest answered, and why pageable memory falls behind (seeds of the field: bandwidthTest in the
CUDA samples until 12.8; M. Harris, "How to Optimize Data Transfers in CUDA C/C++", 2012).
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial

import msgspec

from isthmus.experiment.engine.batch import Planned
from isthmus.experiment.engine.blocks import bytes_needed, most_managed_bytes, over_budget, split_by_memory
from isthmus.experiment.engine.buffers import TransferBuffers, TransferLane
from isthmus.experiment.engine.options import Effort, ModeName, Options, powers_of_two
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sweep import Bench, Samples, Start, Sweep, planned
from isthmus.experiment.engine.transfers import Transfer, transfer_bench, transfer_case
from isthmus.machine.binding import NodeBinding, binding_to, on_node, why_not_bound
from isthmus.machine.cpu import read_numa_nodes
from isthmus.machine.devices import OpenDevice, open_native
from isthmus.record import GIB, KIB, MIB, Case, Direction, NumaNode, format_bytes
from isthmus.record import MEMORY_KINDS as KINDS

NAME = "bandwidth"
# Kinds whose copies differ from one another; the device's own do not cross the link.
MEMORY_KINDS = tuple(
    kind.name for kind in KINDS.values() if kind.allocated and not kind.on_device and not kind.copied_as
)
DIRECTIONS: Sequence[Direction] = ("h2d", "d2h", "both")
EFFORTS: Mapping[ModeName, Effort] = {
    "quick": Effort([1, 4 * KIB, 64 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB], 2.5, 0.2),
    # Between the last of them rates change little, and take most of a run's time to see.
    "default": Effort([*powers_of_two(0, 26), 256 * MIB, GIB], 17.0, 2.0),
    "full": Effort(powers_of_two(0, 32), 300.0, 5.0),
}
# Pageable memory is moved by the driver and by the library, and untouched where it is copied to.
_MOVED: Mapping[str, Sequence[tuple[str, str]]] = {
    "pageable": [(memory, method) for memory in ("pageable", "untouched") for method in ("", "isthmus")]
}
# malloc gives fresh pages from 128 KiB on (mallopt(3)); above, zeroing them would take most of a run's time.
_UNTOUCHED_BYTES = range(128 * KIB, 256 * MIB + 1)


# Fewer sizes have no differences to explain.
_FEW_SIZES = 3
# As large as a rate needs, and small enough for the least number of samples to take little time.
_CAUSE_BYTES = 64 * MIB
MEMCPY = "memcpy"


def plan(device: OpenDevice, options: Options, memory_bytes: int) -> Planned:
    """Every combination of the chosen kinds, directions and sizes, in groups whose buffers fit into `memory_bytes`.

    Then, where pageable memory was chosen, what explains its rates, at one size.
    """
    sweep = BandwidthSweep(device, options, memory_bytes)
    sizes = sweep.sizes(EFFORTS)
    size = max((size for size in sizes if size <= _CAUSE_BYTES), default=min(sizes))
    directions = [each for each in options.chosen(DIRECTIONS, options.directions) if each != "both"]
    asks = "pageable" in options.chosen(MEMORY_KINDS, options.memory) and not options.alignment_bytes
    if not (asks and directions and len(sizes) >= _FEW_SIZES and size >= MIB):
        return planned(sweep)
    transfers = [transfer_case(NAME, "pageable", direction, size) for direction in directions]
    return planned(sweep, CauseSweep(device, options, memory_bytes, transfers, read_numa_nodes()))


class BandwidthSweep(Sweep):
    """Transfers of every kind of memory; nothing but a destination can be untouched."""

    by_bytes = True

    def cases(self) -> Iterator[Case]:
        """Every combination of the chosen kinds, directions and sizes."""
        options = self.options
        for kind in options.chosen(MEMORY_KINDS, options.memory):
            directions = {
                *options.chosen(DIRECTIONS, options.directions),
                *(["both"] if kind in options.both_memory else []),
            }
            for direction in (each for each in DIRECTIONS if each in directions):
                for size in self.sizes(EFFORTS):
                    for memory, method in _MOVED.get(kind, [(kind, "")]):
                        if memory != "untouched" or (direction == "d2h" and size in _UNTOUCHED_BYTES):
                            case = transfer_case(NAME, memory, direction, size, method)
                            yield msgspec.structs.replace(case, alignment_bytes=options.alignment_bytes)

    def why_not(self, case: Case) -> str | None:
        """Whatever the host's memory allows, which `groups` looks after."""
        reason = self.native.why_not("pageable" if case.host_memory == "untouched" else case.host_memory)
        if reason is None and case.host_memory == "managed":
            reason = self.native.why_no_prefetch()
            # There is a buffer for each direction, whether both are in use or not.
            limit = most_managed_bytes(self.native.free_bytes(), self._other_bytes)
            needed = 2 * case.bytes
            if reason is None and needed > limit:
                reason = (
                    f"{format_bytes(needed)} of managed memory exceed half of the free device memory "
                    f"({format_bytes(limit >> 20 << 20)})"
                )
        return reason

    @cached_property
    def _other_bytes(self) -> int:
        """Device memory that other kinds take at the same time."""
        return 2 * max((case.bytes for case in self.cases() if case.host_memory != "managed"), default=0)

    def groups(self, cases: Sequence[Case]) -> Sequence[Sequence[Case]]:
        """As many together as the run's memory allows."""
        return split_by_memory(cases, self.memory_bytes, self.shares_host_memory)

    def prepare(self, cases: Sequence[Case]) -> Bench:
        """Allocate and fill; data starts `--alignment` bytes after the start of its buffers."""
        return transfer_bench(cases, self.native, self.seed, offset=self.options.alignment_bytes or 0)


class CauseSweep(Sweep):
    """One thread's memcpy of pageable memory, and `transfers` of one size from every NUMA node with processors.

    All are measured interleaved: what the host does meanwhile is then done to all of them.
    """

    by_bytes = True

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

    def prepare(self, cases: Sequence[Case]) -> Bench:
        """Allocate and fill, on each node what its copies need."""
        memcpys = [case for case in cases if case.method == MEMCPY]
        places: dict[int | None, tuple[NodeBinding | None, TransferBuffers] | str] = {}
        if memcpys:
            # The host's own device copies by one thread's memcpy.
            places[None] = None, TransferBuffers(memcpys, open_native("host", 0), 0, self.seed)
        for node in sorted({case.node for case in cases if case.node is not None}):
            binding = binding_to(node, self.device.allowed_cpus)
            make = partial(TransferBuffers, self.transfers, self.native, 0, self.seed)
            places[node] = why_not_bound(binding) or (binding, on_node(binding, make))

        def start(case: Case) -> Start | str:
            ready = places[case.node]
            if isinstance(ready, str):
                return ready
            binding, buffers = ready
            return buffers.why_not(case) or partial(_Bound, case, buffers.lanes(case), self.seed, binding)

        return Bench(start)


class _Bound(Transfer):
    """A copy by a thread that is bound to a node, or to none."""

    def __init__(self, case: Case, lanes: Sequence[TransferLane], seed: int, binding: NodeBinding | None) -> None:
        super().__init__(msgspec.structs.replace(case, method="copy"), lanes, seed)
        self._binding = binding

    def run(self, quota: Quota) -> Samples:
        """As `Transfer` does; the thread begins before anything is timed."""
        return on_node(self._binding, partial(super().run, quota))
