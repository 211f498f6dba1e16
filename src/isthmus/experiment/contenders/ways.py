"""Every method to meet a need, to be timed: pieces, sections, parts of arrays and pipelines as their experiments do."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import msgspec

from isthmus import _native
from isthmus.errors import Unsupported
from isthmus.experiment.contenders.buffers import Held, buffers
from isthmus.experiment.contenders.library import RowsSubject
from isthmus.experiment.engine.options import Options
from isthmus.experiment.engine.piece_buffers import Cell, PieceBuffers, Setting
from isthmus.experiment.engine.pieces import METHODS, packing_threads, staging_threads
from isthmus.experiment.engine.rounds import Quota, Subject
from isthmus.experiment.engine.sweep import Bench, Samples, Start, Timed, TimedSubject, sweep_of
from isthmus.experiment.overlap.cases import OverlapSweep
from isthmus.experiment.overlap.points import case_of
from isthmus.machine.devices import OpenDevice
from isthmus.record import (
    KIB,
    BufferNeed,
    Case,
    ManagedNeed,
    Need,
    PiecesNeed,
    PipelineNeed,
    SectionNeed,
    buffer_ways_of,
)

_MAPPED = "mapped_"
_CHUNKS = (2, 4, 8, 16, 32, 64)
_LEAST_CHUNK_BYTES = 64 * KIB
_DOUBLE_BYTES = 8
_PIECE_METHODS = tuple(each for each in METHODS if each not in ("section", "whole"))
_SECTION_METHODS = ("section", *(each for each in _PIECE_METHODS if each not in ("graph", "waited_copies")))
Makers = Mapping[str, Callable[[], Subject]]


def ways_of(device: OpenDevice, need: Need, seed: int) -> Makers:
    """By a name of its own, each method that there is, made when it is called."""
    return _MAKERS[type(need)](device, need, seed)


def _pieces(device: OpenDevice, need: PiecesNeed, seed: int) -> Makers:
    cell = Cell(need.piece_bytes, need.pieces)

    @cache
    def held(kind: str) -> tuple[PieceBuffers, _native.Staging]:
        staging = _native.create_staging(device.native, cell.bytes, staging_threads(), cell.pieces)
        return PieceBuffers(device.native, [kind], cell.bytes, seed), staging

    def make(name: str) -> Subject:
        kind, method = _memory(name, need.source), name.removeprefix(_MAPPED)
        buffers, staging = held(kind)
        setting = Setting(need.direction, kind, need.host_layout, need.device_layout)
        threads = packing_threads(method)
        template = Case(experiment="plan", method=name, host_memory=kind, bytes=cell.bytes, threads=threads)
        return TimedSubject(template, buffers.moving(method, setting, cell, staging))

    made: dict[str, Callable[[], Subject]] = {
        name: partial(make, name) for name in _with_mapped((*_PIECE_METHODS, "isthmus"), need.source)
    }
    return made | {"copy_rows": partial(RowsSubject, device.native, need, seed)}


def _sections(device: OpenDevice, need: SectionNeed, seed: int) -> Makers:
    case = Case(
        experiment="plan",
        method="section",
        host_memory=need.source,
        bytes=need.width_bytes * need.rows,
        direction=need.direction,
        width_bytes=need.width_bytes,
        rows=need.rows,
        pitch_bytes=need.pitch_bytes,
        device_pitch_bytes=need.device_pitch_bytes or need.width_bytes,
    )

    @cache
    def held(kind: str) -> Bench:
        return sweep_of("strided", device, seed).prepare([msgspec.structs.replace(case, host_memory=kind)])

    def make(name: str) -> Subject:
        kind, method = _memory(name, need.source), name.removeprefix(_MAPPED)
        threads = packing_threads(method)
        template = Case(experiment="plan", method=name, host_memory=kind, bytes=case.bytes, threads=threads)
        return _subject(template, held(kind).start(msgspec.structs.replace(case, method=method, host_memory=kind)))

    return {name: partial(make, name) for name in _with_mapped((*_SECTION_METHODS, "isthmus"), need.source)}


def _subject(template: Case, start: Start | str) -> TimedSubject:
    """Raises Unsupported with the reason where nothing can time the case."""
    if isinstance(start, str):
        raise Unsupported(start)
    return TimedSubject(template, start)


def _memory(name: str, source: str) -> str:
    return "mapped" if name.startswith(_MAPPED) else source


def _with_mapped(methods: tuple[str, ...], source: str) -> tuple[str, ...]:
    return (*methods, f"{_MAPPED}kernel") if source == "pinned" else methods


def _managed(device: OpenDevice, need: ManagedNeed, seed: int) -> Makers:
    sweep = sweep_of("managed", device, seed)
    fraction = None if need.fraction is None else max(round(100 * need.fraction), 1) / 100
    size = max(need.bytes // _DOUBLE_BYTES, 1) * _DOUBLE_BYTES
    pattern = partial(Case, experiment="plan", bytes=size, fraction=fraction, stride_bytes=need.stride_bytes)
    memories: dict[str, set[str]] = {}
    for case in sweep.cases():
        memories.setdefault(case.method, set()).add(case.host_memory)

    @cache
    def held(kind: str) -> Bench:
        return sweep.prepare([pattern(method="managed", host_memory=kind)])

    def make(name: str, method: str, memory: str) -> Subject:
        start = held(memory).start(pattern(method=method, host_memory=memory))
        return _subject(pattern(method=name, host_memory=memory), start)

    return {
        name: partial(make, name, method, memory)
        for method, of_method in memories.items()
        for memory in sorted(of_method)
        for name in [f"{method}_{memory}" if len(of_method) > 1 else method]
    }


def _pipelines(device: OpenDevice, need: PipelineNeed, seed: int) -> Makers:
    """The work is so many rounds of arithmetic as take the need's time on the data in one piece."""
    candidates = {each.name: each for each in buffer_ways_of(need.source, "both")}

    def blocks(kind: str) -> bool:
        memory = candidates[kind].memory
        return device.native.why_not(memory) is None and device.native.copy_blocks(memory)

    cases = {
        f"{kind}_{'serial' if chunks == 1 else 'pipeline'} {chunks}": (
            kind,
            case_of("pipeline", candidates[kind].memory, need.bytes, 1.0, chunks, min(chunks, need.most_streams)),
        )
        for kind in need.kinds[need.source]
        for chunks in ((1,) if blocks(kind) else _chunks(need))
    }

    @cache
    def bench() -> Bench:
        sweep = OverlapSweep(device, Options(seed=seed), 0, need.bytes, need.compute_seconds)
        return sweep.prepare([case for _, case in cases.values()])

    def make(name: str) -> Subject:
        kind, case = cases[name]
        template = msgspec.structs.replace(case, experiment="plan", method=name.partition(" ")[0])
        held = Held(device.native, candidates[kind].held_for(need.bytes), need.bytes)
        start = bench().start(case)
        if isinstance(start, str):
            raise Unsupported(start)
        return TimedSubject(template, lambda: _Holding(start(), held))

    return {name: partial(make, name) for name in cases}


class _Holding(Timed):
    """Samples of a pipeline, each with what getting and giving back its memory takes."""

    def __init__(self, timed: Timed, held: Held) -> None:
        self._timed, self._held, self.checks = timed, held, timed.checks

    def poison(self) -> None:
        self._timed.poison()

    def run(self, quota: Quota) -> Samples:
        samples = self._timed.run(quota)["host_seconds"]
        return {"host_seconds": [each + self._held.seconds() for each in samples]}

    def verify(self) -> str:
        return self._timed.verify()


def _chunks(need: PipelineNeed) -> tuple[int, ...]:
    """One, and the number wanted or a few, none of them all latency."""
    if need.chunks is not None:
        return tuple(dict.fromkeys((1, need.chunks)))
    return (1, *(count for count in _CHUNKS if count * _LEAST_CHUNK_BYTES <= need.bytes))


_MAKERS: Mapping[type, Callable[[OpenDevice, Any, int], Makers]] = {
    BufferNeed: buffers,
    ManagedNeed: _managed,
    PiecesNeed: _pieces,
    PipelineNeed: _pipelines,
    SectionNeed: _sections,
}
