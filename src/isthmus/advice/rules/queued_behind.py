"""Small copies that wait behind a large one of another stream: each direction has one engine, which works in order."""

from typing import NamedTuple

import numpy as np

from isthmus.advice.rates import Rates, Seconds
from isthmus.advice.records import Mask
from isthmus.advice.rule import Draft, Rule, Summary, Words
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import CHUNK_BYTES, LEAST_CHUNKS, LONGEST_HANDOVER_SECONDS, SMALL_COPY_BYTES, least_gain
from isthmus.language import say
from isthmus.record import format_bytes, format_seconds, near_bytes
from isthmus.trace import UNKNOWN, Integers, Union, grouped, union, vendors


class _Queue(NamedTuple):
    """Small copies that one engine began when it was done with a large copy of another stream."""

    small: Integers
    # The large copy that each waited for last.
    large: Integers
    # Seconds in which something waited for each, its engine was at large copies and nothing else went on; and seconds
    # after each that could run during the large copies.
    delay: Seconds
    after: Seconds
    # Whether the host waited for that copy alone; a kernel may wait for more.
    sure: Mask


def _find(scene: Scene, _rates: Rates) -> Draft | None:
    copies, every = scene.trace.copies, scene.copies
    engines = [every[rows] for rows in grouped(copies.direction[every], copies.device[every])]
    queues = [queue for rows in engines if (queue := _queue(scene, rows)) is not None]
    if not queues:
        return None
    small, large, delay, after, sure = (np.concatenate(column) for column in zip(*queues, strict=True))
    # In chunks, a large copy lets others in after the one that is in progress, and at worst one more.
    chunk = (scene.device_end(large) - scene.device_begin(large)) * CHUNK_BYTES / copies.bytes[large]
    median, low, high = (np.clip(delay - times * chunk, 0.0, after) for times in (1, 2, 0))
    useful = median > 0
    total = float(median.sum())
    if total < least_gain(scene.span_seconds):
        return None
    gains = np.stack([median, np.where(sure, low, 0.0), high], 1)[useful]
    small, large, delay = small[useful], large[useful], delay[useful]
    # The large copies are what is to change.
    behind, place = np.unique(large, return_inverse=True)
    of_large = np.zeros((behind.size, 3))
    np.add.at(of_large, place, gains)
    facts = {
        "count": small.size,
        "size": int(copies.bytes[small].max()),
        "large": int(np.median(copies.bytes[behind])),
        "each": float(delay.mean()),
        "chunk": float(np.median(chunk[useful])),
    }
    every_gain = np.concatenate([np.zeros((small.size, 3)), of_large])
    took = np.concatenate([delay, np.zeros(behind.size)])
    return Draft("copies", np.concatenate([small, behind]), every_gain, bound=total, facts=facts, took=took)


def _queue(scene: Scene, rows: Integers) -> _Queue | None:
    """What waited in the queue of an engine that made these copies."""
    copies = scene.trace.copies
    rows = rows[np.argsort(scene.device_begin(rows), kind="stable")]
    begin, end, streams = scene.device_begin(rows), scene.device_end(rows), copies.stream[rows]
    at_large = np.flatnonzero(copies.bytes[rows] >= LEAST_CHUNKS * CHUNK_BYTES)
    if not at_large.size:
        return None
    # For each copy the last large one before it, and when the engine was done with all before it.
    before = np.searchsorted(at_large, np.arange(rows.size)) - 1
    last = at_large[np.maximum(before, 0)]
    done = np.concatenate([[-np.inf], np.maximum.accumulate(end)[:-1]])
    behind = (
        (copies.bytes[rows] <= SMALL_COPY_BYTES) & (before >= 0) & (np.abs(begin - done) < LONGEST_HANDOVER_SECONDS)
    )
    behind &= (streams != streams[last]) & (streams != UNKNOWN) & (streams[last] != UNKNOWN)
    at = np.flatnonzero(behind)
    if not at.size:
        return None
    waited, sure = _waited_for(scene, rows[at])
    # One behind another small copy has waited for the large one only since the other began.
    since = np.maximum.reduce([_ready(scene, rows[at]), waited, np.concatenate([[-np.inf], begin[at][:-1]])])
    delay = _alone(scene, rows, at_large).covered(since, begin[at])
    # Until the engine is at the next large copy, or what needs this one begins.
    starts = np.append(begin[at_large], scene.span_seconds)
    until = starts[np.searchsorted(starts[:-1], end[at])]
    kernels_begin = _kernels_begin(scene)
    needing = _first_from(scene.trace.kernels.stream, kernels_begin, streams[last[at]], end[last[at]])
    after = np.maximum(np.minimum(until, _at(kernels_begin, needing)) - end[at], 0.0)
    return _Queue(rows[at], rows[last[at]], delay, after, sure)


