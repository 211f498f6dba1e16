"""Transfers that are divided among many host threads."""

import time
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import msgspec

from isthmus import _native
from isthmus.experiment.engine.buffers import TransferLane
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sweep import Samples
from isthmus.experiment.engine.transfers import TimedLanes
from isthmus.machine.binding import NodeBinding
from isthmus.record import MIB, Case, Direction

# Name for messages, source, destination, seed of the source's pattern, NUMA node with the processors to run on.
ThreadLane: TypeAlias = tuple[str, _native.Buffer, _native.Buffer, int, NodeBinding | None]

_SHORT_BYTES = 512 * MIB
_PAGE_BYTES = 4096
# Two for each of the most threads of a mode, so that those who are fast can take more than the others.
MOST_PIECES = 64
# A thread that has not ended in this time, and at this rate, is taken for stuck.
_LIMIT_SECONDS = 20.0
_SLOWEST_BYTES_PER_SECOND = 100e6


def undivided(memory: str, direction: Direction, size: int) -> Case:
    """A transfer that is still to be divided."""
    return Case(experiment="threads", method="workers", direction=direction, host_memory=memory, bytes=size)


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
