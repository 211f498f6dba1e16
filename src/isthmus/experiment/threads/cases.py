"""Many host threads that copy one buffer to or from the device, or both ways at once, each its slice or chunks.

It answers what the author of a test for SpursEngine asked of PCI Express in 2008 (cellspe.matrix.jp, main.cpp and
mainrw.cpp): whether threads gain, and whether what arrives is right when the driver is called from many of them.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from isthmus.experiment.engine.batch import Batch, Planned, Prepared
from isthmus.experiment.engine.blocks import TransferPoint, over_budget, split_by_memory
from isthmus.experiment.engine.buffers import TransferBuffers
from isthmus.experiment.engine.options import Effort, ModeName, Options
from isthmus.experiment.engine.rounds import Subject
from isthmus.experiment.engine.sampling import least_seconds, skipped_case
from isthmus.experiment.threads.concurrent import ConcurrentSubject, Division, native_lanes, template
from isthmus.experiment.threads.devices import plan_devices
from isthmus.experiment.threads.nodes import plan_nodes
from isthmus.machine.devices import OpenDevice, neighbours, probe
from isthmus.machine.numa import read_numa_nodes
from isthmus.record import GIB, MIB, Case

NAME = "threads"
MEMORY_KINDS = ("pageable", "pinned")
DIRECTIONS = ("h2d", "d2h", "both")
EFFORTS: Mapping[ModeName, Effort] = {
    "quick": Effort([64 * MIB], 5.0, 0.1),
    "default": Effort([64 * MIB, GIB], 20.0, 0.3),
    "full": Effort([64 * MIB, 256 * MIB, GIB, 4 * GIB], 300.0, 5.0),
}
_PAGE_BYTES = 4096
# From this size on the least number of samples of pageable memory takes seconds.
_LARGE_BYTES = 256 * MIB


class Sweep(NamedTuple):
    """Numbers of threads for each way to divide a transfer among them."""

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
_FULL = Sweep(_ALL, _ALL, _ALL, _ALL, _ALL)


def all_ways(point: TransferPoint, mode: ModeName) -> list[Division]:
    """The ways to divide a transfer in a mode: all of them where a transfer takes little time, fewer elsewhere."""
    large = point.bytes >= _LARGE_BYTES
    if mode == "full":
        sweep = _FULL
    elif mode == "quick":
        sweep = Sweep((1, 4, 16), shared=(4, 16), chunks=(4, 16), spawn=(1, 16))
    elif point.memory == "pinned":
        sweep = Sweep(_ALL, spawn=(1, 32)) if large else _FULL
    else:
        sweep = Sweep((1, 8)) if large else Sweep(_ALL, shared=_SOME, chunks=_SOME, spawn=_SOME)
    return [way for way in sweep.divisions() if not way.chunks or point.bytes > _PAGE_BYTES]


def plan(device: OpenDevice, options: Options, memory_bytes: int) -> Planned:
    """Every way to divide the chosen transfers, in groups whose buffers fit into `memory_bytes`.

    Then one size on all devices of the backend, and from all NUMA nodes.
    """
    points = [
        TransferPoint(kind, direction, size)  # type: ignore[arg-type]
        for kind in options.chosen(MEMORY_KINDS, options.memory)
        for direction in options.chosen(DIRECTIONS, options.directions)
        for size in options.effort(EFFORTS).sizes
    ]
    size = max(
        (point.bytes for point in points if point.bytes <= _LARGE_BYTES), default=min(options.effort(EFFORTS).sizes)
    )
    of_size = [point for point in points if point.bytes == size]
    from_nodes = [point for point in of_size if point.memory == "pinned" and point.direction != "both"]
    others = neighbours(device.description, probe())
    parts = [_plan_ways(device, points, options, memory_bytes)]
    if of_size:
        parts.append(plan_devices(device, others, of_size, options, memory_bytes))
    if from_nodes:
        parts.append(plan_nodes(device, others, read_numa_nodes(), from_nodes, options, memory_bytes))
    return Planned(
        [batch for part in parts for batch in part.batches], [case for part in parts for case in part.skipped]
    )


def _plan_ways(device: OpenDevice, points: Sequence[TransferPoint], options: Options, memory_bytes: int) -> Planned:
    refused = {point: reason for point in points if (reason := device.native.why_not(point.memory))}
    blocks = split_by_memory(
        [point for point in points if point not in refused], memory_bytes, device.description.shares_host_memory
    )
    refused |= dict.fromkeys(blocks.too_large, over_budget(memory_bytes))
    skipped = [case for point, reason in refused.items() for case in _skipped(point, options.mode, reason)]
    batches = [
        Batch(_subjects(group, options.mode), _weight(group, options.mode), partial(prepare, group, device, options))
        for group in blocks.groups
    ]
    return Planned(batches, skipped)


def prepare(points: Sequence[TransferPoint], device: OpenDevice, options: Options) -> Prepared:
    """Allocate and fill what the points need. The memory lives as long as the subjects.

    Raises CallFailed when the device fails at more than the lack of memory.
    """
    buffers = TransferBuffers(points, device.native, 0, options.seed)
    subjects: list[Subject] = []
    ended: list[list[Case]] = []
    for point in points:
        reason = buffers.why_not(point)
        if reason is not None:
            ended += [[case] for case in _skipped(point, options.mode, reason)]
            continue
        lanes = native_lanes(buffers.lanes(point), options.seed)
        subjects += [ConcurrentSubject(template(point, way), lanes, way) for way in all_ways(point, options.mode)]
    return Prepared(subjects, ended, buffers.placement())


def _skipped(point: TransferPoint, mode: ModeName, reason: str) -> list[Case]:
    return [skipped_case(template(point, way), reason) for way in all_ways(point, mode)]


def _subjects(points: Sequence[TransferPoint], mode: ModeName) -> int:
    return sum(len(all_ways(point, mode)) for point in points)


def _weight(points: Sequence[TransferPoint], mode: ModeName) -> float:
    return sum(least_seconds(point.bytes) * len(all_ways(point, mode)) for point in points)
