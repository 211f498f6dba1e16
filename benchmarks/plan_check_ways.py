"""Ways for plan_check.py: what a plan names, done by the native core, timed from before the first call to the end."""

import time
from collections.abc import Callable, Sequence
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from isthmus import _native
from isthmus.errors import Unsupported
from isthmus.experiment.batching.cases import PieceBuffers
from isthmus.experiment.batching.grid import Cell, Setting
from isthmus.experiment.engine.arena import PAGE_BYTES
from isthmus.experiment.engine.pieces import Extent, Place, staging_threads
from isthmus.experiment.engine.rounds import Quota, Subject
from isthmus.experiment.engine.sampling import Collected
from isthmus.experiment.managed import points as managed_points
from isthmus.experiment.managed import subjects as managed_subjects
from isthmus.experiment.overlap import points as overlap_points
from isthmus.experiment.overlap import subjects as overlap_subjects
from isthmus.experiment.overlap.subjects import calibrate
from isthmus.experiment.strided import sections as strided_sections
from isthmus.experiment.strided.cases import SectionBuffers
from isthmus.machine.devices import OpenDevice
from isthmus.plan import BufferNeed, BufferSource, ManagedNeed, Need, PiecesNeed, PipelineNeed, SectionNeed, Way
from isthmus.record import Case

__all__ = ["Measured", "ways_of"]

# Seconds of so many runs of a way, one right after the other, each from beginning to end; the first after one in vain
# where that is short, as in the runs that plans rest on: a program does again and again what plans are made for. Raises
# an error where data went wrong.
Measured = Callable[[int], list[float]]

# Above, no run in vain comes first: nothing that one run leaves to the next is worth as much.
_WARM_SECONDS = 0.05
_MAPPED = "mapped_"
_METHODS = {"mapped": "kernel", "managed": "prefetch"}
# A thousand uses of a large buffer take minutes: so much of them is timed, and counts for the rest.
_USES_SECONDS = 0.03
# Drivers carve smaller blocks out of one, so that those which are held would change what getting another costs: what
# the allocation experiment measures as `beside`, and plans do not count on.
_CARVED_BYTES = 4 << 20
# From so many bytes on malloc's memory is fresh pages: M_MMAP_THRESHOLD of mallopt(3).
_FRESH_FROM_BYTES = 128 << 10


def ways_of(device: OpenDevice, need: Need, ways: Sequence[Way], seed: int) -> dict[str, Measured]:
    """Each of the ways, ready to be timed again and again; they share the memory that the need is about."""
    match need:
        case BufferNeed():
            return {way.name: _made_first(partial(_Buffer, device.native, need, way.name, seed)) for way in ways}
        case PiecesNeed():
            return _pieces(device.native, need, ways, seed)
        case SectionNeed():
            return _sections(device.native, need, ways, seed)
        case ManagedNeed():
            return _managed(device, need, ways)
        case PipelineNeed():
            return _pipelines(device, need, ways, seed)


def _made_first(make: Callable[[], "_Buffer"]) -> Measured:
    """Made when it is first timed, so that a way which the device has not is no trouble to the others."""
    made: list[_Buffer] = []

    def run(runs: int) -> list[float]:
        if not made:
            made.append(make())
        return made[0].run(runs)

    return run


def _of_subject(subject: Subject) -> Measured:
    """Samples of what an experiment prepares in the same way for its own points."""
    collected = Collected(subject.template)

    def run(runs: int) -> list[float]:
        before = collected.samples.get("host_seconds", [0.0])[-1]
        subject.visit(_quota(runs, before), collected)
        if collected.wrong:
            raise RuntimeError(f"{subject.template.method}: {collected.wrong}")
        return collected.samples["host_seconds"][-runs:]

    return run


def _quota(runs: int, seconds: float) -> Quota:
    """So many runs of what took so long the last time, 0 where that is not known."""
    return Quota(warmups=int(seconds < _WARM_SECONDS), least=runs, most=runs, seconds=0.0)


def _pieces(device: _native.Device, need: PiecesNeed, ways: Sequence[Way], seed: int) -> dict[str, Measured]:
    cell = Cell(need.piece_bytes, need.pieces)
    memory = {way.name: "mapped" if way.name.startswith(_MAPPED) else need.source for way in ways}
    buffers = PieceBuffers(device, list(dict.fromkeys(memory.values())), cell.bytes, seed)
    staging = _native.create_staging(device, cell.bytes, staging_threads(), cell.pieces)
    found: dict[str, Measured] = {}
    for name, kind in memory.items():
        setting = Setting(need.direction, kind, need.host_layout, need.device_layout)
        template = Case(experiment="batching", method=name.removeprefix(_MAPPED), host_memory=kind, bytes=cell.bytes)
        found[name] = _of_subject(buffers.subject(template, setting, cell, staging))
    return found


