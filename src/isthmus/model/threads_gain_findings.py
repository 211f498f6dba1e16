"""Whether more threads than one move more of each kind of memory, in sentences with cause and advice."""

from collections.abc import Iterator, Sequence

from isthmus.model.curve import ONE_WAY, Point
from isthmus.model.finding import Finding
from isthmus.model.phrases import link_rate, memory_name, range_text, times
from isthmus.model.threads import created_threads, reference_bytes
from isthmus.model.threads_gain import Gain
from isthmus.model.threads_words import count_span, divided, joined, link_share, threads_of, way_name
from isthmus.record import Run, format_bytes, format_rate

__all__ = ["FULL_LINK", "gain_findings", "most_gained", "rate_span"]

# From here on the link itself is what limits, with the headers of packets and what they wait for.
FULL_LINK = 0.8
# Pinned memory must be so much faster for the link to be ruled out as what limits another kind.
_FAR_AHEAD = 1.25


def gain_findings(run: Run, gains: Sequence[Gain]) -> list[Finding]:
    """One finding for each kind of memory that was measured with one thread and with more."""
    return [_finding(run, gains, kind) for kind in dict.fromkeys(gain.curve.host_memory for gain in gains)]


def rate_span(gain: Gain) -> str:
    """``6.20 GB/s to 6.90 GB/s``: lowest and highest rate over the numbers of threads, one among them."""
    rates = [point.rate.median for point in _points(gain).values()]
    return range_text(min(rates), max(rates))


def most_gained(gains: Sequence[Gain]) -> str:
    """``1.11 times``: the largest factor that the intervals of any of them leave room for."""
    most = max(gain.most for gain in gains)
    return times(most, most)


def _finding(run: Run, gains: Sequence[Gain], kind: str) -> Finding:
    chosen = [gain for gain in gains if gain.curve.host_memory == kind]
    size = reference_bytes([gain.curve for gain in chosen])
    first = [gain for gain in chosen if gain.curve.bytes == size]
    sentences = list(_sentences(run, first))
    for other in sorted({gain.curve.bytes for gain in chosen if gain.curve.bytes != size}):
        sentences += _elsewhere(run, first, [gain for gain in chosen if gain.curve.bytes == other])
    return Finding(
        "info",
        f"threads_{kind}",
        " ".join(sentences),
        cause=" ".join(filter(None, [_limit(run, gains, first), _crowding(run, first)])),
        fix=_advice(run, gains, first),
    )


def _sentences(run: Run, gains: Sequence[Gain]) -> Iterator[str]:
    """About transfers of one size: directions that gain, that gain little at most or nothing, that nobody can tell."""
    what = f"{memory_name(gains[0].curve.host_memory)} of {format_bytes(gains[0].curve.bytes)}"
    certain, little, none, unknown = (
        [gain for gain in gains if gain.answer == answer] for answer in ("yes", "little", "no", "cannot tell")
    )
    if certain:
        each = "; ".join(_certain(run, gain) for gain in certain)
        ended = any(gain.enough < max(gain.curve.points) for gain in certain)
        yield f"More threads gain with {what}: {each}.{' Beyond that nothing certain is gained.' if ended else ''}"
    if little:
        rates = [
            f"{rate_span(gain)} {way_name(gain.curve.direction)} (at most {times(gain.most, gain.most)})"
            for gain in little
        ]
        yield (
            f"More threads bring at most {most_gained(little)} the rate of one with {what}: "
            f"{count_span(_points(little[0]))} move {joined(rates)}."
        )
    if none:
        rates = [f"{rate_span(gain)} {way_name(gain.curve.direction)}{_share(run, gain)}" for gain in none]
        yield f"More threads gain nothing with {what}: {count_span(_points(none[0]))} move {joined(rates)}."
    if unknown:
        rates = [
            f"{rate_span(gain)} {way_name(gain.curve.direction)} (up to {times(gain.most, gain.most)} the rate of one "
            "within the intervals)"
            for gain in unknown
        ]
        yield (
            f"Whether more threads gain with {what}, this run cannot tell: {count_span(_points(unknown[0]))} move "
            f"{joined(rates)}."
        )
    slower = [_slower(gain, gain.slower_from) for gain in gains if gain.slower_from]
    if slower:
        yield f"Compared with one thread, {joined(slower)}."


