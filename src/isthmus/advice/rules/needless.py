"""Copies that need not be made: the same content again, data that comes back unchanged, data that is never read."""

from dataclasses import replace

import numpy as np

from isthmus.advice.code import own_code
from isthmus.advice.new_pages import freed_after
from isthmus.advice.places import previous
from isthmus.advice.rates import Range, Rates, priced
from isthmus.advice.records import Mask
from isthmus.advice.rule import Draft, Rule, Summary, Words, removed
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import FASTEST_WRITE_BYTES_PER_SECOND
from isthmus.language import say
from isthmus.record import decimal_bytes, near_bytes
from isthmus.trace import UNKNOWN, Integers, direction_index


def round_trips(scene: Scene, rates: Rates) -> tuple[Integers, Integers]:
    """Copies to the host, and for each the copy that brought the same back to the device."""
    rows = scene.copies
    inward = scene.trace.copies.direction[rows] == direction_index("h2d")
    copies = scene.trace.copies
    order, sizes = np.arange(rows.size), copies.bytes[rows]
    there = np.full(rows.size, -1)
    # A library may send it from memory of its own, so that only contents tell.
    for key in (scene.host_address(rows), copies.content[rows]):
        before = previous(order, key, sizes)
        back = inward & (there < 0) & (key != UNKNOWN) & (before >= 0)
        back[back] = ~inward[before[back]]
        back[back] = _unchanged(scene, rates, rows[before[back]], rows[back])
        there[back] = before[back]
    returned = there >= 0
    return rows[there[returned]], rows[returned]


def _unchanged(scene: Scene, rates: Rates, there: Integers, back: Integers) -> Mask:
    """Whether what came back is what had left: by its content, else because the host had no time to change it.

    Without contents it also has to go back to where it was on the device.
    """
    if not back.size:
        return np.zeros(0, np.bool_)
    content = scene.trace.copies.content
    known = (content[there] != UNKNOWN) & (content[back] != UNKNOWN)
    device = scene.device_address(there)
    same_place = (device == scene.device_address(back)) & (device != UNKNOWN)
    end, begin = scene.occupied(there)[1], scene.asked(back)
    # Calls in between are no time in which that thread could have changed it.
    between = np.maximum(begin - end, 0.0)
    if "calls" in scene.trace.knows:
        between = between - scene.calling.covered(end, begin)
    # To write so many bytes takes the host what a memcpy does; where that is unknown, at least what the fastest takes.
    sizes, memcpy = scene.trace.copies.bytes[back], priced(rates.memcpy, scene.trace.copies.bytes[back])
    least = sizes / FASTEST_WRITE_BYTES_PER_SECOND if memcpy is None else memcpy[:, 0]
    unchanged = same_place & (between < least)
    same: Mask = np.where(known, content[there] == content[back], unchanged)
    return same


def _find_round_trip(scene: Scene, rates: Rates) -> Draft | None:
    there, back = round_trips(scene, rates)
    if not back.size:
        return None
    facts = {"trips": back.size, "bytes": int(np.median(scene.trace.copies.bytes[back]))}
    facts["contents"] = int((scene.trace.copies.content[back] != UNKNOWN).all())
    draft = removed(scene, rates, np.unique(np.concatenate([there, back])), facts)
    moved, freed = _moved_by_host(scene, rates, there, back), freed_after(scene, rates, there)
    if draft is None or not (moved.any() or freed.any()):
        return draft
    gains = draft.gains.copy()
    gains[np.searchsorted(draft.rows, back)] += moved
    gains[np.searchsorted(draft.rows, there)] += freed
    beyond = float(moved[:, 2].sum() + freed[:, 2].sum())
    return replace(draft, gains=gains, bound=scene.exposed_together(draft.rows) + beyond)


def _moved_by_host(scene: Scene, rates: Rates, there: Integers, back: Integers) -> Range:
    """Seconds, at most, in which the host copied what had come to where it was sent from; none where that is one place.

    None without rates, either; what else the host did then it still does.
    """
    came, left = scene.host_address(there), scene.host_address(back)
    own = scene.own_time(scene.occupied(there)[1], scene.asked(back))
    own = np.where((came != left) & (came != UNKNOWN) & (left != UNKNOWN), own, 0.0)
    memcpy = priced(rates.memcpy, scene.trace.copies.bytes[back])
    return np.zeros((back.size, 3)) if memcpy is None else np.minimum(own[:, np.newaxis], memcpy)


def _words_round_trip(summary: Summary) -> Words:
    facts = summary.facts
    seen = say("advice.round_trip_by_content" if facts["contents"] else "advice.round_trip_by_place")
    return Words(
        say("advice.round_trip_title", count=facts["trips"], size=near_bytes(facts["bytes"])),
        seen,
        say("advice.round_trip_change"),
        say("advice.removed_pricing"),
        own_code("round_trip", summary.interface),
        "round-trip",
    )


ROUND_TRIP = Rule("round-trip", (("addresses", "contents"),), _find_round_trip, _words_round_trip)


def _find_duplicate(scene: Scene, rates: Rates) -> Draft | None:
    copies = scene.trace.copies
    rows = scene.of("h2d")
    rows = rows[copies.content[rows] != UNKNOWN]
    again = previous(np.arange(rows.size), copies.content[rows], copies.bytes[rows], copies.device[rows]) >= 0
    distinct = np.unique(copies.content[rows[again]]).size
    return removed(scene, rates, rows[again], {"distinct": distinct})


def _words_duplicate(summary: Summary) -> Words:
    return Words(
        say("advice.duplicate_title", count=summary.calls, size=decimal_bytes(summary.bytes)),
        say("advice.duplicate_cause", count=summary.facts["distinct"]),
        say("advice.duplicate_change"),
        say("advice.removed_pricing"),
        own_code("duplicate", summary.interface),
        "duplicate",
    )


DUPLICATE = Rule("duplicate", (("contents",),), _find_duplicate, _words_duplicate)


def _find_unused(scene: Scene, rates: Rates) -> Draft | None:
    copies = scene.trace.copies
    rows = scene.of("h2d")
    rows = rows[copies.destination_address[rows] != UNKNOWN]
    begin, end = scene.kernels
    # A program without a kernel in the trace computes where the trace does not see it.
    if not begin.size or not rows.size:
        return None
    keys = (copies.destination_address[rows], copies.bytes[rows], copies.device[rows])
    before = previous(np.arange(rows.size), *keys)
    later = np.flatnonzero(before >= 0)
    first, second = rows[before[later]], rows[later]
    # What may read it: kernels, and copies that are not to the device.
    inward = copies.direction == direction_index("h2d")
    readers = np.flatnonzero((copies.process == scene.process) & ~inward)
    begins = np.sort(np.concatenate([begin, scene.device_begin(readers)]))
    ends = np.sort(np.concatenate([end, scene.device_end(readers)]))
    begun = np.searchsorted(begins, scene.device_begin(second))
    over = np.searchsorted(ends, scene.device_begin(first), "right")
    return removed(scene, rates, first[begun == over], {})


def _words_unused(summary: Summary) -> Words:
    return Words(
        say("advice.unused_title", count=summary.calls, size=decimal_bytes(summary.bytes)),
        say("advice.unused_cause"),
        say("advice.unused_change"),
        say("advice.removed_pricing"),
    )


UNUSED = Rule("unused", (("addresses",), ("kernels",)), _find_unused, _words_unused, windows="never")
