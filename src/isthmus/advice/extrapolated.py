"""What rules that look at kernels conclude where those were recorded in windows alone."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from isthmus.advice.places import call_places, copy_places
from isthmus.advice.rates import Range, Rates, Seconds
from isthmus.advice.records import Mask
from isthmus.advice.rule import Draft, Rule
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import LEAST_WINDOWS
from isthmus.language import say
from isthmus.plan import Unpriced
from isthmus.trace import Integers

# 95 of 100 means are within so many of their standard errors.
_STANDARD_ERRORS = 1.96


def draft_of(rule: Rule, scene: Scene, rates: Rates) -> Draft | None:
    """What a rule finds in one process: in its windows, for those that need kernels, and from that elsewhere.

    Raises Unpriced where too few windows hold what it is about.
    """
    if scene.in_windows is None or rule.windows == "whole":
        return rule.find(scene, rates)
    if rule.windows == "never":
        raise Unpriced(say("advice.windows_never"))
    try:
        return _extrapolated(rule, scene, scene.in_windows, rates)
    except Unpriced:
        if any("kernels" in each for each in rule.needs):
            raise
        return rule.find(scene, rates)


class _Part(NamedTuple):
    """The records of one place: those that the rule found in windows, and all that are in none.

    `windows` are those that hold the place; 0 where nothing of it is in none.
    """

    rows: Integers
    gains: Range
    took: Seconds
    windows: int


def _extrapolated(rule: Rule, scene: Scene, within: Scene, rates: Rates) -> Draft | None:
    draft = rule.find(within, rates)
    if draft is None or scene.sample is None:
        return None
    inside, window = scene.sample.rows[draft.table], scene.sample.window[draft.table]
    every = np.flatnonzero(_process(scene, draft.table) == scene.process)
    away = np.setdiff1d(every, inside)
    places = {name: _places(scene, draft.table, rows) for name, rows in (("inside", inside), ("away", away))}
    of_draft = places["inside"][draft.rows]
    parts, lacking, lost = [], [], 0.0
    for place in np.unique(of_draft).tolist():
        held = places["inside"] == place
        there = away[places["away"] == place]
        held_by = int(np.unique(window[held]).size)
        if there.size and held_by < LEAST_WINDOWS:
            lacking.append(held_by)
            lost += float(draft.gains[of_draft == place, 0].sum())
        else:
            parts.append(_part(draft, of_draft == place, window, held, inside, there))
    # What is left would pass for all of it.
    if not parts or lost > sum(float(part.gains[:, 0].sum()) for part in parts):
        raise Unpriced(say("advice.windows_few", count=max(lacking), least=LEAST_WINDOWS))
    rows, gains, took = (np.concatenate(column) for column in list(zip(*parts, strict=True))[:3])
    before = float(draft.gains[:, 0].sum())
    factor = float(gains[:, 0].sum()) / before if before > 0 else 1.0

    # The facts of the windows, with those that are totals for the whole time.
    def grown(value: Any) -> Any:
        return round(value * factor) if isinstance(value, int) else value * factor

    return replace(
        draft,
        rows=rows,
        gains=gains,
        took=None if draft.took is None else took,
        bound=None if draft.bound is None else draft.bound * factor,
        facts={name: grown(value) if name in rule.totals else value for name, value in draft.facts.items()},
        windows=min((part.windows for part in parts if part.windows), default=0),
    )


def _part(draft: Draft, mine: Mask, window: Integers, held: Mask, inside: Integers, there: Integers) -> _Part:
    """Those in windows as they are; those in none each the mean of what one of the place gains, window by window.

    Every window counts alike: the first is long where the program began with few kernels.
    """
    took = np.zeros(mine.sum()) if draft.took is None else draft.took[mine]
    numbers, count = np.unique(window[held], return_counts=True)
    gained = np.zeros((numbers.size, 3))
    np.add.at(gained, np.searchsorted(numbers, window[draft.rows[mine]]), draft.gains[mine])
    each = gained / count[:, np.newaxis]
    error = 0.0
    if there.size:
        error = _STANDARD_ERRORS * float(each[:, 0].std(ddof=1)) / float(np.sqrt(numbers.size))
    median, low, high = each.mean(axis=0).tolist()
    away = np.tile([median, max(min(low, median - error), 0.0), max(high, median + error)], (there.size, 1))
    return _Part(
        np.concatenate([inside[draft.rows[mine]], there]),
        np.concatenate([draft.gains[mine], away]),
        np.concatenate([took, np.full(there.size, took.sum() / max(int(count.sum()), 1))]),
        int(numbers.size) if there.size else 0,
    )


def _process(scene: Scene, table: str) -> Integers:
    trace = scene.trace
    process = {"copies": trace.copies.process, "calls": trace.calls.process, "allocations": trace.allocations.process}
    return process[table]


def _places(scene: Scene, table: str, rows: Integers) -> Integers:
    if table == "copies":
        return copy_places(scene, rows)
    return call_places(scene, rows if table == "calls" else scene.trace.allocations.call[rows])
