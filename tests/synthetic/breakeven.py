"""Runs of the breakeven experiment whose truth is known, with the allocation and bandwidth rows behind it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from isthmus.record import GIB, KIB, MIB, Case, Direction, Series
from tests.synthetic.made import drawn

CASES = ("round_trip", "reduction", "round_trip_in_place", "reduction_in_place")
WAYS = ("pageable", "pinned", "registered", "touched_registered", "staging", "mapped", "managed", "managed_prefetch")
# As a run measures them by default.
SIZES = (*(1 << power for power in range(12, 27, 2)), 128 * MIB)
BANDWIDTH_SIZES = tuple(1 << power for power in range(31))
ALLOCATION_SIZES = tuple(1 << power for power in range(8, 31))


@dataclass(frozen=True)
class Cost:
    """Seconds of a size: a fixed part and one for each byte."""

    fixed: float = 0.0
    per_byte: float = 0.0

    def seconds(self, size: int) -> float:
        """Of `size` bytes."""
        return self.fixed + self.per_byte * size


@dataclass(frozen=True)
class Machine:
    """What everything costs.

    `wait` is the part of a transfer that is spent on waiting for its end, which a program does once for a use and not
    for each step of it. `program` multiplies the cost of copies inside a program, by kind and direction.
    """

    memory: Mapping[tuple[str, str], Cost]
    copies: Mapping[tuple[str, str], Cost]
    fill: Cost = Cost(0.5e-6, 1 / 9e9)
    kernel: Cost = Cost(0.5e-6, 2 / 4.8e12)
    fault: Cost = Cost(30e-6, 1 / 8e9)
    wait: float = 3e-6
    program: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def use(self, case: str, way: str, size: int, *, again: bool = True) -> float:
        """Seconds of one use of a buffer that is there; `again` when it is not the first."""
        back = case.startswith("round_trip")
        fill = 0.0 if case.endswith("in_place") else self.fill.seconds(size)
        if way == "mapped":
            ways = ("h2d", "d2h") if back else ("h2d",)
            return fill + max(self._copy("mapped", direction, size) for direction in ways)
        if way == "managed":
            return fill + self.kernel.seconds(size) + self.fault.seconds(size) * (2 if back else 1)
        kind = _COPIED.get(way, way)
        seconds = fill + self.kernel.seconds(size) + self._copy(kind, "h2d", size)
        if back:
            return seconds + self._copy(kind, "d2h", size) - self.wait
        # Pages that stay on the device have to be fetched before they are filled again.
        fetched = way == "managed_prefetch" and again
        return seconds + (self._copy(kind, "d2h", size) if fetched else 0.0)

    def once(self, way: str, size: int) -> float:
        """Seconds of getting a buffer, touching it first and giving it back."""
        usual = "malloc" if size < 128 * KIB else "pageable"
        kinds = {"registered": ("pageable", "registered"), "staging": (), "pageable": (usual,)}
        kinds |= {"managed_prefetch": ("managed",)}
        parts = [
            self.memory[kind, method].seconds(size)
            for kind in kinds.get(way, (way,))
            for method in ("allocate", "touch", "free")
            if (kind, method) in self.memory
        ]
        return sum(parts)

    def total(self, case: str, way: str, uses: int, size: int) -> float:
        """Seconds from allocation to release."""
        first = self.use(case, way, size, again=False)
        return self.once(way, size) + first + (uses - 1) * self.use(case, way, size)

    def _copy(self, kind: str, direction: str, size: int) -> float:
        return self.copies[kind, direction].seconds(size) * self.program.get((kind, direction), 1.0)


_COPIED = {"touched_registered": "registered", "staging": "pinned", "managed_prefetch": "managed"}

# From measurements of an H200 and its host.
H200_MEMORY = {
    ("malloc", "allocate"): Cost(40e-9),
    ("malloc", "free"): Cost(20e-9),
    ("pageable", "allocate"): Cost(3e-6),
    ("pageable", "touch"): Cost(1e-6, 347e-3 / GIB),
    ("pageable", "free"): Cost(4e-6, 20e-3 / GIB),
    ("pinned", "allocate"): Cost(480e-6, 522e-3 / GIB),
    ("pinned", "free"): Cost(200e-6, 98e-3 / GIB),
    ("registered", "allocate"): Cost(70e-6, 41.5e-3 / GIB),
    ("registered", "free"): Cost(35e-6, 17.3e-3 / GIB),
    ("touched_registered", "allocate"): Cost(160e-6, 80e-3 / GIB),
    ("touched_registered", "free"): Cost(45e-6, 40e-3 / GIB),
    ("mapped", "allocate"): Cost(485e-6, 523e-3 / GIB),
    ("mapped", "free"): Cost(205e-6, 98e-3 / GIB),
    ("managed", "allocate"): Cost(25e-6, 2e-3 / GIB),
    ("managed", "touch"): Cost(20e-6, 400e-3 / GIB),
    ("managed", "free"): Cost(40e-6, 30e-3 / GIB),
}
H200_COPIES = {
    ("pageable", "h2d"): Cost(6.3e-6, 1 / 12e9),
    ("pageable", "d2h"): Cost(7.7e-6, 1 / 14e9),
    ("pinned", "h2d"): Cost(7.4e-6, 1 / 55.4e9),
    ("pinned", "d2h"): Cost(7.2e-6, 1 / 55.4e9),
    ("registered", "h2d"): Cost(7.5e-6, 1 / 55.2e9),
    ("registered", "d2h"): Cost(7.3e-6, 1 / 55.3e9),
    ("mapped", "h2d"): Cost(4.1e-6, 1 / 51.3e9),
    ("mapped", "d2h"): Cost(3.9e-6, 1 / 50.6e9),
    ("managed", "h2d"): Cost(34e-6, 1 / 49.8e9),
    ("managed", "d2h"): Cost(41e-6, 1 / 15.8e9),
}
H200 = Machine(H200_MEMORY, H200_COPIES)


def breakeven(
    machine: Machine = H200,
    *,
    sizes: Iterable[int] = SIZES,
    ways: Iterable[str] = WAYS,
    kinds_of_case: Iterable[str] = CASES,
    uses: Sequence[int] = (1, 2, 5, 10),
    longest: float = 0.05,
    noise: float = 0.01,
    samples: int = 12,
    seed: int = 5,
) -> list[Case]:
    """The breakeven rows; counts of uses above one only where a sample takes at most `longest` seconds."""
    random = np.random.default_rng(seed)
    made = []
    for size in sizes:
        for case in kinds_of_case:
            for way in ways:
                totals = {count: machine.total(case, way, count, size) for count in uses}
                for count, seconds in totals.items():
                    if count == 1 or seconds <= longest:
                        times = drawn(seconds, random, noise, samples)
                        made.append(_case("breakeven", case, way, size, times, uses=count))
                further = drawn(machine.use(case, way, size), random, noise, samples)
                made.append(_case("breakeven", f"further_{case}", way, size, further))
    return made


def allocation(machine: Machine = H200) -> list[Case]:
    """The allocation rows that the ways need."""
    random = np.random.default_rng(6)
    return [
        _case("allocation", method, kind, size, drawn(cost.seconds(size), random, 0.01), verified="n/a")
        for size in ALLOCATION_SIZES
        for (kind, method), cost in machine.memory.items()
    ]


def bandwidth(machine: Machine = H200) -> list[Case]:
    """The bandwidth rows that the ways need."""
    random = np.random.default_rng(7)
    methods = {"mapped": "kernel", "managed": "prefetch"}
    made = []
    for size in BANDWIDTH_SIZES:
        for (kind, direction), cost in machine.copies.items():
            times = drawn(cost.seconds(size), random, 0.005)
            enqueue = Series(metric="enqueue_seconds", samples=[time - machine.wait for time in times.samples])
            made.append(_case("bandwidth", methods.get(kind, "copy"), kind, size, times, enqueue, direction=direction))
    return made


def library(rates: Mapping[tuple[str, Direction], float]) -> list[Case]:
    """The bandwidth rows of the library, by the kind of memory and the direction: bytes per second, and 5 us a copy."""
    random = np.random.default_rng(3)
    return [
        _case("bandwidth", "isthmus", kind, size, drawn(5e-6 + size / rate, random, 0.005), direction=direction)
        for (kind, direction), rate in rates.items()
        for size in (1 << power for power in range(12, 31, 2))
    ]


def everything(machine: Machine = H200, **changes: object) -> list[Case]:
    """The rows of all three experiments; `changes` are those of `breakeven`."""
    return [*bandwidth(machine), *allocation(machine), *breakeven(machine, **changes)]  # type: ignore[arg-type]


def _case(experiment: str, method: str, way: str, size: int, *series: Series, **fields: Any) -> Case:
    given: dict[str, Any] = {"verified": "yes"} | fields
    return Case(experiment=experiment, method=method, host_memory=way, bytes=size, series=list(series), **given)
