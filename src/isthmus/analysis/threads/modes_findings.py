"""What a stream for each thread, chunks, and both directions at once are worth, in sentences."""

from collections.abc import Sequence
from itertools import takewhile

from isthmus.analysis.phrases import memory_name, spanned, times, way_name
from isthmus.analysis.statistics.contrast import MATTERS, Contrast
from isthmus.analysis.threads.model import ThreadCurve, reference_bytes
from isthmus.analysis.threads.modes import BothWays, chunks_against_slices, own_against_shared, threads_both_ways
from isthmus.analysis.threads.words import count_span, divided_threads, link_share
from isthmus.document.finding import Finding
from isthmus.language import capitalised, enumerated, say, sentences
from isthmus.record import Run, format_bytes, format_rate

# Both directions of a link take a little from each other; below this something else is shared.
_HINDERED = 0.75


def mode_findings(run: Run, curves: Sequence[ThreadCurve]) -> list[Finding]:
    """One finding each about streams, chunks and both ways at once, where they were measured."""
    chunked = chunks_against_slices(curves)
    size = enumerated([format_bytes(each) for each in sorted({each.chunk_bytes or 0 for each, _ in chunked})])
    found = [
        _compared(
            "threads_streams",
            own_against_shared(curves),
            say("threads.streams_subject"),
            say("threads.streams_faster"),
            say("threads.streams_slower"),
        ),
        _compared(
            "threads_chunks",
            chunked,
            say("threads.chunks_subject", size=size),
            say("threads.chunks_faster", size=size),
            say("threads.chunks_slower", size=size),
        ),
        _both_ways(run, threads_both_ways(curves)),
    ]
    return [finding for finding in found if finding]


def _compared(
    topic: str, pairs: Sequence[tuple[ThreadCurve, Contrast]], subject: str, faster: str, slower: str
) -> Finding | None:
    """Where one of two ways to divide a transfer beats the other, which is plainer to program."""
    # A difference at a single number of threads may be chance.
    pairs = [(curve, gap) for curve, gap in pairs if len(gap.sizes) > 1]
    if not pairs:
        return None
    counts = count_span(count for _, gap in pairs for count in gap.sizes)
    ratios: dict[tuple[str, str], list[float]] = {}
    for curve, gap in pairs:
        if factors := _factors(gap):
            ratios.setdefault((curve.host_memory, curve.direction), []).extend(factors)
    if not ratios:
        sentence = say("threads.mode_alike", subject=subject, threads=counts)
        return Finding("info", topic, sentence, fix=say("threads.mode_simpler", what=slower))
    parts = [
        say("threads.mode_part", times=times(min(each), max(each)), memory=memory_name(kind), way=way_name(way))
        for (kind, way), each in ratios.items()
    ]
    gains = {value > 1 for each in ratios.values() for value in each}
    fix = say("threads.sentence", text=faster if True in gains else slower)
    if len(gains) > 1:
        fix = say("threads.mode_mixed", faster=faster)
    text = say("threads.mode_gives", subject=subject, parts=enumerated(parts), threads=counts)
    return Finding("info", topic, text, fix=fix)


def _factors(gap: Contrast) -> list[float]:
    """The factors where they matter, intervals apart: over most numbers of threads, or from some number on; or none."""
    if gap.matters:
        apart = gap.faster if gap.ratio > 1 else gap.slower
        return [ratio for count, ratio in zip(gap.sizes, gap.ratios, strict=True) if count in apart]
    rows = list(zip(gap.sizes, gap.ratios, strict=True))
    for apart, faster in ((gap.faster, True), (gap.slower, False)):
        matters = [(count in apart and (ratio if faster else 1 / ratio) >= MATTERS, ratio) for count, ratio in rows]
        end = [ratio for _, ratio in takewhile(lambda pair: pair[0], reversed(matters))]
        if len(end) > 1:
            return end
    return []


def _both_ways(run: Run, measured: Sequence[BothWays]) -> Finding | None:
    size = reference_bytes([each.curve for each in measured])
    chosen: dict[str, list[BothWays]] = {}
    for each in measured:
        if each.curve.bytes == size:
            chosen.setdefault(each.curve.host_memory, []).append(each)
    if not chosen:
        return None
    plainest = {kind: _plainest(same) for kind, same in chosen.items()}
    told = [
        say(
            "threads.both_ways",
            memory=capitalised(memory_name(kind)),
            size=format_bytes(each.curve.bytes),
            rate=format_rate(each.sum.median),
            share=link_share(run, each.sum.median, "both"),
            threads=divided_threads(each.curve, each.threads),
            percent=f"{spanned(*(f'{100 * end:.0f}' for end in each.share[1:]))} %",
            alone=format_rate(each.alone.median),
        )
        for kind, each in plainest.items()
    ]
    hindered = [kind for kind, each in plainest.items() if each.share.high < _HINDERED]
    memories = enumerated([memory_name(kind) for kind in hindered])
    cause = ""
    if hindered and run.fingerprint.device.copy_engines == 1:
        cause = say("bandwidth.single_engine")
    elif hindered and "pinned" in plainest and plainest["pinned"].share.low >= _HINDERED:
        cause = say("threads.both_ways_host", memories=memories)
    fix = say("threads.both_ways_fix", memories=memories) if hindered else ""
    return Finding("warning" if "pinned" in hindered else "info", "threads_both_ways", sentences(told), cause, fix)


def _plainest(measured: Sequence[BothWays]) -> BothWays:
    """The fewest threads, divided in the plainest way, that no other beats by a factor that matters."""
    unbeaten = [
        each
        for each in measured
        if not any(
            other.sum.low > each.sum.high and other.sum.median >= MATTERS * each.sum.median for other in measured
        )
    ]
    return min(
        unbeaten, key=lambda each: (each.threads, each.curve.streams != "shared", each.curve.slicing != "slices")
    )
