"""Whether more threads than one move more: yes, little at most, not, or unknown; and how many are enough."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from isthmus.analysis.phrases import direction_name, link_rate, memory_name, times
from isthmus.analysis.statistics.contrast import MATTERS, above
from isthmus.analysis.statistics.curve import ONE_WAY, Point
from isthmus.analysis.threads.model import (
    ThreadCurve,
    mode_name,
    most_complete,
    reference_bytes,
    threads_of,
    worker_curves,
)
from isthmus.document.finding import Finding
from isthmus.grouping import grouped
from isthmus.language import enumerated, say, sentences
from isthmus.record import Run, format_bytes, format_rate

Answer = Literal["yes", "no", "cannot tell"]

# Up to this bound on what threads gain, one thread is the answer.
_LITTLE = 1.25
# Pinned memory must be so much faster for the link to be ruled out as what limits another kind.
_FAR_AHEAD = 1.25


@dataclass(frozen=True)
class Gain:
    """What more threads are worth for one memory kind, direction and size.

    `one` is the rate of a single thread that copies everything in one call, `curve` that of more threads. The answer is
    "yes" where the 95 % intervals of more than one number of threads (of one, if no more were measured) lie above that
    of one thread, by a factor that matters; "no" where none does and none leaves room for more than 1.25; else the run
    cannot tell. `most` is the largest factor that the intervals leave room for.
    """

    one: Point
    curve: ThreadCurve
    answer: Answer
    most: float

    @property
    def points(self) -> dict[int, Point]:
        """By number of threads, one among them."""
        return {**self.curve.points, 1: self.one}

    @property
    def enough(self) -> int:
        """The number of threads beyond which there is no significant gain."""
        return enough_threads(self.points)

    @property
    def slowdown(self) -> tuple[int, float] | None:
        """The most threads with their rate over the best, where that is lower by so much that fewer are the answer."""
        most, best = max(self.points), max(self.points.values(), key=lambda point: point.rate.median)
        last = self.points[most]
        factor = last.rate.median / best.rate.median
        return (most, factor) if above(best, last) and factor * _LITTLE < 1 else None


def thread_gains(curves: Sequence[ThreadCurve]) -> list[Gain]:
    """One answer for each memory kind, direction and size for which one thread and more of them were measured."""
    groups = grouped(worker_curves(curves), lambda curve: curve.subject)
    return [gain for group in groups.values() if (gain := _gain(group))]


def enough_threads(points: Mapping[int, Point]) -> int:
    """The smallest number of threads that no larger one beats by a factor that matters, intervals apart."""
    counts = sorted(points)
    return next(
        count
        for place, count in enumerate(counts)
        if not any(_gains(points[more], points[count]) for more in counts[place + 1 :])
    )


def _gain(curves: Sequence[ThreadCurve]) -> Gain | None:
    # A whole copy rather than one in chunks.
    singles = sorted((curve for curve in curves if 1 in curve.points), key=lambda curve: curve.slicing != "slices")
    several = [curve for curve in curves if _several(curve)]
    if not singles or not several:
        return None
    one = singles[0].points[1]
    gaining = _gaining(several, one)
    curve = _unbeaten(gaining) if gaining else most_complete(several)
    most = max(point.rate.high for each in several for point in _several(each)) / one.rate.low
    lone = any(_gains(point, one) for each in several for point in _several(each))
    answer: Answer = "yes" if gaining else "no" if most <= _LITTLE and not lone else "cannot tell"
    return Gain(one, curve, answer, most)


def _unbeaten(curves: Sequence[ThreadCurve]) -> ThreadCurve:
    """The curve with the most numbers of threads, then the plainest, of those whose best point no other beats."""
    ends = {id(curve): max(_several(curve), key=lambda point: point.rate.median) for curve in curves}
    unbeaten = [curve for curve in curves if not any(_gains(end, ends[id(curve)]) for end in ends.values())]
    return most_complete(unbeaten)


def _gaining(curves: Sequence[ThreadCurve], one: Point) -> list[ThreadCurve]:
    """The curves that gain.

    At a single number of threads, of the curve or of all of them, a difference may be chance: with so many to choose
    from, one is.
    """
    gaining = [(curve, sum(_gains(point, one) for point in _several(curve))) for curve in curves]
    measured = sum(len(_several(curve)) for curve in curves)
    if sum(count for _, count in gaining) < min(2, measured):
        return []
    return [curve for curve, count in gaining if count >= min(2, len(_several(curve)))]


def _several(curve: ThreadCurve) -> list[Point]:
    return [point for count, point in curve.points.items() if count > 1]


def _gains(point: Point, other: Point) -> bool:
    return above(point, other) and point.rate.median >= MATTERS * other.rate.median


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
            rate = gain.curve.points[gain.enough].rate.median
            factor = rate / gain.one.rate.median
            yield say(
                "threads.gain",
                **_about(gain),
                threads=threads_of(gain.curve.direction, gain.enough),
                mode=mode_name(gain.curve),
                rate=format_rate(rate),
                direction=direction_name(gain.curve.direction),
                times=times(factor, factor),
            )
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
