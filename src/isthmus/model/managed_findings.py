"""What the managed experiment says: where on demand beats copying all, what is fastest, and what to do."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from isthmus.model.contrast import MATTERS, ratio
from isthmus.model.finding import Finding
from isthmus.model.granularity_findings import granularity_findings, granularity_verdict
from isthmus.model.managed import ManagedPoint, ManagedWay, Movement, Pattern, movements, why_no_migration
from isthmus.model.managed_published import (
    PAPER_DENSE_RATIO,
    PAPER_PERCENT,
    PAPER_STRIDE,
    PAPER_STRIDE_RATIO,
    PAPER_WHOLE_RATIO,
    moved_whole,
    phases_told,
    touches_told,
)
from isthmus.model.managed_thresholds import ON_DEMAND, WHOLE_COPIES, Overtaking, overtaking
from isthmus.model.managed_words import managed_answer, managed_way_name, phases_words, times_words, touched_words
from isthmus.model.phrases import capitalised, enumerated
from isthmus.record import Run, format_bytes, format_seconds

__all__ = ["managed_findings", "managed_verdict"]

_PREFETCHED = ManagedWay("prefetch_whole", "managed")
_ADVISED = tuple(ManagedWay(method, "managed") for method in ("read_mostly", "prefer_device", "accessed_by"))
# Fewer ways at one place are no choice.
_LEAST_WAYS = 4
_MOST_STRIDES = 5
_PAPER_WORDS: Mapping[Pattern, str] = {
    "percent": f"up to about {PAPER_PERCENT} % touched",
    "stride": f"from strides of about {format_bytes(PAPER_STRIDE)} on",
}
_Pair = tuple[int, ManagedPoint, ManagedPoint]


class _Fastest(NamedTuple):
    """The way with the shortest time at one place, what it takes in words, and whether no other may be as fast."""

    way: ManagedWay
    words: str
    alone: bool


def managed_findings(run: Run) -> list[Finding]:
    """All that the run's largest array supports, if it measured one, and how much moves at a time."""
    main = _main(run)
    if not main:
        return granularity_findings(run)
    known_within = run.settings.target_relative_half_width
    stays = why_no_migration(run)
    found: list[Finding | None] = [_threshold_finding(each, known_within) for each in main.values()]
    percents, strides = main.get("percent"), main.get("stride")
    if percents:
        found += [_whole_finding(percents), _prefetch_finding(percents), _advice_finding(percents)]
    if strides:
        found.append(_stride_finding(strides, moves=not stays))
    found += [_fastest_finding(list(main.values())), _stays_finding(stays)]
    return [*(finding for finding in found if finding), *granularity_findings(run)]


def managed_verdict(run: Run) -> str:
    """What to take away; empty where nothing was measured."""
    main = _main(run)
    known_within = run.settings.target_relative_half_width
    answers = [
        managed_answer(each.pattern, found.threshold)
        for each in main.values()
        if (found := overtaking(each, ON_DEMAND, WHOLE_COPIES[0], known_within))
    ]
    told = []
    if answers:
        told.append(f"{managed_way_name(ON_DEMAND)} beats {managed_way_name(WHOLE_COPIES[0])} {enumerated(answers)}")
    if "percent" in main and (best := _fastest(main["percent"], 100)):
        rank = "the fastest" if best.alone else "among the fastest"
        told.append(f"with all of it touched, {managed_way_name(best.way)} is {rank}")
    if grains := granularity_verdict(run):
        told.append(grains)
    return f"{'; '.join(told)}." if told else ""


def _main(run: Run) -> Mapping[Pattern, Movement]:
    """Both patterns of the largest array of which something is known."""
    found = [each for each in movements(run) if each.curves]
    return {each.pattern: each for each in found if each.bytes == found[0].bytes}


