"""Copies that follow one another without anything between them that they could not be taken past."""

from dataclasses import dataclass

import numpy as np

from isthmus.advice.records import Mask
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import LEAST_BURST, LONGEST_BURST_GAP_SECONDS
from isthmus.trace import Integers


@dataclass(frozen=True)
class Burst:
    """Copies in a row: one direction, one kind of the host's memory, no kernel and no other copy between them."""

    rows: Integers
    # Seconds from the first call to the last copy's end in which nothing but these copies went on.
    elapsed: float
    # Whether the host waited for each of them.
    waited: bool


def bursts(scene: Scene, rows: Integers, *same: Integers) -> list[Burst]:
    """Runs of at least `LEAST_BURST` of these copies, in which each of `same`, one entry a copy, stays the same."""
    if rows.size < LEAST_BURST:
        return []
    order = np.argsort(scene.device_begin(rows), kind="stable")
    rows = rows[order]
    keys = [scene.trace.copies.direction[rows], scene.host_kind(rows), *(key[order] for key in same)]
    asked, end = scene.asked(rows), np.maximum.accumulate(scene.occupied(rows)[1])
    apart = asked[1:] - end[:-1] > LONGEST_BURST_GAP_SECONDS
    for key in keys:
        apart |= key[1:] != key[:-1]
    apart |= _between(scene, rows)
    first = np.concatenate([[0], np.flatnonzero(apart) + 1])
    last = np.concatenate([first[1:], [rows.size]]) - 1
    long = last - first + 1 >= LEAST_BURST
    first, last = first[long], last[long]
    runs = [rows[begin : until + 1] for begin, until in zip(first.tolist(), last.tolist(), strict=True)]
    if not runs:
        return []
    # Where copies wait in a queue, those before them end after they were asked for.
    begin = np.maximum(asked[first], np.concatenate([[-np.inf], end])[first])
    elapsed = scene.elapsed(np.concatenate(runs), begin, end[last])
    waited = [_waited(scene, each) for each in runs]
    return [Burst(*each) for each in zip(runs, elapsed.tolist(), waited, strict=True)]


def _between(scene: Scene, rows: Integers) -> Mask:
    """Whether a kernel, or another copy, began between each two."""
    begin = scene.device_begin(rows)
    others = scene.copies[~np.isin(scene.copies, rows)]
    started = np.sort(np.concatenate([scene.kernels[0], scene.device_begin(others)]))
    place = np.searchsorted(started, begin)
    found: Mask = place[1:] != place[:-1]
    return found


def _waited(scene: Scene, rows: Integers) -> bool:
    calls = scene.call(rows)
    known = calls[calls >= 0]
    return bool(known.size) and bool((~scene.asynchronous(known)).mean() > 0.5)
