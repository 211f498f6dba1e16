"""Transfers that are divided among many host threads."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import msgspec

from isthmus import _native
from isthmus.experiment.engine.buffers import TransferLane, first_wrong
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import Companion
from isthmus.experiment.engine.sweep import Samples, Timed, checks_of
from isthmus.machine.binding import NodeBinding
from isthmus.record import MIB, Case, Direction

# Name for messages, source, destination, seed of the source's pattern, NUMA node with the processors to run on.
ThreadLane: TypeAlias = tuple[str, _native.Buffer, _native.Buffer, int, NodeBinding | None]

_SHORT_BYTES = 512 * MIB
_PAGE_BYTES = 4096
# Two for each of the most threads, so that those who are fast can take more than the others.
_MOST_PIECES = 64
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

    def case(self, case: Case, **place: object) -> Case:
        """A transfer that is divided so; `place` is where it is not on the run's device."""
        return msgspec.structs.replace(
            case,
            method="spawn" if self.spawn else "workers",
            threads=self.threads,
            streams=self.threads if self.own_streams else 1,
            pieces=-(-case.bytes // _chunk_bytes(case.bytes)) if self.chunks else None,
            **place,
        )


def _chunk_bytes(size: int) -> int:
    """Whole pages."""
    return -(-size // (_MOST_PIECES * _PAGE_BYTES)) * _PAGE_BYTES


def native_lanes(
    lanes: Sequence[TransferLane], seed: int, prefix: str = "", binding: NodeBinding | None = None
) -> list[ThreadLane]:
    """Lanes as the native core takes them: the h2d one's source holds the pattern of `seed`, the d2h one's the next.

    `prefix` comes before the names of the directions; with `binding` the lanes' threads run on that node.
    """
    converted: list[ThreadLane] = []
    for direction, memory, on_device in lanes:
        assert on_device is not None, "managed memory is not copied"
        source, destination = (memory, on_device) if direction == "h2d" else (on_device, memory)
        converted.append((prefix + direction, source, destination, seed + (direction == "d2h"), binding))
    return converted


class Concurrent(Timed):
    """Lanes that are copied at once, each divided as the case has it.

    It is made anew for every visit, so that each begins with threads that the driver has not seen. Each of `parts` is a
    case that ends with the last of the lanes of these numbers.
    """

    def __init__(
        self, case: Case, lanes: Sequence[ThreadLane], parts: Sequence[tuple[Case, Sequence[int]]] = ()
    ) -> None:
        """Raises the errors of `isthmus.errors`."""
        size, threads = case.bytes, case.threads or 1
        self.checks = checks_of(size)
        self._bytes, self._lanes, self._parts = size, lanes, parts
        self._transfer = _native.create_concurrent(
            list(lanes),
            size,
            threads,
            case.streams == threads,
            _chunk_bytes(size) if case.pieces else 0,
            case.method == "spawn",
        )
        self._limit_seconds = _LIMIT_SECONDS + len(lanes) * size / _SLOWEST_BYTES_PER_SECOND
        self._each: Sequence[Sequence[float]] = ()

    def poison(self) -> None:
        """Overwrite all destinations."""
        self._transfer.poison()

    def run(self, quota: Quota) -> Samples:
        """Seconds until all threads have ended."""
        warmups = 1 if self._bytes < _SHORT_BYTES else 0
        samples = self._transfer.run(warmups, *quota[1:], self._limit_seconds)
        self._each = samples["lanes"]
        return {"host_seconds": samples["host_seconds"]}

    def companions(self) -> Iterator[Companion]:
        """The parts."""
        for case, numbers in self._parts:
            ends = zip(*(self._each[number] for number in numbers), strict=True)
            yield Companion(case, "host_seconds", [max(times) for times in ends])

    def verify(self) -> str:
        """The first lane of which something else arrived."""
        return first_wrong([name for name, *_ in self._lanes], self._transfer.verify(), self._bytes)
