"""Counts of the copies that programs made under `isthmus accelerate`: what each of their processes left in a folder."""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from isthmus.files import read_bounded

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
]
REASONS: tuple[Reason, ...] = get_args(Reason)
# Copies of the driver's, those of page-locked memory by themselves, and the program's own into such memory and out of
# it, in the order of that file.
Way = Literal["d2h", "h2d", "out_of_pinned", "into_pinned", "pinned_d2h", "pinned_h2d"]
_WAYS: tuple[Way, ...] = get_args(Way)
_SHOWN: tuple[Way, ...] = ("h2d", "d2h", "pinned_h2d", "pinned_d2h", "into_pinned", "out_of_pinned")

_FORMAT = b"ISTHACC2"
_HEAD = struct.Struct("=8s4Q")
_COUNT = struct.Struct("=2Q")
_FAILURE = struct.Struct("=256s")
_ROW = struct.Struct("=Q2I2Qd2Qd")
_MOST_ROWS = 512
_SIZE = _HEAD.size + (1 + len(REASONS)) * _COUNT.size + _FAILURE.size + _MOST_ROWS * _ROW.size


@dataclass
class Moved:
    """Copies of one way and size, from ``2**power`` bytes to below twice as many.

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


@dataclass
class Counts:
    """What all processes of a program did; `left` has copies and bytes that were the driver's, by why.

    `queued` are copies and bytes that went by several links and were not waited for.
    """

    processes: int
    moved: list[Moved]
    left: dict[Reason, tuple[int, int]]
    failures: list[str]
    checked: int = 0
    wrong: int = 0
    queued: tuple[int, int] = (0, 0)

    def driver_seconds(self, row: Moved) -> float | None:
        """What the driver would have taken for these: at the rate of samples of this size, else of the nearest."""
        sampled = [each for each in self.moved if each.way == row.way and each.sampled_bytes]
        if not sampled:
            return None
        nearest = min(sampled, key=lambda each: abs(each.power - row.power))
        return row.bytes * nearest.sampled_seconds / nearest.sampled_bytes


def read_counts(folder: Path) -> Counts:
    """The counts of all processes that left some in the folder."""
    counts = Counts(0, [], dict.fromkeys(REASONS, (0, 0)), [])
    rows: dict[tuple[Way, int], Moved] = {}
    for path in sorted(folder.glob("*.ledger")):
        data = read_bounded(path)
        # A process may have been killed, or another program have written there.
        if data[: len(_FORMAT)] == _FORMAT and len(data) == _SIZE:
            counts.processes += 1
            _add(counts, rows, data)
    counts.moved = [
        rows[key] for key in sorted(rows, key=lambda key: (_SHOWN.index(key[0]), key[1])) if rows[key].copies
    ]
    counts.failures = list(dict.fromkeys(counts.failures))
    return counts


def _add(counts: Counts, rows: dict[tuple[Way, int], Moved], data: bytes) -> None:
    _, _, used, checked, wrong = _HEAD.unpack_from(data)
    counts.checked += checked
    counts.wrong += wrong
    at = _HEAD.size
    counts.queued = _sum(counts.queued, _COUNT.unpack_from(data, at))
    for reason in REASONS:
        at += _COUNT.size
        counts.left[reason] = _sum(counts.left[reason], _COUNT.unpack_from(data, at))
    at += _COUNT.size
    failure = _FAILURE.unpack_from(data, at)[0].rstrip(b"\0").decode(errors="replace")
    counts.failures += [failure] if failure else []
    at += _FAILURE.size
    for index in range(min(used, _MOST_ROWS)):
        _add_row(rows, _ROW.unpack_from(data, at + index * _ROW.size))


def _sum(before: tuple[int, int], more: tuple[int, ...]) -> tuple[int, int]:
    return before[0] + more[0], before[1] + more[1]


def _add_row(rows: dict[tuple[Way, int], Moved], fields: Iterable[float]) -> None:
    _, kind, power, *numbers = fields
    if kind >= len(_WAYS):
        return
    way = _WAYS[int(kind)]
    row = rows.setdefault((way, int(power)), Moved(way, int(power)))
    copies, size, seconds, samples, sampled_bytes, sampled_seconds = numbers
    row.copies += int(copies)
    row.bytes += int(size)
    row.seconds += seconds
    row.samples += int(samples)
    row.sampled_bytes += int(sampled_bytes)
    row.sampled_seconds += sampled_seconds
