"""Whether more threads than one move more of each kind of memory, in sentences with cause and advice."""

from collections.abc import Iterator, Sequence

from isthmus.analysis.phrases import link_rate, memory_name, range_text, times, way_name
from isthmus.analysis.statistics.curve import ONE_WAY, Point
from isthmus.analysis.threads.gain import Gain
from isthmus.analysis.threads.model import created_threads, reference_bytes
from isthmus.analysis.threads.words import count_span, divided_threads, link_share, threads_of
from isthmus.document.finding import Finding
from isthmus.language import enumerated, say, sentences
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
    told = list(_sentences(run, first))
    for other in sorted({gain.curve.bytes for gain in chosen if gain.curve.bytes != size}):
        told += _elsewhere(run, first, [gain for gain in chosen if gain.curve.bytes == other])
    return Finding(
        "info",
        f"threads_{kind}",
        sentences(told),
        cause=sentences([_limit(run, gains, first), _crowding(run, first)]),
        fix=_advice(run, gains, first),
    )


def _sentences(run: Run, gains: Sequence[Gain]) -> Iterator[str]:
    """About transfers of one size: directions that gain, that gain little at most or nothing, that nobody can tell."""
    memory, size = memory_name(gains[0].curve.host_memory), format_bytes(gains[0].curve.bytes)
    certain, little, none, unknown = (
        [gain for gain in gains if gain.answer == answer] for answer in ("yes", "little", "no", "cannot tell")
    )
    if certain:
        each = say("threads.between_gains").join(_certain(run, gain) for gain in certain)
        yield say("threads.gain", memory=memory, size=size, each=each)
        if any(gain.enough < max(gain.curve.points) for gain in certain):
            yield say("threads.gain_ended")
    if little:
        rates = [_rates("threads.rates_at_most", gain) for gain in little]
        threads = count_span(_points(little[0]))
        most = most_gained(little)
        yield say("threads.little", memory=memory, size=size, most=most, threads=threads, rates=enumerated(rates))
    if none:
        rates = [f"{rate_span(gain)} {way_name(gain.curve.direction)}{_share(run, gain)}" for gain in none]
        threads = count_span(_points(none[0]))
        yield say("threads.nothing", memory=memory, size=size, threads=threads, rates=enumerated(rates))
    if unknown:
        rates = [_rates("threads.rates_up_to", gain) for gain in unknown]
        threads = count_span(_points(unknown[0]))
        yield say("threads.unknown", memory=memory, size=size, threads=threads, rates=enumerated(rates))
    slower = [_slower(gain, gain.slower_from) for gain in gains if gain.slower_from]
    if slower:
        yield say("threads.slower", each=enumerated(slower))


def _rates(key: str, gain: Gain) -> str:
    return say(key, rates=rate_span(gain), way=way_name(gain.curve.direction), times=times(gain.most, gain.most))


def _certain(run: Run, gain: Gain) -> str:
    direction = gain.curve.direction
    rate = gain.curve.points[gain.enough].rate.median
    factor = rate / gain.one.rate.median
    return say(
        "threads.certain_most" if gain.enough == max(gain.curve.points) else "threads.certain",
        threads=divided_threads(gain.curve, gain.enough),
        rate=format_rate(rate),
        way=way_name(direction),
        share=link_share(run, rate, direction),
        times=times(factor, factor),
    )


def _slower(gain: Gain, start: int) -> str:
    counts = [count for count in gain.curve.points if count >= start]
    ratios = [gain.one.rate.median / gain.curve.points[count].rate.median for count in counts]
    return say(
        "threads.slower_from" if len(counts) > 1 else "threads.slower_at",
        threads=threads_of(gain.curve.direction, start),
        times=times(min(ratios), max(ratios)),
        way=way_name(gain.curve.direction),
    )


def _elsewhere(run: Run, first: Sequence[Gain], others: Sequence[Gain]) -> list[str]:
    """What another size adds: its gains, and where its answer is another one."""
    before = {gain.curve.direction: gain.answer for gain in first}
    new = [gain for gain in others if gain.answer == "yes" or gain.answer != before.get(gain.curve.direction)]
    if not new:
        return [say("threads.same_answers", size=format_bytes(others[0].curve.bytes))]
    return list(_sentences(run, new))


def _limit(run: Run, gains: Sequence[Gain], first: Sequence[Gain]) -> str:
    """Why threads gain nothing or little, where the rates themselves show it."""
    none = [gain for gain in first if gain.answer in ("no", "little") and gain.curve.direction in ONE_WAY]
    limit = link_rate(run)
    if limit is None or not none:
        return ""
    if all(gain.one.rate.median >= FULL_LINK * limit for gain in none):
        return say("threads.link_filled")
    pinned = [_pinned(gains, gain) for gain in none]
    ahead = [
        reference.one.rate.median
        for gain, reference in zip(none, pinned, strict=True)
        if reference and reference.one.rate.low > _FAR_AHEAD * gain.best.rate.high
    ]
    if len(ahead) < len(none):
        return ""
    return say("threads.link_not_filled", rates=range_text(min(ahead), max(ahead)))


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
    return say("threads.crowded", count=allowed)


def _advice(run: Run, gains: Sequence[Gain], first: Sequence[Gain]) -> str:
    certain = [gain for gain in first if gain.answer == "yes"]
    if certain:
        ways = [f"{divided_threads(gain.curve, gain.enough)} {way_name(gain.curve.direction)}" for gain in certain]
        return say("threads.copy_with", ways=enumerated(ways))
    if any(gain.answer == "cannot tell" for gain in first):
        return say("threads.measure_full")
    if any(_pinned(gains, gain) for gain in first) and _limit(run, gains, first):
        return say("threads.use_one_and_pin")
    return say("threads.use_one")


def _share(run: Run, gain: Gain) -> str:
    best = max(point.rate.median for point in _points(gain).values())
    return link_share(run, best, gain.curve.direction)


def _points(gain: Gain) -> dict[int, Point]:
    return {**gain.curve.points, 1: gain.one}
