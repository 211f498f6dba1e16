"""Fleets whose truth is known: times of pinned and pageable transfers with noise, some devices slower."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec
import numpy as np

from isthmus.record import (
    FLEET_FORMAT,
    FLEET_SCHEMA_VERSION,
    KIB,
    MIB,
    Cpu,
    Device,
    Fingerprint,
    Fleet,
    Host,
    Link,
    Member,
    Point,
    Summary,
)

SIZES = (4 * KIB, 16 * KIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB)
RATES = {"pinned": 55e9, "pageable": 10e9}
POINTS = [
    Point(phase=phase, experiment="bandwidth", method="copy", host_memory=memory, direction=direction, bytes=size)
    for phase in ("alone", "together")
    for memory in RATES
    for direction in ("h2d", "d2h")
    for size in SIZES
]

# How many times as long a point takes on a device.
Slower = Callable[[Point], float]


def by_link(factor: float) -> Slower:
    """Slow where the link is the limit."""
    return lambda point: factor if point.host_memory == "pinned" and point.bytes >= MIB else 1.0


def together_only(factor: float) -> Slower:
    """The same, and only while others work."""
    return lambda point: by_link(factor)(point) if point.phase == "together" else 1.0


def everything(factor: float) -> Slower:
    """Slow in all that it does."""
    return lambda _: factor


def fingerprint(host: str, index: int, *, link: Link | None = None, **of_host: object) -> Fingerprint:
    """A device of a host with two sockets."""
    return Fingerprint(
        isthmus_version="0.1.0",
        device=Device(
            backend="cuda",
            index=index,
            name="NVIDIA H200",
            driver_version="580",
            uuid=f"GPU-{host}-{index}",
            pci_address=f"0000:{index + 1:x}0:00.0",
            numa_node=index // 4,
            link=link or Link(generation=5, width=16),
        ),
        host=Host(name=host, cpu=Cpu(model="EPYC", allowed=64), **of_host),  # type: ignore[arg-type]
    )


def member(
    host: str,
    index: int,
    slower: Slower | None = None,
    *,
    of: Fingerprint | None = None,
    bound_node: int | None = None,
    seed: int = 1,
    noise: float = 0.02,
) -> Member:
    """One device; its times vary by `noise` from point to point."""
    random = np.random.default_rng([seed, *host.encode(), index])
    summaries = []
    for point in POINTS:
        seconds = 5e-6 + point.bytes / RATES[point.host_memory]
        seconds *= (slower(point) if slower else 1.0) * random.lognormal(0, noise)
        least, lower, middle, upper, most = (float(f"{seconds * each:.4g}") for each in (0.98, 0.99, 1, 1.01, 1.05))
        summaries.append(Summary(20, least, lower, middle, upper, most, "yes"))
    return Member(fingerprint=of or fingerprint(host, index), summaries=summaries, bound_node=bound_node, rank=index)


def fleet(members: Iterable[Member], *, created: str = "2026-01-01T00:00:00Z", **more: object) -> Fleet:
    """A fleet file of these members."""
    return Fleet(
        format=FLEET_FORMAT,
        schema_version=FLEET_SCHEMA_VERSION,
        fleet="synthetic",
        created=created,
        points=POINTS,
        members=list(members),
        **more,  # type: ignore[arg-type]
    )


def save(made: Fleet, path: Path) -> Path:
    """The file, plain."""
    path.write_bytes(msgspec.json.encode(made))
    return path


def save_hosts(
    folder: Path,
    hosts: int,
    slow: Mapping[tuple[int, int], Member | Slower] | None = None,
    *,
    devices: int = 8,
    seed: int = 1,
) -> Path:
    """A file a host, ``n0.json`` and so on; what is in `slow` replaces a device, or slows it."""
    folder.mkdir(exist_ok=True)
    for host in range(hosts):
        members = []
        for index in range(devices):
            other = (slow or {}).get((host, index))
            members.append(other if isinstance(other, Member) else member(f"n{host}", index, other, seed=seed))
        save(fleet(members), folder / f"n{host}.json")
    return folder
