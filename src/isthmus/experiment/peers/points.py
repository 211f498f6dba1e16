"""Which copies between devices are measured: pairs, one way and both, one to all, all to one, by size."""

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from typing import NamedTuple

from isthmus.experiment.engine.options import ModeName
from isthmus.record import GIB, MIB, Case, Direction

NAME = "peers"
# Who copies, and by what: a write is made by the device with the source, a read by the one with the destination; both
# as nvbandwidth has them, whose tests are named _write_ce, _read_ce, _write_sm, _read_sm.
METHODS = ("copy_write", "copy_read", "kernel_write", "kernel_read")
# Of many devices a quick run leaves out what seldom differs.
_WRITES = ("copy_write", "kernel_write")
_MOST_COPIES = 64
_FEWEST_COPIES = 2


class Point(NamedTuple):
    """One case. `source` is empty for copies from all others to `destination`, and `destination` likewise."""

    method: str
    direction: Direction
    bytes: int
    source: str
    destination: str
    devices: int | None = None  # at work at once, where that is all of them

    def lanes(self, specs: Sequence[str]) -> list[tuple[str, str]]:
        """The copies that run at once, each from and to."""
        if not self.source or not self.destination:
            one = self.source or self.destination
            others = [spec for spec in specs if spec != one]
            return [(one, other) if self.source else (other, one) for other in others]
        there = (self.source, self.destination)
        return [there, there[::-1]] if self.direction == "both" else [there]

    def copies(self, devices: int) -> int:
        """Of one sample, one behind the other: enough that neither clock nor start count, fewer beside many others."""
        most = (GIB if devices <= 4 else GIB // 2) if self.bytes < 512 * MIB else 2 * GIB
        return min(max(most // self.bytes, _FEWEST_COPIES), _MOST_COPIES)


def points(specs: Sequence[str], own: str, sizes: Sequence[int], mode: ModeName) -> Iterator[Point]:
    """Everything of the largest size; smaller ones one way, from the run's own device, in a full run of each pair."""
    largest = max(sizes)
    methods = _WRITES if mode == "quick" and len(specs) > 2 else METHODS
    for method in methods:
        for pair in permutations(specs, 2):
            yield Point(method, "peer", largest, *pair)
        for pair in combinations(specs, 2):
            yield Point(method, "both", largest, *pair)
        # With two devices all others are the other one.
        if mode != "quick" or len(specs) > 2:
            for spec in specs:
                yield Point(method, "peer", largest, spec, "", len(specs))
                yield Point(method, "peer", largest, "", spec, len(specs))
        for size in sizes:
            for pair in permutations(specs, 2):
                if size != largest and (mode == "full" or pair[0] == own):
                    yield Point(method, "peer", size, *pair)


def template(point: Point, lanes: int = 1, path: str = "") -> Case:
    """The case without results."""
    several = not point.source or not point.destination
    return Case(
        experiment=NAME,
        method=point.method,
        direction=point.direction,
        host_memory="device",
        bytes=point.bytes,
        devices=point.devices,
        target=point.source,
        peer=point.destination,
        moved_bytes=lanes * point.bytes if several else None,
        path="" if several else path,
    )
