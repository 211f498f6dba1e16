"""Runs of the threads experiment whose truth is known: a rate for each number of threads, a cost for each creation."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from isthmus.record import GIB, MIB, Case, Direction, Verified
from tests.synthetic.made import drawn, without

COUNTS = (1, 2, 4, 8, 16, 32)

# GB/s for a number of threads, of each direction.
Rates = Callable[[int], float]


@dataclass(frozen=True)
class Way:
    """How a transfer is divided; `pieces` None is a slice for each thread."""

    own_streams: bool = False
    pieces: int | None = None
    spawn: bool = False


SHARED, OWN, CHUNKS, OWN_CHUNKS = Way(), Way(own_streams=True), Way(pieces=64), Way(own_streams=True, pieces=64)
SPAWN, OWN_SPAWN = Way(spawn=True), Way(own_streams=True, spawn=True)


@dataclass(frozen=True)
class Costs:
    """Seconds that spawned threads take longer: for the transfer, and for each thread of both directions."""

    fixed: float = 20e-6
    per_thread: float = 25e-6


def case(
    direction: Direction,
    memory: str,
    size: int,
    threads: int,
    gigabytes_per_second: float,
    random: np.random.Generator,
    *,
    way: Way = SHARED,
    costs: Costs = Costs(),
    noise: float = 0.002,
    samples: int = 12,
    verified: Verified = "yes",
) -> Case:
    """One case whose samples spread around the time of that rate; `gigabytes_per_second` is a sum for both ways."""
    moved = 2 * size if direction == "both" else size
    created = 2 * threads if direction == "both" else threads
    seconds = moved / gigabytes_per_second / 1e9
    if way.spawn:
        seconds += costs.fixed + costs.per_thread * created
    return Case(
        experiment="threads",
        method="spawn" if way.spawn else "workers",
        direction=direction,
        host_memory=memory,
        bytes=size,
        threads=threads,
        streams=threads if way.own_streams else 1,
        pieces=way.pieces,
        series=[drawn(seconds, random, noise, samples)],
        verified=verified,
    )


def cases(
    rates: Mapping[tuple[Any, str], Any],
    ways: Iterable[Way] = (SHARED,),
    sizes: Iterable[int] = (64 * MIB,),
    counts: Iterable[int] = COUNTS,
    *,
    noise: float = 0.002,
    costs: Costs = Costs(),
    seed: int = 5,
) -> list[Case]:
    """A case for each subject, size, way and number of threads; streams of one thread's own are not measured twice."""
    random = np.random.default_rng(seed)
    chosen = list(ways)
    return [
        case(direction, memory, size, threads, rate(threads), random, way=way, noise=noise, costs=costs)
        for (direction, memory), rate in rates.items()
        for size in sizes
        for way in chosen
        for threads in counts
        if threads > 1 or not way.own_streams or replace(way, own_streams=False) not in chosen
    ]


def placed(
    gigabytes_per_second: float,
    *,
    direction: Direction = "h2d",
    devices: int | None = None,
    target: str = "",
    peer: str = "",
    node: int | None = None,
    method: str = "workers",
    memory: str = "pinned",
    size: int = 64 * MIB,
    noise: float = 0.002,
    seed: int = 5,
) -> Case:
    """A case of one of several devices or nodes; with several devices and no target the rate is that of all of them."""
    total = size * (devices or 1) if not target else size
    moved = 2 * total if direction == "both" else total
    return Case(
        experiment="threads",
        method=method,
        direction=direction,
        host_memory=memory,
        bytes=size,
        threads=1,
        streams=1,
        devices=devices,
        target=target,
        peer=peer,
        node=node,
        series=[drawn(moved / gigabytes_per_second / 1e9, seed, noise)],
        verified="yes",
    )


def skips(reason: str, directions: Iterable[Direction] = ("h2d", "d2h", "both"), **fields: Any) -> list[Case]:
    """Skipped cases of pinned memory for each direction and number of threads."""
    return [
        msgspec.structs.replace(without(placed(1.0, direction=direction, **fields), reason), threads=threads)
        for direction in directions
        for threads in COUNTS
    ]


def h200_cases() -> list[Case]:
    """A default run on one device and one node, with the ways that it measures: threads gain nothing."""
    pinned: dict[tuple[Direction, str], Rates] = {
        ("h2d", "pinned"): lambda threads: 54.9 - 0.02 * threads,
        ("d2h", "pinned"): lambda threads: 55.2 - 0.02 * threads,
        ("both", "pinned"): lambda threads: 99.0 - 0.05 * threads,
    }
    pageable: dict[tuple[Direction, str], Rates] = {
        ("h2d", "pageable"): lambda threads: 6.9 - 0.02 * threads,
        ("d2h", "pageable"): lambda threads: 14.2 - 0.05 * threads,
        ("both", "pageable"): lambda threads: 15.5,
    }
    some = (8, 32)
    return [
        *cases(pinned, (SHARED, OWN, CHUNKS, OWN_CHUNKS, OWN_SPAWN)),
        *cases(pinned, [OWN], [GIB]),
        *cases(pinned, [OWN_SPAWN], [GIB], (1, *some), seed=6),
        *cases(pageable, [OWN], noise=0.01, seed=7),
        *cases(pageable, [SHARED, OWN_CHUNKS], counts=some, noise=0.01, seed=8),
        *cases(pageable, [OWN_SPAWN], counts=(1, *some), noise=0.01, seed=9),
        *cases(pageable, [OWN], [GIB], (1, 8), noise=0.01, seed=10),
        *skips("needs two devices; there is one", devices=2),
        *skips("needs two NUMA nodes; there is one", ("h2d", "d2h"), node=1),
    ]