def _threshold_finding(movement: Movement, known_within: float) -> Finding | None:
    answers = [found for each in WHOLE_COPIES if (found := overtaking(movement, ON_DEMAND, each, known_within))]
    if not answers:
        return None
    told = [
        f"{managed_way_name(each.incumbent)} {managed_answer(movement.pattern, each.threshold)}" for each in answers
    ]
    text = f"Of an array of {format_bytes(movement.bytes)}, {managed_way_name(ON_DEMAND)} beats {enumerated(told)}"
    # The paper copies from pageable memory alone.
    if answers[0].incumbent == WHOLE_COPIES[0]:
        text += f"; on the paper's V100 it beat the former {_PAPER_WORDS[movement.pattern]}"
    return Finding("info", f"managed_{movement.pattern}", f"{text}.", fix=_threshold_fix(movement, answers[0]))


def _threshold_fix(movement: Movement, answer: Overtaking) -> str:
    """What to do where a program cannot know what will be touched; where it can, the fastest way says more.

    A threshold that is not certain, such as one that may lie beyond all that was measured, is no ground for advice.
    """
    if not answer.threshold.certain:
        return ""
    copying = "copy explicitly" if answer.incumbent.memory == "pageable" else "copy from pinned memory"
    small, large = (
        ("below that share", "above it") if movement.pattern == "percent" else ("at denser strides", "from there on")
    )
    match answer.threshold.state:
        case "up_to" | "from":
            there, elsewhere = (small, large) if answer.threshold.state == "up_to" else (large, small)
            return (
                f"Where it is not known what the device touches, leave the movement to managed memory {there} alone; "
                f"{elsewhere} {copying}, or prefetch."
            )
        case "never":
            return f"Do not leave the movement of such an array to page faults: {copying}, or prefetch."
        case _:
            return ""


def _whole_finding(movement: Movement) -> Finding | None:
    """Section 5.1, with what the phases say about why the answer is another one."""
    whole = moved_whole(movement)
    if whole is None:
        return None
    text = (
        f"With all of {format_bytes(whole.bytes)} touched, on demand takes {times_words(whole.ratio)} as long as "
        f"{managed_way_name(WHOLE_COPIES[0])} ({format_seconds(whole.managed.seconds.median)} to "
        f"{format_seconds(whole.explicit.seconds.median)}); on the paper's V100 it took "
        f"{PAPER_WHOLE_RATIO:.2f} times as long."
    )
    return Finding("info", "managed_whole", text, cause=phases_told(whole))


def _stride_finding(movement: Movement, *, moves: bool) -> Finding | None:
    """How the time falls with the stride, and what a touch costs; pages that do not move explain nothing of it."""
    points = movement.curves.get(ON_DEMAND, {})
    pairs = [(place, points[place], other) for place in points if (other := movement.at(WHOLE_COPIES[0], place))]
    if len(pairs) < 2:
        return None
    shares = [
        f"{times_words(ratio(point.seconds, other.seconds))} at {format_bytes(place)}"
        for place, point, other in _spread(pairs)
    ]
    text = (
        f"With one double touched in every so many bytes, on demand takes {enumerated(shares)} as long as "
        f"{managed_way_name(WHOLE_COPIES[0])}; on the paper's V100 {PAPER_DENSE_RATIO:.2f} times up to 120 KiB and "
        f"{PAPER_STRIDE_RATIO:.2f} times at {format_bytes(PAPER_STRIDE)}."
    )
    return Finding("info", "managed_touch", text, cause=touches_told(movement) if moves else "")


def _spread(pairs: Sequence[_Pair]) -> list[_Pair]:
    """As many as a sentence bears, from one end to the other."""
    last = len(pairs) - 1
    most = min(last, _MOST_STRIDES - 1)
    return [pairs[round(index * last / most)] for index in range(most + 1)]


