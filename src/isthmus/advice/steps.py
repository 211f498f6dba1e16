"""The repeated phase of a program: how long a step takes, what comes before the first, and what a step would gain.

Steps that a program or its profiler named come first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from isthmus.advice.boundaries import are_rounds, coverage
from isthmus.advice.combining import gain_together
from isthmus.advice.competing import Drafted
from isthmus.advice.finding import Steps
from isthmus.advice.named_steps import is_one_step, named_steps
from isthmus.advice.places import call_places
from isthmus.advice.rates import Seconds
from isthmus.advice.records import ONE_WAY, Mask
from isthmus.advice.rule import Draft
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import LEAST_STEPS, SLOW_STEP_TIMES, STEADY_SHARE, STEP_COVERAGE, STEP_SPREAD
from isthmus.trace import direction_index, grouped

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
    phase = _Phase(*named) if named is not None else None if is_one_step(scene) else _recurring(scene)
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
        if coverage(scene, begins) >= STEP_COVERAGE:
            return _rounds(scene, begins)
        distances = np.diff(begins)
        gaps.append(begins[np.append(True, distances > SLOW_STEP_TIMES * np.median(distances))])
    for begins in gaps:
        if begins.size >= LEAST_STEPS and _is_even(scene, begins) and coverage(scene, begins) >= STEP_COVERAGE:
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
