"""Pipelines of `overlap` that can be visited again and again, the memory that they share, and their timelines."""

from collections.abc import Mapping, MutableMapping, Sequence
from statistics import median_low
from typing import NamedTuple, cast

import msgspec

from isthmus import _native
from isthmus.errors import IsthmusError
from isthmus.experiment.engine.buffers import page_shares
from isthmus.experiment.engine.reasons import reason_of
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import Collected
from isthmus.experiment.overlap.points import STAGES, Point
from isthmus.machine.devices import OpenDevice
from isthmus.record import Case, Direction, Series, Span, StageName

_DIRECTIONS: Mapping[str, Direction] = {"in_alone": "h2d", "out_alone": "d2h", "both_ways": "both"}
_WORD_BYTES = 4
_TRACED_PASSES = 5


class Buffers(NamedTuple):
    """By kind of memory where data comes from and where results go; the device's memory between them, and staging.

    `refused` has the reasons of kinds that cannot be had.
    """

    sources: Mapping[str, _native.Buffer]
    results: Mapping[str, _native.Buffer]
    on_device: _native.Buffer
    staging: _native.Staging | None
    refused: Mapping[str, str]

    def why_not(self, point: Point) -> str | None:
        """Why there is no memory for a point; work alone needs some, to be a multiple of its copies."""
        return self.refused.get(point.memory) or (None if self.sources else next(iter(self.refused.values())))

    def placement(self) -> dict[str, dict[str, float]]:
        """Share of each kind's pages on each NUMA node."""
        # Staged memory has its sources and results in common with pageable memory.
        buffers = {id(buffer): buffer for buffer in (*self.sources.values(), *self.results.values())}
        return page_shares(buffers.values())


def allocate(device: OpenDevice, size: int, kinds: Sequence[str], threads: int, seed: int) -> Buffers:
    """Allocate and fill what the kinds need, and pinned memory where the device has it: the work is measured by it.

    Raises the errors of `isthmus.errors` where the device's own memory cannot be had.
    """
    native = device.native
    on_device = native.allocate("device", size)
    refused: dict[str, str] = {}
    sources: dict[str, _native.Buffer] = {}
    results: dict[str, _native.Buffer] = {}
    staging = None
    for kind in dict.fromkeys(["pinned", *kinds]):
        try:
            if kind == "staged":
                staging = _native.create_staging(native, size, threads, 1)
            ordinary = "pageable" if kind == "staged" else kind
            if ordinary not in sources:
                source, result = native.allocate(ordinary, size), native.allocate(ordinary, size)
                source.fill_pattern(0, size, seed)
                sources[ordinary], results[ordinary] = source, result
            sources[kind], results[kind] = sources[ordinary], results[ordinary]
        except IsthmusError as error:
            refused[kind] = reason_of(error)
    return Buffers(sources, results, on_device, staging, refused)


def template(point: Point) -> Case:
    """The case of a point without results."""
    return Case(
        experiment="overlap",
        method=point.method,
        direction=_DIRECTIONS.get(point.method),
        host_memory=point.memory,
        bytes=point.bytes,
        pieces=point.chunks,
        streams=point.streams,
        work_ratio=point.ratio,
    )


def pipeline(point: Point, buffers: Buffers, rounds: int) -> _native.Pipeline:
    """The native pipeline of a point; its streams go back when it is dropped."""
    kind = point.memory if point.memory in buffers.sources else next(iter(buffers.sources))
    return _native.create_pipeline(
        buffers.sources[kind],
        buffers.on_device,
        buffers.results[kind],
        buffers.staging if point.memory == "staged" else None,
        point.bytes,
        point.chunks,
        point.streams,
        rounds,
        STAGES[point.method],
    )


class PipelineSubject:
    """A pipeline, or one stage of it alone; notes its median time in `seconds` for those who choose by it."""

    def __init__(self, point: Point, buffers: Buffers, rounds: int, seconds: MutableMapping[Point, float]) -> None:
        self.template = template(point)
        self._point = point
        self._buffers = buffers
        self._rounds = rounds
        self._seconds = seconds

    def visit(self, quota: Quota, collected: Collected) -> None:
        """Take samples; the first visit of a pipeline of all stages checks every word of the results."""
        # Made anew, because a stream is a thread on some devices, and there are more pipelines than threads should be.
        made = pipeline(self._point, self._buffers, self._rounds)
        checked = self._point.method == "pipeline" and not collected.count
        if checked:
            made.poison()
        collected.begin()
        collected.samples.setdefault("host_seconds", []).extend(made.run(*quota))
        if checked:
            collected.verified = True
            if wrong := made.verify():
                words = self._point.bytes // _WORD_BYTES
                collected.wrong = f"wrong data: {wrong} of {words} 32-bit words did not come back as computed"
        if not collected.wrong:
            self._seconds[self._point] = collected.interval.median


def traced_case(point: Point, buffers: Buffers, rounds: int) -> Case:
    """A few passes of a pipeline with events around every stage: how long each took, and the spans of a typical one."""
    made = pipeline(point, buffers, rounds)
    made.run(2, 1, 1, 0.0)
    passes = [made.trace() for _ in range(_TRACED_PASSES)]
    seconds = [max(end for *_, end in spans) for spans in passes]
    typical = passes[seconds.index(median_low(seconds))]
    spans = [
        Span(stage=cast(StageName, stage), chunk=chunk, begin=begin, end=end) for stage, chunk, begin, end in typical
    ]
    took = Series(metric="device_seconds", samples=seconds)
    return msgspec.structs.replace(template(point), method="traced", spans=spans, series=[took])
