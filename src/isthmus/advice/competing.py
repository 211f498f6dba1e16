"""Which finding speaks of a copy that several rules would change: the one that gains most by it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from isthmus.advice.combining import gain_of
from isthmus.advice.records import Mask
from isthmus.advice.rule import Draft, Rule
from isthmus.advice.scene import Scene
from isthmus.trace import UNKNOWN, Integers

Drafted = tuple[Rule, Scene, Draft]


def settled(drafts: Sequence[Drafted]) -> list[tuple[Rule, Scene, Draft, frozenset[str]]]:
    """Each draft with the records that are left to it, and the rules that would change some of them, too.

    Drafts of one process compete; of rules whose gains come on top of one another both speak.
    """
    chosen: list[tuple[Rule, Scene, Draft, frozenset[str]]] = []
    for scene in dict.fromkeys(scene for _, scene, _ in drafts):
        mine = [(rule, draft) for rule, of, draft in drafts if of is scene]
        mine.sort(key=lambda each: -gain_of(scene, each[1]).median)
        kept: list[tuple[Rule, Draft]] = []
        yielded: dict[str, set[str]] = {}
        for rule, draft in mine:
            free = np.ones(draft.rows.size, np.bool_)
            for other, earlier in kept:
                if taken := _taken(scene, (rule, draft), (other, earlier)):
                    free &= ~taken[0]
                    if taken[0].any() and draft.gains.any():
                        yielded.setdefault(other.name, set()).add(rule.name)
            if free.any():
                kept.append((rule, _left(draft, free)))
        chosen += [(rule, scene, draft, frozenset(yielded.get(rule.name, ()))) for rule, draft in kept]
    return chosen


def _taken(scene: Scene, mine: tuple[Rule, Draft], other: tuple[Rule, Draft]) -> tuple[Mask] | None:
    """Which records of a draft another one speaks of already; None where both may speak."""
    (rule, draft), (earlier_rule, earlier) = mine, other
    if earlier_rule.name in rule.beyond or rule.name in earlier_rule.beyond:
        return None
    if draft.table == earlier.table:
        return (np.isin(draft.rows, earlier.rows),)
    # A rule that leaves a copy as it is yields to one that changes its call.
    if draft.table == "copies" and earlier.table == "calls" and not draft.gains.any():
        calls = scene.call(draft.rows)
        return ((calls != UNKNOWN) & np.isin(calls, earlier.rows),)
    return None


def _left(draft: Draft, free: Mask) -> Draft:
    if free.all():
        return draft
    rows: Integers = draft.rows[free]
    took = None if draft.took is None else draft.took[free]
    return replace(draft, rows=rows, gains=draft.gains[free], once=draft.once * float(free.mean()), took=took)
