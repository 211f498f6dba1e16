"""Which copies over several links are measured: by whose links, of which memory and size; and beside which work."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from isthmus.experiment.engine.blocks import TransferPoint
from isthmus.experiment.engine.options import ModeName, Options
from isthmus.record import MIB, Case, Direction

NAME = "paths"
MEMORY_KINDS = ("pinned", "pageable")
DIRECTIONS: tuple[Direction, ...] = ("h2d", "d2h")
# What the neighbour does beside the copies that go over its link: copies of its own, and a kernel that computes.
WORKS = ("copies_h2d", "copies_d2h", "compute")
# Ours beside that work: long enough for several ways, and short enough for many turns.
_MOST_BESIDE_BYTES = 256 * MIB


class Point(NamedTuple):
    """One case: by the own link, by that of `peer`, too, or by all; beside the work of `peer`, if there is any."""

    method: str  # own, one, all
    memory: str
    direction: Direction
    bytes: int
    peer: str = ""
    work: str = ""

    @property
    def paths(self) -> str:
        """As sessions are told."""
        return self.peer if self.method == "one" else self.method

    @property
    def buffers(self) -> TransferPoint:
        """What memory it needs."""
        return TransferPoint(self.memory, self.direction, self.bytes)


def points(peers: Sequence[str], sizes: Sequence[int], options: Options, *, is_own: bool) -> Iterator[Point]:
    """Of one device beside these others; of one that is not the run's the largest size alone.

    With one neighbour all are that one. Beside work are pinned copies.
    """
    kinds = options.chosen(MEMORY_KINDS, options.memory)
    for direction in DIRECTIONS:
        if direction not in options.chosen(DIRECTIONS, options.directions):
            continue
        for memory in kinds:
            for size in sizes if is_own else [max(sizes)]:
                yield Point("own", memory, direction, size)
                yield from (Point("one", memory, direction, size, peer) for peer in peers)
                if len(peers) > 1:
                    yield Point("all", memory, direction, size)
        if "pinned" in kinds and (is_own or options.mode == "full"):
            size = max((each for each in sizes if each <= _MOST_BESIDE_BYTES), default=min(sizes))
            for peer in peers:
                for work in works(direction, options.mode):
                    yield Point("own", "pinned", direction, size, peer, work)
                    yield Point("one", "pinned", direction, size, peer, work)


def works(direction: Direction, mode: ModeName) -> list[str]:
    """A quick run leaves out copies the other way, which a link carries beside."""
    return [work for work in WORKS if mode != "quick" or work in ("compute", f"copies_{direction}")]


def template(point: Point, target: str) -> Case:
    """The case without results."""
    return Case(
        experiment=NAME,
        method=point.method,
        direction=point.direction,
        host_memory=point.memory,
        bytes=point.bytes,
        target=target,
        peer=point.peer,
        neighbour=point.work,
    )
