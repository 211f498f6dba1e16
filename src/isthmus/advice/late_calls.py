"""Calls that are not known to wait, and returned only when all that a device had been given was done."""

import numpy as np

from isthmus.advice.rates import Seconds
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import LATE_SHARE, LEAST_LATE_SECONDS, LONGEST_HANDOVER_SECONDS
from isthmus.trace import UNKNOWN, Integers, union, vendors


def late_calls(scene: Scene, calls: Integers) -> Integers:
    """Those of these calls that waited, whatever they were for: a copy, memory that is freed or allocated, a module.

    A trace shows it by times alone: kernels ran for most of such a call, it returned as soon as the last one, and its
    own copy, had ended, and then the device had nothing to do. What launches work waits for room in a queue instead.
    """
    table = scene.trace.calls
    launching = [place for place, name in enumerate(scene.trace.names) if vendors.launches(name)]
    calls = calls[~np.isin(table.name[calls], launching)]
    calls = calls[scene.lasted(table, calls) >= LEAST_LATE_SECONDS]
    if not calls.size:
        return calls
    begin = scene.moments(table.start_ns[calls])
    lasted = scene.lasted(table, calls)
    end = begin + lasted
    begins, ends = np.sort(scene.kernels[0]), np.sort(scene.kernels[1])
    own_begin, own_end = _own_copies(scene, calls)
    last = np.append(ends, -np.inf)[np.searchsorted(ends, end, "right") - 1]
    waited = union(*scene.kernels).covered(begin, end)
    left = end - np.maximum(last, np.where(own_end <= end, own_end, -1e9))
    late = 2 * waited >= np.maximum(lasted - (own_end - own_begin), LEAST_LATE_SECONDS)
    late &= left <= np.maximum(LONGEST_HANDOVER_SECONDS, LATE_SHARE * lasted)
    # Nothing is in progress any more.
    late &= np.searchsorted(begins, end) == np.searchsorted(ends, end, "right")
    selected: Integers = calls[late]
    return selected


def _own_copies(scene: Scene, calls: Integers) -> tuple[Seconds, Seconds]:
    """When the copy that each call made began and ended; both long before all for a call that made none."""
    copies = scene.trace.copies
    every = np.flatnonzero(copies.process == scene.process)
    every = every[scene.call(every) != UNKNOWN]
    made = np.full(len(scene.trace.calls), UNKNOWN)
    made[scene.call(every)] = every
    rows = made[calls]
    times = (scene.device_begin(rows), scene.device_end(rows)) if len(copies) else (np.zeros(calls.size),) * 2
    begin, end = (np.where(rows != UNKNOWN, each, -1e9) for each in times)
    return begin, end
