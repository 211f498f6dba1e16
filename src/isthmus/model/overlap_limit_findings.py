"""What limits overlap: copies that take turns, the cost of a chunk, and bounds that are none."""

from collections.abc import Sequence

from isthmus.model.finding import Finding
from isthmus.model.overlap import Overlap
from isthmus.model.overlap_chunks import chunk_cost
from isthmus.model.overlap_exchange import Exchange
from isthmus.model.overlap_words import percent, way_words, work_words
from isthmus.model.phrases import memory_name
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
    name = memory_name(found.host_memory)
    rate = 2 * found.bytes / found.seconds.median
    text = (
        f"{format_bytes(found.bytes)} of {name} in and as much out, in "
        f"{way_words(found.host_memory, found.chunks, found.streams)}, take {format_seconds(found.seconds.median)} "
        f"({format_rate(rate)} in sum) where one copy after the other takes "
        f"{format_seconds(found.into.median + found.out.median)} and an ideal exchange "
        f"{format_seconds(found.bound.median)}: "
    )
    saved = f"{percent(found.hidden)} of what an ideal exchange saves"
    text += {
        "yes": f"both directions run at once ({saved}).",
        "partly": f"the directions overlap in part ({saved}).",
        "no": "the directions hinder each other." if found.hidden.high < 0 else "the directions take turns.",
        "cannot tell": "this run cannot tell whether both directions run at once.",
    }[found.answer]
    engines = run.fingerprint.device.copy_engines
    if engines:
        text += f" The driver names {engines} copy engine{'' if engines == 1 else 's'}."
    if found.answer != "no":
        return Finding("info", "overlap_both_ways", text)
    shared = run.fingerprint.device.shares_host_memory
    cause = "The processor makes the copies of both directions itself." if shared else ""
    cause = "A single copy engine serves both directions." if engines == 1 else cause
    fix = "Do not count on hiding the way back behind the way there."
    return Finding("info" if shared else "warning", "overlap_both_ways", text, cause=cause, fix=fix)


def chunk_cost_finding(mains: Sequence[Overlap]) -> Finding | None:
    """For the first kind of memory with enough numbers of chunks."""
    for each in mains:
        cost = chunk_cost(each)
        if cost is None:
            continue
        name = memory_name(each.host_memory)
        span = f"between {cost.chunks[0]} and {cost.chunks[-1]} chunks of {name}"
        on = way_words(each.host_memory, 2, cost.streams).partition(" on ")[2]
        if cost.ideal is None:
            at_most = f"; it is {format_seconds(cost.seconds.high)} at most" if cost.seconds.high > 0 else ""
            text = f"What a further chunk costs, on {on} {span}, this run cannot tell from nothing{at_most}."
            return Finding("info", "overlap_chunk_cost", text)
        text = (
            f"Each further chunk costs {format_seconds(cost.seconds.median)} ({format_seconds(cost.seconds.low)} to "
            f"{format_seconds(cost.seconds.high)}) on {on}, {span}; {_ideal_words(cost.ideal, cost.chunks)}."
        )
        return Finding("info", "overlap_chunk_cost", text)
    return None


def _ideal_words(ideal: Interval, chunks: Sequence[int]) -> str:
    """From how many chunks on a further one costs more than it saves, as far as these numbers of chunks tell."""
    least, most = chunks[0], chunks[-1]
    if ideal.low > most:
        return f"up to {most}, the most measured, that is not more than a finer pipeline saves"
    if ideal.high < least:
        return f"with {least} chunks already that is more than a finer pipeline saves"
    if not least <= ideal.median <= most:
        return f"from how many chunks on that is more than a finer pipeline saves, up to {most} cannot tell"
    low = f"fewer than {least}" if ideal.low < least else f"{ideal.low:.0f}"
    high = f"more than {most}" if ideal.high > most else f"{ideal.high:.0f}"
    about = f"{ideal.median:.0f}"
    spread = "" if low == high == about else f" ({low} to {high})"
    return f"from about {about}{spread} chunks on that is more than a finer pipeline saves"


def above_bound_finding(run: Run, everything: Sequence[Overlap]) -> Finding | None:
    """Pipelines that are faster than they could be if the stages alone were all there is to know."""
    points = [(each, point) for each in everything for point in each.points.values() if point.share]
    above = [(each, point) for each, point in points if point.share and point.share.low > _ABOVE_BOUND]
    if not above:
        return None
    each, most = max(above, key=lambda pair: pair[1].share.median if pair[1].share else 0.0)
    assert most.share is not None
    which = "is faster than its bound, it" if len(above) == 1 else "are faster than their bound; the fastest"
    text = (
        f"{len(above)} of {len(points)} pipelines {which} is "
        f"{way_words(each.host_memory, most.chunks, most.streams)} of {memory_name(each.host_memory)}, "
        f"{work_words(each.work)}, with {percent(most.share)} of it. There it is no bound, and shares are too high."
    )
    if run.fingerprint.device.shares_host_memory:
        cause = (
            "A chunk is still in the processor's caches when the next stage takes it, or several chunks are worked "
            "on by as many of its cores; the stages that were measured alone had less of that."
        )
    else:
        cause = (
            "The stages, measured alone, took longer than they do within these pipelines; the run cannot tell whether "
            "that is a cache, a clock that rises with load, or another tenant."
        )
    return Finding("info", "overlap_above_bound", text, cause=cause)
