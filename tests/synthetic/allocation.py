"""Runs of the allocation experiment whose truth is known: a fixed part and a part for each byte, times noise."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from isthmus.record import GIB, KIB, MIB, Case, Series
from tests.synthetic.made import without

SIZES = tuple(256 << (2 * power) for power in range(12))
POWERS = tuple(256 << power for power in range(23))


@dataclass(frozen=True)
class Cost:
    """Seconds of one call: `fixed` + `per_mib` x MiB, from `step_bytes` on `step` times as long, times noise."""

    fixed: float
    per_mib: float = 0.0
    step: float = 1.0
    step_bytes: int = 0
    noise: float = 0.01

    def seconds(self, size: int) -> float:
        """Without the noise."""
        return (self.fixed + self.per_mib * size / MIB) * (self.step if size >= self.step_bytes else 1.0)


def cases(
    costs: Mapping[tuple[str, str], Cost], sizes: Iterable[int] = SIZES, *, samples: int = 12, seed: int = 1
) -> list[Case]:
    """One case for each (kind, method) and size, sizes ascending."""
    random = np.random.default_rng(seed)
    return [
        case(kind, method, size, (cost.seconds(size) * random.lognormal(0.0, cost.noise, samples)).tolist())
        for size in sizes
        for (kind, method), cost in costs.items()
    ]


def case(kind: str, method: str, size: int, times: list[float]) -> Case:
    """One case with these samples in seconds."""
    series = [Series(metric="host_seconds", samples=times)]
    return Case(experiment="allocation", method=method, host_memory=kind, bytes=size, series=series)


def skips(kind: str, methods: Iterable[str], sizes: Iterable[int], reason: str) -> list[Case]:
    """Skipped cases of one kind."""
    return [without(case(kind, method, size, []), reason) for size in sizes for method in methods]


US, MS = 1e-6, 1e-3

# About what an H200 in a virtual machine gives, where straight lines describe it.
H200 = {
    ("malloc", "allocate"): Cost(0.04 * US, 0.0, step=40.0, step_bytes=256 * KIB),
    ("malloc", "touch"): Cost(0.02 * US, 0.34 * MS),
    ("malloc", "free"): Cost(0.04 * US, 0.0, step=60.0, step_bytes=256 * KIB),
    ("pageable", "allocate"): Cost(1.6 * US),
    ("pageable", "touch"): Cost(0.6 * US, 0.34 * MS, noise=0.03),
    ("pageable", "free"): Cost(2.0 * US, 0.05 * MS),
    ("pageable_huge", "allocate"): Cost(2.4 * US),
    ("pageable_huge", "touch"): Cost(0.8 * US, 0.12 * MS),
    ("pageable_huge", "free"): Cost(2.2 * US, 0.01 * MS),
    ("pinned", "allocate"): Cost(0.5 * MS, 0.36 * MS),
    ("pinned", "free"): Cost(0.2 * MS, 0.09 * MS),
    ("pinned_portable", "allocate"): Cost(0.5 * MS, 0.36 * MS),
    ("pinned_portable", "free"): Cost(0.2 * MS, 0.09 * MS),
    ("write_combined", "allocate"): Cost(0.52 * MS, 0.40 * MS),
    ("write_combined", "free"): Cost(0.2 * MS, 0.09 * MS),
    ("mapped", "allocate"): Cost(0.5 * MS, 0.36 * MS),
    ("mapped", "free"): Cost(0.2 * MS, 0.09 * MS),
    ("registered", "allocate"): Cost(0.1 * MS, 0.04 * MS),
    ("registered", "free"): Cost(0.05 * MS, 0.017 * MS),
    ("registered_huge", "allocate"): Cost(0.09 * MS, 0.028 * MS),
    ("registered_huge", "free"): Cost(0.045 * MS, 0.019 * MS),
    ("touched_registered", "allocate"): Cost(1.2 * MS, 0.08 * MS),
    ("touched_registered", "free"): Cost(0.06 * MS, 0.06 * MS),
    ("touched_registered_huge", "allocate"): Cost(1.15 * MS, 0.045 * MS),
    ("touched_registered_huge", "free"): Cost(0.06 * MS, 0.025 * MS),
    ("managed", "allocate"): Cost(24 * US, 0.2 * US),
    ("managed", "touch"): Cost(18 * US, 0.4 * MS),
    ("managed", "free"): Cost(60 * US, 0.02 * MS),
    ("device", "allocate"): Cost(32 * US, 0.07 * US),
    ("device", "free"): Cost(28 * US, 0.3 * US),
    ("device_pitched", "allocate"): Cost(32.2 * US, 0.07 * US),
    ("device_pitched", "free"): Cost(28 * US, 0.3 * US),
    ("device_array", "allocate"): Cost(75 * US, 0.1 * US),
    ("device_array", "free"): Cost(50 * US, 0.3 * US),
    ("device_pool", "allocate"): Cost(0.3 * US),
    ("device_pool", "free"): Cost(0.5 * US),
    ("device_pool_cold", "allocate"): Cost(180 * US, 0.2 * US, noise=0.05),
    ("device_pool_cold", "free"): Cost(0.6 * US, 0.0),
}


def h200(sizes: Iterable[int] = SIZES) -> list[Case]:
    """All cases of a run on an H200, a skip among them."""
    return [
        *cases(H200, sizes, seed=2),
        *skips("device_array", ["allocate", "free"], [4 * GIB], "an array of 4 GiB is larger than the device allows"),
    ]
