"""Runs of the batching experiment whose truth is known: what a piece, a byte and a call cost for each method."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus.record import KIB, MIB, Case, Direction, LayoutName, Verified
from tests.synthetic.made import drawn, without

SIZES = tuple(1 << power for power in range(6, 21, 2))
COUNTS = (1, 16, 256, 4096, 65536)
# Sizes at which the batch call alone is looked at.
CLOSE_SIZES = (8 * KIB, 12 * KIB, 20 * KIB, 24 * KIB, 28 * KIB, 32 * KIB, 48 * KIB)
CLIFF_BYTES = 28 * KIB


@dataclass(frozen=True)
class Cost:
    """Seconds of a transfer: once, for each piece, and for all bytes at a rate in bytes per second.

    `piece_hidden` says that pieces are handled while others are on their way, so that the slower of both counts.
    """

    once: float
    piece: float
    rate: float
    piece_hidden: bool = False

    def __call__(self, size: int, pieces: int) -> float:
        each, moved = pieces * self.piece, pieces * size / self.rate
        return self.once + (max(each, moved) if self.piece_hidden else each + moved)


Time = Callable[[int, int], float]


def batch_with_cliff(size: int, pieces: int) -> float:
    """Below 28 KiB the driver copies piece by piece; from there on its pieces go at the rate of the link."""
    slow, fast = Cost(5e-6, 1.0e-6, 7e9), Cost(5e-6, 0.1e-6, 55e9)
    return fast(size, pieces) if size >= CLIFF_BYTES else slow(size, pieces)


# What the reference measurements of one H200 have, near enough.
H200: Mapping[str, Time] = {
    "waited_copies": Cost(0, 7.5e-6, 55e9),
    "copies": Cost(6e-6, 2.6e-6, 55e9, piece_hidden=True),
    "graph": Cost(9e-6, 1.0e-6, 55e9, piece_hidden=True),
    "batch": batch_with_cliff,
    "pack": Cost(10e-6, 0.03e-6, 5.5e9),
    "pack_threads": Cost(22e-6, 0.007e-6, 47e9),
    "kernel": Cost(11e-6, 0.005e-6, 51e9, piece_hidden=True),
}
# Kernels do not reach it.
H200_PAGEABLE = {method: time for method, time in H200.items() if method != "kernel"}
_TOO_MANY = "65536 pieces one by one would take too much of the time"
MOST_PIECES = {"waited_copies": 4096, "copies": 4096, "graph": 4096, "batch": 4096}


def case(
    method: str,
    size: int,
    pieces: int,
    seconds: float,
    random: np.random.Generator,
    *,
    direction: Direction = "h2d",
    memory: str = "pinned",
    layouts: tuple[LayoutName, LayoutName] = ("scattered", "scattered"),
    noise: float = 0.004,
    samples: int = 12,
    verified: Verified = "yes",
) -> Case:
    """One case whose samples spread around a time."""
    return Case(
        experiment="batching",
        method=method,
        direction=direction,
        host_memory=memory,
        bytes=size * pieces,
        pieces=pieces,
        width_bytes=size,
        threads={"pack": 1, "pack_threads": 8}.get(method),
        host_layout=layouts[0],
        device_layout=layouts[1],
        series=[drawn(seconds, random, noise, samples)],
        verified=verified,
    )


def cases(
    methods: Mapping[str, Time],
    sizes: Iterable[int] = SIZES,
    counts: Iterable[int] = COUNTS,
    *,
    most_bytes: int = 64 * MIB,
    seed: int = 3,
    **fields: Any,
) -> list[Case]:
    """A case for each method at each point of the grid; what goes piece by piece is skipped for many of them."""
    random = np.random.default_rng(seed)
    numbers = list(counts)
    found = []
    for method, time in methods.items():
        spots = [(size, count) for size in sizes for count in numbers if size * count <= most_bytes]
        if method == "batch" and 256 in numbers:
            spots += [(size, 256) for size in CLOSE_SIZES if size not in SIZES]
        for size, count in spots:
            made = case(method, size, count, time(size, count), random, **fields)
            too_many = count > MOST_PIECES.get(method, count)
            found.append(without(made, _TOO_MANY) if too_many else made)
    return found


def refused(method: str, reason: str, *, memory: str = "pinned", direction: Direction = "h2d") -> Case:
    """What the device or the layouts rule out whatever the pieces are."""
    return Case(
        experiment="batching",
        method=method,
        direction=direction,
        host_memory=memory,
        bytes=0,
        host_layout="scattered",
        device_layout="scattered",
        skipped=True,
        note=reason,
    )


def h200_cases() -> list[Case]:
    """A default run, near enough: scattered pieces of both kinds of memory both ways, and another layout."""
    ways: tuple[Direction, Direction] = ("h2d", "d2h")
    found = []
    for place, direction in enumerate(ways):
        found += cases(H200, direction=direction, seed=3 + place)
        found += cases(H200_PAGEABLE, direction=direction, memory="pageable", seed=5 + place)
        found += cases(
            H200, (256, 4 * KIB), (256, 4096), direction=direction, layouts=("scattered", "contiguous"), seed=7 + place
        )
        found.append(refused("device_pack", "the pieces lie apart in host memory", direction=direction))
        found.append(refused("kernel", "kernels do not reach it", memory="pageable", direction=direction))
    return found


def in_one_call(size: int, count: int) -> float:
    """The fastest that one call of the library or the driver moves so many pieces."""
    methods = H200.keys() & {"kernel", "pack_threads", "pack_kernel", "batch"}
    return min(H200[method](size, count) for method in methods)
