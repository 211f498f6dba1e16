"""Runs whose truth is known: times drawn from latency, rate and noise, with a fixed seed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from isthmus.machine.devices import BACKENDS
from isthmus.record import (
    FORMAT,
    GIB,
    KIB,
    MIB,
    SCHEMA_VERSION,
    Backend,
    Case,
    Cpu,
    Device,
    End,
    Fingerprint,
    Host,
    Link,
    Memory,
    NumaNode,
    Placement,
    Run,
    Series,
    Settings,
    Verified,
)
from tests.synthetic.made import without

POWERS = tuple(1 << power for power in range(31))
SEED_SWEEP = tuple(range(160 * MIB, 3040 * MIB + 1, 160 * MIB))

GEN5 = Link(
    generation=5, width=16, max_generation=5, max_width=16, generation_under_load=5, width_under_load=16, source="NVML"
)


@dataclass(frozen=True)
class Truth:
    """Time of a transfer: latency plus bytes over rate, times noise.

    `noise` is the sigma of a log-normal factor on every sample. With `swings` each size also draws one factor from
    these for all of its samples, and every sample one more from `flips`: how erratic methods look.
    """

    latency: float
    rate: float
    noise: float = 0.002
    swings: Sequence[float] = (1.0,)
    flips: Sequence[float] = (1.0,)

    def samples(self, moved: int, count: int, random: np.random.Generator) -> list[float]:
        """`count` times in seconds for that many bytes moved."""
        swing = random.choice(self.swings)
        factors = swing * random.choice(self.flips, count) * random.lognormal(0.0, self.noise, count)
        return [float(time) for time in (self.latency + moved / self.rate) * factors]


# A method, a direction and a kind of memory; tests write the direction as a plain text.
Key = tuple[str, Any, str]


def cases(
    truths: Mapping[Key, Truth],
    sizes: Iterable[int] = POWERS,
    *,
    samples: int = 20,
    seed: int = 1,
    verified: Verified = "yes",
) -> list[Case]:
    """One bandwidth case for each (method, direction, memory) and size, sizes ascending."""
    random = np.random.default_rng(seed)
    made = []
    for size in sizes:
        for (method, direction, memory), truth in truths.items():
            moved = 2 * size if direction == "both" else size
            times = truth.samples(moved, samples, random)
            enqueue = [min(time, 2e-6) for time in times]
            series = [Series(metric="host_seconds", samples=times), Series(metric="enqueue_seconds", samples=enqueue)]
            if method == "duplex":
                series = [Series(metric="device_seconds", samples=times)]
            made.append(
                Case(
                    experiment="bandwidth",
                    method=method,
                    direction=direction,
                    host_memory=memory,
                    bytes=size,
                    series=series,
                    verified="n/a" if method == "duplex" else verified,
                )
            )
    return made


def skips(key: Key, sizes: Iterable[int], reason: str) -> list[Case]:
    """Skipped cases of one method, direction and memory kind."""
    return [without(case, reason) for case in cases({key: Truth(0.0, 1.0)}, sizes)]


def run(
    measured: Sequence[Case],
    *,
    name: str = "synthetic",
    device: Device | None = None,
    host: Host | None = None,
    end: End | None = End(status="complete", seconds=12.5),  # noqa: B008 - frozen
) -> Run:
    """A run of those cases on a device with a PCIe 5.0 x16 link unless told otherwise."""
    return Run(
        format=FORMAT,
        schema_version=SCHEMA_VERSION,
        run=name,
        created="2026-11-21T12:00:00Z",
        fingerprint=Fingerprint(
            isthmus_version="0.1.0", python_version="3.12.1", device=device or gpu(), host=host or Host()
        ),
        settings=Settings(command=["isthmus", "measure", "bandwidth"], seed=7),
        cases=list(measured),
        end=end,
    )


def probe_of(*devices: Device) -> Callable[..., list[Backend]]:
    """What `probe` is on a machine that has these."""
    return lambda names=BACKENDS: [
        Backend(name=name, devices=[each for each in devices if each.backend == name]) for name in names
    ]


def gpu(*, name: str = "NVIDIA H200", link: Link | None = GEN5, **changes: object) -> Device:
    """A GPU with a link."""
    fields = {
        "backend": "cuda",
        "index": 0,
        "vendor": "NVIDIA",
        "driver_version": "580.159",
        "api_version": "CUDA 13.0",
        "compute_capability": "9.0",
        "memory_bytes": 141 * 10**9,
        "numa_node": 0,
        "pci_address": "0000:05:00.0",
        "copy_engines": 3,
    } | changes
    return Device(name=name, link=link, **fields)  # type: ignore[arg-type]


def cpu_device() -> Device:
    """A CPU as an OpenCL device: no link, the host's own memory."""
    return Device(backend="opencl", index=0, name="cpu-haswell", vendor="GenuineIntel", shares_host_memory=True)


