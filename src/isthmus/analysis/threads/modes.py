"""Ways to divide a transfer, compared: own streams or a shared one, chunks or slices, both directions at once."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from isthmus.analysis.statistics.contrast import Contrast, paired, ratio
from isthmus.analysis.threads.model import ThreadCurve, worker_curves
from isthmus.record import Interval


def own_against_shared(curves: Sequence[ThreadCurve]) -> list[tuple[ThreadCurve, Contrast]]:
    """Each curve with a stream for every thread, against the same with one shared stream, over its numbers of threads.

    One thread is left out: it has one stream either way.
    """
    chosen = worker_curves(curves)
    own = {(*curve.subject, curve.slicing): curve for curve in chosen if curve.streams == "own"}
    shared = {(*curve.subject, curve.slicing): curve for curve in chosen if curve.streams == "shared"}
    return _contrasts(own, shared)


def chunks_against_slices(curves: Sequence[ThreadCurve]) -> list[tuple[ThreadCurve, Contrast]]:
    """Each curve whose threads take chunks, against the same with a slice for each, from two threads on."""
    chosen = worker_curves(curves)
    chunks = {(*curve.subject, curve.streams): curve for curve in chosen if curve.slicing == "chunks"}
    slices = {(*curve.subject, curve.streams): curve for curve in chosen if curve.slicing == "slices"}
    return _contrasts(chunks, slices)


_Key = TypeVar("_Key", bound=Hashable)


def _contrasts(
    first: Mapping[_Key, ThreadCurve], second: Mapping[_Key, ThreadCurve]
) -> list[tuple[ThreadCurve, Contrast]]:
    found = []
    for key, curve in first.items():
        other = second[key].points if key in second else {}
        counts = [count for count in curve.points if count > 1 and count in other]
        gap = paired([(count, curve.points[count], other[count]) for count in counts])
        found += [(curve, gap)] if gap else []
    return found


@dataclass(frozen=True)
class BothWays:
    """Both directions at once against each alone with as many threads.

    `sum` is the rate of both together, `share` that over the two directions' own rates added up, with the interval that
    the ends of theirs allow: 1 where they do not hinder each other, about one half where they take turns.
    """

    curve: ThreadCurve
    threads: int
    sum: Interval
    alone: Interval
    share: Interval


def threads_both_ways(curves: Sequence[ThreadCurve]) -> list[BothWays]:
    """For every curve both ways, and each of its numbers of threads, how it compares; empty where either was alone."""
    chosen = worker_curves(curves)
    found = []
    for curve in chosen:
        if curve.direction != "both":
            continue
        there, back = (_one_way(chosen, curve, direction) for direction in ("h2d", "d2h"))
        if there is None or back is None:
            continue
        for threads, point in curve.points.items():
            if threads not in there.points or threads not in back.points:
                continue
            ways = there.points[threads].rate, back.points[threads].rate
            alone = Interval(*(sum(ends) for ends in zip(*ways, strict=True)))
            found.append(BothWays(curve, threads, point.rate, alone, ratio(point.rate, alone)))
    return found


def _one_way(curves: Sequence[ThreadCurve], both: ThreadCurve, direction: str) -> ThreadCurve | None:
    wanted = (both.host_memory, both.bytes, both.streams, both.slicing, direction)
    for curve in curves:
        if (curve.host_memory, curve.bytes, curve.streams, curve.slicing, curve.direction) == wanted:
            return curve
    return None
