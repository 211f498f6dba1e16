"""What the overlap experiment says: what chunks and streams gain."""

from collections.abc import Sequence

from isthmus.analysis.overlap.model import Overlap, main_overlaps, overlaps
from isthmus.analysis.phrases import factor_words, memory_name
from isthmus.analysis.statistics.contrast import MATTERS
from isthmus.document.finding import Finding
from isthmus.language import capitalised, say, sentences
from isthmus.record import Run, format_bytes

_GAIN_KEYS = {"yes": "overlap.gains", "no": "overlap.gains_nothing", "cannot tell": "overlap.unknown"}


def findings(run: Run) -> list[Finding]:
    """What each kind of memory gains."""
    mains = main_overlaps(overlaps(run))
    candidates = []
    for each in mains:
        if text := _gain_words(each):
            topic = f"overlap_{each.host_memory}" + (f"_{each.bytes}" if each.bytes != mains[0].bytes else "")
            cause, fix = _why_nothing(run, each, mains)
            candidates.append(Finding("note", topic, text, cause=cause, do=(fix,)))
    return candidates


def takeaway(run: Run) -> Finding | None:
    """What to take away about overlap; None where none was measured."""
    mains = main_overlaps(overlaps(run))
    text = sentences(_gain_words(each) for each in mains if each.bytes == mains[0].bytes)
    gains = any(each.gains == "yes" for each in mains)
    return Finding("note", "overlap", text, do=(say("overlap.advice") if gains else "",)) if text else None


def way_words(host_memory: str, chunks: int, streams: int) -> str:
    """``16 chunks on 4 streams``; of staged memory ``32 chunks on 8 threads``, which have a stream each."""
    workers = say("overlap.threads" if host_memory == "staged" else "overlap.streams", count=streams)
    return say("overlap.way", chunks=say("overlap.chunks", count=chunks), workers=workers)


def multiple_digits(each: Overlap) -> str:
    """``7.2``: the multiple that was measured, to two digits, or ``≈10``, the one that was meant, where none was."""
    return f"≈{each.ratio:g}" if each.multiple is None else f"{float(f'{each.multiple:.2g}'):g}"


def _gain_words(each: Overlap) -> str:
    """What chunks gain for one kind of memory and size; nothing where one chunk or several were not measured."""
    best = each.best
    if best is None or best.speedup is None:
        return ""
    return say(
        _GAIN_KEYS[each.gains],
        memory=capitalised(memory_name(each.host_memory)),
        size=format_bytes(each.bytes),
        work=say("overlap.work", x=multiple_digits(each)),
        pipeline=way_words(each.host_memory, best.chunks, best.streams),
        factor=factor_words(best.speedup),
        percent=100 * (MATTERS - 1),
    )


def _why_nothing(run: Run, each: Overlap, mains: Sequence[Overlap]) -> tuple[str, str]:
    """Why chunks gain nothing, and what to do, where either is known."""
    if each.gains != "no":
        return "", ""
    if run.fingerprint.device.shares_host_memory:
        return say("overlap.shared"), ""
    if each.host_memory != "pageable":
        return "", ""
    others_gain = any(other.gains == "yes" for other in mains)
    return say("overlap.pageable_cause"), say("overlap.pageable_fix") if others_gain else ""
