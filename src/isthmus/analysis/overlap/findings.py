"""What the overlap experiment says: what chunks and streams gain, and both directions at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from isthmus.analysis.overlap.model import (
    Overlap,
    Timed,
    fastest_alone,
    main_overlaps,
    overlaps,
    pipeline_bound,
    timed_cases,
)
from isthmus.analysis.phrases import factor_words, memory_name
from isthmus.analysis.statistics.contrast import MATTERS
from isthmus.analysis.statistics.resample import interval_of
from isthmus.document.finding import Finding
from isthmus.language import capitalised, say, sentences
from isthmus.record import Interval, Run, format_bytes, format_rate, format_seconds

_GAIN_KEYS = {"yes": "overlap.gains", "no": "overlap.gains_nothing", "cannot tell": "overlap.unknown"}
# Memory that the copy engines read and write themselves says most about them.
_ENGINES_SEEN_WITH = ("pinned", "staged", "pageable")
_HARDLY = 0.2


def findings(run: Run) -> list[Finding]:
    """What each kind of memory gains; then both directions at once."""
    mains = main_overlaps(overlaps(run))
    candidates = []
    for each in mains:
        if text := _gain_words(each):
            topic = f"overlap_{each.host_memory}" + (f"_{each.bytes}" if each.bytes != mains[0].bytes else "")
            cause, fix = _why_nothing(run, each, mains)
            candidates.append(Finding("note", topic, text, cause=cause, do=(fix,)))
    both_ways = _both_ways(run, mains[0].bytes) if mains else None
    return [*candidates, both_ways] if both_ways else candidates


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


def _both_ways(run: Run, size: int) -> Finding | None:
    """What the copy engines do, seen with memory that they can read and write themselves where it was measured."""
    both = [each for each in exchanges(run) if each.bytes == size and each.host_memory in _ENGINES_SEEN_WITH]
    if not both:
        return None
    first = min(both, key=lambda each: _ENGINES_SEEN_WITH.index(each.host_memory))
    hidden, low, high = (f"{100 * value:.0f}" for value in first.hidden)
    text = say(
        "overlap.both_in_turn" if first.in_turn else "overlap.both_ways",
        size=format_bytes(first.bytes),
        memory=memory_name(first.host_memory),
        time=format_seconds(first.seconds.median),
        rate=format_rate(2 * first.bytes / first.seconds.median),
        hidden=hidden,
        low=low,
        high=high,
    )
    device = run.fingerprint.device
    if not first.in_turn:
        return Finding("note", "overlap_both_ways", text)
    if device.copy_engines == 1:
        return Finding("note", "overlap_both_ways", text, cause=say("overlap.one_engine"))
    if device.shares_host_memory:
        return Finding("note", "overlap_both_ways", text, cause=say("overlap.shared"))
    return Finding("ATTENTION", "overlap_both_ways", text)


@dataclass(frozen=True)
class Exchange:
    """Data of one kind of memory that goes in and comes out in chunks, without work.

    `seconds` is the fastest of the methods measured, on `chunks` and `streams`; `serial` is one copy after the other,
    `bound` what it would take if neither slowed the other. `hidden` is how much of what a perfect exchange saves over
    `serial` is saved: 1 where both run at once at full speed, 0 where neither overlaps.
    """

    host_memory: str
    bytes: int
    chunks: int
    streams: int
    seconds: Interval
    serial: Interval
    bound: Interval
    hidden: Interval
    converged: bool

    @property
    def in_turn(self) -> bool:
        """Whether the directions hardly overlap, as far as the intervals tell."""
        return self.hidden.high <= _HARDLY


def exchanges(run: Run) -> list[Exchange]:
    """One for each kind of memory and size for which both copies were also measured alone."""
    timed = timed_cases(run)
    keys = dict.fromkeys((each.case.host_memory, each.case.bytes) for each in timed if each.case.method == "both_ways")
    return [exchange for key in keys if (exchange := _exchange(timed, *key))]


def _exchange(timed: Sequence[Timed], memory: str, size: int) -> Exchange | None:
    into, out, both = (fastest_alone(timed, method, memory, size) for method in ("in_alone", "out_alone", "both_ways"))
    chunks = both.case.pieces if both else None
    # A single chunk has nothing to exchange with.
    if into is None or out is None or both is None or not chunks or chunks < 2:
        return None
    serial, bound = into.draws + out.draws, pipeline_bound([into.draws, out.draws], chunks)
    return Exchange(
        host_memory=memory,
        bytes=size,
        chunks=chunks,
        streams=both.case.streams or 1,
        seconds=both.seconds,
        serial=interval_of(serial),
        bound=interval_of(bound),
        hidden=interval_of((serial - both.draws) / (serial - bound)),
        converged=both.converged,
    )
