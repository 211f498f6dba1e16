"""Times the methods that meet a need against one another: all of them on little data first, then those that may win."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import median

import msgspec

from isthmus.experiment.contenders.buffers import timed_uses
from isthmus.experiment.contenders.ways import ways_of
from isthmus.experiment.engine.buffers import PAGE_BYTES
from isthmus.experiment.engine.rounds import Clock, Quota, Subject, run_rounds
from isthmus.experiment.engine.sampling import TIME_UP, Collected, Rules
from isthmus.machine.devices import OpenDevice
from isthmus.machine.host import available_memory_bytes, read_host
from isthmus.record import GIB, LEAST_SAMPLES, MIB, BufferNeed, Case, Need, PiecesNeed, PipelineNeed, SectionNeed, Timed

# Some of the five seconds that a plan may take go to opening the device and to the answer.
SECONDS = 4.2
_MOST_BYTES, _TRIAL_BYTES, _TRIAL_PIECES, _MOST_COMPUTE_SECONDS = GIB, 8 * MIB, 1024, 0.05
_TRIAL_SHARE = 0.3
# What takes so many times as long as the fastest on little data does not win on more; the first that leaves time.
_HOPELESS = (3.0, 2.0)
_SOFT_SHARE = 0.85
# Smaller pitches keep their place in a page, or at least in a line of the caches.
_ALIGNED_BYTES = 64


def measure_ways(
    device: OpenDevice, need: Need, seconds: float = SECONDS, seed: int = 0, *, every: bool = False
) -> Timed:
    """Every method of the need, verified, in rounds; those that cannot win are only tried, unless `every` is set.

    Data has the need's size, or less where that exceeds 1 GiB, the machine's memory or the time.
    """
    begin = time.monotonic()
    # What one buffer may take, of which there are a few of several kinds, and twice where device memory is host's.
    share = 24 if device.description.shares_host_memory else 8
    measured = within(need, min(_MOST_BYTES, max(available_memory_bytes(read_host()) // share, MIB)))
    trial = within(measured, _TRIAL_BYTES, _TRIAL_PIECES)
    methods = ways_of(device, measured, seed)
    tried: list[_Lazy] = []
    if trial != measured and not every:
        tried = _timed(ways_of(device, trial, seed), trial.host_bytes, begin + _TRIAL_SHARE * seconds, seed)
        names, measured = _chosen(tried, trial, measured, begin + seconds - time.monotonic())
        methods = {name: make for name, make in ways_of(device, measured, seed).items() if name in names}
    timed = _timed(methods, measured.host_bytes, begin + seconds, seed)
    known = {each.name for each in timed}
    left = [each for each in tried if each.name not in known]
    cases = [each.case for each in (*timed, *(each for each in left if each.case.skipped))]
    best = min((each.seconds for each in tried if each.seconds), default=1.0)
    ruled_out = {each.method: each.seconds / best for each in left if each.seconds}
    for each in timed:
        ruled_out.pop(each.method, None)
    return Timed(measured, tuple(cases), ruled_out, time.monotonic() - begin)


def within(need: Need, most_bytes: int, most_pieces: int | None = None) -> Need:
    """The need itself, or one like it of fewer bytes."""
    if isinstance(need, PiecesNeed):
        fewer = min(need.pieces, max(need.pieces * most_bytes // need.host_bytes, 1), most_pieces or need.pieces)
        return replace(need, pieces=fewer)
    if isinstance(need, SectionNeed):
        # As many rows, nearer to one another: what lies between them is not moved, but takes memory.
        rows = min(need.rows, max(most_bytes // (2 * need.width_bytes), 1), most_pieces or need.rows)
        near = partial(_nearer, need.width_bytes, most_bytes // rows)
        pitch = need.device_pitch_bytes and near(need.device_pitch_bytes)
        return replace(need, rows=rows, pitch_bytes=near(need.pitch_bytes), device_pitch_bytes=pitch)
    if isinstance(need, PipelineNeed):
        share = min(1.0, most_bytes / need.bytes, _MOST_COMPUTE_SECONDS / max(need.compute_seconds, 1e-9))
        return (
            need
            if share == 1
            else replace(
                need, bytes=_whole(need.bytes * share, need.bytes), compute_seconds=need.compute_seconds * share
            )
        )
    return need if need.bytes <= most_bytes else replace(need, bytes=_whole(most_bytes, need.bytes))


def _nearer(width: int, most: int, pitch: int) -> int:
    """The pitch, or the largest of at most so many bytes, or twice the width, that is as well aligned."""
    if pitch <= max(most, 2 * width):
        return pitch
    unit = PAGE_BYTES if most >= PAGE_BYTES else _ALIGNED_BYTES
    least = -(-(2 * width - pitch % unit) // unit)
    return pitch % unit + max((most - pitch % unit) // unit, least) * unit


def _whole(size: float, most: int) -> int:
    """About so many bytes that many chunks divide into words."""
    return min(max(int(size) >> 12 << 12, 1 << 12), most)


class _Lazy:
    """A method that is made when it is first visited, so that one which cannot be had is no trouble to others."""

    def __init__(self, name: str, make: Callable[[], Subject], size: int) -> None:
        self.name, self.method = name, name.partition(" ")[0]
        self.template = Case(experiment="plan", method=name, host_memory="", bytes=size)
        self.case = msgspec.structs.replace(self.template, method=self.method)
        self._visited: list[tuple[float, int]] = []  # seconds and samples
        self._make = make
        self._made: Subject | None = None

    def visit(self, quota: Quota, collected: Collected) -> None:
        begin = time.monotonic()
        self._made = self._made or self._make()
        self._made.visit(quota, collected)
        self._visited.append((time.monotonic() - begin, collected.count - sum(taken for _, taken in self._visited)))

    def finish(self, case: Case) -> None:
        """Keeps what came of it under the method's name; one that no visit came to has neither samples nor a skip."""
        made = self.template if self._made is None else self._made.template
        reached = bool(self._made) or (case.skipped and not case.note.startswith(TIME_UP))
        kept = {"series": case.series, "verified": case.verified, "note": case.note}
        self.case = msgspec.structs.replace(made, method=self.method, skipped=case.skipped and reached, **kept)

    def cost(self, samples: int) -> tuple[float, float]:
        """What the first visit took, with getting memory and checking it, and what so many samples more do."""
        later = self._visited[1:] or self._visited
        return self._visited[0][0], samples * sum(each for each, _ in later) / max(sum(taken for _, taken in later), 1)

    @property
    def seconds(self) -> float:
        """The median of what arrived as it was sent; 0 without one."""
        samples = self.case.samples("host_seconds")
        return median(samples) if samples and self.case.verified != "no" else 0.0


