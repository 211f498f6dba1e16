"""Loops that send a small piece each time around, with a kernel, a wait or an allocation between: rows one by one."""

import numpy as np

from isthmus.advice.loops import Burst
from isthmus.advice.places import copy_places, size_steps
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import LEAST_BURST, LONGEST_PERIOD_SECONDS, MOST_COMPUTING
from isthmus.trace import UNKNOWN, Integers, direction_index, grouped, union, vendors


def paced(scene: Scene, rows: Integers) -> list[Burst]:
    """Runs of these copies from one place and of one size, each soon after the one before, with kernels between.

    What one block and one copy would save is the time of the calls that copy, wait for that and get memory. Values that
    come to the host may decide what it does next, so that they can seldom come as one.
    """
    runs = []
    copies = scene.trace.copies
    rows = rows[copies.direction[rows] == direction_index("h2d")]
    for group in grouped(copy_places(scene, rows), size_steps(copies.bytes[rows])):
        alike = rows[group][np.argsort(scene.asked(rows[group]), kind="stable")]
        if alike.size < LEAST_BURST:
            continue
        apart = np.diff(scene.asked(alike)) > LONGEST_PERIOD_SECONDS
        runs += [run for run in np.split(alike, np.flatnonzero(apart) + 1) if run.size >= LEAST_BURST]
    return [burst for run in runs if (burst := _burst(scene, run)) is not None]


def _burst(scene: Scene, rows: Integers) -> Burst | None:
    begin, (_, end) = scene.asked(rows), scene.occupied(rows)
    waits = scene.waits(rows)
    waited = waits != UNKNOWN
    ends = scene.in_calls(waits)[1]
    end = np.where(waited, np.maximum(end, ends), end)
    whole = (float(begin[0]), float(end[-1]))
    computing = union(*scene.kernels)
    share = float(computing.covered(*(np.array([each]) for each in whole)).sum()) / max(whole[1] - whole[0], 1e-9)
    started = np.searchsorted(scene.kernels[0], begin)
    # With no kernel between they are a burst of another kind; a call that waits for kernels is no row's.
    is_alone = np.median(np.diff(started)) == 0
    waits_for_kernels = 2 * computing.covered(begin, end).sum() > (end - begin).sum()
    if is_alone or waits_for_kernels or share > MOST_COMPUTING:
        return None
    elapsed = float(scene.elapsed(rows, begin, end).sum())
    between = _allocating(scene, whole)
    period = float(np.median(np.diff(begin)))
    return Burst(rows, elapsed, between, bool(waited.mean() > 0.5), period, share)


def _allocating(scene: Scene, whole: tuple[float, float]) -> float:
    """Seconds in calls that get or free memory within this time in which no device did anything."""
    table = scene.trace.calls
    names = [place for place, name in enumerate(scene.trace.names) if vendors.allocates(name) or vendors.frees(name)]
    mine = np.flatnonzero((table.process == scene.process) & np.isin(table.name, names))
    begin, end = scene.in_calls(mine)
    inside = (begin >= whole[0]) & (end <= whole[1])
    return float(scene.idle_between(begin[inside], end[inside]).sum()) if mine.size else 0.0
