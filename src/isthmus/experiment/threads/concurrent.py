"""Transfers on many host threads that can be visited again and again."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from isthmus import _native
from isthmus.experiment.engine.blocks import TransferPoint
from isthmus.experiment.engine.buffers import TransferLane, wrong_data
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import Collected, Companion
from isthmus.machine.binding import NodeBinding
from isthmus.record import MIB, Case

# Name for messages, source, destination, seed of the source's pattern, NUMA node with the processors to run on.
ThreadLane = tuple[str, _native.Buffer, _native.Buffer, int, NodeBinding | None]

_ALWAYS_CHECKED_BYTES = 16 * MIB
_SHORT_BYTES = 512 * MIB
_PAGE_BYTES = 4096
# Two for each of the most threads, so that those who are fast can take more than the others.
_MOST_PIECES = 64
# A thread that has not ended in this time, and at this rate, is taken for stuck.
_LIMIT_SECONDS = 20.0
_SLOWEST_BYTES_PER_SECOND = 100e6


class Division(NamedTuple):
    """How each direction of a transfer is divided: `threads` of its own, which have a stream each or share one.

    They have one slice each or, with `chunks`, take chunks from a common counter. With `spawn` they are created for
    every transfer.
    """

    threads: int
    own_streams: bool = False
    chunks: bool = False
    spawn: bool = False

    @property
    def streams(self) -> int:
        """Streams of each direction."""
        return self.threads if self.own_streams else 1

    def chunk_bytes(self, size: int) -> int:
        """Size of a chunk, whole pages; 0 for slices."""
        return -(-size // (_MOST_PIECES * _PAGE_BYTES)) * _PAGE_BYTES if self.chunks else 0

    def pieces(self, size: int) -> int | None:
        """Number of chunks; None for slices."""
        return -(-size // self.chunk_bytes(size)) if self.chunks else None


def template(point: TransferPoint, division: Division, **place: object) -> Case:
    """The case of a transfer that is divided in a way, without results; `place` is where it is not the run's device."""
    case = Case(
        experiment="threads",
        method="spawn" if division.spawn else "workers",
        direction=point.direction,
        host_memory=point.memory,
        bytes=point.bytes,
        threads=division.threads,
        streams=division.streams,
        pieces=division.pieces(point.bytes),
    )
    return msgspec.structs.replace(case, **place)


def native_lanes(
    lanes: Sequence[TransferLane], seed: int, prefix: str = "", binding: NodeBinding | None = None
) -> list[ThreadLane]:
    """Lanes as the native core takes them: the h2d one's source holds the pattern of `seed`, the d2h one's the next.

    `prefix` comes before the names of the ways; with `binding` the lanes' threads run on that node.
    """
    found: list[ThreadLane] = []
    for way, memory, on_device in lanes:
        assert on_device is not None, "managed memory is not copied"
        source, destination = (memory, on_device) if way == "h2d" else (on_device, memory)
        found.append((prefix + way, source, destination, seed + (way == "d2h"), binding))
    return found


class ConcurrentSubject:
    """Lanes that are copied at once, each divided in the same way.

    `parts` are cases that come of the same visits: each ends with the last of the lanes of these numbers.
    """

    def __init__(
        self,
        template: Case,
        lanes: Sequence[ThreadLane],
        division: Division,
        parts: Mapping[str, tuple[Case, Sequence[int]]] | None = None,
    ) -> None:
        self.template = template
        self._lanes = list(lanes)
        self._division = division
        self._parts = parts or {}
        self._limit_seconds = _LIMIT_SECONDS + len(lanes) * template.bytes / _SLOWEST_BYTES_PER_SECOND

    def visit(self, quota: Quota, collected: Collected) -> None:
        """Take samples; the first visit, and each of small transfers, checks every byte that arrived."""
        size = self.template.bytes
        threads, own_streams, _, spawn = self._division
        transfer = _native.create_concurrent(
            self._lanes, size, threads, own_streams, self._division.chunk_bytes(size), spawn
        )
        checked = not collected.count or size <= _ALWAYS_CHECKED_BYTES
        if checked:
            transfer.poison()
        # Threads live for one visit, so that each begins with threads that the driver has not seen.
        warmups = 1 if size < _SHORT_BYTES else 0
        collected.begin()
        samples = transfer.run(warmups, quota.least, quota.most, quota.seconds, self._limit_seconds)
        mismatches = transfer.verify() if checked else []
        collected.samples.setdefault("host_seconds", []).extend(samples["host_seconds"])
        for template, lanes in self._parts.values():
            ends = zip(*(samples["lanes"][lane] for lane in lanes), strict=True)
            collected.add_companion(Companion(template, "host_seconds", [max(times) for times in ends]))
        collected.verified = True
        for lane, (words, first) in zip(self._lanes, mismatches, strict=False):
            if words and not collected.wrong:
                collected.wrong = wrong_data(lane[0], words, first, size)
