"""Many host threads that copy one buffer to or from the device, or both ways at once, each its slice or chunks.

It answers what the author of a test for SpursEngine asked of PCI Express in 2008 (cellspe.matrix.jp, main.cpp and
mainrw.cpp): whether threads gain, and whether what arrives is right when the driver is called from many of them.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import msgspec

from isthmus import _native
from isthmus.experiment.engine.blocks import split_by_memory
from isthmus.experiment.engine.buffers import TransferBuffers, TransferLane
from isthmus.experiment.engine.options import Effort, ModeName
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sweep import Bench, Samples, Start, Sweep
from isthmus.experiment.engine.transfers import TimedLanes
from isthmus.machine.binding import NodeBinding
from isthmus.record import GIB, MIB, Case, Direction

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
# Name for messages, source, destination, seed of the source's pattern, NUMA node with the processors to run on.
ThreadLane: TypeAlias = tuple[str, _native.Buffer, _native.Buffer, int, NodeBinding | None]

_SHORT_BYTES = 512 * MIB
# Two for each of the most threads of a mode, so that those who are fast can take more than the others.
MOST_PIECES = 64
# A thread that has not ended in this time, and at this rate, is taken for stuck.
_LIMIT_SECONDS = 20.0
_SLOWEST_BYTES_PER_SECOND = 100e6


def undivided(memory: str, direction: Direction, size: int) -> Case:
    """A transfer that is still to be divided."""
    return Case(experiment=NAME, method="workers", direction=direction, host_memory=memory, bytes=size)


class Division(NamedTuple):
    """How each direction of a transfer is divided: `threads` of its own, which have a stream each or share one.

    They have one slice each or, with `chunks`, take chunks from a common counter. With `spawn` they are created for
    every transfer.
    """

    threads: int
    own_streams: bool = False
    chunks: bool = False
    spawn: bool = False

    def case(self, case: Case) -> Case:
        """A transfer that is divided so."""
        return msgspec.structs.replace(
            case,
            method="spawn" if self.spawn else "workers",
            threads=self.threads,
            streams=self.threads if self.own_streams else 1,
            pieces=-(-case.bytes // _chunk_bytes(case.bytes)) if self.chunks else None,
        )


def _chunk_bytes(size: int) -> int:
    """Whole pages."""
    return -(-size // (MOST_PIECES * _PAGE_BYTES)) * _PAGE_BYTES


def native_lanes(lanes: Sequence[TransferLane], seed: int) -> list[ThreadLane]:
    """Lanes as the native core takes them: the h2d one's source holds the pattern of `seed`, the d2h one's the next."""
    converted: list[ThreadLane] = []
    for direction, memory, on_device in lanes:
        assert on_device is not None, "managed memory is not copied"
        source, destination = (memory, on_device) if direction == "h2d" else (on_device, memory)
        converted.append((direction, source, destination, seed + (direction == "d2h"), None))
    return converted


class Concurrent(TimedLanes):
    """Lanes that are copied at once, each divided as the case has it.

    It is made anew for every visit, so that each begins with threads that the driver has not seen.
    """

    def __init__(self, case: Case, lanes: Sequence[ThreadLane]) -> None:
        """Raises the errors of `isthmus.errors`."""
        size, threads = case.bytes, case.threads or 1
        chunk_bytes = _chunk_bytes(size) if case.pieces else 0
        limit_seconds = _LIMIT_SECONDS + len(lanes) * size / _SLOWEST_BYTES_PER_SECOND
        made = _native.create_concurrent(
            list(lanes), size, threads, case.streams == threads, chunk_bytes, case.method == "spawn", limit_seconds
        )
        self._warmups = 1 if size < _SHORT_BYTES else 0
        self._busy_cpus: float | None = None
        super().__init__(case, made, [name for name, *_ in lanes])

    def run(self, quota: Quota) -> Samples:
        """Seconds until all threads have ended."""
        began, cpu = time.monotonic(), time.process_time()
        samples = super().run(quota._replace(warmups=self._warmups))
        elapsed = time.monotonic() - began
        self._busy_cpus = (time.process_time() - cpu) / elapsed if elapsed > 0 else None
        return samples

    def described(self, case: Case) -> Case:
        """With how many CPUs the last visit kept busy."""
        return msgspec.structs.replace(case, busy_cpus=self._busy_cpus)


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


class ThreadSweep(Sweep):
    """Every division of the chosen transfers, in groups whose buffers fit into the run's memory."""

    by_bytes = True

    def transfers(self) -> Iterator[Case]:
        """What is to be divided."""
        for kind in self.options.chosen(MEMORY_KINDS, self.options.memory):
            for direction in self.options.chosen(DIRECTIONS, self.options.directions):
                yield from (undivided(kind, direction, size) for size in self.sizes(EFFORTS))

    def cases(self) -> Iterator[Case]:
        """Transfer by transfer."""
        for case in self.transfers():
            yield from (division.case(case) for division in divisions_of(case, self.options.mode, self.options.threads))

    def why_not(self, case: Case) -> str | None:
        """By its memory."""
        return self.native.why_not(case.host_memory)

    def groups(self, cases: Sequence[Case]) -> Sequence[Sequence[Case]]:
        """As many together as the run's memory allows."""
        return split_by_memory(cases, self.memory_bytes, self.shares_host_memory)

    def prepare(self, cases: Sequence[Case]) -> Bench:
        """Allocate and fill; threads are made for each visit."""
        buffers = TransferBuffers(cases, self.native, 0, self.seed)

        def start(case: Case) -> Start | str:
            return buffers.why_not(case) or partial(Concurrent, case, native_lanes(buffers.lanes(case), self.seed))

        return Bench(start, buffers.host_buffers)


plan = ThreadSweep.plan