def _alone(scene: Scene, rows: Integers, at_large: Integers) -> Union:
    """When an engine was at its large copies, and nothing else went on."""
    others = scene.copies[~np.isin(scene.copies, rows)]
    busy = [scene.kernels, scene.working(scene.trace.memsets), (scene.device_begin(others), scene.device_end(others))]
    concurrent = union(*(np.concatenate(each) for each in zip(*busy, strict=True)))
    return union(scene.device_begin(rows[at_large]), scene.device_end(rows[at_large])).without(concurrent)


def _ready(scene: Scene, rows: Integers) -> Seconds:
    """When each copy could have begun: it was asked for, and what came before it on its stream was done."""
    trace, begin, ready = scene.trace, scene.device_begin(rows), scene.asked(rows)
    for table in (trace.kernels, trace.copies, trace.memsets):
        mine = np.where(table.process == scene.process, table.stream, UNKNOWN)
        backwards = -scene.moments(table.end_ns)
        last = _first_from(mine, backwards, trace.copies.stream[rows], -begin)
        ready = np.maximum(ready, -_at(backwards, last))
    return ready


def _waited_for(scene: Scene, rows: Integers) -> tuple[Seconds, Mask]:
    """From when on something waited for each copy, without end where nothing did; and whether that was the host."""
    trace, begin, end = scene.trace, scene.device_begin(rows), scene.device_end(rows)
    awaited = np.where(scene.blocking(rows), scene.asked(rows), np.inf)
    calls = np.flatnonzero((trace.calls.process == scene.process) & scene.synchronizing(np.arange(len(trace.calls))))
    # Who waits for all of a device waits for the large copy, too.
    of_all = np.array([vendors.waits_for_all(name) for name in trace.names], np.bool_)
    calls = calls[~of_all[trace.calls.name[calls]]]
    calls = calls[np.argsort(trace.calls.end_ns[calls], kind="stable")]
    if calls.size:
        called, returned = scene.moments(trace.calls.start_ns[calls]), scene.moments(trace.calls.end_ns[calls])
        place = np.minimum(np.searchsorted(returned, end), calls.size - 1)
        ended = (returned[place] >= end) & (returned[place] - end < LONGEST_HANDOVER_SECONDS)
        awaited = np.where(ended & (called[place] < begin), np.minimum(awaited, called[place]), awaited)
    sure = np.isfinite(awaited)
    kernels, begun = trace.kernels, _kernels_begin(scene)
    known = (kernels.process == scene.process) & (kernels.call >= 0) & (kernels.call < len(trace.calls))
    if known.any():
        launched = scene.moments(trace.calls.start_ns[np.where(known, kernels.call, 0)])
        after = _first_from(np.where(known, kernels.stream, UNKNOWN), begun, trace.copies.stream[rows], end)
        follows = _at(begun, after) - end < LONGEST_HANDOVER_SECONDS
        awaited = np.where(follows, np.minimum(awaited, _at(launched, after)), awaited)
    return awaited, sure


def _kernels_begin(scene: Scene) -> Seconds:
    """When each kernel of the trace began."""
    return scene.moments(scene.trace.kernels.start_ns)


def _first_from(streams: Integers, moments: Seconds, of: Integers, since: Seconds) -> Integers:
    """For each `of` these streams the place of its first moment that is no earlier; UNKNOWN where there is none."""
    first = np.full(of.size, UNKNOWN)
    for stream in np.unique(of):
        asking, there = of == stream, np.flatnonzero(streams == stream)
        there = there[np.argsort(moments[there], kind="stable")]
        first[asking] = np.append(there, UNKNOWN)[np.searchsorted(moments[there], since[asking])]
    return first


def _at(moments: Seconds, places: Integers) -> Seconds:
    """The moments at these places, infinity where the place is UNKNOWN."""
    return np.append(moments, np.inf)[places]


def _words(summary: Summary) -> Words:
    facts = summary.facts
    sizes = {"size": format_bytes(facts["size"]), "large": near_bytes(facts["large"])}
    return Words(
        say("advice.behind_title", count=facts["count"]),
        say("advice.behind_cause", time=format_seconds(facts["each"]), **sizes),
        say("advice.behind_change", chunk=format_bytes(CHUNK_BYTES)),
        say("advice.behind_pricing", time=format_seconds(facts["chunk"])),
        lines="queued-behind",
    )


RULE = Rule(
    "queued-behind",
    (("calls",), ("kernels",)),
    _find,
    _words,
    by_trace=True,
    windows="each",
    totals=frozenset({"count"}),
)
