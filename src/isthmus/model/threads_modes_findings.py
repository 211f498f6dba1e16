"""What a stream for each thread, chunks, and both directions at once are worth, in sentences."""

from collections.abc import Sequence
from itertools import takewhile

from isthmus.model.contrast import MATTERS, Contrast, above
from isthmus.model.curve import ONE_WAY
from isthmus.model.finding import Finding
from isthmus.model.phrases import capitalised, memory_name, times
from isthmus.model.threads import ThreadCurve, reference_bytes, worker_curves
from isthmus.model.threads_modes import BothWays, chunks_against_slices, own_against_shared, threads_both_ways
from isthmus.model.threads_words import count_span, divided, joined, link_share, threads_of, way_name
from isthmus.record import Run, format_bytes, format_rate

__all__ = ["mode_findings"]

# Both directions of a link take a little from each other; below this something else is shared.
_HINDERED = 0.75


def mode_findings(run: Run, curves: Sequence[ThreadCurve]) -> list[Finding]:
    """One finding each about streams, chunks and both ways at once, where they were measured."""
    found = [
        _compared(
            "threads_streams",
            "A stream for each thread, instead of one for all,",
            own_against_shared(curves),
            faster="Give each thread a stream of its own",
            slower="Let the threads share one stream",
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
    size = joined([format_bytes(each) for each in sizes])
    return _compared(
        "threads_chunks",
        f"Taking chunks of {size} from a common counter, instead of one slice for each thread,",
        pairs,
        faster=f"Let threads take chunks of {size}",
        slower=f"Give each thread one slice rather than chunks of {size}",
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
    return (
        "Each thread waits for its chunk to arrive before it takes the next, and that costs: "
        f"one thread moves {format_rate(chunked.rate.median)} of {memory_name(memory)} {way_name(direction)} in chunks "
        f"and {format_rate(whole.rate.median)} in one piece."
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
        sentence = f"{subject} was tried with {counts} alone, too little to tell a difference from chance."
        return Finding("info", topic, sentence, fix="Measure without --quick, which tries more numbers of threads.")
    told = [(curve, factors) for curve, gap in pairs if (factors := _factors(gap))]
    if not told:
        sentence = f"{subject} makes no difference that is certain and matters, with {counts}."
        return Finding("info", topic, sentence, fix=f"{slower}: it is simpler.")
    parts = []
    for memory, direction in dict.fromkeys((curve.host_memory, curve.direction) for curve, _ in told):
        concerned = [
            (curve, factors) for curve, factors in told if (curve.host_memory, curve.direction) == (memory, direction)
        ]
        values = [value for _, factors in concerned for value in factors]
        sizes = {curve.bytes for curve, _ in concerned}
        all_sizes = {curve.bytes for curve, _ in pairs if (curve.host_memory, curve.direction) == (memory, direction)}
        of_size = "" if sizes == all_sizes else f" of {joined([format_bytes(size) for size in sorted(sizes)])}"
        parts.append(
            f"{times(min(values), max(values))} the rate with {memory_name(memory)}{of_size} {way_name(direction)}"
        )
    rest = "" if len(told) == len(pairs) else "; otherwise no difference that is certain and matters"
    gains = {factors[0] > 1 for _, factors in told}
    fix = f"{faster if True in gains else slower}."
    if len(gains) > 1:
        fix = f"{faster} where that gains, and see the table for where it loses."
    sentence = f"{subject} gives {joined(parts)} ({counts}){rest}."
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
    sentences = [
        f"{capitalised(memory_name(memory))} of {format_bytes(each.curve.bytes)} moves {format_rate(each.sum.median)} "
        f"both ways at once in sum{link_share(run, each.sum.median, 'both')} with "
        f"{threads_of('both', each.threads)}{divided(each.curve)}: {_percent(each)} of what the two ways move alone "
        f"({format_rate(each.alone.median)})."
        for memory, each in chosen.items()
    ]
    hindered = [memory for memory, each in chosen.items() if each.share.high < _HINDERED]
    cause = fix = ""
    if hindered and run.fingerprint.device.copy_engines == 1:
        cause = "The device has a single copy engine, so the two directions take turns."
    elif hindered and "pinned" in chosen and chosen["pinned"].share.low >= _HINDERED:
        cause = (
            "The link carries both ways at once, as pinned memory shows; what the two ways of "
            f"{joined([memory_name(memory) for memory in hindered])} share is on the host's side of the copy."
        )
    if hindered:
        fix = f"Do not count on overlapping the two directions of {joined([memory_name(each) for each in hindered])}."
    return Finding("warning" if "pinned" in hindered else "info", "threads_both_ways", " ".join(sentences), cause, fix)


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
    return f"{low} %" if low == high else f"{low} to {high} %"
