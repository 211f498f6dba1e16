"""What a draft gains by what its process's timeline can give back, and what all drafts gain together."""

from collections.abc import Sequence

import numpy as np

from isthmus.advice.rates import Range
from isthmus.advice.rule import Draft, Rule
from isthmus.advice.scene import Scene
from isthmus.record import Interval


def gain_of(scene: Scene, draft: Draft) -> Interval:
    """Seconds that a draft saves: no less than none, and no more than the timeline can give back."""
    return _within(draft.gains.sum(axis=0) - draft.once[[0, 2, 1]], _bound(scene, draft))


def gain_together(drafts: Sequence[tuple[Rule, Scene, Draft]], most: float | None = None) -> Interval | None:
    """What drafts gain together; of a record that several would change only the first counts, and what is beyond it.

    Processes run at the same time, so that it is the gain of the one that gains most. Kernels remain: no process gains
    more than `most`, by default what its busiest stream leaves of its time, but for what changes shorten kernels.
    """
    claimed: dict[int, list[tuple[Rule, Draft]]] = {}
    totals: dict[int, Range] = {}
    bounds: dict[int, float] = {}
    for rule, scene, draft in drafts:
        before = claimed.setdefault(id(scene), [])
        # Which records of a draft no draft before it changes, but for rules whose gains add up with its own.
        free = np.ones(draft.rows.size, np.bool_)
        for other, earlier in before:
            adds_up = other.name in rule.beyond or rule.name in other.beyond
            if earlier.table == draft.table and not adds_up:
                free &= ~np.isin(draft.rows, earlier.rows)
        before.append((rule, draft))
        share = float(free.mean()) if free.size else 0.0
        whole = gain_of(scene, draft)
        left = draft.gains[free].sum(axis=0) - draft.once[[0, 2, 1]] * share
        gained = np.array(_within(np.minimum(left, whole), max(whole.high, 0.0)))
        totals[id(scene)] = totals.get(id(scene), np.zeros(3)) + gained
        left_by_kernels = scene.span_seconds - scene.busiest() if most is None else most
        bounds.setdefault(id(scene), left_by_kernels)
        bounds[id(scene)] += whole.high if rule.in_kernels else 0.0
    gains = [_within(total, max(bounds[scene], 0.0)) for scene, total in totals.items()]
    largest = max(gains, key=lambda gain: gain.median, default=None)
    return largest if largest and largest.median > 0 else None


def _bound(scene: Scene, draft: Draft) -> float:
    if draft.bound is not None:
        return min(draft.bound, scene.span_seconds)
    together = scene.exposed_together(draft.rows) if draft.table == "copies" else scene.span_seconds
    return min(together, scene.span_seconds)


def _within(total: Range, most: float) -> Interval:
    median, low, high = (float(each) for each in np.clip(total, 0.0, most))
    return Interval(median, min(low, median), max(high, median))
