"""The repeated phase of a program: how long a step takes, what comes before the first, and what a step would gain."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from isthmus.advice.combining import gain_together
from isthmus.advice.competing import Drafted
from isthmus.advice.finding import Steps
from isthmus.advice.rates import Seconds
from isthmus.advice.records import ONE_WAY, Mask
from isthmus.advice.rule import Draft
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import LEAST_STEPS, SLOW_STEP_TIMES, STEADY_SHARE, STEP_SPREAD
from isthmus.trace import Integers, direction_index, grouped

# Kinds of kernels and copies that are looked at for one that each step has once: those that are rarest.
_MOST_KINDS = 256


@dataclass(frozen=True)
class _Phase:
    """From when to when each step lasts; the first of each process may belong to its beginning."""

    begin: Seconds
    end: Seconds

    def holds(self, moments: Seconds) -> Mask:
        place = np.searchsorted(self.begin, moments, "right") - 1
        inside: Mask = (place >= 0) & (moments < self.end[np.maximum(place, 0)])
        return inside


def steps_of(scene: Scene, drafts: Sequence[Drafted]) -> Steps | None:
    """The repeated phase of a process, and what these changes gain in it; None where nothing repeats for most of it."""
    phase = _phase(scene)
    if phase is None:
        return None
    lasted = phase.end - phase.begin
    within = [(rule, of, part) for rule, of, draft in drafts if of is scene and (part := _within(of, draft, phase))]
    return Steps(
        count=lasted.size,
        seconds=float(np.median(lasted)),
        before_seconds=float(phase.begin[0]),
        steady_seconds=float(lasted.sum()),
        gain_seconds=gain_together(within),
    )


def _phase(scene: Scene) -> _Phase | None:
    """Between the beginnings of what each step does once: the rarest kind of record that comes at even distances."""
    begun = scene.kernels[0]
    by_kind: list[Seconds] = []
    kinds = sorted((kind for kind in _kinds(scene) if kind.size > LEAST_STEPS), key=lambda kind: kind.size)
    for begins in kinds[:_MOST_KINDS]:
        distances = np.diff(np.sort(begins))
        usual = float(np.median(distances))
        even = np.abs(distances - usual) <= STEP_SPREAD * usual
        launched = np.diff(np.searchsorted(begun, np.sort(begins)))
        is_most = 2 * launched[even].sum() > begun.size and np.median(launched) > 0
        if usual > 0 and is_most and even.mean() >= STEADY_SHARE:
            by_kind.append(np.sort(begins))
    if not by_kind:
        return None
    begins = min(by_kind, key=lambda each: (each.size, each[0]))
    distances = np.diff(begins)
    # Steps in which something is loaded, saved or tested are no part of what goes on and on.
    ordinary = distances <= SLOW_STEP_TIMES * np.median(distances)
    return _Phase(begins[:-1][ordinary], begins[1:][ordinary])


def _kinds(scene: Scene) -> list[Seconds]:
    """When records of each kind began: kernels of a name, copies of a direction and size."""
    kernels, copies = scene.trace.kernels, scene.trace.copies
    launched = np.flatnonzero(kernels.process == scene.process)
    moved = np.flatnonzero((copies.process == scene.process) & (copies.migration != 1))
    moved = moved[np.isin(copies.direction[moved], [direction_index(direction) for direction in ONE_WAY])]
    named = [launched[group] for group in grouped(kernels.name[launched], kernels.stream[launched])]
    sized = [moved[group] for group in grouped(copies.direction[moved], copies.bytes[moved])]
    begins = [scene.moments(kernels.start_ns[rows]) for rows in named]
    return begins + [scene.moments(copies.start_ns[rows]) for rows in sized]


def _within(scene: Scene, draft: Draft, phase: _Phase) -> Draft | None:
    """What of a draft is in the phase; what it costs once has been paid before."""
    inside = phase.holds(_begun(scene, draft.table, draft.rows))
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


def _begun(scene: Scene, table: str, rows: Integers) -> Seconds:
    trace = scene.trace
    starts = {"copies": trace.copies, "calls": trace.calls, "allocations": trace.allocations}[table].start_ns
    return scene.moments(starts[rows])
