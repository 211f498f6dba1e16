"""What each method of copying costs other work meanwhile, at which rate: kernels by blocks, the library by threads.

In every sample the neighbour works alone, then while copies go on, and alone again, so that a device that changes its
clock meanwhile does not pass for a neighbour that was slowed down.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import cast

from isthmus import _native
from isthmus.experiment.engine.blocks import over_budget
from isthmus.experiment.engine.buffers import first_wrong
from isthmus.experiment.engine.options import Effort, ModeName
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sweep import Bench, Samples, Start, Sweep, Timed
from isthmus.record import MIB, Case, Direction

NAME = "interference"
MEMORY_KINDS = ("pinned", "pageable")
DIRECTIONS: Sequence[Direction] = ("h2d", "d2h")
EFFORTS: Mapping[ModeName, Effort] = {
    "quick": Effort([16 * MIB], 8.0, 0.3),
    "default": Effort([64 * MIB], 40.0, 1.0),
    "full": Effort([16 * MIB, 64 * MIB, 256 * MIB], 240.0, 4.0),
}
# Where device memory is host memory, the processor copies.
_SHARED_SIZES = [4 * MIB]
NEIGHBOURS = ("compute", "memory", "thread")
# As many blocks as fill the device.
ALL = 0
_BLOCKS: Mapping[ModeName, Sequence[int]] = {
    "quick": (2, ALL),
    "default": (1, 2, 4, 8, ALL),
    "full": (1, 2, 3, 4, 8, 16, 32, ALL),
}
# Threads that pack for the library, besides as many as it would take by itself.
_THREADS: Mapping[ModeName, Sequence[int]] = {"quick": (), "default": (1, 4), "full": (1, 2, 4, 8)}
# Beyond the caches of any device for what reads memory; what computes needs a word for each thread, and some more.
_LOADS = {"compute": 4 * MIB, "memory": 256 * MIB, "thread": 4 * MIB}
_SHARED_LOADS = {"compute": MIB, "memory": 16 * MIB, "thread": MIB}
# The neighbour's work takes this long alone, many times as long as a copy.
_WORK_SECONDS = 0.01
_PINNED_BUDGET = 64 * MIB


class _Sweep(Sweep):
    def cases(self) -> Iterator[Case]:
        for size in self.sizes(EFFORTS, _SHARED_SIZES):
            for neighbour in NEIGHBOURS:
                for direction in self.options.chosen(DIRECTIONS, self.options.directions):
                    yield from self._methods(
                        partial(Case, experiment=NAME, direction=direction, bytes=size, neighbour=neighbour)
                    )

    def _methods(self, case: Callable[..., Case]) -> Iterator[Case]:
        kinds = self.options.chosen(MEMORY_KINDS, self.options.memory)
        if "pinned" in kinds:
            yield case(method="copy", host_memory="pinned")
            # A device that works with the host's threads has no blocks to leave to others.
            for blocks in (ALL,) if self.shares_host_memory else _BLOCKS[self.options.mode]:
                yield case(method="kernel", host_memory="pinned", blocks=blocks)
        if "pageable" in kinds:
            yield case(method="copy", host_memory="pageable")
            most = _native.allowed_processors()
            for threads in (*(count for count in _THREADS[self.options.mode] if count < most), most):
                yield case(method="isthmus", host_memory="pageable", threads=threads)

    def why_not(self, case: Case) -> str | None:
        if why := self.native.why_not(case.host_memory):
            return why
        if case.method == "kernel" and not self.native.kernels_reach(case.host_memory):
            return f"kernels of this device do not reach {case.host_memory} memory"
        # A source and a destination of both kinds, and the device's buffers where they are in the host's memory.
        needed = 6 * case.bytes + _SHARED_LOADS["memory"] if self.shares_host_memory else 4 * case.bytes
        return over_budget(self.memory_bytes) if needed > self.memory_bytes else None

    def shares(self, case: Case) -> int:
        return case.bytes

    def prepare(self, cases: Sequence[Case]) -> Bench:
        """Buffers by kind and side, and sessions by their threads, are made when they are first asked for."""
        size, loads = cases[0].bytes, _SHARED_LOADS if self.shares_host_memory else _LOADS
        buffers: dict[tuple[str, str], _native.Buffer] = {}
        session = cache(partial(_native.Session, self.native, _PINNED_BUDGET))

        def buffer(use: str, kind: str, size: int) -> _native.Buffer:
            if (use, kind) not in buffers:
                buffers[use, kind] = made = self.native.allocate(kind, size)
                if use == "source":
                    made.fill_pattern(0, size, self.seed, "device" if kind == "device" else "host")
            return buffers[use, kind]

        def start(case: Case) -> Start:
            to, source = ("device", case.host_memory) if case.direction == "h2d" else (case.host_memory, "device")
            load = loads[case.neighbour]
            timed = _Beside(
                case,
                _native.create_interference(
                    case.neighbour,
                    buffer(f"load of {load}", "device", load),
                    case.method,
                    buffer("destination", to, size),
                    buffer("source", source, size),
                    case.bytes,
                    self.seed,
                    _WORK_SECONDS,
                    case.blocks or ALL,
                    session(case.threads or 0) if case.method == "isthmus" else None,
                ),
            )
            return lambda: timed

        return Bench(start, lambda: list(buffers.values()))


plan = _Sweep.plan


class _Beside(Timed):
    """One neighbour with one method of copying; the first visit checks every byte that the last copy moved."""

    def __init__(self, case: Case, made: _native.Timed) -> None:
        self._case, self._made = case, made

    def poison(self) -> None:
        self._made.poison()

    def run(self, quota: Quota) -> Samples:
        return cast(Samples, self._made.run(*quota))

    def verify(self) -> str:
        return first_wrong([str(self._case.direction)], self._made.verify(), self._case.bytes)