def _certain(run: Run, gain: Gain) -> str:
    direction = gain.curve.direction
    rate = gain.curve.points[gain.enough].rate.median
    factor = rate / gain.one.rate.median
    most = ", the most measured," if gain.enough == max(gain.curve.points) else ""
    return (
        f"{threads_of(direction, gain.enough)}{divided(gain.curve)}{most} move {format_rate(rate)} "
        f"{way_name(direction)}{link_share(run, rate, direction)}, {times(factor, factor)} the rate of one"
    )


def _slower(gain: Gain, start: int) -> str:
    counts = [count for count in gain.curve.points if count >= start]
    ratios = [gain.one.rate.median / gain.curve.points[count].rate.median for count in counts]
    more = " and more" if len(counts) > 1 else ""
    return (
        f"{threads_of(gain.curve.direction, start)}{more} are {times(min(ratios), max(ratios))} slower "
        f"{way_name(gain.curve.direction)}"
    )


def _elsewhere(run: Run, first: Sequence[Gain], others: Sequence[Gain]) -> list[str]:
    """What another size adds: its gains, and where its answer is another one."""
    before = {gain.curve.direction: gain.answer for gain in first}
    new = [gain for gain in others if gain.answer == "yes" or gain.answer != before.get(gain.curve.direction)]
    if not new:
        return [f"At {format_bytes(others[0].curve.bytes)} the answers are the same."]
    return list(_sentences(run, new))


def _limit(run: Run, gains: Sequence[Gain], first: Sequence[Gain]) -> str:
    """Why threads gain nothing or little, where the rates themselves show it."""
    none = [gain for gain in first if gain.answer in ("no", "little") and gain.curve.direction in ONE_WAY]
    limit = link_rate(run)
    if limit is None or not none:
        return ""
    if all(gain.one.rate.median >= FULL_LINK * limit for gain in none):
        return "One thread already fills the link."
    pinned = [_pinned(gains, gain) for gain in none]
    ahead = [
        reference.one.rate.median
        for gain, reference in zip(none, pinned, strict=True)
        if reference and reference.one.rate.low > _FAR_AHEAD * gain.best.rate.high
    ]
    if len(ahead) < len(none):
        return ""
    return (
        f"The link is not what limits: one thread moves {range_text(min(ahead), max(ahead))} of pinned memory over it. "
        "The driver copies pageable memory piece by piece through a pinned buffer of its own, and threads do not share "
        "that work out."
    )


def _pinned(gains: Sequence[Gain], gain: Gain) -> Gain | None:
    """The same transfer of pinned memory, of which pageable memory alone is short."""
    wanted = ("pinned", *gain.curve.subject[1:])
    if not gain.curve.host_memory.startswith("pageable"):
        return None
    return next((other for other in gains if other.curve.subject == wanted), None)


def _crowding(run: Run, gains: Sequence[Gain]) -> str:
    """More threads than CPUs, where it is those that are slower."""
    allowed = run.fingerprint.host.cpu.allowed
    slower = [created_threads(gain.curve.direction, gain.slower_from) for gain in gains if gain.slower_from]
    if not allowed or not slower or min(slower) <= allowed:
        return ""
    return f"The process may use {allowed} CPUs, on which more threads than that take turns."


def _advice(run: Run, gains: Sequence[Gain], first: Sequence[Gain]) -> str:
    certain = [gain for gain in first if gain.answer == "yes"]
    if certain:
        ways = [
            f"{threads_of(gain.curve.direction, gain.enough)}{divided(gain.curve)} {way_name(gain.curve.direction)}"
            for gain in certain
        ]
        return f"Copy with {joined(ways)}."
    if any(gain.answer == "cannot tell" for gain in first):
        return "Measure with --full on a quiet machine, which narrows the intervals."
    if any(_pinned(gains, gain) for gain in first) and _limit(run, gains, first):
        return (
            "Use one thread. To be faster, pin or register buffers that are transferred more than once, or let threads "
            "copy pieces into pinned buffers of their own and transfer those."
        )
    return "Use one thread, and let the others prepare data."


def _share(run: Run, gain: Gain) -> str:
    best = max(point.rate.median for point in _points(gain).values())
    return link_share(run, best, gain.curve.direction)


def _points(gain: Gain) -> dict[int, Point]:
    return {**gain.curve.points, 1: gain.one}