def _sections(device: _native.Device, need: SectionNeed, ways: Sequence[Way], seed: int) -> dict[str, Measured]:
    section = strided_sections.Section(
        Extent(need.width_bytes, need.rows),
        Place(PAGE_BYTES, need.pitch_bytes),
        Place(PAGE_BYTES, need.device_pitch_bytes or need.width_bytes),
    )
    points = {
        way.name: strided_sections.SectionPoint(
            "mapped" if way.name.startswith(_MAPPED) else need.source,
            need.direction,
            way.name.removeprefix(_MAPPED),
            section,
        )
        for way in ways
    }
    buffers = SectionBuffers(list(points.values()), device, staging_threads(), seed)
    return {
        name: _of_subject(
            buffers.subject(
                Case(experiment="strided", method=point.method, host_memory=point.memory, bytes=section.bytes), point
            )
        )
        for name, point in points.items()
    }


def _managed(device: OpenDevice, need: ManagedNeed, ways: Sequence[Way]) -> dict[str, Measured]:
    percent = None if need.fraction is None else round(100 * need.fraction)
    points: dict[str, managed_points.ArrayPoint] = {}
    for method, memories in managed_points.WAYS.items():
        for memory in memories:
            name = f"{method}_{memory}" if len(memories) > 1 else method
            points[name] = managed_points.ArrayPoint(method, memory, need.bytes, percent, need.stride_bytes)
    wanted = {way.name: points[way.name] for way in ways}
    buffers = managed_subjects.allocate(device, need.bytes, dict.fromkeys(point.memory for point in wanted.values()))
    return {name: _of_subject(managed_subjects.ArraySubject(point, buffers)) for name, point in wanted.items()}


def _pipelines(device: OpenDevice, need: PipelineNeed, ways: Sequence[Way], seed: int) -> dict[str, Measured]:
    """The work is so many rounds of arithmetic as take the need's time on the data in one piece."""
    memory = {way.name: way.name.rpartition("_")[0] for way in ways}
    kinds = list(dict.fromkeys(memory.values()))
    buffers = overlap_subjects.allocate(device, need.bytes, kinds, staging_threads(), seed)
    alone = overlap_points.OverlapPoint("work_alone", kinds[0], need.bytes, None, 1, 1)

    def work_seconds(rounds: int) -> float:
        made = overlap_subjects.pipeline(alone, buffers, rounds)
        return float(np.median(made.run(1, 3, 3, 0.0)))

    (work,) = calibrate(work_seconds, need.compute_seconds, [1.0])
    if work.why_not:
        raise Unsupported(work.why_not)
    found: dict[str, Measured] = {}
    for way in ways:
        chunks, streams = way.options["chunks"], way.options["streams"]
        point = overlap_points.OverlapPoint("pipeline", memory[way.name], need.bytes, 1.0, chunks, streams)
        passes = _of_subject(overlap_subjects.PipelineSubject(point, buffers, work.rounds, {}))
        found[way.name] = partial(_held_for, _Held(device.native, need, memory[way.name]), passes)
    return found


def _held_for(held: "_Held", use: Measured, runs: int) -> list[float]:
    return [once + each for once, each in zip(held.run(runs), use(runs), strict=True)]


class _Held:
    """Memory that is got and given back, timed by the core on memory of its own, of the same size.

    A program in Python would add to each call what is worth a small copy.
    """

    def __init__(self, device: _native.Device, need: BufferNeed | PipelineNeed, way: str) -> None:
        self._cases = [
            _native.create_allocation(device, kind, need.bytes) for kind in _held(need.source, way, need.bytes)
        ]
        self._seconds = [sum(_phases(case.run(1, 1, 1, 0.0))) for case in self._cases]

    def run(self, runs: int) -> list[float]:
        """Seconds of getting, touching and giving back, so many times."""
        total = [0.0] * runs
        for place, case in enumerate(self._cases):
            found = _phases(case.run(*_quota(runs, self._seconds[place])))
            total = [before + each for before, each in zip(total, found, strict=True)]
        return total


