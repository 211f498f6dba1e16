"""Copies of sessions that choose by different tables, in turns, in memory as programs have it, and what follows."""

import mmap
import random
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from statistics import geometric_mean, median
from typing import Any, NamedTuple

import numpy as np

from isthmus import _native
from isthmus.errors import CallFailed
from isthmus.experiment.calibration.buffers import DRIVER, GAIN, Choice, CopyMethod
from isthmus.record import GIB, KIB, MIB, Direction, Interval, format_bytes, median_interval

BUILT_IN, MEASURED, DRIVERS = "built-in", "measured", "driver"
# The host's memory: used again and again, what no cache holds, and pages that nothing was ever written to.
SITUATIONS: dict[Direction, tuple[str, ...]] = {"h2d": ("warm", "cold"), "d2h": ("warm", "cold", "untouched")}
LEAST_BYTES, MOST_BYTES = 64 * KIB, GIB
# What is taken may be so much slower in none of the situations: the end of the interval says that it is not.
NO_WORSE = 0.98
_BUDGET = 64 * MIB
# Copies in a row make one sample, of so many bytes at the most, so that the clock is no part of it.
_SAMPLE_BYTES, _MOST_REPEATS = MIB, 16
_ARENA_BYTES = 512 * MIB
_ROUNDS, _QUICK_ROUNDS = 15, 9
# Fewer rounds where they take long: the driver fills a gibibyte that nobody touched in most of a second.
_LEAST_ROUNDS, _CASE_SECONDS = 5, 0.3
# Only every fourth of larger ones: what holds for them holds for twice as much.
_DENSE_BYTES = 64 * MIB

_SAME = Interval(1, 1, 1)

Samples = Mapping[str, Sequence[float]]
Timed = Callable[[Direction, int, str, Collection[str]], Samples]


class Gain(NamedTuple):
    """How many times as fast as the built-in table and as the driver the table is for one size in one situation."""

    direction: Direction
    bytes: int
    situation: str
    built_in: Interval
    driver: Interval


def gain(before: Sequence[float], after: Sequence[float]) -> Interval:
    """How many times as fast it was afterwards, by the pairs of one round: what disturbs a round disturbs both."""
    return median_interval([old / new for old, new in zip(before, after, strict=True)])


def certainly_better(gains: Collection[Interval]) -> bool:
    """Whether one situation gains beyond doubt, and more than a little, and none loses."""
    surely = any(each.low > 1 and each.median >= GAIN for each in gains)
    return surely and all(each.low >= NO_WORSE for each in gains)


def loses(gains: Collection[Interval]) -> bool:
    """Whether a table that was chosen before loses in one situation: surely, or by more than is tolerated."""
    return any(each.high < 1 or each.median < NO_WORSE for each in gains)


def method_of(table: _native.TransferTable, direction: Direction, size: int) -> CopyMethod:
    """How a table has buffers of this size copied."""
    rule = table.buffer(direction, size)
    return CopyMethod(rule["threads"], rule["chunk_bytes"], rule["stores"]) if rule["method"] == "staged" else DRIVER


