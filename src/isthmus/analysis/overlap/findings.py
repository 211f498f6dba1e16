"""What the overlap experiment says: what chunks and streams gain, and both ways at once."""

from collections.abc import Sequence

from isthmus.analysis.overlap.exchange import Exchange, exchanges
from isthmus.analysis.overlap.model import Overlap, PipelinePoint, larger_overlaps, main_overlaps, overlaps
from isthmus.analysis.overlap.times import Work
from isthmus.analysis.phrases import memory_name
from isthmus.analysis.statistics.contrast import MATTERS
from isthmus.document.finding import Finding, Severity, Takeaway
from isthmus.language import capitalised, enumerated, say, sentences
from isthmus.record import Run, format_bytes, format_rate, format_seconds

# A pipeline whose share of its bound has an interval below this has a cause worth naming.
_NEAR_BOUND = 0.95
# A share of its time that copies alone must take to be what limits a pipeline.
_LIMITS = 0.9
# Memory that the copy engines read and write themselves says most about them.
_ENGINES_SEEN_WITH = ("pinned", "staged", "pageable")


def findings(run: Run) -> list[Finding]:
    """What each kind of memory gains; then both ways at once."""
    everything = overlaps(run)
    mains = main_overlaps(everything)
    if not mains:
        return []
    exchanged = exchanges(run)
    found = [
        _gain(run, each, best, serial, exchanged, mains)
        for each in (*mains, *larger_overlaps(everything, mains))
        if (best := each.best) and (serial := each.serial)
    ]
    both_ways = _both_ways(run, [each for each in exchanged if each.bytes == mains[0].bytes])
    return [*found, both_ways] if both_ways else found


def takeaway(run: Run) -> Takeaway | None:
    """What to take away about overlap; None where none was measured."""
    mains = [each for each in main_overlaps(overlaps(run)) if each.best and each.best.speedup]
    parts = [_gained(each, each.best) for each in mains if each.gains == "yes" and each.best]
    for key, chosen in (
        ("overlap.takeaway_lose", [each for each in mains if each.gains == "no" and each.loses]),
        ("overlap.takeaway_nothing", [each for each in mains if each.gains == "no" and not each.loses]),
        ("overlap.takeaway_unknown", [each for each in mains if each.gains == "cannot tell"]),
    ):
        if chosen:
            parts.append(say(key, memories=enumerated([memory_name(each.host_memory) for each in chosen])))
    if not parts:
        return None
    gains = any(each.gains == "yes" for each in mains)
    return Takeaway(sentences(map(capitalised, parts)), say("overlap.takeaway_advice") if gains else "")


def way_words(host_memory: str, chunks: int, streams: int) -> str:
    """``16 chunks on 4 streams``; of staged memory ``32 chunks on 8 threads``, which have a stream each."""
    return say("overlap.way", chunks=say("overlap.chunks", count=chunks), workers=_workers(host_memory, streams))


def multiple_digits(work: Work) -> str:
    """``7.2``: the multiple that was measured, to two digits, or the one that was meant where none was."""
    return f"{work.ratio if work.multiple is None else float(f'{work.multiple:.2g}'):g}"


def _workers(host_memory: str, count: int) -> str:
    return say("overlap.threads" if host_memory == "staged" else "overlap.streams", count=count)


def _work_words(work: Work) -> str:
    if work.multiple is None:
        return say("overlap.work_meant", factor=multiple_digits(work))
    return say("overlap.work", factor=multiple_digits(work), memory=memory_name(work.base))


def _gained(each: Overlap, best: PipelinePoint) -> str:
    assert best.speedup is not None
    way = way_words(each.host_memory, best.chunks, best.streams)
    return say(
        "overlap.takeaway_gain", memory=memory_name(each.host_memory), way=way, factor=f"{best.speedup.median:.2f}"
    )


