"""Copy in, compute, copy out, over chunks and streams: how much of that a program can have at the same time.

The second of NVIDIA's guidelines' articles on data transfers announces it: transfers can be overlapped with kernels and
with other transfers. Here every stage is also measured alone, so that what is left of the ideal can be said.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import median
from typing import NamedTuple

from isthmus.errors import IsthmusError
from isthmus.experiment.engine.batch import Batch, Planned, Prepared
from isthmus.experiment.engine.blocks import over_budget
from isthmus.experiment.engine.options import Effort, ModeName, Options
from isthmus.experiment.engine.pieces import staging_threads
from isthmus.experiment.engine.rounds import Quota, Subject
from isthmus.experiment.engine.sampling import least_seconds, reason_of, skipped_case
from isthmus.experiment.overlap.points import MAIN_RATIO, OverlapPoint, Sweep, Ways, points_of
from isthmus.experiment.overlap.subjects import (
    Buffers,
    PipelineSubject,
    Work,
    allocate,
    calibrate,
    nearest_to_one,
    pipeline,
    template,
    traced_case,
)
from isthmus.machine.devices import OpenDevice
from isthmus.record import MIB, Case, format_bytes

NAME = "overlap"
# Staged: pageable memory through page-locked memory, by as many threads as there are streams.
MEMORY_KINDS = ("pinned", "pageable", "staged")
EFFORTS: Mapping[ModeName, Effort] = {
    "quick": Effort([16 * MIB], 4.0, 0.05),
    "default": Effort([64 * MIB, 256 * MIB], 40.0, 0.4),
    "full": Effort([64 * MIB, 256 * MIB], 300.0, 3.0),
}
# Where device memory is host memory, the processor does all three stages, and slowly.
_SHARED_SIZES: Mapping[ModeName, Sequence[int]] = {
    "quick": [4 * MIB],
    "default": [8 * MIB],
    "full": [8 * MIB, 64 * MIB],
}
# What the processor copies takes several times as long, or ten times.
_COPIED_BY_THE_CPU = ("pageable", "staged")
_MOST_COPIED_BYTES = 64 * MIB
_RATIOS = (0.1, 0.3, 1, 3, 10)
_ALL = (1, 2, 4, 8, 16, 32, 64)
_SOME = (1, 4, 16, 64)
_FULL = Ways(_ALL, (1, 2, 4, 8), _ALL, 4)
# A sample of memory that the CPU copies takes several times as long as one of pinned memory, and copies of pageable
# memory occupy the thread that starts them, so that more streams should not matter.
_SWEEPS: Mapping[ModeName, Sweep] = {
    "quick": Sweep(
        _RATIOS[1:],
        {
            "pinned": Ways(_SOME, (1, 4), (1, 16), 4),
            "pageable": Ways((1, 16), (1, 4), (1, 16), 4),
            "staged": Ways(_SOME, (1, 8), (1, 16), 8),
        },
    ),
    "default": Sweep(
        _RATIOS,
        {
            "pinned": _FULL._replace(few_chunks=_SOME),
            "pageable": Ways(_SOME, (1, 4), (1, 16), 4),
            "staged": Ways(_ALL, (1, 4, 8), (1, 16, 64), 8),
        },
    ),
    "full": Sweep(_RATIOS, {"pinned": _FULL, "pageable": _FULL, "staged": _FULL._replace(few_streams=8)}),
}
_WORD_BYTES = 4
_CALIBRATION = Quota(warmups=3, least=5, most=50, seconds=0.005)
_NO_WORK = Work(0.0, 0, 0.0)
# A few passes of one pipeline of each memory.
_TRACE_WEIGHT = 0.01


class _Ran(NamedTuple):
    """What the pipelines of one size left behind for the timelines: median times, and the work that they did."""

    seconds: dict[OverlapPoint, float]
    works: list[Work]


def plan(device: OpenDevice, options: Options, memory_bytes: int) -> Planned:
    """Every pipeline and every stage alone of one size interleaved, then a timeline of the best of each memory."""
    batches: list[Batch] = []
    skipped: list[Case] = []
    threads = staging_threads()
    chosen = options.chosen(MEMORY_KINDS, options.memory)
    refused = {kind: why for kind in chosen if (why := _why_not(device, kind))}
    for size in _sizes(device, options):
        points, reasons = [], []
        for point in points_of(size, _SWEEPS[options.mode], chosen, threads):
            if why := refused.get(point.memory) or _why_not_of_size(device, point, options, memory_bytes):
                skipped.append(skipped_case(template(point), why))
                reasons.append(why)
            else:
                points.append(point)
        kinds = [kind for kind in chosen if any(point.memory == kind for point in points)]
        if kinds:
            ran = _Ran({}, [])
            prepare = partial(_prepare, device, points, kinds, threads, options, ran)
            trace = partial(_trace, device, size, kinds, threads, options, ran)
            weight = least_seconds(size) * len(points)
            batches += [Batch(len(points), weight, prepare), Batch(len(kinds), _TRACE_WEIGHT * weight, trace)]
        else:
            # Work alone, which no pipeline is left to be compared with.
            skipped += [skipped_case(template(point), reasons[0]) for point in points]
    return Planned(batches, skipped)


def _sizes(device: OpenDevice, options: Options) -> Sequence[int]:
    if device.description.shares_host_memory and not options.sizes:
        return _SHARED_SIZES[options.mode]
    return options.effort(EFFORTS).sizes


def _why_not(device: OpenDevice, kind: str) -> str | None:
    return device.native.why_not("pinned" if kind == "staged" else kind)


def _why_not_of_size(device: OpenDevice, point: OverlapPoint, options: Options, memory_bytes: int) -> str | None:
    all_wanted = options.mode == "full" or options.sizes
    if point.memory in _COPIED_BY_THE_CPU and point.bytes > _MOST_COPIED_BYTES and not all_wanted:
        return f"the processor copies {format_bytes(point.bytes)} of it too slowly; --full and --sizes measure it"
    if point.bytes % (_WORD_BYTES * point.chunks):
        chunks = "one chunk" if point.chunks == 1 else f"{point.chunks} chunks"
        return f"{point.bytes} bytes do not divide into whole {_WORD_BYTES}-byte words for {chunks}"
    # A source and results, pinned and pageable, and the staging memory; where it is the same, the device's and its own.
    copies = 7 if device.description.shares_host_memory else 5
    return over_budget(memory_bytes) if copies * point.bytes > memory_bytes else None


def _prepare(
    device: OpenDevice, points: Sequence[OverlapPoint], kinds: Sequence[str], threads: int, options: Options, ran: _Ran
) -> Prepared:
    """Allocate, calibrate the work and pair every point with its rounds; fills `ran` for the timelines."""
    try:
        buffers = allocate(device, points[0].bytes, kinds, threads, options.seed)
        ran.works.extend(_calibrated(points[0].bytes, buffers, _SWEEPS[options.mode].ratios))
    except IsthmusError as error:
        return Prepared([], [[skipped_case(template(point), reason_of(error))] for point in points])
    by_ratio: dict[float | None, Work] = {work.ratio: work for work in ran.works}
    main = nearest_to_one(ran.works)
    # Where work as long as a copy is out of reach, the sweep is for what comes nearest, and the two change places.
    places = {MAIN_RATIO: main.ratio, main.ratio: MAIN_RATIO} if main else {}
    subjects: list[Subject] = []
    ended: list[list[Case]] = []
    for planned in points:
        ratio = planned.ratio if planned.ratio is None else places.get(planned.ratio, planned.ratio)
        point = planned._replace(ratio=ratio)
        work = by_ratio.get(ratio, _NO_WORK)
        reason = buffers.why_not(point) or work.why_not
        if reason:
            ended.append([skipped_case(template(point), reason)])
        else:
            subjects.append(PipelineSubject(point, buffers, work.rounds, ran.seconds))
    return Prepared(subjects, ended, buffers.placement())


def _calibrated(size: int, buffers: Buffers, ratios: Sequence[float]) -> list[Work]:
    """The rounds for each ratio to the slower copy of pinned memory, or of what there is in its place."""
    if not buffers.sources:
        return []
    kind = next(iter(buffers.sources))

    def seconds(point: OverlapPoint, rounds: int = 0) -> float:
        return median(pipeline(point, buffers, rounds).run(*_CALIBRATION))

    slower = max(seconds(OverlapPoint(way, kind, size, None, 1, 1)) for way in ("in_alone", "out_alone"))
    work = OverlapPoint("work_alone", kind, size, None, 1, 1)
    return calibrate(lambda rounds: seconds(work, rounds), slower, ratios)


def _trace(device: OpenDevice, size: int, kinds: Sequence[str], threads: int, options: Options, ran: _Ran) -> Prepared:
    """A timeline for each memory, of its fastest pipeline of several chunks with the work nearest to a copy's time."""
    main = nearest_to_one(ran.works)
    best = {kind: _fastest(kind, main, ran.seconds) for kind in kinds}
    try:
        buffers = allocate(device, size, kinds, threads, options.seed)
    except IsthmusError as error:
        return Prepared([], [[_untraced(kind, size, reason_of(error))] for kind in kinds])
    ended: list[list[Case]] = []
    for kind, point in best.items():
        if point is None or main is None:
            ended.append(
                [
                    _untraced(
                        kind,
                        size,
                        "no pipeline of several chunks of this memory was measured, so there is none to trace",
                    )
                ]
            )
            continue
        try:
            ended.append([traced_case(point, buffers, main.rounds)])
        except IsthmusError as error:
            ended.append([_untraced(kind, size, reason_of(error))])
    return Prepared([], ended)


def _fastest(kind: str, main: Work | None, seconds: Mapping[OverlapPoint, float]) -> OverlapPoint | None:
    ratio = main.ratio if main else None
    found = [point for point in seconds if (point.method, point.memory, point.ratio) == ("pipeline", kind, ratio)]
    # In one chunk there is nothing to see, even where that is the fastest.
    return min((point for point in found if point.chunks > 1), key=lambda point: seconds[point], default=None)


def _untraced(kind: str, size: int, reason: str) -> Case:
    return skipped_case(Case(experiment=NAME, method="traced", host_memory=kind, bytes=size), reason)