def _prefetch_finding(movement: Movement) -> Finding | None:
    prefetched, managed = movement.at(_PREFETCHED, 100), movement.at(ON_DEMAND, 100)
    if prefetched is None or managed is None:
        return None
    gain = ratio(managed.seconds, prefetched.seconds)
    text = (
        f"With all of it touched, prefetching the array whole takes {phases_words(prefetched.into, prefetched.out)} in "
        f"place of {phases_words(managed.into, managed.out)}"
    )
    against = [
        f"{times_words(ratio(prefetched.seconds, other.seconds))} as long as {managed_way_name(way)}"
        for way in WHOLE_COPIES
        if (other := movement.at(way, 100))
    ]
    text += f"; that is {enumerated(against)}." if against else "."
    fix = (
        f"Prefetch arrays in managed memory before either side works on most of them: {times_words(gain)} as fast."
        if gain.low > MATTERS
        else ""
    )
    return Finding("info", "managed_prefetch", text, fix=fix)


def _advice_finding(movement: Movement) -> Finding | None:
    """Each at the largest part that was touched with and without it."""
    managed = movement.curves.get(ON_DEMAND, {})
    shared = {way: max(movement.curves.get(way, {}).keys() & managed.keys(), default=0) for way in _ADVISED}
    costs = {
        way: ratio(movement.curves[way][place].seconds, managed[place].seconds)
        for way, place in shared.items()
        if place
    }
    if not costs:
        return None
    told = [
        f"{managed_way_name(way)} takes {times_words(cost)} as long ({touched_words(movement.pattern, shared[way])})"
        for way, cost in costs.items()
    ]
    text = f"Beside {managed_way_name(ON_DEMAND)} without advice, {enumerated(told)}."
    # What costs little where little is touched may cost much where all is.
    place = max(shared[way] for way in costs)
    best = min((way for way in costs if shared[way] == place), key=lambda way: costs[way].median)
    if 1 / costs[best].high > MATTERS:
        fix = f"Of the advice, take {best.method.replace('_', ' ')} with {touched_words(movement.pattern, place)}."
    else:
        fix = "Advice alone is no way to make such a pass over an array faster."
    return Finding("info", "managed_advice", text, fix=fix)


def _fastest(movement: Movement, place: int) -> _Fastest | None:
    """The fastest of the ways measured at one place; None where there is no choice of ways."""
    points = {way: point for way in movement.curves if (point := movement.at(way, place))}
    if len(points) < _LEAST_WAYS:
        return None
    best = min(points, key=lambda way: points[way].seconds.median)
    text = format_seconds(points[best].seconds.median)
    plain = points.get(WHOLE_COPIES[0])
    if plain and best != WHOLE_COPIES[0]:
        gain = ratio(plain.seconds, points[best].seconds)
        text += f", {times_words(gain)} as fast as {managed_way_name(WHOLE_COPIES[0])}"
    others = [
        managed_way_name(way) for way in points if way != best and points[way].seconds.low <= points[best].seconds.high
    ]
    if others:
        text += f"; {enumerated(others)} {'is' if len(others) == 1 else 'are'} not certainly slower"
    return _Fastest(best, text, not others)


def _fastest_finding(chosen: Sequence[Movement]) -> Finding | None:
    """At the ends of what was measured by most ways: elsewhere the fastest may be one that was left out."""
    told, fixes = [], []
    for movement in chosen:
        counts = {
            place: sum(movement.at(way, place) is not None for way in movement.curves) for place in movement.places
        }
        places = [place for place, count in counts.items() if count == max(counts.values())]
        for place in dict.fromkeys([*places[:1], *places[-1:]]):
            best = _fastest(movement, place)
            if best:
                told.append(
                    f"with {touched_words(movement.pattern, place)}, {managed_way_name(best.way)} ({best.words})"
                )
                fixes.append(f"{managed_way_name(best.way)} with {touched_words(movement.pattern, place)}")
    if not told:
        return None
    sentences = ". ".join([told[0], *map(capitalised, told[1:])])
    text = f"The fastest of the ways measured at the same place: {sentences}."
    return Finding("info", "managed_fastest", text, fix=f"Prefer {enumerated(fixes)}.")


def _stays_finding(why: str) -> Finding | None:
    if not why:
        return None
    text = f"Pages of managed memory do not move on demand here ({why}), so no figure tells what page faults cost."
    return Finding("info", "managed_stays", text)