def _timed(methods: Mapping[str, Callable[[], Subject]], size: int, end: float, seed: int) -> list[_Lazy]:
    """All of the methods, in rounds, until then."""
    made = {name: _Lazy(name, make, size) for name, make in methods.items()}
    left = max(end - time.monotonic(), 0.1)
    rules = Rules(0.01, LEAST_SAMPLES, visit_samples=2, least_visits=60, short_seconds=0.05, case_seconds=left)
    clock = Clock(time.monotonic() + _SOFT_SHARE * left, time.monotonic() + left)
    run_rounds(
        list(made.values()), rules, clock, lambda cases: made[cases[0].method].finish(cases[0]), random.Random(seed)
    )
    return list(made.values())


def _chosen(tried: Sequence[_Lazy], trial: Need, measured: Need, seconds: float) -> tuple[set[str], Need]:
    """The methods that may win and that there is time for, and what they are measured on."""
    priced = [each for each in tried if each.seconds]
    if not priced:
        return {each.name for each in tried}, trial
    fastest = min(each.seconds for each in priced)
    share = measured.host_bytes / trial.host_bytes
    for hopeless in _HOPELESS:
        kept = [each for each in priced if each.seconds <= hopeless * fastest]
        expected = sum(_cost(each, measured, share) for each in kept)
        if expected <= seconds:
            break
    else:
        measured = within(measured, max(int(measured.host_bytes * seconds / expected), trial.host_bytes))
    # A candidate that was never timed may still be the fastest.
    return {
        each.name for each in (*kept, *(each for each in tried if not each.seconds and not each.case.skipped))
    }, measured


def _cost(method: _Lazy, need: Need, share: float) -> float:
    """Seconds that the least number of samples takes of so many times the data."""
    first, samples = method.cost(LEAST_SAMPLES)
    if isinstance(need, BufferNeed):
        # As many of the uses as there is time for are timed, each at its own pace.
        each = method.seconds / need.uses
        samples *= timed_uses(need.uses, each * share) / timed_uses(need.uses, each)
    return (first + samples) * share
