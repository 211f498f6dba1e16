"""Finds, for buffers of each size in pageable memory, whether and how threads move them faster than the driver does."""

import random
from collections.abc import Callable, Sequence
from statistics import median
from typing import NamedTuple

from isthmus import _native
from isthmus.errors import CallFailed
from isthmus.experiment.engine.pieces import Extent, Packing, Place, Side, moving
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import Collected
from isthmus.experiment.engine.sweep import TimedSubject
from isthmus.record import KIB, MIB, Case, Direction, format_bytes

_CHUNKS = tuple(16 * KIB << i for i in range(10))
# A method takes the place of a simpler one only where it is so much faster; where several are as good as
# equal, the one with the fewest threads is taken.
GAIN = 1.03
_AS_GOOD = 1.01
# Rounds in which all methods that are not far behind the best are timed one after another, for a few milliseconds each.
_ROUNDS = 3
_FAR = 1.3
_VISIT = Quota(1, 2, 8, 0.004)
# Larger ones begin with what was best for the next smaller ones.
_COARSE_BYTES = 16 * MIB
# What the CPU copies is emptied out of its caches before: programs seldom copy what they have just made, and then more
# threads pay. Of larger ones little is left there, and emptying them takes longer than moving them.
_MOST_EVICTED_BYTES = 64 * MIB
# Methods that take more than so many times the driver's time are not worth to be improved.
_HOPELESS = 2.0


class CopyMethod(NamedTuple):
    """So many threads, chunks of so many bytes, and how they are stored; without threads the driver's own copy."""

    threads: int = 0
    chunk_bytes: int = 0
    stores: str = ""


DRIVER = CopyMethod()


class Choice(NamedTuple):
    """What moves buffers from so many bytes on, what it took, and the driver."""

    direction: Direction
    bytes: int
    method: CopyMethod
    seconds: float
    driver_seconds: float


# Seconds that each of some methods takes for so many bytes.
Times = Callable[[int, Sequence[CopyMethod]], dict[CopyMethod, float]]


def thread_counts(processors: int) -> list[int]:
    """Numbers of threads to try, ascending: all but one of the processors at most, since the caller's is busy too."""
    most = max(1, processors - 1)
    return [count for count in (1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 24, 32) if count <= most]


def chunk_sizes(direction: Direction) -> list[int]:
    """Chunks to try, ascending: those that a session of the usual budget would not cut smaller."""
    return [chunk for chunk in _CHUNKS if _native.ring_plan(direction, chunk)["chunk_bytes"] == chunk]


def session_staging(
    device: _native.Device, direction: Direction, threads: int, kernel_blocks: int = 0
) -> _native.Staging:
    """A ring and offsets as the direction's lane of a session of the usual budget has them."""
    plan = _native.ring_plan(direction)
    return _native.create_staging(device, plan["ring_bytes"], threads, plan["pieces"], kernel_blocks)


def stores_of(direction: Direction) -> tuple[str, ...]:
    """How threads may store what they pack, ordinary stores last. Only what a device reads is worth to be demoted."""
    demoted = direction == "h2d" and _native.can_demote()
    return ("streaming", "demoted", "ordinary") if demoted else ("streaming", "ordinary")


def choose(
    direction: Direction, sizes: Sequence[int], threads: Sequence[int], stores: Sequence[str], steps: int, times: Times
) -> list[Choice]:
    """The choice for each of the ascending sizes, and for twice a size where threads begin to be faster after it.

    So many steps go from the best method to the best of its neighbours. Nothing begins with the last of `stores`.
    """
    chunks = chunk_sizes(direction)

    def best_from(size: int, first: Sequence[CopyMethod], steps: int) -> Choice:
        seconds = times(size, [DRIVER, *first])
        for _ in range(steps):
            best = _best(seconds)
            near = [each for each in _neighbours(best, size, threads, chunks, stores) if each not in seconds]
            if not near or seconds[best] > _HOPELESS * seconds[DRIVER]:
                break
            seconds |= times(size, [best, *near])
        best = _best(seconds)
        method = best if seconds[best] * GAIN < seconds[DRIVER] else DRIVER
        return Choice(direction, size, method, seconds[method], seconds[DRIVER])

    choices: list[Choice] = []
    for size in sizes:
        last = choices[-1] if choices else None
        if last is not None and size > _COARSE_BYTES and last.method != DRIVER:
            first = [last.method]
        else:
            first = _coarse(size, threads, chunks, stores[:-1])
        choice = best_from(size, first, steps)
        if last is not None and last.method == DRIVER != choice.method and 2 * last.bytes < size:
            choices.append(best_from(2 * last.bytes, [_fitting(choice.method, 2 * last.bytes, chunks)], 1))
        choices.append(choice)
    return choices


