"""Pipelines of `overlap`, the memory that they share, and their timelines."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log
from statistics import median_low
from typing import NamedTuple, cast

import msgspec

from isthmus import _native
from isthmus.errors import IsthmusError
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import reason_of
from isthmus.experiment.engine.sweep import Samples, Timed
from isthmus.experiment.overlap.points import STAGES
from isthmus.machine.devices import OpenDevice
from isthmus.record import Case, Series, Span, StageName

_WORD_BYTES = 4
_TRACED_PASSES = 5
# What even a device that works ten times as long as it copies, and copies slowly, does not need.
MOST_ROUNDS = 1 << 24
_GROWTH = 4
_REFINEMENTS = 3
# A number of rounds is taken without another look where it is as near as this to what was wanted.
_CLOSE = log(1.03)
# Farther off, it is another ratio and must not be named like the one that was wanted. Rounds are whole: where one takes
# about as long as a copy, as on a CPU, what lies between two of them is out of reach.
_TOLERANCE = log(1.25)


class Buffers(NamedTuple):
    """By kind of memory where data comes from and where results go; the device's memory between them, and staging.

    `refused` has the reasons of kinds that cannot be had.
    """

    sources: Mapping[str, _native.Buffer]
    results: Mapping[str, _native.Buffer]
    on_device: _native.Buffer
    staging: _native.Staging | None
    refused: Mapping[str, str]

    def why_not(self, case: Case) -> str | None:
        """Why there is no memory for a case; work alone needs some, to be a multiple of its copies."""
        return self.refused.get(case.host_memory) or (None if self.sources else next(iter(self.refused.values())))

    def host_buffers(self) -> Iterable[_native.Buffer]:
        """Each once: staged memory has its sources and results in common with pageable memory."""
        return {id(buffer): buffer for buffer in (*self.sources.values(), *self.results.values())}.values()


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


def pipeline(case: Case, buffers: Buffers, rounds: int) -> _native.Pipeline:
    """The native pipeline of a case; its streams go back when it is dropped."""
    kind = case.host_memory if case.host_memory in buffers.sources else next(iter(buffers.sources))
    return _native.create_pipeline(
        buffers.sources[kind],
        buffers.on_device,
        buffers.results[kind],
        buffers.staging if case.host_memory == "staged" else None,
        case.bytes,
        case.pieces or 1,
        case.streams or 1,
        rounds,
        STAGES[case.method],
    )


class TimedPipeline(Timed):
    """A pipeline, or one stage of it alone; only the results of all stages can be checked.

    It is made anew for every visit, because a stream is a thread on some devices, and there are more pipelines than
    threads should be. Its samples are also added to `samples`, for those who choose by them, while they are right.
    """

    def __init__(self, case: Case, buffers: Buffers, rounds: int, samples: list[float]) -> None:
        """Raises the errors of `isthmus.errors`."""
        self.checks = "first" if case.method == "pipeline" else "never"
        self._bytes, self._samples = case.bytes, samples
        self._made = pipeline(case, buffers, rounds)

    def poison(self) -> None:
        """Overwrite the results."""
        self._made.poison()

    def run(self, quota: Quota) -> Samples:
        """Seconds until all has come back."""
        samples = self._made.run(*quota)
        self._samples.extend(samples["host_seconds"])
        return cast(Samples, samples)

    def verify(self) -> str:
        """Every word of the results."""
        ((wrong, _),) = self._made.verify()
        if not wrong:
            return ""
        self._samples.clear()
        return f"wrong data: {wrong} of {self._bytes // _WORD_BYTES} 32-bit words did not come back as computed"


def traced_case(case: Case, buffers: Buffers, rounds: int) -> Case:
    """A few passes of a pipeline with events around every stage: how long each took, and the spans of a typical one."""
    made = pipeline(case, buffers, rounds)
    made.run(2, 1, 1, 0.0)
    passes = [made.trace() for _ in range(_TRACED_PASSES)]
    seconds = [max(end for *_, end in spans) for spans in passes]
    typical = passes[seconds.index(median_low(seconds))]
    spans = [
        Span(stage=cast(StageName, stage), chunk=chunk, begin=begin, end=end) for stage, chunk, begin, end in typical
    ]
    took = Series(metric="device_seconds", samples=seconds)
    return msgspec.structs.replace(case, method="traced", spans=spans, series=[took])


class Work(NamedTuple):
    """Rounds for a `ratio` of the work's time to the slower copy's; `reached` is the ratio that they were seen to give.

    `why_not` says why no number of rounds gives the ratio; empty where these do.
    """

    ratio: float
    rounds: int
    reached: float
    why_not: str = ""


def calibrate(seconds_of: Callable[[int], float], copy_seconds: float, ratios: Sequence[float]) -> list[Work]:
    """The work for each ratio; `seconds_of` measures how long the device takes for so many rounds.

    It may grow in any way that never falls: on a GPU a few rounds take no longer than reading and writing the words.
    """
    known = {1: seconds_of(1)}
    while max(known.values()) < max(ratios) * copy_seconds and max(known) < MOST_ROUNDS:
        rounds = max(known) * _GROWTH
        known[rounds] = seconds_of(rounds)
    return [_work(seconds_of, copy_seconds, ratio, known) for ratio in ratios]


def nearest_to_one(works: Sequence[Work]) -> Work | None:
    """The work within reach that takes most nearly as long as a copy; None where none is."""
    return min((work for work in works if not work.why_not), key=lambda work: abs(log(work.ratio)), default=None)


def _work(seconds_of: Callable[[int], float], copy_seconds: float, ratio: float, known: dict[int, float]) -> Work:
    wanted = ratio * copy_seconds
    for _ in range(_REFINEMENTS):
        rounds = _between(known, wanted)
        if rounds in known:
            break
        known[rounds] = seconds_of(rounds)
        if _distance(known[rounds], wanted) < _CLOSE:
            break
    best = min(known, key=lambda rounds: _distance(known[rounds], wanted))
    reached = known[best] / copy_seconds
    if _distance(known[best], wanted) <= _TOLERANCE:
        return Work(ratio, best, reached)
    if known[min(known)] > wanted:
        return Work(ratio, best, reached, f"even one round of the work takes {reached:.2f} times as long as a copy")
    if known[max(known)] < wanted:
        most = (
            f"{max(known)} rounds of the work take only {known[max(known)] / copy_seconds:.2g} times as long as a copy"
        )
        return Work(ratio, best, reached, most)
    nearest = f"the nearest, {best}, takes {reached:.2f} times as long as a copy"
    return Work(ratio, best, reached, f"no number of rounds of the work takes that long; {nearest}")


def _between(known: dict[int, float], wanted: float) -> int:
    """Rounds by linear interpolation between the two known ones around what is wanted, or the nearest end."""
    below = max((rounds for rounds, seconds in known.items() if seconds <= wanted), default=None)
    if below is None:
        return min(known)
    above = min((rounds for rounds, seconds in known.items() if rounds > below and seconds > wanted), default=None)
    if above is None:
        return below
    share = (wanted - known[below]) / (known[above] - known[below])
    return round(below + share * (above - below))


def _distance(seconds: float, wanted: float) -> float:
    return abs(log(max(seconds, 1e-12) / wanted))
