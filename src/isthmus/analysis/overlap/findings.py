"""What the overlap experiment says: all its findings, and what to take away."""

from collections.abc import Sequence

from isthmus.analysis.overlap.exchange import exchanges
from isthmus.analysis.overlap.gain_findings import gain_finding
from isthmus.analysis.overlap.limit_findings import above_bound_finding, both_ways_finding, chunk_cost_finding
from isthmus.analysis.overlap.model import Overlap, PipelinePoint, larger_overlaps, main_overlaps, overlaps
from isthmus.analysis.overlap.words import multiple_digits, way_words, work_words
from isthmus.analysis.phrases import memory_name, times
from isthmus.analysis.statistics.contrast import MATTERS, ratio
from isthmus.document.finding import Finding, Takeaway
from isthmus.language import capitalised, enumerated, say, sentences
from isthmus.record import Interval, Run, format_bytes, format_seconds

__all__ = ["overlap_findings", "overlap_verdict"]


def overlap_findings(run: Run) -> list[Finding]:
    """One for each kind of memory; then both ways at once, what a chunk costs, other work, and too low bounds."""
    everything = overlaps(run)
    mains = main_overlaps(everything)
    if not mains:
        return []
    size = mains[0].bytes
    exchanged = exchanges(run)
    both = [each for each in exchanged if each.bytes == size]
    single = [
        _comparison(mains),
        both_ways_finding(run, both),
        chunk_cost_finding(mains),
        _other_work([each for each in everything if each.bytes == size], mains),
        above_bound_finding(run, everything),
    ]
    gains = [
        gain_finding(run, each, [one for one in exchanged if one.bytes == each.bytes], mains)
        for each in (*mains, *larger_overlaps(everything, mains))
    ]
    return [*gains, *(finding for finding in single if finding)]


def overlap_verdict(run: Run) -> Takeaway | None:
    """What to take away about overlap; None where none was measured."""
    mains = [each for each in main_overlaps(overlaps(run)) if each.best and each.best.speedup]
    told = [_gained(each, each.best) for each in mains if each.gains == "yes" and each.best]
    without = [each for each in mains if each.gains == "no"]
    lost, none = ([memory_name(each.host_memory) for each in without if each.loses is loses] for loses in (True, False))
    if lost:
        told.append(say("overlap.takeaway_lose", count=len(lost), memories=enumerated(lost)))
    if none:
        told.append(say("overlap.takeaway_nothing", count=len(none), memories=enumerated(none)))
    unknown = [memory_name(each.host_memory) for each in mains if each.gains == "cannot tell"]
    if unknown:
        memories, much = enumerated(unknown), 100 * (MATTERS - 1)
        told.append(say("overlap.takeaway_unknown", count=len(unknown), memories=memories, percent=much))
    if not told:
        return None
    gaining = [each for each in mains if each.gains == "yes"]
    return Takeaway(sentences(map(capitalised, told)), say("overlap.takeaway_advice") if gaining else "")


def _gained(each: Overlap, best: PipelinePoint) -> str:
    assert best.speedup is not None
    memory, way = memory_name(each.host_memory), way_words(each.host_memory, best.chunks, best.streams)
    factor = f"{best.speedup.median:.2f}"
    if best.share is None:
        return say("overlap.takeaway_gain", memory=memory, way=way, factor=factor)
    percent = 100 * best.share.median
    return say("overlap.takeaway_gain_share", memory=memory, way=way, factor=factor, percent=percent)


def _comparison(mains: Sequence[Overlap]) -> Finding | None:
    """The best of each kind against pageable memory in one piece, which is what a program does first."""
    plain = next((each.serial for each in mains if each.host_memory == "pageable"), None)
    others = [(each, each.best) for each in mains if each.host_memory != "pageable" and each.best]
    if plain is None or not others or len({each.ratio for each in mains}) > 1:
        return None
    parts = []
    for each, best in others:
        faster = ratio(plain.seconds, best.seconds)
        time = format_seconds(best.seconds.median)
        memory = memory_name(each.host_memory)
        parts.append(say("overlap.memory_part", memory=memory, time=time, faster=_faster_words(faster)))
    text = say(
        "overlap.memory",
        size=format_bytes(mains[0].bytes),
        work=work_words(mains[0].work),
        time=format_seconds(plain.seconds.median),
        parts=enumerated(parts),
    )
    return Finding("info", "overlap_memory", text)


def _faster_words(faster: Interval) -> str:
    """``1.4 to 1.6 times as fast``, as far as the interval tells."""
    if faster.low > 1:
        return say("overlap.faster", times=times(faster.low, faster.high))
    if faster.high < 1:
        return say("overlap.slower", times=times(faster.low, faster.high))
    return say("overlap.no_faster" if faster.high < MATTERS else "overlap.perhaps_faster")


def _other_work(everything: Sequence[Overlap], mains: Sequence[Overlap]) -> Finding | None:
    """How the gain depends on the work, for the memory of the first main overlap."""
    of_kind = [each for each in everything if each.host_memory == mains[0].host_memory]
    told = [(each, best) for each in of_kind if (best := each.best) and best.speedup]
    if len(told) < 2:
        return None
    gains = []
    for each, best in told:
        key = "overlap.gain_with_uncertain" if each.gains == "cannot tell" else "overlap.gain_with"
        if best.speedup:
            gains.append(say(key, factor=f"{best.speedup.median:.2f}", work=multiple_digits(each.work)))
    base, memory = mains[0].work.base, memory_name(mains[0].host_memory)
    copy = say("overlap.copy_of", memory=memory_name(base)) if base else say("overlap.copy")
    text = say("overlap.by_work", memory=memory, copy=copy, gains=say("common.comma").join(gains))
    certain = [(each, best) for each, best in told if each.gains == "yes" and best.speedup]
    fix = ""
    if certain:
        most = max(certain, key=lambda pair: pair[1].speedup.median if pair[1].speedup else 0.0)
        fix = say("overlap.by_work_fix", work=work_words(most[0].work))
    return Finding("info", "overlap_work", text, fix=fix)
