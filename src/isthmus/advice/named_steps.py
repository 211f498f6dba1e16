"""Steps that a program or its profiler named: ``ProfilerStep#7``, those of vLLM, batches of a loader, NVTX ranges."""

import re
from collections.abc import Mapping

import numpy as np

from isthmus.advice.boundaries import are_rounds, coverage
from isthmus.advice.rates import Seconds
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import LEAST_STEPS, STEP_COVERAGE
from isthmus.trace import UNKNOWN, Integers, grouped

# Those of torch's profiler and of vLLM come first, then names that say what they are, then any; numbers are ``#``.
_SURE = re.compile(r"ProfilerStep##|execute_context_#\(#\)|execute_new_#_cached_#")
_TELLING = re.compile(
    r"(?:.*[^a-z])?(?:step|iteration|iter|batch)(?:[^a-z].*)?|execute_.*|capture_.*|enumerate\(DataLoader\).*",
    re.IGNORECASE,
)
# One that is alone and says no more than this; "time per batch" or "50 iterations" may be around a whole loop.
_WHOLE = re.compile(rf"{_SURE.pattern}|(?:[a-z]+[ _])?(?:step|iteration|iter)[ _:]*#?", re.IGNORECASE)
# What torch itself names within a step.
_WITHIN = re.compile(r"## Call CompiledFxGraph|Torch-Compiled Region|nccl:|aten::|autograd::|record_param_comms")
# The rank of a name that says nothing.
_ANY = 2
_NUMBERS = re.compile(r"\d+")
# What goes on in a step of many is named so, too.
_MOST_NAMES = 1000


def named_steps(scene: Scene) -> tuple[Seconds, Seconds] | None:
    """When each step began and ended on the device; None where no ranges are steps.

    Ranges of names that differ in numbers alone are alike. Steps take most of the time from the first on, gaps between
    them included; of several such the most telling name, and the fewest.
    """
    ranges = scene.trace.ranges
    candidates, launched = [], _launched(scene)
    for name, of_name in alike(scene).items():
        begin, end = scene.moments(ranges.start_ns[of_name]), scene.moments(ranges.end_ns[of_name])
        # A range within one of its own name is no step of its own.
        outer = begin >= np.append(-np.inf, np.maximum.accumulate(end)[:-1])
        begin, end = begin[outer], end[outer]
        rank = _rank(name)
        is_sure = rank == 0
        # Those within the time recorded that launched something: a profiler names a step after its last, too.
        until = np.append(begin[1:], end[-1:])
        kept = np.searchsorted(launched, until) > np.searchsorted(launched, begin)
        kept &= (end > 0) & (begin < scene.span_seconds)
        begin, end = (np.maximum(begin[kept], 0.0), np.minimum(end[kept], scene.span_seconds))
        if begin.size >= (2 if is_sure else LEAST_STEPS) and (is_sure or _takes_most(scene, begin)):
            candidates.append((rank, begin.size, name, (begin, end)))
    for rank, _, _, phase in sorted(candidates, key=lambda each: each[:3]):
        on_device = _on_device(scene, *phase)
        if rank < _ANY or are_rounds(scene, *on_device):
            return on_device
    return None


def is_one_step(scene: Scene) -> bool:
    """Whether one range that says to be a step holds most of what was launched: what repeats in it is within a step."""
    ranges, names = scene.trace.ranges, scene.trace.range_names
    whole = [number for number, name in enumerate(names) if _WHOLE.fullmatch(_NUMBERS.sub("#", name))]
    rows = _rows(scene)
    rows = rows[np.isin(ranges.name[rows], whole)]
    launched = _launched(scene)
    begin, end = (np.searchsorted(launched, scene.moments(each[rows])) for each in (ranges.start_ns, ranges.end_ns))
    return bool(launched.size and ((end - begin) >= STEP_COVERAGE * launched.size).any())


def _launched(scene: Scene) -> Seconds:
    """When kernels were launched, in order; when they began where no calls are known."""
    kernels, calls = scene.trace.kernels, scene.trace.calls
    mine = kernels.call[(kernels.process == scene.process) & (kernels.call >= 0) & (kernels.call < len(calls))]
    return np.sort(scene.moments(calls.start_ns[mine])) if mine.size else scene.kernels[0]


def alike(scene: Scene) -> Mapping[str, Integers]:
    """Rows of the process's ranges by their names without numbers, the most telling first; those of several ranges."""
    ranges, names = scene.trace.ranges, scene.trace.range_names
    rows = _rows(scene)
    used, place = np.unique(ranges.name[rows], return_inverse=True)
    spelt = [_NUMBERS.sub("#", names[number]) for number in used.tolist()]
    distinct = list(dict.fromkeys(spelt))
    number = {name: at for at, name in enumerate(distinct)}
    kind = np.array([number[name] for name in spelt], np.int64)[place]
    groups = {distinct[int(kind[group[0]])]: rows[group] for group in grouped(kind) if group.size > 1}
    outer = [name for name in groups if not _WITHIN.match(name)]
    return {name: groups[name] for name in sorted(outer, key=_rank)[:_MOST_NAMES]}


def _rows(scene: Scene) -> Integers:
    ranges = scene.trace.ranges
    rows = np.flatnonzero(ranges.process == scene.process)
    if not rows.size and len(scene.trace.processes) <= 1:
        rows = np.flatnonzero(ranges.process == UNKNOWN)
    return rows[ranges.name[rows] >= 0]


def _rank(name: str) -> int:
    return 0 if _SURE.match(name) else 1 if _TELLING.fullmatch(name) else _ANY


def _takes_most(scene: Scene, begin: Seconds) -> bool:
    begun = scene.kernels[0]
    is_most = 2 * int((begun >= begin[0]).sum()) > begun.size
    return is_most and coverage(scene, begin) >= STEP_COVERAGE


def _on_device(scene: Scene, begin: Seconds, end: Seconds) -> tuple[Seconds, Seconds]:
    """From the first kernel of a step to that of the next: a host that is ahead of the device has shorter ranges."""
    kernels, calls = scene.trace.kernels, scene.trace.calls
    mine = np.flatnonzero((kernels.process == scene.process) & (kernels.call >= 0) & (kernels.call < len(calls)))
    of_host = (begin, np.append(begin[1:], end[-1]))
    launched = scene.moments(calls.start_ns[kernels.call[mine]])
    step = np.searchsorted(begin, launched, "right") - 1
    # What is launched after the last one is no step's.
    inside = (step >= 0) & (launched <= end[-1])
    if not mine.size or np.unique(step[inside]).size < begin.size:
        return of_host
    first, last = np.full(begin.size, np.inf), np.full(begin.size, -np.inf)
    np.minimum.at(first, step[inside], scene.moments(kernels.start_ns[mine[inside]]))
    np.maximum.at(last, step[inside], scene.moments(kernels.end_ns[mine[inside]]))
    if (np.diff(first) <= 0).any():
        return of_host
    # The last one ends when both are done.
    return first, np.append(first[1:], max(last[-1], end[-1]))