def _phases(samples: "_native.AllocationDict") -> list[float]:
    """Seconds of each sample's phases together."""
    touch = samples["touch"] or [0.0] * len(samples["allocate"])
    return [sum(each) for each in zip(samples["allocate"], touch, samples["free"], strict=True)]


class _Buffer:
    """One buffer that is got, moved and given back, as isthmus/plan/buffers.py describes each way."""

    def __init__(self, device: _native.Device, need: BufferNeed, way: str, seed: int) -> None:
        self._need = need
        self._staged = need.source == "pageable" and way in ("staging", "pinned")
        kind = {"staging": "pinned", "managed_prefetch": "managed"}.get(way, way)
        self._held = _Held(device, need, way)
        memory = device.allocate(kind, max(need.bytes, _CARVED_BYTES))
        on_device = None if kind == "managed" else device.allocate("device", need.bytes)
        directions = ("h2d", "d2h") if need.direction == "both" else (need.direction,)
        moved = [(each, need.uses) for each in directions]
        if kind == "managed":
            # Pages that stay on the device go back before they are written again.
            moved = [("h2d", need.uses), ("d2h", need.uses if need.direction == "both" else need.uses - 1)]
        self._moves: list[tuple[str, int, _native.TimedTransfer]] = []
        for direction, uses in moved:
            lane = (direction, memory, on_device)
            transfer = _native.create_transfer(_METHODS.get(kind, "copy"), [lane], 0, need.bytes, seed, True)
            self._moves.append((direction, uses, transfer))
        self._memory, self._on_device, self._seed = memory, on_device, seed
        self._program = np.full(need.bytes if self._staged else 0, seed % 251, np.uint8)
        self._check()

    def _check(self) -> None:
        """Every byte of one transfer each way, which warms it up too."""
        for direction, _, transfer in self._moves:
            # There and back use one pair of buffers. Managed memory is filled when it is poisoned.
            if self._on_device and direction == "h2d":
                self._memory.fill_pattern(0, self._need.bytes, self._seed)
            elif self._on_device:
                self._on_device.fill_pattern(0, self._need.bytes, self._seed + 1)
            transfer.poison()
            self._seconds_a_use = transfer.run(1, 1, 1, 0.0)["host_seconds"][0]
            if any(words for words, _ in transfer.verify()):
                raise RuntimeError(f"{direction}: wrong data")

    def run(self, runs: int) -> list[float]:
        """Seconds of everything, so many times: getting, all uses, giving back."""
        return [once + self._uses() for once in self._held.run(runs)]

    def _uses(self) -> float:
        total = 0.0
        for direction, uses, transfer in self._moves:
            timed = min(uses, max(1, int(_USES_SECONDS / max(self._seconds_a_use, 1e-7))))
            if self._staged:
                total += sum(self._staged_use(direction, transfer) for _ in range(timed)) * uses / timed
            elif timed:
                total += sum(transfer.run(0, timed, timed, 0.0)["host_seconds"]) * uses / timed
        return total

    def _staged_use(self, direction: str, transfer: _native.TimedTransfer) -> float:
        before = self._memcpy(self._pinned_side, self._program) if direction == "h2d" else 0.0
        seconds = transfer.run(0, 1, 1, 0.0)["host_seconds"][0]
        after = self._memcpy(self._program, self._pinned_side) if direction == "d2h" else 0.0
        return before + seconds + after

    @cached_property
    def _pinned_side(self) -> npt.NDArray[np.uint8]:
        return self._memory.host_array()[: self._need.bytes]

    def _memcpy(self, to: npt.NDArray[np.uint8], from_: npt.NDArray[np.uint8]) -> float:
        """Seconds of one thread's memcpy between the program's memory and pinned memory."""
        self._memory.begin_host_access()
        begin = time.perf_counter()
        np.copyto(to, from_)
        seconds = time.perf_counter() - begin
        self._memory.end_host_access()
        return seconds


def _held(source: BufferSource, way: str, size: int) -> list[str]:
    """Memory that is got and given back, in this order; with a single page-lock where the data is there already."""
    if source == "pinned":
        return []
    if source == "pageable":
        return {"registered": ["registered"], "pinned": ["pinned"]}.get(way, [])
    usual = "malloc" if size < _FRESH_FROM_BYTES else "pageable"
    several = {"pageable": [usual], "registered": ["pageable", "registered"], "managed_prefetch": ["managed"]}
    return several.get(way, [way])
