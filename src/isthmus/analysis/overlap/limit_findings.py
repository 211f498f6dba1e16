"""What limits overlap: copies that take turns, the cost of a chunk, and bounds that are none."""

from collections.abc import Sequence

from isthmus.analysis.overlap.chunks import chunk_cost
from isthmus.analysis.overlap.exchange import Exchange
from isthmus.analysis.overlap.model import Overlap
from isthmus.analysis.overlap.words import percent, way_words, work_words, workers_words
from isthmus.analysis.phrases import memory_name
from isthmus.document.finding import Finding, Severity
from isthmus.language import say, sentences
from isthmus.record import Interval, Run, format_bytes, format_rate, format_seconds

__all__ = ["above_bound_finding", "both_ways_finding", "chunk_cost_finding"]

# Memory that the copy engines read and write themselves says most about them.
_ENGINES_SEEN_WITH = ("pinned", "staged", "pageable")
# Above this share of the bound, for certain, the bound is what is wrong.
_ABOVE_BOUND = 1.03


def both_ways_finding(run: Run, both: Sequence[Exchange]) -> Finding | None:
    """What the copy engines do, seen with memory that they can read and write themselves where it was measured."""
    both = [each for each in both if each.host_memory in _ENGINES_SEEN_WITH]
    if not both:
        return None
    found = min(both, key=lambda each: _ENGINES_SEEN_WITH.index(each.host_memory))
    text = say(
        "overlap.both_ways",
        size=format_bytes(found.bytes),
        memory=memory_name(found.host_memory),
        way=way_words(found.host_memory, found.chunks, found.streams),
        time=format_seconds(found.seconds.median),
        rate=format_rate(2 * found.bytes / found.seconds.median),
        serial=format_seconds(found.into.median + found.out.median),
        ideal=format_seconds(found.bound.median),
        answer=_exchange_answer(found),
    )
    engines = run.fingerprint.device.copy_engines
    if engines:
        text = sentences([text, say("overlap.engines", count=engines)])
    if found.answer != "no":
        return Finding("info", "overlap_both_ways", text)
    shared = run.fingerprint.device.shares_host_memory
    cause = say("overlap.copies_shared") if shared else ""
    cause = say("overlap.one_engine") if engines == 1 else cause
    severity: Severity = "info" if shared else "warning"
    return Finding(severity, "overlap_both_ways", text, cause=cause, fix=say("overlap.both_ways_fix"))


def _exchange_answer(found: Exchange) -> str:
    match found.answer:
        case "yes":
            return say("overlap.at_once", share=percent(found.hidden))
        case "partly":
            return say("overlap.in_part", share=percent(found.hidden))
        case "no":
            return say("overlap.hinder" if found.hidden.high < 0 else "overlap.turns")
        case _:
            return say("overlap.at_once_unknown")


def chunk_cost_finding(mains: Sequence[Overlap]) -> Finding | None:
    """For the first kind of memory with enough numbers of chunks."""
    for each in mains:
        cost = chunk_cost(each)
        if cost is None:
            continue
        workers = workers_words(each.host_memory, cost.streams)
        memory, first, last = memory_name(each.host_memory), cost.chunks[0], cost.chunks[-1]
        low, median, high = (
            format_seconds(value) for value in (cost.seconds.low, cost.seconds.median, cost.seconds.high)
        )
        if cost.ideal is None:
            key = "overlap.chunk_cost_at_most" if cost.seconds.high > 0 else "overlap.chunk_cost_unknown"
            text = say(key, workers=workers, memory=memory, first=first, last=last, high=high)
            return Finding("info", "overlap_chunk_cost", text)
        text = say(
            "overlap.chunk_cost",
            workers=workers,
            memory=memory,
            first=first,
            last=last,
            low=low,
            median=median,
            high=high,
            ideal=_ideal_words(cost.ideal, cost.chunks),
        )
        return Finding("info", "overlap_chunk_cost", text)
    return None


def _ideal_words(ideal: Interval, chunks: Sequence[int]) -> str:
    """From how many chunks on a further one costs more than it saves, as far as these numbers of chunks tell."""
    least, most = chunks[0], chunks[-1]
    if ideal.low > most:
        return say("overlap.ideal_above", most=most)
    if ideal.high < least:
        return say("overlap.ideal_below", least=least)
    if not least <= ideal.median <= most:
        return say("overlap.ideal_unknown", most=most)
    low = say("overlap.fewer_than", chunks=least) if ideal.low < least else f"{ideal.low:.0f}"
    high = say("overlap.more_than", chunks=most) if ideal.high > most else f"{ideal.high:.0f}"
    about = f"{ideal.median:.0f}"
    if low == high == about:
        return say("overlap.ideal", about=about)
    return say("overlap.ideal_span", about=about, low=low, high=high)


def above_bound_finding(run: Run, everything: Sequence[Overlap]) -> Finding | None:
    """Pipelines that are faster than they could be if the stages alone were all there is to know."""
    points = [(each, point) for each in everything for point in each.points.values() if point.share]
    above = [(each, point) for each, point in points if point.share and point.share.low > _ABOVE_BOUND]
    if not above:
        return None
    each, most = max(above, key=lambda pair: pair[1].share.median if pair[1].share else 0.0)
    assert most.share is not None
    text = say(
        "overlap.above_bound",
        count=len(above),
        pipelines=len(points),
        way=way_words(each.host_memory, most.chunks, most.streams),
        memory=memory_name(each.host_memory),
        work=work_words(each.work),
        share=percent(most.share),
    )
    shared = run.fingerprint.device.shares_host_memory
    cause = say("overlap.above_bound_caches" if shared else "overlap.above_bound_cause")
    return Finding("info", "overlap_above_bound", text, cause=cause)
