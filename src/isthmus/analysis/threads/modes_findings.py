"""What a stream for each thread, chunks, and both directions at once are worth, in sentences."""

from collections.abc import Sequence
from itertools import takewhile

from isthmus.analysis.phrases import memory_name, spanned, times, way_name
from isthmus.analysis.statistics.contrast import MATTERS, Contrast, above
from isthmus.analysis.statistics.curve import ONE_WAY
from isthmus.analysis.threads.model import ThreadCurve, reference_bytes, worker_curves
from isthmus.analysis.threads.modes import BothWays, chunks_against_slices, own_against_shared, threads_both_ways
from isthmus.analysis.threads.words import count_span, divided_threads, link_share
from isthmus.document.finding import Finding
from isthmus.language import capitalised, enumerated, say, sentences
from isthmus.record import Run, format_bytes, format_rate

__all__ = ["mode_findings"]

# Both directions of a link take a little from each other; below this something else is shared.
_HINDERED = 0.75


def mode_findings(run: Run, curves: Sequence[ThreadCurve]) -> list[Finding]:
    """One finding each about streams, chunks and both ways at once, where they were measured."""
    found = [
        _compared(
            "threads_streams",
            say("threads.streams_subject"),
            own_against_shared(curves),
            faster=say("threads.streams_faster"),
            slower=say("threads.streams_slower"),
        ),
        _chunks(curves),
        _both_ways(run, threads_both_ways(curves)),
    ]
    return [finding for finding in found if finding]


def _chunks(curves: Sequence[ThreadCurve]) -> Finding | None:
    """About chunks of the size that was measured alone: larger ones wait less often."""
    pairs = chunks_against_slices(curves)
    sizes = sorted({curve.chunk_bytes for curve, _ in pairs if curve.chunk_bytes})
    if not sizes:
        return None
    size = enumerated([format_bytes(each) for each in sizes])
    return _compared(
        "threads_chunks",
        say("threads.chunks_subject", size=size),
        pairs,
        faster=say("threads.chunks_faster", size=size),
        slower=say("threads.chunks_slower", size=size),
        cause=_waiting(curves),
    )


def _waiting(curves: Sequence[ThreadCurve]) -> str:
    """What the wait after each chunk costs a thread that is alone, where that shows the most; empty if nowhere.

    Of pinned memory where that shows it: copies of pageable memory wait for more than the link.
    """
    single = {(*curve.subject, curve.slicing): curve.points[1] for curve in worker_curves(curves) if 1 in curve.points}
    losses = [
        (whole.rate.median / chunked.rate.median, memory, direction, chunked, whole)
        for (memory, direction, size, slicing), chunked in single.items()
        if slicing == "chunks" and direction in ONE_WAY and (whole := single.get((memory, direction, size, "slices")))
        if above(whole, chunked) and whole.rate.median >= MATTERS * chunked.rate.median
    ]
    if not losses:
        return ""
    _, memory, direction, chunked, whole = max(losses, key=lambda loss: (loss[1] == "pinned", loss[0]))
    return say(
        "threads.chunks_wait",
        chunked=format_rate(chunked.rate.median),
        memory=memory_name(memory),
        way=way_name(direction),
        whole=format_rate(whole.rate.median),
    )


