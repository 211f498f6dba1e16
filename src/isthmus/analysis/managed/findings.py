"""What the managed experiment says: where on demand beats copying all, what is fastest, how much moves at a time."""

from collections.abc import Iterator, Mapping

from isthmus.analysis.managed.counts import counted_passes, why_not_counted
from isthmus.analysis.managed.granularity import Mechanism, mechanisms, unit_words
from isthmus.analysis.managed.model import ManagedWay, Movement, Pattern, movements, why_no_migration
from isthmus.analysis.managed.thresholds import ON_DEMAND, WHOLE_COPIES, Overtaking, overtaking
from isthmus.analysis.managed.words import managed_answer, phases_words, times_words, touched_words, way_label
from isthmus.analysis.phrases import memory_name
from isthmus.analysis.statistics.contrast import MATTERS, ratio
from isthmus.document.finding import Finding, Takeaway
from isthmus.language import enumerated, say, sentences
from isthmus.record import Run, format_bytes, format_seconds

_PREFETCHED = ManagedWay("prefetch_whole", "managed")
_ADVISED = tuple(ManagedWay(method, "managed") for method in ("read_mostly", "prefer_device", "accessed_by"))
# Fewer ways at one place are no choice.
_LEAST_WAYS = 4


def findings(run: Run) -> list[Finding]:
    """All that the run's largest array supports, if it measured one, and how much moves at a time."""
    main = _main(run)
    found: list[Finding | None] = [_threshold(each, run) for each in main.values()]
    if percents := main.get("percent"):
        found += [_prefetch(percents), _advice(percents)]
    if main:
        found += [_fastest(main), _stays(why_no_migration(run))]
    return [*(finding for finding in found if finding), *granularity_findings(run)]


def takeaway(run: Run) -> Takeaway | None:
    """What to take away; None where nothing was measured."""
    main = _main(run)
    target = run.settings.target_relative_half_width
    answers = [
        managed_answer(each.pattern, found.threshold)
        for each in main.values()
        if (found := overtaking(each, ON_DEMAND, WHOLE_COPIES[0], target))
    ]
    parts = [say("managed.verdict_beats", answers=enumerated(answers))] if answers else []
    if "percent" in main and (best := _best(main["percent"], 100)):
        key = "managed.verdict_fastest" if len(best) == 1 else "managed.verdict_among"
        parts.append(say(key, way=way_label(best[0])))
    if not parts:
        grains = sentences(_faults(run))
        return Takeaway(grains) if grains else None
    advice = [finding.fix for each in main.values() if (finding := _threshold(each, run))]
    advice += [finding.fix for each in main.values() if (finding := _prefetch(each))]
    return Takeaway(sentences(parts), next(filter(None, advice), ""))


def granularity_findings(run: Run) -> list[Finding]:
    """How much moves at a time; where counters and timing differ; why nothing was counted."""
    found = mechanisms(run)
    faults = list(_faults(run))
    findings = []
    if text := sentences([*faults, _page_prefetch(found)]):
        findings.append(Finding("note", "managed_granularity", text, fix=_granularity_fix(found)))
    findings += [
        Finding(
            "note",
            "granularity_differs",
            say("granularity.differs", mechanism=each.name, counted=unit_words(counted), timed=unit_words(timed)),
        )
        for each in found
        if each.agreement == "no" and (counted := each.counted) and (timed := each.timed)
    ]
    if reason := why_not_counted(run):
        findings.append(Finding("note", "migrations_not_counted", say("granularity.not_counted"), reason))
    lossy = [each.case.note for each in counted_passes(run) if each.case.note]
    if lossy:
        text = say("granularity.lost", count=len(lossy), note=lossy[0])
        findings.append(Finding("note", "migrations_lost", text))
    return findings


def _faults(run: Run) -> Iterator[str]:
    """What a fault of either side moves, where that is known."""
    by_key = {each.key: each for each in mechanisms(run)}
    for side in ("device", "host"):
        unit = each.unit if (each := by_key.get(side)) else None
        if unit is None or unit.bytes is None:
            continue
        reach = grown.unit if (grown := by_key.get(f"{side}_grown")) else None
        if reach and reach.bytes and (reach.bytes > unit.bytes or reach.beyond):
            yield say(f"granularity.fault_{side}_grown", unit=unit_words(unit), reach=unit_words(reach))
        else:
            yield say(f"granularity.fault_{side}", unit=unit_words(unit))


def _page_prefetch(found: list[Mechanism]) -> str:
    units = {each.key: unit_words(each.unit) for each in found if each.unit and each.unit.bytes is not None}
    h2d, d2h = units.get("prefetch_h2d"), units.get("prefetch_d2h")
    return say("granularity.prefetch", h2d=h2d, d2h=d2h) if h2d and d2h else ""


def _granularity_fix(found: list[Mechanism]) -> str:
    mechanism = next((each for each in found if each.key == "device"), None)
    unit = mechanism.unit if mechanism and mechanism.waiting else None
    if mechanism is None or mechanism.waiting is None or unit is None or not unit.bytes or unit.beyond:
        return ""
    return say("granularity.fix", size=format_bytes(unit.bytes), time=format_seconds(mechanism.waiting.median))