def _gain(
    run: Run,
    each: Overlap,
    best: PipelinePoint,
    serial: PipelinePoint,
    exchanged: Sequence[Exchange],
    mains: Sequence[Overlap],
) -> Finding:
    """What chunks gain for one kind of memory and size; `mains` are all kinds at the size to compare at."""
    assert best.speedup is not None, "there is a serial time"
    topic = f"overlap_{each.host_memory}" + (f"_{each.bytes}" if each.bytes != mains[0].bytes else "")
    median, low, high = (f"{value:.2f}" for value in best.speedup)
    words = {
        "memory": capitalised(memory_name(each.host_memory)),
        "size": format_bytes(each.bytes),
        "work": _work_words(each.work),
        "way": way_words(each.host_memory, best.chunks, best.streams),
        "time": format_seconds(best.seconds.median),
        "serial": format_seconds(serial.seconds.median),
        "factor": median,
        "low": low,
        "high": high,
    }
    if each.gains == "yes":
        return Finding("note", topic, say("overlap.gains", **words), cause=_why_not_nearer(run, each, best, exchanged))
    if each.gains == "no":
        cause, fix = _why_nothing(run, each, mains)
        text = say("overlap.loses" if each.loses else "overlap.gains_nothing", **words)
        return Finding("note", topic, text, cause=cause, fix=fix)
    text = say("overlap.unknown", **words, percent=100 * (MATTERS - 1))
    return Finding("note", topic, text, fix=say("overlap.repeat"))


def _why_not_nearer(run: Run, each: Overlap, best: PipelinePoint, exchanged: Sequence[Exchange]) -> str:
    if best.share is None or best.share.high >= _NEAR_BOUND:
        return ""
    key = each.host_memory, each.bytes
    exchange = next((found for found in exchanged if (found.host_memory, found.bytes) == key), None)
    slowed = exchange is not None and exchange.hidden.high < _NEAR_BOUND
    if exchange and slowed and exchange.seconds.median >= _LIMITS * best.seconds.median:
        return say("overlap.slowed", time=format_seconds(exchange.seconds.median))
    return say("overlap.shared") if run.fingerprint.device.shares_host_memory else ""


def _why_nothing(run: Run, each: Overlap, mains: Sequence[Overlap]) -> tuple[str, str]:
    """Cause and fix."""
    if run.fingerprint.device.shares_host_memory:
        return say("overlap.shared"), ""
    if each.host_memory != "pageable":
        return "", ""
    better = [
        (other.best.seconds.median, memory_name(other.host_memory))
        for other in mains
        if other.gains == "yes" and other.host_memory in ("pinned", "staged") and other.best
    ]
    if not better:
        return say("overlap.pageable_cause"), ""
    time, memory = min(better)
    return say("overlap.pageable_cause"), say("overlap.background", memory=memory, time=format_seconds(time))


_EXCHANGE_KEYS = {"yes": "at_once", "partly": "in_part", "no": "in_turn", "cannot tell": "at_once_unknown"}


def _both_ways(run: Run, both: Sequence[Exchange]) -> Finding | None:
    """What the copy engines do, seen with memory that they can read and write themselves where it was measured."""
    both = [each for each in both if each.host_memory in _ENGINES_SEEN_WITH]
    if not both:
        return None
    found = min(both, key=lambda each: _ENGINES_SEEN_WITH.index(each.host_memory))
    text = say(
        f"overlap.both_{_EXCHANGE_KEYS[found.answer]}",
        size=format_bytes(found.bytes),
        memory=memory_name(found.host_memory),
        time=format_seconds(found.seconds.median),
        rate=format_rate(2 * found.bytes / found.seconds.median),
        serial=format_seconds(found.into.median + found.out.median),
        ideal=format_seconds(found.bound.median),
        percent=100 * found.hidden.median,
    )
    if found.answer != "no":
        return Finding("note", "overlap_both_ways", text)
    shared = run.fingerprint.device.shares_host_memory
    cause = say("overlap.copies_shared") if shared else ""
    if run.fingerprint.device.copy_engines == 1:
        cause = say("overlap.one_engine")
    severity: Severity = "note" if shared or run.fingerprint.device.copy_engines == 1 else "ATTENTION"
    return Finding(severity, "overlap_both_ways", text, cause=cause, fix=say("overlap.both_ways_fix"))
