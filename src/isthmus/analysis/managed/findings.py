"""What the managed experiment says: where on demand beats copying all, what is fastest, and what to do."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from isthmus.analysis.managed.granularity_findings import granularity_findings, granularity_verdict
from isthmus.analysis.managed.model import ManagedPoint, ManagedWay, Movement, Pattern, movements, why_no_migration
from isthmus.analysis.managed.thresholds import ON_DEMAND, WHOLE_COPIES, Overtaking, overtaking
from isthmus.analysis.managed.words import managed_answer, managed_way_name, phases_words, times_words, touched_words
from isthmus.analysis.statistics.contrast import MATTERS, ratio
from isthmus.document.finding import Finding, Takeaway
from isthmus.language import capitalised, enumerated, say, sentences
from isthmus.record import Run, format_bytes, format_seconds

_PREFETCHED = ManagedWay("prefetch_whole", "managed")
_ADVISED = tuple(ManagedWay(method, "managed") for method in ("read_mostly", "prefer_device", "accessed_by"))
# Fewer ways at one place are no choice.
_LEAST_WAYS = 4
_MOST_STRIDES = 5
_Pair = tuple[int, ManagedPoint, ManagedPoint]


class _Fastest(NamedTuple):
    """The way with the shortest time at one place, the sentences about it, and whether no other may be as fast."""

    way: ManagedWay
    sentence: str
    alone: bool


def findings(run: Run) -> list[Finding]:
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
        found.append(_stride_finding(strides))
    found += [_fastest_finding(list(main.values())), _stays_finding(stays)]
    return [*(finding for finding in found if finding), *granularity_findings(run)]


def takeaway(run: Run) -> Takeaway | None:
    """What to take away; None where nothing was measured."""
    main = _main(run)
    known_within = run.settings.target_relative_half_width
    answers = [
        managed_answer(each.pattern, found.threshold)
        for each in main.values()
        if (found := overtaking(each, ON_DEMAND, WHOLE_COPIES[0], known_within))
    ]
    told = []
    if answers:
        way, incumbent = capitalised(managed_way_name(ON_DEMAND)), managed_way_name(WHOLE_COPIES[0])
        told.append(say("managed.verdict_beats", way=way, incumbent=incumbent, answers=enumerated(answers)))
    if "percent" in main and (best := _fastest(main["percent"], 100)):
        key = "managed.verdict_fastest" if best.alone else "managed.verdict_among"
        told.append(say(key, way=managed_way_name(best.way)))
    if not told:
        grains = granularity_verdict(run)
        return Takeaway(grains) if grains else None
    advice = [finding.fix for each in main.values() if (finding := _threshold_finding(each, known_within))]
    advice += [finding.fix for each in main.values() if (finding := _prefetch_finding(each))]
    return Takeaway(sentences(told), next(filter(None, advice), ""))


def _main(run: Run) -> Mapping[Pattern, Movement]:
    """Both patterns of the largest array of which something is known."""
    found = [each for each in movements(run) if each.curves]
    return {each.pattern: each for each in found if each.bytes == found[0].bytes}


def _threshold_finding(movement: Movement, known_within: float) -> Finding | None:
    answers = [found for each in WHOLE_COPIES if (found := overtaking(movement, ON_DEMAND, each, known_within))]
    if not answers:
        return None
    first, *others = answers
    text = [
        say(
            "managed.beats",
            size=format_bytes(movement.bytes),
            way=managed_way_name(ON_DEMAND),
            incumbent=managed_way_name(first.incumbent),
            answer=managed_answer(movement.pattern, first.threshold),
        )
    ]
    text += [
        say(
            "managed.beats_also",
            incumbent=managed_way_name(each.incumbent),
            answer=managed_answer(movement.pattern, each.threshold),
        )
        for each in others
    ]
    return Finding("info", f"managed_{movement.pattern}", sentences(text), fix=_threshold_fix(movement, first))


def _threshold_fix(movement: Movement, answer: Overtaking) -> str:
    """What to do where a program cannot know what will be touched; where it can, the fastest way says more.

    A threshold that is not certain, such as one that may lie beyond all that was measured, is no ground for advice.
    """
    if not answer.threshold.certain:
        return ""
    copy = say(f"managed.copy_{answer.incumbent.memory}")
    match answer.threshold.state:
        case "up_to" | "from":
            return say(f"managed.leave_{answer.threshold.state}_{movement.pattern}", copy=copy)
        case "never":
            return say("managed.leave_never", copy=copy)
        case _:
            return ""


def _whole_finding(movement: Movement) -> Finding | None:
    """All of the array touched: copied from pageable memory and on demand."""
    explicit, managed = movement.at(WHOLE_COPIES[0], 100), movement.at(ON_DEMAND, 100)
    if explicit is None or managed is None:
        return None
    text = say(
        "managed.whole",
        size=format_bytes(movement.bytes),
        ratio=times_words(ratio(managed.seconds, explicit.seconds)),
        copy=managed_way_name(WHOLE_COPIES[0]),
        managed=format_seconds(managed.seconds.median),
        explicit=format_seconds(explicit.seconds.median),
    )
    return Finding("info", "managed_whole", text)


def _stride_finding(movement: Movement) -> Finding | None:
    """How the time falls with the stride."""
    points = movement.curves.get(ON_DEMAND, {})
    pairs = [(place, points[place], other) for place in points if (other := movement.at(WHOLE_COPIES[0], place))]
    if len(pairs) < 2:
        return None
    ratios = [
        say("managed.ratio_at", ratio=times_words(ratio(point.seconds, other.seconds)), stride=format_bytes(place))
        for place, point, other in _spread(pairs)
    ]
    text = say("managed.strides", ratios=enumerated(ratios), copy=managed_way_name(WHOLE_COPIES[0]))
    return Finding("info", "managed_touch", text)


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
    text = say(
        "managed.prefetch",
        prefetched=phases_words(prefetched.into, prefetched.out),
        managed=phases_words(managed.into, managed.out),
    )
    ratios = [
        say(
            "managed.as_long_as", ratio=times_words(ratio(prefetched.seconds, other.seconds)), way=managed_way_name(way)
        )
        for way in WHOLE_COPIES
        if (other := movement.at(way, 100))
    ]
    against = say("managed.prefetch_against", ratios=enumerated(ratios)) if ratios else ""
    fix = say("managed.prefetch_fix", gain=times_words(gain)) if gain.low > MATTERS else ""
    return Finding("info", "managed_prefetch", sentences([text, against]), fix=fix)


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
        say(
            "managed.advice_cost",
            way=managed_way_name(way),
            ratio=times_words(cost),
            touched=touched_words(movement.pattern, shared[way]),
        )
        for way, cost in costs.items()
    ]
    text = say("managed.advice", way=managed_way_name(ON_DEMAND), costs=enumerated(told))
    # What costs little where little is touched may cost much where all is.
    place = max(shared[way] for way in costs)
    best = min((way for way in costs if shared[way] == place), key=lambda way: costs[way].median)
    if 1 / costs[best].high > MATTERS:
        touched = touched_words(movement.pattern, place)
        fix = say("managed.advice_take", advice=best.method.replace("_", " "), touched=touched)
    else:
        fix = say("managed.advice_none")
    return Finding("info", "managed_advice", text, fix=fix)


def _fastest(movement: Movement, place: int) -> _Fastest | None:
    """The fastest of the ways measured at one place; None where there is no choice of ways."""
    points = {way: point for way in movement.curves if (point := movement.at(way, place))}
    if len(points) < _LEAST_WAYS:
        return None
    best = min(points, key=lambda way: points[way].seconds.median)
    told = {
        "touched": touched_words(movement.pattern, place),
        "way": managed_way_name(best),
        "time": format_seconds(points[best].seconds.median),
    }
    plain = points.get(WHOLE_COPIES[0])
    if plain and best != WHOLE_COPIES[0]:
        gain = times_words(ratio(plain.seconds, points[best].seconds))
        text = [say("managed.fastest_gain", **told, gain=gain, copy=managed_way_name(WHOLE_COPIES[0]))]
    else:
        text = [say("managed.fastest", **told)]
    others = [
        managed_way_name(way) for way in points if way != best and points[way].seconds.low <= points[best].seconds.high
    ]
    if others:
        text.append(capitalised(say("managed.as_fast", count=len(others), ways=enumerated(others))))
    return _Fastest(best, sentences(text), not others)


def _fastest_finding(chosen: Sequence[Movement]) -> Finding | None:
    """At the ends of what was measured by most ways: elsewhere the fastest may be one that was left out."""
    told, choices = [], []
    for movement in chosen:
        counts = {
            place: sum(movement.at(way, place) is not None for way in movement.curves) for place in movement.places
        }
        places = [place for place, count in counts.items() if count == max(counts.values())]
        for place in dict.fromkeys([*places[:1], *places[-1:]]):
            best = _fastest(movement, place)
            if best:
                told.append(best.sentence)
                touched = touched_words(movement.pattern, place)
                choices.append(say("managed.choice", way=managed_way_name(best.way), touched=touched))
    if not told:
        return None
    return Finding("info", "managed_fastest", sentences(told), fix=say("managed.prefer", choices=enumerated(choices)))


def _stays_finding(why: str) -> Finding | None:
    return Finding("info", "managed_stays", say("managed.stays", why=why)) if why else None
