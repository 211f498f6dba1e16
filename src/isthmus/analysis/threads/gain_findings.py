"""Whether more threads than one move more of each kind of memory, in sentences with cause and advice."""

from collections.abc import Iterator, Sequence

from isthmus.analysis.phrases import direction_name, link_rate, memory_name, times
from isthmus.analysis.statistics.curve import ONE_WAY
from isthmus.analysis.threads.gain import Gain
from isthmus.analysis.threads.labels import mode_name, threads_of
from isthmus.analysis.threads.model import reference_bytes
from isthmus.document.finding import Finding
from isthmus.language import enumerated, say, sentences
from isthmus.record import Run, format_bytes, format_rate

# Pinned memory must be so much faster for the link to be ruled out as what limits another kind.
_FAR_AHEAD = 1.25


def gain_findings(run: Run, gains: Sequence[Gain]) -> list[Finding]:
    """One finding for each kind of memory that was measured with one thread and with more."""
    return [_finding(run, gains, kind) for kind in dict.fromkeys(gain.curve.host_memory for gain in gains)]


def gain_takeaways(gains: Sequence[Gain]) -> list[str]:
    """A sentence or two for each kind of memory at the size to conclude about, in one direction, else in both."""
    size = reference_bytes([gain.curve for gain in gains])
    texts = []
    for kind in dict.fromkeys(gain.curve.host_memory for gain in gains):
        chosen = [gain for gain in gains if (gain.curve.host_memory, gain.curve.bytes) == (kind, size)]
        texts += list(_sentences([gain for gain in chosen if gain.curve.direction in ONE_WAY] or chosen))[:2]
    return texts


def _finding(run: Run, gains: Sequence[Gain], kind: str) -> Finding:
    """The size to conclude about, and the gains of other sizes where that has none."""
    chosen = [gain for gain in gains if gain.curve.host_memory == kind]
    size = reference_bytes([gain.curve for gain in chosen])
    first = [gain for gain in chosen if gain.curve.bytes == size]
    gaining = {gain.curve.direction for gain in first if gain.answer == "yes"}
    others = [
        gain
        for gain in chosen
        if gain.curve.bytes != size and gain.answer == "yes" and gain.curve.direction not in gaining
    ]
    held = [gain for gain in first if gain.answer == "no" and gain.curve.direction in ONE_WAY]
    staged = bool(held and link_rate(run)) and not gaining and all(_staged(gains, gain) for gain in held)
    cause, fix = (say("threads.staged"), say("threads.staged_fix")) if staged else ("", "")
    return Finding("note", f"threads_{kind}", sentences([*_sentences(first), *_sentences(others)]), cause, (fix,))


def _sentences(gains: Sequence[Gain]) -> Iterator[str]:
    """One for each direction that gains; one for all that do not, and one for those of which this is unknown.

    Then one for each direction that many threads slow down.
    """
    for gain in gains:
        if gain.answer == "yes":
            yield _gained(gain)
    for answer, key in (("no", "threads.no_gain"), ("cannot tell", "threads.unknown")):
        chosen = [gain for gain in gains if gain.answer == answer]
        if chosen:
            most = max(gain.most for gain in chosen)
            rates = [f"{format_rate(gain.one.rate.median)} {direction_name(gain.curve.direction)}" for gain in chosen]
            yield say(key, **_about(chosen[0]), rates=enumerated(rates), most=times(most, most))
    yield from (_slowed(gain, *gain.slowdown) for gain in gains if gain.slowdown)


def _slowed(gain: Gain, threads: int, factor: float) -> str:
    return say(
        "threads.slowdown",
        threads=threads_of(gain.curve.direction, threads),
        rate=format_rate(gain.points[threads].rate.median),
        direction=direction_name(gain.curve.direction),
        times=times(factor, factor),
    )


def _gained(gain: Gain) -> str:
    rate = gain.curve.points[gain.enough].rate.median
    factor = rate / gain.one.rate.median
    return say(
        "threads.gain",
        **_about(gain),
        threads=threads_of(gain.curve.direction, gain.enough),
        mode=mode_name(gain.curve),
        rate=format_rate(rate),
        direction=direction_name(gain.curve.direction),
        times=times(factor, factor),
    )


def _about(gain: Gain) -> dict[str, str]:
    return {"memory": memory_name(gain.curve.host_memory), "size": format_bytes(gain.curve.bytes)}


def _staged(gains: Sequence[Gain], gain: Gain) -> bool:
    """Whether pageable memory stays far behind the same transfer of pinned memory with one thread."""
    if not gain.curve.host_memory.startswith("pageable"):
        return False
    wanted = ("pinned", *gain.curve.subject[1:])
    pinned = next((other for other in gains if other.curve.subject == wanted), None)
    highest = max(point.rate.high for point in gain.points.values())
    return pinned is not None and pinned.one.rate.low > _FAR_AHEAD * highest
