"""Where in the program records come from: by call site, else by call, else by direction; and groups of records."""

from collections.abc import Sequence

import numpy as np

from isthmus.advice.finding import Evidence
from isthmus.advice.rates import Seconds
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import MOST_PLACES
from isthmus.language import say
from isthmus.trace import DIRECTIONS, UNKNOWN, Integers, site_words

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


def size_steps(sizes: Integers) -> Integers:
    """Numbers that are the same for sizes within a fifth of one another, or so."""
    return np.round(np.log2(np.maximum(sizes, 1)) * _STEPS_A_DOUBLING).astype(np.int64)


def place_evidence(scene: Scene, places: Integers, sizes: Integers, seconds: Seconds) -> list[Evidence]:
    """What comes from each place, those with the most time first, as many as are shown."""
    distinct, inverse = np.unique(places, return_inverse=True)
    calls = np.bincount(inverse, minlength=distinct.size)
    lasted = np.bincount(inverse, seconds, distinct.size)
    moved = np.zeros(distinct.size, np.int64)
    np.add.at(moved, inverse, np.where(sizes == UNKNOWN, 0, sizes))
    first = np.argsort(-lasted, kind="stable")[:MOST_PLACES].tolist()
    return [
        Evidence(_text(scene, int(distinct[at])), int(calls[at]), int(moved[at]), float(lasted[at])) for at in first
    ]


def gathered(evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """One entry a place, of all processes together, those with the most time first."""
    by_place: dict[str, Evidence] = {}
    for each in evidence:
        known = by_place.get(each.place, Evidence(each.place, 0, 0, 0.0))
        by_place[each.place] = Evidence(
            each.place, known.calls + each.calls, known.bytes + each.bytes, known.seconds + each.seconds
        )
    return tuple(sorted(by_place.values(), key=lambda each: -each.seconds))[:MOST_PLACES]


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