def _main(run: Run) -> Mapping[Pattern, Movement]:
    """Both patterns of the largest array of which something is known."""
    found = [each for each in movements(run) if each.curves]
    return {each.pattern: each for each in found if each.bytes == found[0].bytes}


def _threshold(movement: Movement, run: Run) -> Finding | None:
    """Where on demand beats copying the whole array, from pageable and from pinned memory."""
    target = run.settings.target_relative_half_width
    answers = [found for each in WHOLE_COPIES if (found := overtaking(movement, ON_DEMAND, each, target))]
    if not answers:
        return None
    size, words = format_bytes(movement.bytes), [managed_answer(movement.pattern, each.threshold) for each in answers]
    if len(answers) == len(WHOLE_COPIES):
        text = say("managed.beats_both", size=size, pageable=words[0], pinned=words[1])
    else:
        memory = memory_name(answers[0].incumbent.memory)
        text = say("managed.beats_one", size=size, memory=memory, answer=words[0])
    return Finding("note", f"managed_{movement.pattern}", text, fix=_threshold_fix(movement, answers[0]))


def _threshold_fix(movement: Movement, answer: Overtaking) -> str:
    """What to do where a program cannot know what will be touched; where it can, the fastest way says more.

    A threshold that some draws contradict, such as one that may lie beyond all that was measured, is no ground for
    advice.
    """
    if not answer.threshold.certain:
        return ""
    if answer.threshold.state in {"up_to", "from"}:
        return say(f"managed.leave_{answer.threshold.state}_{movement.pattern}")
    return say("managed.leave_never") if answer.threshold.state == "never" else ""


def _prefetch(movement: Movement) -> Finding | None:
    prefetched, managed = movement.at(_PREFETCHED, 100), movement.at(ON_DEMAND, 100)
    if movement.pattern != "percent" or prefetched is None or managed is None:
        return None
    gain = ratio(managed.seconds, prefetched.seconds)
    text = say(
        "managed.prefetch",
        prefetched=phases_words(prefetched.into, prefetched.out),
        managed=phases_words(managed.into, managed.out),
        gain=times_words(gain),
    )
    return Finding("note", "managed_prefetch", text, fix=say("managed.prefetch_fix") if gain.low > MATTERS else "")


def _advice(movement: Movement) -> Finding | None:
    """Each kind of advice against none, at the largest part that was touched with and without it."""
    managed = movement.curves.get(ON_DEMAND, {})
    shared = {way: max(movement.curves.get(way, {}).keys() & managed.keys(), default=0) for way in _ADVISED}
    costs = {
        way: ratio(movement.curves[way][place].seconds, managed[place].seconds)
        for way, place in shared.items()
        if place
    }
    if not costs:
        return None
    parts = [
        say(
            "managed.advice_cost",
            way=way_label(way),
            ratio=times_words(cost),
            touched=touched_words(movement.pattern, shared[way]),
        )
        for way, cost in costs.items()
    ]
    # What costs little where little is touched may cost much where all is.
    place = max(shared[way] for way in costs)
    best = min((way for way in costs if shared[way] == place), key=lambda way: costs[way].median)
    helps = 1 / costs[best].high > MATTERS
    fix = say("managed.advice_take", way=way_label(best)) if helps else say("managed.advice_none")
    return Finding("note", "managed_advice", say("managed.advice", costs=enumerated(parts)), fix=fix)


def _best(movement: Movement, place: int) -> list[ManagedWay]:
    """The fastest way at one place, then those without a significant difference; empty where there is no choice."""
    points = {way: point for way in movement.curves if (point := movement.at(way, place))}
    if len(points) < _LEAST_WAYS:
        return []
    best = min(points, key=lambda way: points[way].seconds.median)
    tied = [way for way in points if way != best and points[way].seconds.low <= points[best].seconds.high]
    return [best, *tied]


def _fastest(main: Mapping[Pattern, Movement]) -> Finding | None:
    """At the ends of what was measured by most ways: elsewhere the fastest may be one that was left out."""
    parts = []
    for pattern, movement in main.items():
        counts = {
            place: sum(movement.at(way, place) is not None for way in movement.curves) for place in movement.places
        }
        places = [place for place, count in counts.items() if count == max(counts.values())]
        for place in dict.fromkeys([*places[:1], *places[-1:]]):
            best, *tied = _best(movement, place) or (None,)
            point = movement.at(best, place) if best else None
            if best and point:
                words = {"touched": touched_words(pattern, place), "way": way_label(best)}
                time = format_seconds(point.seconds.median)
                if tied:
                    others = enumerated([way_label(way) for way in tied], "or")
                    parts.append(say("managed.fastest_tied", **words, time=time, others=others))
                else:
                    parts.append(say("managed.fastest", **words, time=time))
    return Finding("note", "managed_fastest", sentences(parts)) if parts else None


def _stays(why: str) -> Finding | None:
    return Finding("note", "managed_stays", say("managed.stays", why=why)) if why else None
