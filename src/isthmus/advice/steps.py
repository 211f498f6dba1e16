"""The repeated phase of a program: how long a step takes, what comes before the first, and what a step would gain.

Steps that a program or its profiler named come first: ``ProfilerStep#7``, those of vLLM, NVTX ranges.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from isthmus.advice.boundaries import are_rounds
from isthmus.advice.combining import gain_together
from isthmus.advice.competing import Drafted
from isthmus.advice.finding import Steps
from isthmus.advice.places import call_places
from isthmus.advice.rates import Seconds
from isthmus.advice.records import ONE_WAY, Mask
from isthmus.advice.rule import Draft
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import LEAST_STEPS, SLOW_STEP_TIMES, STEADY_SHARE, STEP_COVERAGE, STEP_SPREAD
from isthmus.trace import UNKNOWN, Integers, direction_index, grouped

# Those of torch's profiler and of vLLM come first, then names that say what they are, then any; numbers are ``#``.
_SURE = re.compile(r"ProfilerStep##|execute_context_#\(#\)|execute_new_#_cached_#")
_TELLING = re.compile(
    r"(?:.*[^a-z])?(?:step|iteration|iter|batch)(?:[^a-z].*)?|execute_.*|capture_.*|enumerate\(DataLoader\).*",
    re.IGNORECASE,
)
# What torch itself names within a step.
_WITHIN = re.compile(r"## Call CompiledFxGraph|Torch-Compiled Region|nccl:|aten::|autograd::|record_param_comms")
# The rank of a name that says nothing.
_ANY = 2
_NUMBERS = re.compile(r"\d+")
# What goes on in a step of many is named so, too.
_MOST_NAMES = 1000
# Kinds of kernels and copies that are looked at for one that each step has once: those that are rarest.
_MOST_KINDS = 256


@dataclass(frozen=True)
class _Phase:
    """From when to when each step lasts; the first of each process may belong to its beginning."""

    begin: Seconds
    end: Seconds

    def holds(self, moments: Seconds) -> Mask:
        place = np.searchsorted(self.begin, moments, "right") - 1
        return (place >= 0) & (moments < self.end[np.maximum(place, 0)])


def steps_of(scene: Scene, drafts: Sequence[Drafted]) -> Steps | None:
    """The repeated phase of a process, and what these changes gain in it; None where nothing repeats for most of it."""
    phase = _phase(scene)
    if phase is None:
        return None
    lasted = phase.end - phase.begin
    steady = float(lasted.sum())
    within = [(rule, of, part) for rule, of, draft in drafts if of is scene and (part := _within(of, draft, phase))]
    return Steps(
        count=lasted.size,
        seconds=float(np.median(lasted)),
        before_seconds=float(phase.begin[0]),
        steady_seconds=steady,
        gain_seconds=gain_together(within, most=steady - scene.busiest(phase.begin, phase.end)),
    )


def _phase(scene: Scene) -> _Phase | None:
    """The steps that the program or its profiler named, else between the beginnings of what each step does once."""
    named = named_steps(scene)
    phase = _Phase(*named) if named is not None else None if _is_one_step(scene) else _recurring(scene)
    if phase is None or not phase.begin.size:
        return None
    # Steps in which something is loaded, saved or tested are no part of what goes on and on.
    lasted = phase.end - phase.begin
    ordinary = (lasted <= SLOW_STEP_TIMES * np.median(lasted)) | (lasted.size <= LEAST_STEPS)
    return _Phase(phase.begin[ordinary], phase.end[ordinary])


def _recurring(scene: Scene) -> _Phase | None:
    """Between the beginnings of the rarest kind of record that comes at even distances, and covers most of the time.

    What leaves long gaps, as the layers of a step do, is within steps: then what begins after each gap is a step.
    """
    gaps: list[Seconds] = []
    kinds = sorted((np.sort(kind) for kind in _kinds(scene) if kind.size >= LEAST_STEPS), key=_rarest)
    for begins in kinds[:_MOST_KINDS]:
        if not _is_even(scene, begins):
            continue
        if _coverage(scene, begins) >= STEP_COVERAGE:
            return _rounds(scene, begins)
        distances = np.diff(begins)
        gaps.append(begins[np.append(True, distances > SLOW_STEP_TIMES * np.median(distances))])
    for begins in gaps:
        if begins.size >= LEAST_STEPS and _is_even(scene, begins) and _coverage(scene, begins) >= STEP_COVERAGE:
            return _rounds(scene, begins)
    return None


def _rounds(scene: Scene, begins: Seconds) -> _Phase | None:
    phase = _ending(scene, begins)
    return phase if are_rounds(scene, phase.begin, phase.end) else None


def _rarest(begins: Seconds) -> tuple[int, float]:
    return begins.size, float(begins[0])


def _is_even(scene: Scene, begins: Seconds) -> bool:
    """Whether these are at even distances, between which most kernels are."""
    distances = np.diff(begins)
    usual = float(np.median(distances))
    even = np.abs(distances - usual) <= STEP_SPREAD * usual
    begun = scene.work_begins
    launched = np.diff(np.searchsorted(begun, begins))
    # The last step has no distance.
    is_most = 2 * launched[even].sum() + np.median(launched) > begun.size and np.median(launched) > 0
    return bool(usual > 0 and is_most and even.mean() >= STEADY_SHARE)


def _coverage(scene: Scene, begins: Seconds) -> float:
    """The share of the time from the first of these on that ordinary steps take."""
    distances = np.diff(begins)
    ordinary = distances[distances <= SLOW_STEP_TIMES * np.median(distances)]
    return float(ordinary.sum() + np.median(distances)) / max(scene.span_seconds - float(begins[0]), 1e-9)


def _ending(scene: Scene, begins: Seconds) -> _Phase:
    """With what is before the first or after the last where that is about as long as a step, or most of one.

    What each step does once it may do at its beginning, or at its end.
    """
    usual = float(np.median(np.diff(begins)))
    before, after = float(begins[0]), scene.span_seconds - float(begins[-1])
    edges = begins
    for part, edge in sorted([(before, 0.0), (after, scene.span_seconds)], reverse=True):
        # Two halves are of one step.
        least = usual / 2 if edges.size == begins.size else (1 - STEP_SPREAD) * usual
        if least <= part <= SLOW_STEP_TIMES * usual:
            edges = np.union1d(edges, edge)
    return _Phase(edges[:-1], edges[1:])


def _kinds(scene: Scene) -> list[Seconds]:
    """When records of each kind began: kernels of a name, copies of a direction and size.

    Where not all kernels were recorded, calls of a place in their stead.
    """
    kernels, copies = scene.trace.kernels, scene.trace.copies
    launched = np.flatnonzero(kernels.process == scene.process)
    moved = np.flatnonzero((copies.process == scene.process) & (copies.migration != 1))
    moved = moved[np.isin(copies.direction[moved], [direction_index(direction) for direction in ONE_WAY])]
    named = [launched[group] for group in grouped(kernels.name[launched], kernels.stream[launched])]
    sized = [moved[group] for group in grouped(copies.direction[moved], copies.bytes[moved])]
    begins = [scene.moments(kernels.start_ns[rows]) for rows in named]
    if scene.sample is not None:
        calls = np.flatnonzero(scene.trace.calls.process == scene.process)
        placed = grouped(call_places(scene, calls))
        begins += [scene.moments(scene.trace.calls.start_ns[calls[group]]) for group in placed]
    return begins + [scene.moments(copies.start_ns[rows]) for rows in sized]


def _within(scene: Scene, draft: Draft, phase: _Phase) -> Draft | None:
    """What of a draft is in the phase; what it costs once has been paid before."""
    trace = scene.trace
    starts = {"copies": trace.copies, "calls": trace.calls, "allocations": trace.allocations}[draft.table].start_ns
    inside = phase.holds(scene.moments(starts[draft.rows]))
    if not inside.any():
        return None
    share = float(draft.gains[inside, 0].sum() / total) if (total := draft.gains[:, 0].sum()) > 0 else 0.0
    return replace(
        draft,
        rows=draft.rows[inside],
        gains=draft.gains[inside],
        once=np.zeros(3),
        bound=None if draft.bound is None else draft.bound * share,
        took=None if draft.took is None else draft.took[inside],
    )


def named_steps(scene: Scene) -> tuple[Seconds, Seconds] | None:
    """When each step began and ended on the device; None where no ranges are steps.

    Ranges of names that differ in numbers alone are alike. Steps take most of the time from the first on, gaps between
    them included; of several such the most telling name, and the fewest.
    """
    ranges = scene.trace.ranges
    rows = np.flatnonzero(ranges.process == scene.process)
    if not rows.size and len(scene.trace.processes) <= 1:
        rows = np.flatnonzero(ranges.process == UNKNOWN)
    candidates, launched = [], _launched(scene)
    for name, of_name in _alike(scene, rows).items():
        begin, end = scene.moments(ranges.start_ns[of_name]), scene.moments(ranges.end_ns[of_name])
        # A range within one of its own name is no step of its own.
        outer = begin >= np.append(-np.inf, np.maximum.accumulate(end)[:-1])
        begin, end = begin[outer], end[outer]
        rank = _rank(name)
        is_sure = rank == 0
        begin, end = _at_work(scene, launched, begin, end)
        if begin.size >= (2 if is_sure else LEAST_STEPS) and (is_sure or _takes_most(scene, begin)):
            candidates.append((rank, begin.size, name, (begin, end)))
    for rank, _, _, phase in sorted(candidates, key=lambda each: each[:3]):
        on_device = _on_device(scene, *phase)
        if rank < _ANY or are_rounds(scene, *on_device):
            return on_device
    return None


def _is_one_step(scene: Scene) -> bool:
    """Whether one range that says to be a step holds most of what was launched: what repeats in it is within a step."""
    ranges, names = scene.trace.ranges, scene.trace.range_names
    telling = [number for number, name in enumerate(names) if _rank(_NUMBERS.sub("#", name)) < _ANY]
    rows = np.flatnonzero(np.isin(ranges.name, telling))
    launched = _launched(scene)
    begin, end = (np.searchsorted(launched, scene.moments(each[rows])) for each in (ranges.start_ns, ranges.end_ns))
    return bool(launched.size and ((end - begin) >= STEP_COVERAGE * launched.size).any())


def _launched(scene: Scene) -> Seconds:
    """When kernels were launched, in order; when they began where no calls are known."""
    kernels, calls = scene.trace.kernels, scene.trace.calls
    mine = kernels.call[(kernels.process == scene.process) & (kernels.call >= 0) & (kernels.call < len(calls))]
    return np.sort(scene.moments(calls.start_ns[mine])) if mine.size else scene.kernels[0]


def _alike(scene: Scene, rows: Integers) -> Mapping[str, Integers]:
    """Rows of the ranges by their names without numbers, the most telling names first."""
    ranges, names = scene.trace.ranges, scene.trace.range_names
    rows = rows[ranges.name[rows] >= 0]
    used, place = np.unique(ranges.name[rows], return_inverse=True)
    spelt = [_NUMBERS.sub("#", names[number]) for number in used.tolist()]
    distinct = list(dict.fromkeys(spelt))
    number = {name: at for at, name in enumerate(distinct)}
    kind = np.array([number[name] for name in spelt], np.int64)[place]
    groups = {distinct[int(kind[group[0]])]: rows[group] for group in grouped(kind) if group.size > 1}
    outer = [name for name in groups if not _WITHIN.match(name)]
    return {name: groups[name] for name in sorted(outer, key=_rank)[:_MOST_NAMES]}


def _rank(name: str) -> int:
    return 0 if _SURE.match(name) else 1 if _TELLING.fullmatch(name) else _ANY


def _at_work(scene: Scene, launched: Seconds, begin: Seconds, end: Seconds) -> tuple[Seconds, Seconds]:
    """Those within the time recorded that launched something: a profiler names a step after its last, too."""
    until = np.append(begin[1:], end[-1:])
    kept = np.searchsorted(launched, until) > np.searchsorted(launched, begin)
    kept &= (end > 0) & (begin < scene.span_seconds)
    return np.maximum(begin[kept], 0.0), np.minimum(end[kept], scene.span_seconds)


def _takes_most(scene: Scene, begin: Seconds) -> bool:
    begun = scene.kernels[0]
    is_most = 2 * int((begun >= begin[0]).sum()) > begun.size
    return is_most and _coverage(scene, begin) >= STEP_COVERAGE


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