def _compared(
    topic: str,
    subject: str,
    pairs: Sequence[tuple[ThreadCurve, Contrast]],
    *,
    faster: str,
    slower: str,
    cause: str = "",
) -> Finding | None:
    """Where one of two ways to divide a transfer certainly beats the other, which is plainer to program."""
    if not pairs:
        return None
    counts = count_span(count for _, gap in pairs for count in gap.sizes)
    pairs = [(curve, gap) for curve, gap in pairs if len(gap.sizes) > 1]
    if not pairs:
        sentence = say("threads.mode_too_little", subject=subject, threads=counts)
        return Finding("info", topic, sentence, fix=say("threads.measure_more_numbers"))
    told = [(curve, factors) for curve, gap in pairs if (factors := _factors(gap))]
    if not told:
        sentence = say("threads.mode_alike", subject=subject, threads=counts)
        return Finding("info", topic, sentence, fix=say("threads.mode_simpler", what=slower))
    parts = []
    for memory, direction in dict.fromkeys((curve.host_memory, curve.direction) for curve, _ in told):
        concerned = [
            (curve, factors) for curve, factors in told if (curve.host_memory, curve.direction) == (memory, direction)
        ]
        values = [value for _, factors in concerned for value in factors]
        sizes = {curve.bytes for curve, _ in concerned}
        all_sizes = {curve.bytes for curve, _ in pairs if (curve.host_memory, curve.direction) == (memory, direction)}
        parts.append(
            say(
                "threads.mode_part" if sizes == all_sizes else "threads.mode_part_of_size",
                times=times(min(values), max(values)),
                memory=memory_name(memory),
                sizes=enumerated([format_bytes(size) for size in sorted(sizes)]),
                way=way_name(direction),
            )
        )
    gains = {factors[0] > 1 for _, factors in told}
    fix = say("threads.sentence", text=faster if True in gains else slower)
    if len(gains) > 1:
        fix = say("threads.mode_mixed", faster=faster)
    key = "threads.mode_gives" if len(told) == len(pairs) else "threads.mode_gives_some"
    sentence = say(key, subject=subject, parts=enumerated(parts), threads=counts)
    return Finding("info", topic, sentence, cause if False in gains else "", fix)


def _factors(gap: Contrast) -> list[float]:
    """The factors where they are certain and matter: over most numbers of threads, or from some number on; or none."""
    if gap.matters:
        certain = gap.faster if gap.ratio > 1 else gap.slower
        return [ratio for count, ratio in zip(gap.sizes, gap.ratios, strict=True) if count in certain]
    for certain, faster in ((gap.faster, True), (gap.slower, False)):
        end = list(takewhile(lambda pair: pair[0], reversed(_telling(gap, certain, faster=faster))))
        # A difference at a single number of threads may be chance.
        if len(end) > 1:
            return [ratio for _, ratio in end]
    return []


def _telling(gap: Contrast, certain: Sequence[int], *, faster: bool) -> list[tuple[bool, float]]:
    """For each number of threads whether its ratio is certain and matters, and the ratio."""
    return [
        (count in certain and (ratio >= MATTERS if faster else ratio <= 1 / MATTERS), ratio)
        for count, ratio in zip(gap.sizes, gap.ratios, strict=True)
    ]


def _both_ways(run: Run, measured: Sequence[BothWays]) -> Finding | None:
    size = reference_bytes([each.curve for each in measured])
    chosen = {}
    for memory in dict.fromkeys(each.curve.host_memory for each in measured):
        same = [each for each in measured if (each.curve.host_memory, each.curve.bytes) == (memory, size)]
        if same:
            chosen[memory] = _plainest(same)
    if not chosen:
        return None
    told = [
        say(
            "threads.both_ways",
            memory=capitalised(memory_name(memory)),
            size=format_bytes(each.curve.bytes),
            rate=format_rate(each.sum.median),
            share=link_share(run, each.sum.median, "both"),
            threads=divided_threads(each.curve, each.threads),
            percent=_percent(each),
            alone=format_rate(each.alone.median),
        )
        for memory, each in chosen.items()
    ]
    hindered = [memory for memory, each in chosen.items() if each.share.high < _HINDERED]
    cause = fix = ""
    if hindered and run.fingerprint.device.copy_engines == 1:
        cause = say("bandwidth.single_engine")
    elif hindered and "pinned" in chosen and chosen["pinned"].share.low >= _HINDERED:
        cause = say("threads.both_ways_host", memories=enumerated([memory_name(memory) for memory in hindered]))
    if hindered:
        fix = say("threads.both_ways_fix", memories=enumerated([memory_name(memory) for memory in hindered]))
    return Finding("warning" if "pinned" in hindered else "info", "threads_both_ways", sentences(told), cause, fix)


def _plainest(measured: Sequence[BothWays]) -> BothWays:
    """The fewest threads, divided in the plainest way, that no other certainly beats by a factor that matters."""
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


def _percent(each: BothWays) -> str:
    low, high = f"{100 * each.share.low:.0f}", f"{100 * each.share.high:.0f}"
    return f"{spanned(low, high)} %"
