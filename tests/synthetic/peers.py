"""Runs of the peers experiment whose truth is known: a rate for each way between two devices."""

from collections.abc import Callable, Sequence
from itertools import combinations, permutations

from isthmus.record import GIB, MIB, Case, Direction, Series, Verified
from tests.synthetic.made import drawn, without

METHODS = ("copy_write", "copy_read", "kernel_write", "kernel_read")
SIZE = 512 * MIB

# GB/s one way, by method, source and destination.
Rate = Callable[[str, str, str], float]


def series(seconds: float, seed: int) -> list[Series]:
    return [drawn(seconds, seed, 0.001, metric="device_seconds")]


def copies(
    method: str,
    gigabytes_per_second: float,
    source: str,
    to: str,
    *,
    direction: Direction = "peer",
    size: int = SIZE,
    path: str = "nvlink 18",
    verified: Verified = "yes",
    devices: int | None = None,
    lanes: int = 1,
    note: str = "",
    seed: int = 1,
) -> Case:
    """One case; `source` or `to` is empty for all others, in so many `lanes`."""
    several = not source or not to
    moved = (2 if direction == "both" else lanes) * size
    return Case(
        experiment="peers",
        method=method,
        direction=direction,
        host_memory="device",
        bytes=size,
        target=source,
        peer=to,
        devices=devices,
        moved_bytes=moved if several else None,
        path="" if several else path,
        verified=verified,
        note=note,
        series=series(moved / gigabytes_per_second / 1e9, seed),
    )


def skipped(method: str, source: str, to: str, note: str, path: str = "", direction: Direction = "peer") -> Case:
    return without(copies(method, 1.0, source, to, direction=direction, path=path), note)


def access(source: str, to: str, seconds: float, path: str = "nvlink 18") -> Case:
    return Case(
        experiment="peers",
        method="access",
        host_memory="device",
        bytes=2 * MIB,
        pieces=4096,
        stride_bytes=128,
        target=source,
        peer=to,
        path=path,
        verified="yes",
        series=series(seconds, 3),
    )


def link(way: Direction, gigabytes_per_second: float, specs: Sequence[str], target: str = "", port: str = "") -> Case:
    """Hosts' links: the sum of devices at once for no target, one of them, or a device alone."""
    lanes = len(specs) if not target else 1
    moved = lanes * (2 if way == "both" else 1) * 256 * MIB
    return Case(
        experiment="peers",
        method="link",
        direction=way,
        host_memory="pinned",
        bytes=256 * MIB,
        devices=len(specs),
        target=target,
        neighbour=port,
        moved_bytes=moved if lanes > 1 else None,
        verified="yes",
        series=series(moved / gigabytes_per_second / 1e9, 4),
    )


def devices(count: int) -> list[str]:
    return [f"cuda:{index}" for index in range(count)]


def nvlink_rate(method: str, source: str, to: str) -> float:
    """As on two H200s."""
    return {"copy_write": 396.0, "copy_read": 394.0, "kernel_write": 370.0, "kernel_read": 376.0}[method]


def whole(count: int, rate: Rate = nvlink_rate, *, path: str = "nvlink 18", sizes: Sequence[int] = ()) -> list[Case]:
    """All that a run of so many devices measures between them."""
    specs = devices(count)
    found: list[Case] = []
    for method in METHODS:
        for at, (source, to) in enumerate(permutations(specs, 2)):
            found.append(copies(method, rate(method, source, to), source, to, path=path, seed=at))
        for source, to in combinations(specs, 2):
            both = 1.97 * rate(method, source, to)
            found.append(copies(method, both, source, to, direction="both", path=path))
            found.append(copies(method, both / 2, source, to, devices=2, path=path))
            found.append(copies(method, both / 2, to, source, devices=2, path=path))
        for spec in specs:
            own = rate(method, specs[0], specs[1])
            found.append(copies(method, own, spec, "", devices=count, lanes=count - 1))
            found.append(copies(method, own, "", spec, devices=count, lanes=count - 1))
        if count > 2:
            sent = count * rate(method, specs[0], specs[1])
            found.append(copies(method, sent, "", "", devices=count, lanes=count * (count - 1)))
        for size in sizes:
            found.append(copies(method, 100.0 * size / GIB + 1, specs[0], specs[1], size=size, path=path))
    return [*found, *(access(source, to, 830e-9, path) for source, to in permutations(specs, 2))]
