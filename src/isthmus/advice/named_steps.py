"""Steps that a program or its profiler named: ``ProfilerStep#7``, ``execute_model``, NVTX ranges, `record_function`."""

import re
from collections.abc import Mapping

import numpy as np

from isthmus.advice.rates import Seconds
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import LEAST_STEPS, STEP_COVERAGE
from isthmus.trace import UNKNOWN, Integers

# Those of torch's profiler and of serving engines come first, then names that say what they are, then any.
_SURE = re.compile(r"ProfilerStep#|execute_")
_TELLING = re.compile(r"(?:.*[^a-z])?(?:step|iteration|iter|batch)(?:[^a-z].*)?", re.IGNORECASE)
_NUMBERS = re.compile(r"\d+")
# What goes on in a step of many is named so, too.
_MOST_NAMES = 1000


def named_steps(scene: Scene) -> tuple[Seconds, Seconds] | None:
    """When each step began and ended on the device; None where no ranges are steps.

    Ranges of names that differ in numbers alone are alike. Steps take most of the time from the first on, gaps between
    them included; of several such the most telling name, and the fewest.
    """
    ranges = scene.trace.ranges
    rows = np.flatnonzero(ranges.process == scene.process)
    if not rows.size and len(scene.trace.processes) <= 1:
        rows = np.flatnonzero(ranges.process == UNKNOWN)
    candidates = []
    for name, of_name in _alike(scene, rows).items():
        begin, end = scene.moments(ranges.start_ns[of_name]), scene.moments(ranges.end_ns[of_name])
        # A range within one of its own name is no step of its own.
        outer = begin >= np.append(-np.inf, np.maximum.accumulate(end)[:-1])
        begin, end = begin[outer], end[outer]
        is_sure = _SURE.match(name) is not None
        begin, end = _at_work(scene, begin, end)
        if begin.size >= (2 if is_sure else LEAST_STEPS) and (is_sure or _takes_most(scene, begin)):
            rank = 0 if is_sure else 1 if _TELLING.fullmatch(name) else 2
            candidates.append((rank, begin.size, name, (begin, end)))
    if not candidates:
        return None
    return _on_device(scene, *min(candidates, key=lambda each: each[:3])[3])


def _alike(scene: Scene, rows: Integers) -> Mapping[str, Integers]:
    """Rows of the ranges by their names without numbers."""
    ranges, names = scene.trace.ranges, scene.trace.range_names
    spelt = {
        number: _NUMBERS.sub("#", names[number]) for number in np.unique(ranges.name[rows]).tolist() if number >= 0
    }
    distinct = list(dict.fromkeys(spelt.values()))[:_MOST_NAMES]
    of_name = {name: [number for number, other in spelt.items() if other == name] for name in distinct}
    return {name: rows[np.isin(ranges.name[rows], same)] for name, same in of_name.items()}


def _at_work(scene: Scene, begin: Seconds, end: Seconds) -> tuple[Seconds, Seconds]:
    """Those within the time recorded that launched something: a profiler names a step after its last, too."""
    kernels, calls = scene.trace.kernels, scene.trace.calls
    mine = kernels.call[(kernels.process == scene.process) & (kernels.call >= 0) & (kernels.call < len(calls))]
    launched = np.sort(scene.moments(calls.start_ns[mine])) if mine.size else np.sort(scene.kernels[0])
    until = np.append(begin[1:], end[-1:])
    kept = np.searchsorted(launched, until) > np.searchsorted(launched, begin)
    kept &= (end > 0) & (begin < scene.span_seconds)
    return np.maximum(begin[kept], 0.0), np.minimum(end[kept], scene.span_seconds)


def _takes_most(scene: Scene, begin: Seconds) -> bool:
    distances = np.diff(begin)
    lasted = scene.span_seconds - float(begin[0])
    begun = scene.kernels[0]
    is_most = 2 * int((begun >= begin[0]).sum()) > begun.size
    return is_most and float(distances.sum() + np.median(distances)) >= STEP_COVERAGE * lasted


def _on_device(scene: Scene, begin: Seconds, end: Seconds) -> tuple[Seconds, Seconds]:
    """From the first kernel of a step to that of the next: a host that is ahead of the device has shorter ranges."""
    kernels, calls = scene.trace.kernels, scene.trace.calls
    mine = np.flatnonzero((kernels.process == scene.process) & (kernels.call >= 0) & (kernels.call < len(calls)))
    of_host = (begin, np.append(begin[1:], end[-1]))
    launched = scene.moments(calls.start_ns[kernels.call[mine]])
    step = np.searchsorted(begin, launched, "right") - 1
    if not mine.size or np.unique(step[step >= 0]).size < begin.size:
        return of_host
    first, last = np.full(begin.size, np.inf), np.full(begin.size, -np.inf)
    inside = step >= 0
    np.minimum.at(first, step[inside], scene.moments(kernels.start_ns[mine[inside]]))
    np.maximum.at(last, step[inside], scene.moments(kernels.end_ns[mine[inside]]))
    if (np.diff(first) <= 0).any():
        return of_host
    # The last one ends when both are done.
    return first, np.append(first[1:], max(last[-1], end[-1]))
