"""What each way of copying costs what runs beside it, at which rate: kernels by their blocks, the library by threads.

Every sample is a turn: the neighbour's work alone, the same work while copies go on, and alone again, so that a device
that changes its clock meanwhile does not pass for a neighbour that was slowed down.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from isthmus import _native
from isthmus.errors import IsthmusError
from isthmus.experiment.engine.batch import Batch, Planned, Prepared
from isthmus.experiment.engine.blocks import over_budget
from isthmus.experiment.engine.buffers import page_shares, wrong_data
from isthmus.experiment.engine.options import Effort, ModeName, Options
from isthmus.experiment.engine.rounds import Quota, Subject
from isthmus.experiment.engine.sampling import Collected, reason_of, skipped_case
from isthmus.machine.devices import OpenDevice
from isthmus.record import MIB, Case, Direction

NAME = "interference"
MEMORY_KINDS = ("pinned", "pageable")
DIRECTIONS = ("h2d", "d2h")
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
# Of the neighbour's work, alone: long beside a copy, so that many are beside it.
_WORK_SECONDS = 0.01
_PINNED_BUDGET = 64 * MIB


class _Point(NamedTuple):
    neighbour: str
    way: str
    memory: str
    direction: Direction
    bytes: int
    blocks: int | None = None
    threads: int | None = None


def plan(device: OpenDevice, options: Options, memory_bytes: int) -> Planned:
    """Every neighbour beside every way, interleaved; skipped where the device has no such memory or reach."""
    sizes = options.effort(EFFORTS).sizes
    if device.description.shares_host_memory and not options.sizes:
        sizes = _SHARED_SIZES
    batches, skipped = [], []
    for size in sizes:
        possible = []
        for point in _points(device, options, size):
            if why := _why_not(device, point, memory_bytes):
                skipped.append(skipped_case(_template(point), why))
            else:
                possible.append(point)
        if possible:
            batches.append(
                Batch(len(possible), float(len(possible)), partial(_prepare, device, possible, options.seed))
            )
    return Planned(batches, skipped)


def _points(device: OpenDevice, options: Options, size: int) -> Iterator[_Point]:
    kinds = options.chosen(MEMORY_KINDS, options.memory)
    most = _native.allowed_processors()
    for neighbour in NEIGHBOURS:
        for direction in options.chosen(DIRECTIONS, options.directions):
            way = partial(_Point, neighbour, direction=direction, bytes=size)  # type: ignore[arg-type]
            if "pinned" in kinds:
                yield way(way="copy", memory="pinned")
                # A device that works with the host's threads has no blocks to leave to others.
                counts = (ALL,) if device.description.shares_host_memory else _BLOCKS[options.mode]
                yield from (way(way="kernel", memory="pinned", blocks=count) for count in counts)
            if "pageable" in kinds:
                yield way(way="copy", memory="pageable")
                fewer = [count for count in _THREADS[options.mode] if count < most]
                yield from (way(way="isthmus", memory="pageable", threads=count) for count in (*fewer, most))


def _why_not(device: OpenDevice, point: _Point, memory_bytes: int) -> str | None:
    if why := device.native.why_not(point.memory):
        return why
    if point.way == "kernel" and not device.native.kernels_reach(point.memory):
        return f"kernels of this device do not reach {point.memory} memory"
    # A source and a destination of both kinds, and what is the device's where that is the host's.
    copies = 6 if device.description.shares_host_memory else 4
    needed = copies * point.bytes + (_SHARED_LOADS["memory"] if device.description.shares_host_memory else 0)
    return over_budget(memory_bytes) if needed > memory_bytes else None


def _template(point: _Point) -> Case:
    return Case(
        experiment=NAME,
        method=point.way,
        direction=point.direction,
        host_memory=point.memory,
        bytes=point.bytes,
        threads=point.threads,
        blocks=point.blocks,
        neighbour=point.neighbour,
    )


def _prepare(device: OpenDevice, points: Sequence[_Point], seed: int) -> Prepared:
    """Get the memory that all points share, and the sessions that copy with so many threads each."""
    native = device.native
    subjects: list[Subject] = []
    ended: list[list[Case]] = []
    memory = _Memory(native, points[0].bytes, device.description.shares_host_memory, seed)
    for point in points:
        try:
            subjects.append(_Subject(_template(point), memory, seed))
        except IsthmusError as error:
            ended.append([skipped_case(_template(point), reason_of(error))])
    return Prepared(subjects, ended, page_shares(memory.of_host()))


class _Memory:
    """Buffers by kind and side, got when they are first asked for, and sessions by their threads."""

    def __init__(self, device: _native.Device, size: int, shared: bool, seed: int) -> None:
        self._device, self._size, self._seed = device, size, seed
        self._loads = _SHARED_LOADS if shared else _LOADS
        self._buffers: dict[tuple[str, str], _native.Buffer] = {}
        self._sessions: dict[int, _native.Session] = {}

    def source(self, kind: str) -> _native.Buffer:
        """Holds the pattern of the seed."""
        if ("source", kind) not in self._buffers:
            made = self._device.allocate(kind, self._size)
            made.fill_pattern(0, self._size, self._seed, _side(kind))
            self._buffers["source", kind] = made
        return self._buffers["source", kind]

    def destination(self, kind: str) -> _native.Buffer:
        """Memory that copies write to."""
        return self._get("destination", kind, self._size)

    def load(self, neighbour: str) -> _native.Buffer:
        """What the neighbour works on."""
        size = self._loads[neighbour]
        return self._get(f"load of {size}", "device", size)

    def session(self, threads: int) -> _native.Session:
        """The library with at most so many threads."""
        if threads not in self._sessions:
            self._sessions[threads] = _native.Session(self._device, _PINNED_BUDGET, threads)
        return self._sessions[threads]

    def of_host(self) -> list[_native.Buffer]:
        """Of all that there is, what lies in memory of the host."""
        return [buffer for (_, kind), buffer in self._buffers.items() if kind != "device"]

    def _get(self, use: str, kind: str, size: int) -> _native.Buffer:
        if (use, kind) not in self._buffers:
            self._buffers[use, kind] = self._device.allocate(kind, size)
        return self._buffers[use, kind]


class _Subject:
    """One neighbour beside one way of copying."""

    def __init__(self, template: Case, memory: _Memory, seed: int) -> None:
        self.template = template
        host, to_device = template.host_memory, template.direction == "h2d"
        to, source = ("device", host) if to_device else (host, "device")
        self._made = _native.create_interference(
            template.neighbour,
            memory.load(template.neighbour),
            template.method,
            memory.destination(to),
            memory.source(source),
            template.bytes,
            seed,
            _WORK_SECONDS,
            template.blocks or ALL,
            memory.session(template.threads or 0) if template.method == "isthmus" else None,
        )

    def visit(self, quota: Quota, collected: Collected) -> None:
        """Take turns; the first visit checks every byte that the last copy moved."""
        checked = not collected.count
        if checked:
            self._made.poison()
        collected.begin()
        for metric, samples in self._made.run(*quota).items():
            collected.samples.setdefault(metric, []).extend(samples)  # type: ignore[arg-type]
        if checked:
            collected.verified = True
            words, first = self._made.verify()
            if words:
                collected.wrong = wrong_data(str(self.template.direction), words, first, self.template.bytes)


def _side(kind: str) -> str:
    return "device" if kind == "device" else "host"
