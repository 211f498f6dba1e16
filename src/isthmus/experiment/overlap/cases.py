"""Copy in, compute, copy out, over chunks and streams: how much of that a program can have at the same time.

The second of NVIDIA's guidelines' articles on data transfers announces it: transfers can be overlapped with kernels and
with other transfers. Here every stage is also measured alone, so that what is left of the ideal can be said.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from statistics import median

import msgspec

from isthmus.errors import IsthmusError
from isthmus.experiment.engine.batch import Batch, Planned, Prepared
from isthmus.experiment.engine.blocks import over_budget
from isthmus.experiment.engine.options import Effort, ModeName, Options
from isthmus.experiment.engine.pieces import staging_threads
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import least_seconds, reason_of, skipped_case
from isthmus.experiment.engine.sweep import Bench, Start, Sweep, planned
from isthmus.experiment.overlap.pipelines import (
    Buffers,
    TimedPipeline,
    Work,
    allocate,
    calibrate,
    nearest_to_one,
    pipeline,
    traced_case,
)
from isthmus.experiment.overlap.points import MAIN_RATIO, Divisions, Plan, case_of, cases_of
from isthmus.machine.devices import OpenDevice
from isthmus.record import MIB, Case, case_key, format_bytes

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
_FULL = Divisions(_ALL, (1, 2, 4, 8), _ALL, 4)
# A sample of memory that the CPU copies takes several times as long as one of pinned memory, and copies of pageable
# memory occupy the thread that starts them, so that more streams should not matter.
_PLANS: Mapping[ModeName, Plan] = {
    "quick": Plan(
        _RATIOS[1:],
        {
            "pinned": Divisions(_SOME, (1, 4), (1, 16), 4),
            "pageable": Divisions((1, 16), (1, 4), (1, 16), 4),
            "staged": Divisions(_SOME, (1, 8), (1, 16), 8),
        },
    ),
    "default": Plan(
        _RATIOS,
        {
            "pinned": _FULL._replace(few_chunks=_SOME),
            "pageable": Divisions(_SOME, (1, 4), (1, 16), 4),
            "staged": Divisions(_ALL, (1, 4, 8), (1, 16, 64), 8),
        },
    ),
    "full": Plan(_RATIOS, {"pinned": _FULL, "pageable": _FULL, "staged": _FULL._replace(few_streams=8)}),
}
_WORD_BYTES = 4
_CALIBRATION = Quota(warmups=3, least=5, most=50, seconds=0.005)
# For one need of a program that waits for an answer.
_BRIEF_CALIBRATION = Quota(warmups=1, least=3, most=3, seconds=0.0)
_NO_WORK = Work(0.0, 0, 0.0)
# A few passes of one pipeline of each memory.
_TRACE_WEIGHT = 0.01


_UNTRACED = "no pipeline of several chunks of this memory was measured, so there is none to trace"


def plan(device: OpenDevice, options: Options, memory_bytes: int) -> Planned:
    """Every pipeline and every stage alone of one size interleaved, then a timeline of the best of each memory."""
    batches: list[Batch] = []
    skipped: list[Case] = []
    shared = device.description.shares_host_memory and not options.sizes
    for size in _SHARED_SIZES[options.mode] if shared else options.effort(EFFORTS).sizes:
        sweep = OverlapSweep(device, options, memory_bytes, size)
        pipelines = planned(sweep)
        skipped += pipelines.skipped
        for batch in pipelines.batches:
            trace = Batch(sweep.untraced, _TRACE_WEIGHT * batch.weight, partial(_trace, sweep))
            batches += [batch, trace]
    return Planned(batches, skipped)


class OverlapSweep(Sweep):
    """All cases of one size. After they were measured, `works` and `samples` are for the timelines.

    Work of ratio 1 takes as long as the slower copy, or `work_seconds` where that is more than 0.
    """

    def __init__(
        self, device: OpenDevice, options: Options, memory_bytes: int, size: int, work_seconds: float = 0.0
    ) -> None:
        super().__init__(device, options, memory_bytes)
        self.bytes, self.work_seconds = size, work_seconds
        self.threads = staging_threads()
        self.works: list[Work] = []
        self.samples: dict[tuple[object, ...], tuple[Case, list[float]]] = {}
        self._chosen = options.chosen(MEMORY_KINDS, options.memory)
        reasons = [(case.host_memory, self._refusal(case)) for case in self.cases()]
        self.kinds = [kind for kind in self._chosen if any(each == (kind, None) for each in reasons)]
        self.untraced = [Case(experiment=NAME, method="traced", host_memory=kind, bytes=size) for kind in self.kinds]
        self._first_reason = next((reason for _, reason in reasons if reason), None)

    def cases(self) -> Iterator[Case]:
        """Work alone, then the pipelines and copies of each memory."""
        return cases_of(self.bytes, _PLANS[self.options.mode], self._chosen, self.threads)

    def why_not(self, case: Case) -> str | None:
        """Work alone is left out where no pipeline is left to be compared with."""
        return self._refusal(case) or (None if self.kinds else self._first_reason)

    def _refusal(self, case: Case) -> str | None:
        kind, size = case.host_memory, case.bytes
        if kind != "device" and (why := self.native.why_not("pinned" if kind == "staged" else kind)):
            return why
        all_wanted = self.options.mode == "full" or self.options.sizes
        if kind in _COPIED_BY_THE_CPU and size > _MOST_COPIED_BYTES and not all_wanted:
            return f"the processor copies {format_bytes(size)} of it too slowly; --full and --sizes measure it"
        pieces = case.pieces or 1
        if size % (_WORD_BYTES * pieces):
            chunks = "one chunk" if pieces == 1 else f"{pieces} chunks"
            return f"{size} bytes do not divide into whole {_WORD_BYTES}-byte words for {chunks}"
        # A source and results, pinned and pageable, and the staging memory; where it is the same, the device's and its
        # own.
        needed = (7 if self.shares_host_memory else 5) * size
        return over_budget(self.memory_bytes) if needed > self.memory_bytes else None

    def weight(self, cases: Sequence[Case]) -> float:
        """By what the least number of samples takes."""
        return least_seconds(self.bytes) * len(cases)

    def prepare(self, cases: Sequence[Case]) -> Bench:
        """Allocate, and find the rounds of work for every ratio."""
        kinds = list(dict.fromkeys(case.host_memory for case in cases if case.host_memory != "device"))
        buffers = allocate(self.device, cases[0].bytes, kinds, self.threads, self.seed)
        ratios = list(dict.fromkeys(case.work_ratio for case in cases if case.work_ratio is not None))
        self.works = _calibrated(cases[0].bytes, buffers, ratios, self.work_seconds)
        works: dict[float | None, Work] = {work.ratio: work for work in self.works}
        main = nearest_to_one(self.works)
        # Where work as long as a copy is out of reach, the sweep is for what comes nearest, and the two change places.
        places = {MAIN_RATIO: main.ratio, main.ratio: MAIN_RATIO} if main else {}

        def named(case: Case) -> Case:
            ratio = case.work_ratio
            return case if ratio is None else msgspec.structs.replace(case, work_ratio=places.get(ratio, ratio))

        def start(case: Case) -> Start | str:
            work = works.get(case.work_ratio, _NO_WORK)
            if reason := buffers.why_not(case) or work.why_not:
                return reason
            _, samples = self.samples.setdefault(case_key(case), (case, []))
            return partial(TimedPipeline, case, buffers, work.rounds, samples)

        return Bench(start, buffers.host_buffers, named)


def _calibrated(size: int, buffers: Buffers, ratios: Sequence[float], work_seconds: float) -> list[Work]:
    """The rounds for each ratio to the slower copy of pinned memory, or of what there is in its place."""
    if not buffers.sources:
        return []
    kind = next(iter(buffers.sources))
    quota = _BRIEF_CALIBRATION if work_seconds else _CALIBRATION

    def seconds(method: str, rounds: int = 0) -> float:
        return median(pipeline(case_of(method, kind, size, None, 1, 1), buffers, rounds).run(*quota)["host_seconds"])

    unit = work_seconds or max(seconds("in_alone"), seconds("out_alone"))
    return calibrate(lambda rounds: seconds("work_alone", rounds), unit, ratios)


def _trace(sweep: OverlapSweep) -> Prepared:
    """A timeline for each memory, of its fastest pipeline of several chunks with the work nearest to a copy's time."""
    main, size = nearest_to_one(sweep.works), sweep.bytes
    try:
        buffers = allocate(sweep.device, size, sweep.kinds, sweep.threads, sweep.seed)
    except IsthmusError as error:
        return Prepared([], [[skipped_case(case, reason_of(error))] for case in sweep.untraced])
    ended: list[Case] = []
    for case in sweep.untraced:
        fastest = _fastest(case.host_memory, main, sweep.samples.values())
        if fastest is None or main is None:
            ended.append(skipped_case(case, _UNTRACED))
            continue
        try:
            ended.append(traced_case(fastest, buffers, main.rounds))
        except IsthmusError as error:
            ended.append(skipped_case(case, reason_of(error)))
    return Prepared([], [[case] for case in ended])


def _fastest(kind: str, main: Work | None, samples: Iterable[tuple[Case, Sequence[float]]]) -> Case | None:
    """In one chunk there is nothing to see, even where that is the fastest."""
    ratio = main.ratio if main else None
    seconds = [
        (median(of_case), case)
        for case, of_case in samples
        if (case.method, case.host_memory, case.work_ratio) == ("pipeline", kind, ratio)
        and (case.pieces or 1) > 1
        and of_case
    ]
    return min(seconds, key=lambda pair: pair[0], default=(0.0, None))[1]
