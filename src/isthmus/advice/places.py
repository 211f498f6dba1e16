"""Where in the program records come from: by call site, else by call, else by direction; and groups of records."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from isthmus.advice.finding import Evidence
from isthmus.advice.rates import Seconds
from isthmus.advice.records import Mask
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import MOST_PLACES
from isthmus.language import say
from isthmus.trace import DIRECTIONS, UNKNOWN, Integers, site_words, union

_STEPS_A_DOUBLING = 4


def copy_places(scene: Scene, rows: Integers) -> Integers:
    """A number for the place of each copy, which `place_evidence` has a text for."""
    places = call_places(scene, scene.trace.copies.call[rows])
    return np.where(places == _nowhere(scene), places + 1 + scene.trace.copies.direction[rows], places)


def call_places(scene: Scene, calls: Integers) -> Integers:
    """A number for the place of each call: those of sites, then of names, then one for none."""
    trace, nowhere = scene.trace, _nowhere(scene)
    if not len(trace.calls):
        return np.full(calls.size, nowhere)
    within = np.clip(calls, 0, len(trace.calls) - 1)
    site, name = trace.calls.site[within], trace.calls.name[within]
    places = np.where((name >= 0) & (name < len(trace.names)), len(trace.sites) + name, nowhere)
    places = np.where((site >= 0) & (site < len(trace.sites)), site, places)
    return np.where((calls >= 0) & (calls < len(trace.calls)), places, nowhere)


def _nowhere(scene: Scene) -> int:
    return len(scene.trace.sites) + len(scene.trace.names)


def _text(scene: Scene, place: int) -> str:
    trace = scene.trace
    if place < len(trace.sites):
        return site_words(trace.sites[place]) or say("advice.place_unknown")
    if place < _nowhere(scene):
        return trace.names[place - len(trace.sites)]
    direction = place - _nowhere(scene) - 1
    if not 0 <= direction < len(DIRECTIONS):
        return say("advice.place_unknown")
    return say("advice.place_direction", direction=DIRECTIONS[direction].upper())


def place_of(scene: Scene, rows: Integers) -> str:
    """The place that most of these copies come from; empty where no call is known."""
    places = copy_places(scene, rows)
    most = int(np.bincount(places).argmax()) if places.size else _nowhere(scene)
    return _text(scene, most) if most < _nowhere(scene) else ""


def size_steps(sizes: Integers) -> Integers:
    """Numbers that are the same for sizes within a fifth of one another, or so."""
    return np.round(np.log2(np.maximum(sizes, 1)) * _STEPS_A_DOUBLING).astype(np.int64)


class Spent(NamedTuple):
    """When each record was in a call, and of which thread; when a device was at it, and with which engine."""

    call: tuple[Seconds, Seconds]
    thread: Integers
    device: tuple[Seconds, Seconds] | None = None
    engine: Integers | None = None


def place_evidence(
    scene: Scene, places: Integers, sizes: Integers, spent: Spent, took: Seconds | None
) -> list[Evidence]:
    """What comes from each place, those with the most time first, as many as are shown; `took` is the time if given."""
    distinct, inverse = np.unique(places, return_inverse=True)
    calls = np.bincount(inverse, minlength=distinct.size)
    moved = np.zeros(distinct.size, np.int64)
    np.add.at(moved, inverse, np.where(sizes == UNKNOWN, 0, sizes))
    lasted = spent.call[1] - spent.call[0]
    if spent.device is not None:
        lasted = np.maximum(lasted, spent.device[1] - spent.device[0])
    longest = np.bincount(inverse, lasted if took is None else took, distinct.size)
    evidence = []
    for at in np.argsort(-longest, kind="stable")[:MOST_PLACES].tolist():
        mine = inverse == at
        device = None if spent.device is None or took is not None else _longest(spent.device, spent.engine, mine)
        seconds = _longest(spent.call, spent.thread, mine) if took is None else float(took[mine].sum())
        shown = seconds or device or 0.0
        evidence.append(Evidence(_text(scene, int(distinct[at])), int(calls[at]), int(moved[at]), shown, device))
    return sorted(evidence, key=_by_time)


def _longest(when: tuple[Seconds, Seconds], of: Integers | None, mine: Mask) -> float:
    """The seconds of the thread or engine that was at these longest; no moment counts twice."""
    owners = np.zeros(mine.size, np.int64) if of is None else of
    each = (mine & (owners == owner) for owner in np.unique(owners[mine]))
    return max((float(union(when[0][rows], when[1][rows]).length) for rows in each), default=0.0)


def _by_time(evidence: Evidence) -> float:
    return -max(evidence.seconds, evidence.device_seconds or 0.0)


def gathered(evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """One entry a place, of all processes together, those with the most time first; times are of the longest."""
    by_place: dict[str, Evidence] = {}
    for each in evidence:
        known = by_place.get(each.place)
        by_place[each.place] = each if known is None else _both(known, each)
    return tuple(sorted(by_place.values(), key=_by_time))[:MOST_PLACES]


def _both(one: Evidence, other: Evidence) -> Evidence:
    devices = [each for each in (one.device_seconds, other.device_seconds) if each is not None]
    longest, calls, moved = max(one.seconds, other.seconds), one.calls + other.calls, one.bytes + other.bytes
    return Evidence(one.place, calls, moved, longest, max(devices, default=None))


def previous(order: Integers, *keys: Integers) -> Integers:
    """For each entry the one before it, by `order`, that is equal in every key; -1 where there is none."""
    earlier = np.full(order.size, -1, np.int64)
    if order.size < 2:
        return earlier
    places = np.lexsort((order, *keys))
    same = np.ones(order.size - 1, np.bool_)
    for key in keys:
        same &= key[places][1:] == key[places][:-1]
    earlier[places[1:][same]] = places[:-1][same]
    return earlier
