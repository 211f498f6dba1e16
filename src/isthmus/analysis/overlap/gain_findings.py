"""What chunks and streams gain for one kind of memory, how near the bound that comes, and why not nearer."""

from collections.abc import Sequence

from isthmus.analysis.overlap.exchange import Exchange
from isthmus.analysis.overlap.model import Overlap, PipelinePoint
from isthmus.analysis.overlap.words import percent, speedup_words, way_words, work_words
from isthmus.analysis.phrases import memory_name
from isthmus.analysis.statistics.contrast import MATTERS
from isthmus.document.finding import Finding
from isthmus.language import capitalised, enumerated, say
from isthmus.record import Run, format_bytes, format_seconds

__all__ = ["gain_finding"]

# A pipeline below this share of its bound, for certain, has a cause worth naming.
_NEAR_BOUND = 0.95
# A share of its time that copies alone must take to be what limits a pipeline.
_LIMITS = 0.9
_MUCH = 100 * (MATTERS - 1)


def gain_finding(run: Run, each: Overlap, both: Sequence[Exchange], mains: Sequence[Overlap]) -> Finding:
    """One finding; `both` are the exchanges of this size, `mains` all kinds at the size to compare at."""
    name, best, serial = memory_name(each.host_memory), each.best, each.serial
    topic = f"overlap_{each.host_memory}" + (f"_{each.bytes}" if each.bytes != mains[0].bytes else "")
    what = say("overlap.what", memory=capitalised(name), size=format_bytes(each.bytes), work=work_words(each.work))
    if best is None or serial is None or best.speedup is None:
        return Finding("info", topic, say("overlap.serial_missing" if best else "overlap.chunks_missing", what=what))
    way, faster = way_words(each.host_memory, best.chunks, best.streams), speedup_words(best, serial)
    if each.gains == "yes":
        time = format_seconds(best.seconds.median)
        text = say("overlap.gains", what=what, way=way, time=time, faster=faster)
        if best.share and best.bound:
            share, bound = percent(best.share), format_seconds(best.bound.median)
            key = "overlap.gains_of_bound"
            text = say(key, what=what, way=way, time=time, faster=faster, share=share, bound=bound)
        return Finding("info", topic, text, cause=_why_not_nearer(run, each, best, both))
    if each.gains == "no":
        key = "overlap.loses" if each.loses else "overlap.gains_nothing"
        cause, fix = _why_nothing(run, each, mains)
        text = say(key, what=what, way=way, faster=faster)
        return Finding("warning" if cause else "info", topic, text, cause=cause, fix=fix)
    return Finding("info", topic, _uncertain(what, each, best, serial), fix=say("overlap.repeat"))


def _uncertain(what: str, each: Overlap, best: PipelinePoint, serial: PipelinePoint) -> str:
    """What is said where some intervals leave room for a gain, in agreement with the one that it shows."""
    surest = each.surest or best
    way = way_words(each.host_memory, surest.chunks, surest.streams)
    many = sum(point.chunks > 1 and point.speedup is not None for point in each.points.values())
    if surest.speedup and surest.speedup.low > MATTERS:
        faster = speedup_words(surest, serial)
        return say("overlap.only_one", what=what, pipelines=many, percent=_MUCH, way=way, faster=faster)
    if surest.speedup and surest.speedup.low > 1:
        return say("overlap.gains_some", what=what, percent=_MUCH, way=way, faster=speedup_words(surest, serial))
    way = way_words(each.host_memory, best.chunks, best.streams)
    return say("overlap.cannot_tell", what=what, way=way, faster=speedup_words(best, serial))


def _why_not_nearer(run: Run, each: Overlap, best: PipelinePoint, both: Sequence[Exchange]) -> str:
    if best.share is None or best.share.high >= _NEAR_BOUND:
        return ""
    exchange = next((found for found in both if found.host_memory == each.host_memory), None)
    slowed = exchange is not None and exchange.hidden.high < _NEAR_BOUND
    if exchange and slowed and exchange.seconds.median >= _LIMITS * best.seconds.median:
        return say("overlap.slowed", time=format_seconds(exchange.seconds.median))
    if run.fingerprint.device.shares_host_memory:
        return say("overlap.shared")
    return ""


def _why_nothing(run: Run, each: Overlap, mains: Sequence[Overlap]) -> tuple[str, str]:
    if run.fingerprint.device.shares_host_memory:
        return say("overlap.shared"), ""
    if each.host_memory != "pageable":
        return "", ""
    better = [other for other in mains if other.gains == "yes" and other.host_memory in ("pinned", "staged")]
    ways = [
        say("overlap.takes", memory=memory_name(other.host_memory), time=format_seconds(other.best.seconds.median))
        for other in better
        if other.best
    ]
    fix = say("overlap.background", ways=enumerated(ways)) if ways else ""
    return say("overlap.pageable_cause"), fix
