"""Counts of the copies that programs made under `isthmus accelerate`: what each of their processes left in a folder."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from isthmus.errors import IsthmusError
from isthmus.files import read_begin

# As native/accelerator/ledger.hpp has them, in its order.
Reason = Literal[
    "not_pageable",
    "other_context",
    "capturing",
    "unordered",
    "unmapped",
    "small",
    "busy",
    "early",
    "crowded",
    "slower",
    "failed",
    "off",
    "links_taken",
    "switched_off",
    "no_memory",
    "differed",
    "form",
]
REASONS: tuple[Reason, ...] = get_args(Reason)
# Copies of the driver's, those of page-locked memory by themselves, and the program's own into such memory and out of
# it, in the order of that file; the last is no copy: page-locked memory that the driver made for a program.
Way = Literal["d2h", "h2d", "out_of_pinned", "into_pinned", "pinned_d2h", "pinned_h2d", "locked"]
_WAYS: tuple[Way, ...] = get_args(Way)
_SHOWN: tuple[Way, ...] = ("h2d", "d2h", "pinned_h2d", "pinned_d2h", "into_pinned", "out_of_pinned", "locked")

_FORMAT = b"ISTHACC3"
_HEAD = struct.Struct("=8s5Q")
_COUNT = struct.Struct("=2Q")
_FAILURE = struct.Struct("=256s")
_ROW = struct.Struct("=Q2I2Qd2Qd")
_MOST_ROWS = 512
_PAGE = 4096
# Files are of whole pages.
_SIZE = -(-(_HEAD.size + (1 + len(REASONS)) * _COUNT.size + _FAILURE.size + _MOST_ROWS * _ROW.size) // _PAGE) * _PAGE
# More copies, bytes or seconds no program has; less time than a clock can tell apart no copy took.
_MOST, _MOST_SECONDS, _LEAST_SECONDS = 1 << 60, 1e10, 1e-10
_POWERS = 64


@dataclass
class Moved:
    """Copies of one kind and size, from ``2**power`` bytes to below twice as many.

    Those of the library with their seconds, and those that the driver made to compare.
    """

    way: Way
    power: int
    copies: int = 0
    bytes: int = 0
    seconds: float = 0.0
    samples: int = 0
    sampled_bytes: int = 0
    sampled_seconds: float = 0.0

    @property
    def is_copy(self) -> bool:
        """Else pages of memory that was page-locked, a block a copy."""
        return self.way != "locked"


@dataclass
class Counts:
    """What all processes of a program did; `left` has copies and bytes that were the driver's, by why.

    `queued` are copies and bytes that went by several links and were not waited for. `plain` has how many processes
    were left to the driver as a whole, by why; `uncounted` had no room for their counts; `refused` names files that
    no process of ours leaves.
    """

    processes: int
    moved: list[Moved]
    left: dict[Reason, tuple[int, int]]
    failures: list[str]
    checked: int = 0
    wrong: int = 0
    queued: tuple[int, int] = (0, 0)
    plain: dict[Reason, int] = field(default_factory=dict)
    uncounted: int = 0
    refused: list[str] = field(default_factory=list)

    def driver_seconds(self, row: Moved) -> float | None:
        """What the driver would have taken for these: at the rate of samples of this size, else of the nearest."""
        sampled = [each for each in self.moved if each.way == row.way and each.sampled_bytes]
        if not sampled:
            return None
        nearest = min(sampled, key=lambda each: abs(each.power - row.power))
        return row.bytes * nearest.sampled_seconds / nearest.sampled_bytes


def read_counts(folder: Path) -> Counts:
    """The counts of all processes that left some in the folder. Never raises for what is in the folder."""
    counts = Counts(0, [], dict.fromkeys(REASONS, (0, 0)), [])
    rows: dict[tuple[Way, int], Moved] = {}
    for path in sorted(folder.glob("*.ledger")):
        try:
            data = read_begin(path, _SIZE + 1)
        except IsthmusError as error:
            counts.refused.append(str(error))
            continue
        # There was no room for the counts, or the process was killed before it had begun to count.
        if not data.strip(b"\0"):
            counts.uncounted += 1
        elif why := next(_faults(data), ""):
            counts.refused.append(f"{path.name}: {why}")
        else:
            counts.processes += 1
            _add(counts, rows, data)
    counts.moved = [
        rows[key] for key in sorted(rows, key=lambda key: (_SHOWN.index(key[0]), key[1])) if rows[key].copies
    ]
    counts.failures = list(dict.fromkeys(counts.failures))
    return counts


def _faults(data: bytes) -> Iterator[str]:
    """Why this is not what a process of ours leaves, if it is not."""
    if data[: len(_FORMAT)] != _FORMAT or len(data) != _SIZE:
        yield "no counts of this version of Isthmus"
        return
    _, _, used, checked, wrong, plain = _HEAD.unpack_from(data)
    if used > _MOST_ROWS:
        yield f"{used} rows; a process has at most {_MOST_ROWS}"
        return
    if wrong > checked:
        yield f"{wrong} of {checked} copies differed"
    if plain > len(REASONS):
        yield f"reason {plain} is not known"
    numbers = [checked, *(number for place in range(1 + len(REASONS)) for number in _count(data, place))]
    for kind, power, copies, size, seconds, samples, sampled, sampled_seconds in _rows(data, used):
        if kind >= len(_WAYS) or power >= _POWERS:
            yield f"way {kind} and power {power} are not known"
        for time in (seconds, sampled_seconds):
            if not (time == 0 or _LEAST_SECONDS <= time <= _MOST_SECONDS):
                yield f"copies that took {time} s"
        numbers += [copies, size, samples, sampled]
    if max(numbers) > _MOST:
        yield f"a count of {max(numbers)}"


def _count(data: bytes, place: int) -> tuple[int, int]:
    copies, size = _COUNT.unpack_from(data, _HEAD.size + place * _COUNT.size)
    return copies, size


def _rows(data: bytes, used: int) -> list[tuple[int, int, int, int, float, int, int, float]]:
    """Kind, power, copies, bytes, seconds, samples, and the bytes and seconds of these."""
    begin = _HEAD.size + (1 + len(REASONS)) * _COUNT.size + _FAILURE.size
    return [_ROW.unpack_from(data, begin + index * _ROW.size)[1:] for index in range(used)]


def _add(counts: Counts, rows: dict[tuple[Way, int], Moved], data: bytes) -> None:
    _, _, used, checked, wrong, plain = _HEAD.unpack_from(data)
    counts.checked += checked
    counts.wrong += wrong
    if plain:
        reason = REASONS[plain - 1]
        counts.plain[reason] = counts.plain.get(reason, 0) + 1
    counts.queued = _sum(counts.queued, _count(data, 0))
    for place, reason in enumerate(REASONS, 1):
        counts.left[reason] = _sum(counts.left[reason], _count(data, place))
    text = _FAILURE.unpack_from(data, _HEAD.size + (1 + len(REASONS)) * _COUNT.size)[0]
    if failure := text.partition(b"\0")[0].decode(errors="replace"):
        counts.failures.append(failure)
    for kind, power, copies, size, seconds, samples, sampled, sampled_seconds in _rows(data, used):
        key = _WAYS[kind], power
        row = rows.setdefault(key, Moved(*key))
        row.copies += copies
        row.bytes += size
        row.seconds += seconds
        row.samples += samples
        row.sampled_bytes += sampled
        row.sampled_seconds += sampled_seconds


def _sum(before: tuple[int, int], more: tuple[int, int]) -> tuple[int, int]:
    return before[0] + more[0], before[1] + more[1]
