"""What chunks and streams gain for one kind of memory, how near the bound that comes, and why not nearer."""

from collections.abc import Sequence

from isthmus.model.contrast import MATTERS
from isthmus.model.finding import Finding
from isthmus.model.overlap import Overlap, PipelinePoint
from isthmus.model.overlap_exchange import Exchange
from isthmus.model.overlap_words import percent, speedup_words, way_words, work_words
from isthmus.model.phrases import capitalised, enumerated, memory_name
from isthmus.record import Run, format_bytes, format_seconds

__all__ = ["gain_finding"]

# A pipeline below this share of its bound, for certain, has a cause worth naming.
_NEAR_BOUND = 0.95
# A share of its time that copies alone must take to be what limits a pipeline.
_LIMITS = 0.9
_MUCH = f"{100 * (MATTERS - 1):.0f} %"
_REPEAT = "Measure with --full on a quiet machine."
_SHARED = "The processor does all three stages itself: what runs at the same time shares its cores."


def gain_finding(run: Run, each: Overlap, both: Sequence[Exchange], mains: Sequence[Overlap]) -> Finding:
    """One finding; `both` are the exchanges of this size, `mains` all kinds at the size to compare at."""
    name, best, serial = memory_name(each.host_memory), each.best, each.serial
    topic = f"overlap_{each.host_memory}" + (f"_{each.bytes}" if each.bytes != mains[0].bytes else "")
    what = f"{capitalised(name)}, {format_bytes(each.bytes)}, {work_words(each.work)}"
    if best is None or serial is None or best.speedup is None:
        missing = "one chunk was" if best else "several chunks were"
        return Finding(
            "info", topic, f"{what}: {missing} not measured, so nothing can be said about what overlap gains."
        )
    way = way_words(each.host_memory, best.chunks, best.streams)
    took = f"{way} take {format_seconds(best.seconds.median)}"
    if each.gains == "yes":
        reached = ""
        if best.share and best.bound:
            reached = f", and reach {percent(best.share)} of the bound ({format_seconds(best.bound.median)})"
        cause = _why_not_nearer(run, each, best, both)
        return Finding("info", topic, f"{what}: {took}, {speedup_words(best, serial)}{reached}.", cause=cause)
    if each.gains == "no":
        verdict = "lose; even the best" if each.loses else "gain nothing; the best"
        text = f"{what}: chunks and streams {verdict}, {way}, are {speedup_words(best, serial)}."
        cause, fix = _why_nothing(run, each, mains)
        return Finding("warning" if cause else "info", topic, text, cause=cause, fix=fix)
    return Finding("info", topic, f"{what}: {_uncertain(each, best, serial)}.", fix=_REPEAT)


def _uncertain(each: Overlap, best: PipelinePoint, serial: PipelinePoint) -> str:
    """What is said where some intervals leave room for a gain, in agreement with the one that it shows."""
    surest = each.surest or best
    way = way_words(each.host_memory, surest.chunks, surest.streams)
    many = sum(point.chunks > 1 and point.speedup is not None for point in each.points.values())
    if surest.speedup and surest.speedup.low > MATTERS:
        return (
            f"only one of the {many} pipelines of several chunks is faster by {_MUCH} or more for certain, "
            f"and one alone may be chance; {way} are {speedup_words(surest, serial)}"
        )
    if surest.speedup and surest.speedup.low > 1:
        return (
            f"chunks and streams gain, but whether as much as {_MUCH} this run cannot tell; {way} are "
            f"{speedup_words(surest, serial)}"
        )
    way = way_words(each.host_memory, best.chunks, best.streams)
    told = "this run cannot tell whether chunks and streams gain"
    return f"{told}; the best, {way}, are {speedup_words(best, serial)}"


def _why_not_nearer(run: Run, each: Overlap, best: PipelinePoint, both: Sequence[Exchange]) -> str:
    if best.share is None or best.share.high >= _NEAR_BOUND:
        return ""
    exchange = next((found for found in both if found.host_memory == each.host_memory), None)
    slowed = exchange is not None and exchange.hidden.high < _NEAR_BOUND
    if exchange and slowed and exchange.seconds.median >= _LIMITS * best.seconds.median:
        return (
            f"The copies alone take {format_seconds(exchange.seconds.median)} when both directions run at once, "
            "without any work: they slow each other down, which the bound does not know."
        )
    if run.fingerprint.device.shares_host_memory:
        return _SHARED
    return ""


def _why_nothing(run: Run, each: Overlap, mains: Sequence[Overlap]) -> tuple[str, str]:
    if run.fingerprint.device.shares_host_memory:
        return _SHARED, ""
    if each.host_memory != "pageable":
        return "", ""
    better = [other for other in mains if other.gains == "yes" and other.host_memory in ("pinned", "staged")]
    ways = [
        f"{memory_name(other.host_memory)} takes {format_seconds(other.best.seconds.median)}"
        for other in better
        if other.best
    ]
    cause = "A copy of pageable memory occupies the thread that starts it, so nothing else is started meanwhile."
    return cause, f"Use memory that can be copied in the background: {enumerated(ways)}." if ways else ""