def _best(seconds: dict[CopyMethod, float]) -> CopyMethod:
    """The fastest of those with threads, or one of fewer threads that is as good."""
    staged = [method for method in seconds if method != DRIVER]
    least = min(seconds[method] for method in staged)
    return min(
        (method for method in staged if seconds[method] <= _AS_GOOD * least),
        key=lambda method: (method.threads, seconds[method]),
    )


def _coarse(size: int, threads: Sequence[int], chunks: Sequence[int], stores: Sequence[str]) -> list[CopyMethod]:
    """Every second number of threads, with the chunk that keeps a few of them under way."""
    some = {*threads[1::2], threads[-1]}
    return [_fitting(CopyMethod(count, size // 8, each), size, chunks) for count in sorted(some) for each in stores]


def _fitting(method: CopyMethod, size: int, chunks: Sequence[int]) -> CopyMethod:
    """The same with an allowed chunk of at most half the copy."""
    fitting = [chunk for chunk in chunks if chunk <= max(method.chunk_bytes, chunks[0]) and 2 * chunk <= size]
    return method._replace(chunk_bytes=max(fitting, default=chunks[0]))


def _neighbours(
    method: CopyMethod, size: int, threads: Sequence[int], chunks: Sequence[int], stores: Sequence[str]
) -> list[CopyMethod]:
    at = threads.index(method.threads)
    neighbours = [method._replace(threads=threads[i]) for i in (at - 1, at + 1) if 0 <= i < len(threads)]
    neighbours += [method._replace(chunk_bytes=bytes_) for bytes_ in (method.chunk_bytes // 2, method.chunk_bytes * 2)]
    neighbours += [method._replace(stores=each) for each in stores if each != method.stores]
    return [near for near in neighbours if near.chunk_bytes in chunks and 2 * near.chunk_bytes <= size]


class BufferTimer:
    """Times copies of one direction through one ring, all methods in turn, and checks what arrives."""

    def __init__(
        self,
        device: _native.Device,
        direction: Direction,
        most_bytes: int,
        staging: _native.Staging,
        seed: int,
        memory: str = "pageable",
    ) -> None:
        """Allocate and fill. Raises an IsthmusError when the device or the machine lacks the memory."""
        to_device = direction == "h2d"
        self._direction = direction
        self._staging = staging
        self._random = random.Random(seed)
        self._reference = device.allocate("pageable", most_bytes)
        self._reference.fill_pattern(0, most_bytes, seed)
        self._memory = memory
        kinds = (memory, "device") if to_device else ("device", memory)
        self._source = self._reference if kinds[0] == "pageable" else device.allocate(kinds[0], most_bytes)
        if self._source is not self._reference:
            self._source.fill_pattern(0, most_bytes, seed)
        self._destination = device.allocate(kinds[1], most_bytes)

    def times(self, size: int, methods: Sequence[CopyMethod]) -> dict[CopyMethod, float]:
        """Medians. Raises CallFailed where something else arrives than was sent."""
        subjects = {method: self._subject(size, method) for method in methods}
        collected = {method: Collected(subject.template) for method, subject in subjects.items()}
        taking_part = list(methods)
        for _ in range(_ROUNDS):
            for method in self._random.sample(taking_part, len(taking_part)):
                subjects[method].visit(_VISIT, collected[method])
                if collected[method].wrong:
                    raise CallFailed(f"{format_bytes(size)} {self._direction}, {method}: {collected[method].wrong}")
            seconds = {method: median(each.samples["host_seconds"]) for method, each in collected.items()}
            taking_part = [method for method in taking_part if seconds[method] <= _FAR * min(seconds.values())]
        return seconds

    def _subject(self, size: int, method: CopyMethod) -> TimedSubject:
        template = Case(
            experiment="calibrate",
            method="copies" if method == DRIVER else "pack_threads",
            host_memory=self._memory,
            bytes=size,
            direction=self._direction,
        )
        place = Place(0, size)
        packing = Packing(method.threads, method.chunk_bytes, method.stores, from_caches=size > _MOST_EVICTED_BYTES)
        ends = Side(self._destination, place), Side(self._source, place)
        start = moving(template.method, *ends, Extent(size, 1), self._reference, self._staging, packing)
        return TimedSubject(template, start)