@cache
def h200(*, name: str = "h200", seed: int = 3) -> Run:
    """A full default run as an H200 gives it, with skips; rates from measurements of one.

    The same object each time, so that what analyses keep of it, which takes them seconds, serves all tests.
    """
    steady: dict[Key, Truth] = {
        ("copy", "h2d", "pinned"): Truth(7.4e-6, 55.4e9),
        ("copy", "d2h", "pinned"): Truth(7.2e-6, 55.4e9),
        ("copy", "h2d", "write_combined"): Truth(7.5e-6, 55.5e9),
        ("copy", "d2h", "write_combined"): Truth(7.2e-6, 55.3e9),
        ("copy", "h2d", "registered"): Truth(7.5e-6, 55.2e9),
        ("copy", "d2h", "registered"): Truth(7.3e-6, 55.3e9),
        ("kernel", "h2d", "mapped"): Truth(4.1e-6, 51.3e9),
        ("kernel", "d2h", "mapped"): Truth(3.9e-6, 52.6e9),
        ("prefetch", "h2d", "managed"): Truth(34e-6, 49.8e9, noise=0.02),
        ("prefetch", "d2h", "managed"): Truth(41e-6, 15.8e9, noise=0.02),
        ("copy", "both", "pinned"): Truth(11e-6, 99.0e9),
        ("copy", "both", "registered"): Truth(11e-6, 98.7e9),
        ("copy", "both", "write_combined"): Truth(11e-6, 98.9e9),
        ("duplex", "h2d", "pinned"): Truth(8e-6, 50.3e9),
        ("duplex", "d2h", "pinned"): Truth(8e-6, 51.2e9),
    }
    erratic: dict[Key, Truth] = {
        ("copy", "h2d", "pageable"): Truth(6.3e-6, 14.4e9, 0.05, swings=(1.0, 1.05, 1.8), flips=(1.0, 1.0, 1.4)),
        ("copy", "d2h", "pageable"): Truth(7.7e-6, 15.4e9, 0.06, swings=(1.0, 1.1)),
        ("copy", "h2d", "pageable_huge"): Truth(6.3e-6, 15.9e9, 0.03, swings=(1.0, 1.6)),
        ("copy", "d2h", "pageable_huge"): Truth(7.6e-6, 17.1e9, 0.03),
        ("copy", "both", "pageable"): Truth(15e-6, 16.4e9, 0.08),
    }
    refused = [
        *skips(("kernel", "both", "mapped"), POWERS, "one kernel moves one direction; there is no pair to time"),
        *skips(("prefetch", "both", "managed"), POWERS, "pages live on one side at a time"),
        *skips(("copy", "both", "pageable_huge"), POWERS[-1:], "needs 4.00 GiB of host memory, 3.10 GiB is free"),
    ]
    return run(
        [*cases(steady, seed=seed), *cases(erratic, seed=seed + 1, samples=36), *refused],
        name=name,
        host=Host(
            name="node17",
            kernel="6.8.0",
            distribution="Ubuntu 24.04",
            cpu=Cpu(
                model="Intel Xeon Platinum 8480C",
                architecture="x86_64",
                sockets=1,
                logical=16,
                allowed=16,
                last_level_cache_bytes=105 * MIB,
                hypervisor=True,
            ),
            numa_nodes=[NumaNode(id=0, cpus="0-15", memory_bytes=128 * GIB)],
            memory=Memory(
                total_bytes=128 * GIB,
                available_bytes=120 * GIB,
                transparent_huge_pages="madvise",
                transparent_huge_page_defrag="madvise",
                huge_page_bytes=2048 * KIB,
            ),
            iommu="none seen by this kernel",
        ),
        end=End(status="complete", seconds=27.4, placement=Placement(bound_node=0, cpus="0-15")),
    )