def size_classes(built_in: _native.TransferTable, direction: Direction, largest: int) -> list[int]:
    """Where a class of sizes begins: powers of two, of large ones powers of four, and where built-in rules begin."""
    powers = {LEAST_BYTES << power for power in range((largest // LEAST_BYTES).bit_length())}
    powers -= {size for size in powers if size > _DENSE_BYTES and (size // _DENSE_BYTES).bit_length() % 2 == 0}
    rules = {rule["from_bytes"] for rule in built_in.buffers if rule["direction"] == direction}
    return sorted(powers | {size for size in rules if LEAST_BYTES <= size <= largest})


def choose_in_turns(
    built_in: _native.TransferTable, measured: _native.TransferTable, direction: Direction, largest: int, timed: Timed
) -> list[Choice]:
    """A choice for each class of sizes: what was measured, or the driver, where certainly better, else as built in.

    Smaller buffers than those that are looked at, and larger ones, are copied as built in.
    """
    least = built_in.buffer(direction, 0)
    choices = [Choice(direction, 0, method_of(built_in, direction, 0), least["seconds"], least["seconds"])]
    for size in size_classes(built_in, direction, largest):
        methods = {BUILT_IN: method_of(built_in, direction, size), MEASURED: method_of(measured, direction, size)}
        methods[DRIVERS] = DRIVER
        names = [name for name in (MEASURED, DRIVERS) if methods[name] != methods[BUILT_IN]]
        samples_of = {each: timed(direction, size, each, (BUILT_IN, *names)) for each in SITUATIONS[direction]}
        gains = {name: [gain(seen[BUILT_IN], seen[name]) for seen in samples_of.values()] for name in names}
        better = [name for name in names if certainly_better(gains[name])]
        name = max(better, key=lambda each: geometric_mean([one.median for one in gains[each]]), default=BUILT_IN)
        seconds = {name: median(samples) for name, samples in samples_of["cold"].items()}
        # The driver's is that of one of them, if it is not there by itself.
        driver = seconds.get(DRIVERS, seconds[BUILT_IN])
        choices.append(Choice(direction, size, methods[name], seconds[name], driver))
    beyond = 2 * choices[-1].bytes
    larger = {beyond, *(rule["from_bytes"] for rule in built_in.buffers if rule["direction"] == direction)}
    for size in sorted(size for size in larger if size >= beyond):
        choices.append(as_built_in(built_in, direction, size))
    return choices


def as_built_in(built_in: _native.TransferTable, direction: Direction, size: int) -> Choice:
    """What the built-in table has for buffers of this size."""
    seconds = built_in.buffer(direction, size)["seconds"]
    return Choice(direction, size, method_of(built_in, direction, size), seconds, seconds)


def check(
    choices: Sequence[Choice], built_in: _native.TransferTable, largest: int, timed: Timed
) -> tuple[list[Choice], list[Gain]]:
    """Time a whole table in turns with the built-in one and the driver; what loses is as built in again.

    The gains are those of what remains.
    """
    kept, gains = [], []
    for choice in choices:
        direction, size, method = choice.direction, choice.bytes, choice.method
        if not LEAST_BYTES <= size <= largest:
            kept.append(choice)
            continue
        same = method == method_of(built_in, direction, size)
        if same and method == DRIVER:
            kept.append(choice)
            gains += [Gain(direction, size, each, _SAME, _SAME) for each in SITUATIONS[direction]]
            continue
        names = (MEASURED, DRIVERS) if same else (MEASURED, DRIVERS, BUILT_IN)
        seen = {each: timed(direction, size, each, names) for each in SITUATIONS[direction]}
        lost = not same and loses([gain(samples[BUILT_IN], samples[MEASURED]) for samples in seen.values()])
        used = BUILT_IN if lost else MEASURED
        kept.append(choice._replace(method=method_of(built_in, direction, size)) if lost else choice)
        for situation, samples in seen.items():
            of_built_in = _SAME if lost or same else gain(samples[BUILT_IN], samples[used])
            gains.append(Gain(direction, size, situation, of_built_in, gain(samples[DRIVERS], samples[used])))
    return kept, gains


def fewest(choices: Sequence[Choice]) -> list[Choice]:
    """Without those that say what the one before says: the first of each method, and every fourth power of two."""
    kept = list(choices[:1])
    for before, choice in pairwise(choices):
        alike = (before.direction, before.method) == (choice.direction, choice.method)
        if not alike or (choice.bytes // LEAST_BYTES).bit_length() % 2 == 1:
            kept.append(choice)
    return kept


class TableTurns:
    """Sessions with a device, each of which chooses by a table of its own, whose copies take turns."""

    def __init__(self, device: _native.Device, tables: Mapping[str, str], largest: int, quick: bool, seed: int) -> None:
        """Open sessions and get memory. Raises an IsthmusError where it is lacking."""
        self._sessions = {name: _native.Session(device, _BUDGET, 0, text) for name, text in tables.items()}
        # One for all, since where memory lies makes a difference, too; with OpenCL it is its session's alone.
        sessions = list(self._sessions.values())
        first, own = _array(sessions[0], largest), sessions[0].device.startswith("opencl")
        self._there = {name: _array(each, largest) if own else first for name, each in self._sessions.items()}
        arena = max(largest, min(_ARENA_BYTES, 4 * largest))
        self._source = np.random.default_rng(seed).integers(0, 256, arena, np.uint8)
        self._sink = np.full(arena, 1, np.uint8)
        self._rounds = _QUICK_ROUNDS if quick else _ROUNDS
        self._random = random.Random(seed)
        self._slot = 0
        self._verified: set[tuple[str, int]] = set()
        for name, session in self._sessions.items():
            session.copy(self._there[name], self._source[:largest])

    def timed(self, direction: Direction, size: int, situation: str, names: Collection[str]) -> Samples:
        """Seconds of a copy by each of these, as many of all. Raises CallFailed where wrong data arrive."""
        for name in names:
            self._once(name, direction, size, situation)
            if (name, size) not in self._verified:
                session, there, sent = self._sessions[name], _first(self._there[name], size), self._source[:size]
                session.copy(there, sent)
                arrived = self._sink[:size]
                arrived[:] = 0
                session.copy(arrived, there)
                if not np.array_equal(arrived, sent):
                    raise CallFailed(f"{format_bytes(size)} {direction} by the {name} table: wrong data arrived")
                self._verified.add((name, size))
        samples: dict[str, list[float]] = {name: [] for name in names}
        begin = time.perf_counter()
        for round_ in range(self._rounds):
            if round_ >= _LEAST_ROUNDS and time.perf_counter() - begin > _CASE_SECONDS:
                break
            for name in self._random.sample(list(names), len(names)):
                samples[name].append(self._once(name, direction, size, situation))
        return samples

    def close(self) -> None:
        """Give back what sessions hold."""
        self._there.clear()
        for session in self._sessions.values():
            session.close()

    def _once(self, name: str, direction: Direction, size: int, situation: str) -> float:
        repeats = max(min(_SAMPLE_BYTES // size, _MOST_REPEATS), 1)
        there, copy = _first(self._there[name], size), self._sessions[name].copy
        hosts = self._hosts(direction, size, situation, repeats)
        pairs = [(there, host) if direction == "h2d" else (host, there) for host in hosts]
        begin = time.perf_counter()
        for to, source in pairs:
            copy(to, source)
        return (time.perf_counter() - begin) / repeats

    def _hosts(self, direction: Direction, size: int, situation: str, repeats: int) -> list[Any]:
        arena = self._source if direction == "h2d" else self._sink
        if situation == "warm":
            return [arena[:size]] * repeats
        if situation == "untouched":
            pages = np.frombuffer(mmap.mmap(-1, size * repeats), np.uint8)
            return [pages[turn * size : (turn + 1) * size] for turn in range(repeats)]
        slots = arena.size // size
        self._slot += repeats
        begins = [(self._slot + turn) % slots * size for turn in range(repeats)]
        return [arena[begin : begin + size] for begin in begins]


def _array(session: _native.Session, size: int) -> _native.DeviceArray:
    return _native.DeviceArray(session, [size], np.dtype(np.uint8))


def _first(array: _native.DeviceArray, size: int) -> _native.DeviceArray:
    return _native.DeviceArray(array, 0, [size], [1])
