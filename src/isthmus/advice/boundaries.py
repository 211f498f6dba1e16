"""Whether what repeats is the program's loop, and no part of one round of it, as the layers of a network are."""

import re

import numpy as np

from isthmus.advice.rates import Seconds
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import SLOW_STEP_TIMES, STEADY_SHARE
from isthmus.trace import Integers, direction_index

# What each step of training does, and no layer.
_OPTIMIZER = re.compile(r"adam|sgd|optimizer|multi_tensor|rmsprop|lion_|lamb_", re.IGNORECASE)
# Deeper networks are not in use.
_MOST_LAYERS = 150


def are_rounds(scene: Scene, begin: Seconds, end: Seconds) -> bool:
    """Whether most of these hold what the host does once a round: an optimizer, a copy in or out, a wait.

    A network may wait or copy in each of its layers, too, but then goes on to what no layer computes: its last
    interval holds kernels of names that no earlier one does. So may the program after its loop; but no network copies
    in and out in each layer, nor has so many of them as a long loop has rounds.
    """
    kernels, names = scene.trace.kernels, scene.trace.names
    alike = [number for number, name in enumerate(names) if _OPTIMIZER.search(name)]
    rows: Integers = np.flatnonzero((kernels.process == scene.process) & np.isin(kernels.name, alike))
    if _most_hold(begin, end, scene.moments(scene.trace.kernels.start_ns[rows])):
        return True
    moved = scene.copies
    waits = np.flatnonzero(scene.trace.calls.process == scene.process)
    waits = waits[scene.synchronizing(waits)] if waits.size else waits
    # A wait ends when the device is done, whose time that of the steps is.
    of_host = np.sort(np.concatenate([scene.device_begin(moved), scene.moments(scene.trace.calls.end_ns[waits])]))
    if not _most_hold(begin, end, of_host):
        return False
    ways = (moved[scene.trace.copies.direction[moved] == direction_index(each)] for each in ("h2d", "d2h"))
    is_loop = begin.size > _MOST_LAYERS or all(_most_hold(begin, end, scene.device_begin(each)) for each in ways)
    return is_loop or not _ends_otherwise(scene, begin)


def coverage(scene: Scene, begins: Seconds) -> float:
    """The share of the time from the first of these on that ordinary steps take."""
    distances = np.diff(begins)
    ordinary = distances[distances <= SLOW_STEP_TIMES * np.median(distances)]
    return float(ordinary.sum() + np.median(distances)) / max(scene.span_seconds - float(begins[0]), 1e-9)


def _most_hold(begin: Seconds, end: Seconds, moments: Seconds) -> bool:
    moments = np.sort(moments)
    held = np.searchsorted(moments, end, "right") > np.searchsorted(moments, begin)
    return bool(held.mean() >= STEADY_SHARE)


def _ends_otherwise(scene: Scene, begin: Seconds) -> bool:
    """Whether kernels of a name begin in the last interval, or after it, that none before it are of."""
    kernels = scene.trace.kernels
    mine = np.flatnonzero(kernels.process == scene.process)
    began, names = scene.moments(kernels.start_ns[mine]), kernels.name[mine]
    return bool(np.setdiff1d(names[began >= begin[-1]], names[began < begin[-1]]).size)
