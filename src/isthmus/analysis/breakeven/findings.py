"""When pinning pays and what to use instead, in sentences: findings and verdict of the breakeven experiment."""

from collections.abc import Mapping

from isthmus.analysis.breakeven.comparison import AGREEMENT, BreakevenAnalysis, analyse_breakeven
from isthmus.analysis.breakeven.derived import derived_finding
from isthmus.analysis.breakeven.measured import BREAKEVEN_WAYS
from isthmus.analysis.breakeven.price import price_words, reference_size
from isthmus.analysis.breakeven.thresholds import Contest
from isthmus.analysis.breakeven.words import (
    PLAIN_CASES,
    both_cases,
    by_case,
    case_words,
    size_words,
    spans_words,
    uses_count,
    uses_words,
    vague,
)
from isthmus.analysis.phrases import about_bytes, memory_name, times
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.document.finding import Finding, Takeaway
from isthmus.language import clauses, enumerated, say, sentences
from isthmus.record import Run, format_bytes

# Of a buffer that must be got for the purpose; a staging buffer is there already.
ALLOCATED_WAYS = tuple(way for way in BREAKEVEN_WAYS if way != "staging")

# The program that hardly ever gets a new buffer.
_MANY_USES = 1000


def findings(run: Run) -> list[Finding]:
    """What the breakeven experiment of a run says; nothing for a run without it."""
    analysis = analyse_breakeven(run)
    if analysis is None:
        return []
    found = [
        _pinning(analysis),
        _choice(analysis),
        _in_place(analysis),
        derived_finding(analysis),
    ]
    return [finding for finding in found if finding]


def takeaway(run: Run) -> Takeaway | None:
    """When pinning pays and what is the fastest; None for a run without the experiment."""
    analysis = analyse_breakeven(run)
    if analysis is None:
        return None
    size = format_bytes(reference_size(analysis))
    least = _least_uses(analysis, "pinned")
    ranked = _ranked(analysis)
    pays = say("breakeven.pinning_pays", size=size, when=both_cases(_uses_words(least))) if least else ""
    fastest = ""
    if ranked and ranked[0][1] > 1:
        way, speed = ranked[0]
        fastest = say("breakeven.crosses_fastest", size=size, memory=memory_name(way), times=times(speed, speed))
    does = sentences([pays, fastest]) or say("breakeven.nothing_to_compare")
    if fastest and ranked[0][0] == "staging":
        return Takeaway(does, say("breakeven.keep_staging"))
    return Takeaway(does, _advice(least))


def _advice(least: Mapping[str, Threshold]) -> str:
    """What follows for pinning where no buffer is kept; empty where the run cannot tell."""
    states = {threshold.state for threshold in least.values()}
    if states == {"always"}:
        return say("breakeven.pin_always")
    if states and states <= {"always", "from"}:
        return say("breakeven.pin_from")
    return say("breakeven.pin_never") if states == {"never"} else ""


_OTHER_WAYS = (("registered", "breakeven.registering_pays"), ("touched_registered", "breakeven.touching_pays"))


def _pinning(analysis: BreakevenAnalysis) -> Finding | None:
    least = _least_uses(analysis, "pinned")
    if not least:
        return None
    size = format_bytes(reference_size(analysis))
    parts = [say("breakeven.pinning_pays", size=size, when=both_cases(_uses_words(least)))]
    for way, key in _OTHER_WAYS:
        others = _least_uses(analysis, way)
        if others:
            parts.append(say(key, when=both_cases(_uses_words(others))))
    once, often = _thresholds(analysis, 1), _thresholds(analysis, _MANY_USES)
    if once:
        parts.append(say("breakeven.once_wins", sizes=both_cases(_size_words(once))))
    small = {
        case: say("breakeven.below", size=about_bytes(found.low if vague(found) else found.value))
        for case, found in often.items()
        if found.state == "from" and found.low > 0
    }
    if small:
        parts.append(say("breakeven.not_worth", sizes=both_cases(small), uses=uses_count(_MANY_USES)))
    larger = _size_words({case: found for case, found in often.items() if case not in small})
    if larger:
        parts.append(say("breakeven.often_wins", sizes=both_cases(larger), uses=uses_count(_MANY_USES)))
    # Source: glibc's M_MMAP_THRESHOLD, which grows with what a program frees, up to 32 MiB on 64-bit systems.
    parts.append(say("breakeven.recycled"))
    return Finding("info", "breakeven_pinning", sentences(parts), cause=price_words(analysis))


def _choice(analysis: BreakevenAnalysis) -> Finding | None:
    free = {case: analysis.measured.fastest(case, 1) for case in PLAIN_CASES}
    own = {case: analysis.measured.fastest(case, 1, among=ALLOCATED_WAYS) for case in PLAIN_CASES}
    best = {case: spans_words(spans) for case, spans in free.items() if spans}
    if not best:
        return None
    parts = [say("breakeven.fastest_once", ways=by_case(best))]
    if own != free:
        allocated = {case: spans_words(spans) for case, spans in own.items() if spans}
        parts.append(say("breakeven.fastest_allocated", ways=by_case(allocated)))
    ranked = _ranked(analysis)
    faster = [
        say("breakeven.faster_way" if index else "breakeven.fastest_way", **_speed(way, speed))
        for index, (way, speed) in enumerate(ranked)
        if speed > 1
    ]
    slower = [say("breakeven.slower_way", **_speed(way, speed)) for way, speed in ranked if speed <= 1]
    if faster:
        parts.append(say("breakeven.faster", size=format_bytes(reference_size(analysis)), ways=enumerated(faster)))
    if slower:
        parts.append(say("breakeven.not_faster", count=len(slower), ways=enumerated(slower)))
    staged = any(span.way == "staging" for spans in free.values() for span in spans)
    fix = say("breakeven.keep_staging") if staged else ""
    return Finding("info", "breakeven_choice", sentences(parts), fix=fix)


def _speed(way: str, speed: float) -> dict[str, str]:
    return {"memory": memory_name(way), "times": times(speed, speed)}


def _in_place(analysis: BreakevenAnalysis) -> Finding | None:
    changes, same = [], 0
    for uses in (1, 10):
        copied, produced = _thresholds(analysis, uses), _thresholds(analysis, uses, "_in_place")
        for case in (case for case in copied if case in produced):
            if _alike(copied[case], produced[case]):
                same += 1
                continue
            changes.append(
                say(
                    "breakeven.in_place_change",
                    uses=uses_count(uses),
                    case=case_words(case),
                    produced=size_words(produced[case]),
                    copied=size_words(copied[case]),
                )
            )
    if not same and not changes:
        return None
    text = (
        say("breakeven.in_place_changes", changes=clauses(changes)) if changes else say("breakeven.in_place_the_same")
    )
    size = reference_size(analysis)
    gains = []
    for case in PLAIN_CASES:
        slow, fast = (analysis.measured.seconds(each, "pageable", 1).get(size) for each in (case, f"{case}_in_place"))
        if slow is not None and fast is not None:
            gains.append(float(slow[0] / fast[0]))
    gain = say("breakeven.in_place_gain", size=format_bytes(size), times=times(min(gains), max(gains))) if gains else ""
    return Finding("info", "breakeven_in_place", sentences([text, gain]))


def _least_uses(analysis: BreakevenAnalysis, way: str) -> dict[str, Threshold]:
    """From how many uses on the way beats pageable memory at the reference size, by case."""
    size = reference_size(analysis)
    found = {case: analysis.measured.least_uses(case, size, "pageable", way) for case in PLAIN_CASES}
    return {case: least for case, least in found.items() if least}


def _uses_words(thresholds: Mapping[str, Threshold]) -> dict[str, str]:
    return {case: uses_words(threshold) for case, threshold in thresholds.items()}


def _thresholds(analysis: BreakevenAnalysis, uses: int, suffix: str = "") -> dict[str, Threshold]:
    """From which size on pinned memory beats pageable memory, by case."""
    found = {
        case: analysis.measured.thresholds.get(Contest(f"{case}{suffix}", uses, "pageable", "pinned"))
        for case in PLAIN_CASES
    }
    return {case: threshold for case, threshold in found.items() if threshold}


def _size_words(thresholds: Mapping[str, Threshold]) -> dict[str, str]:
    return {case: size_words(threshold) for case, threshold in thresholds.items()}


def _ranked(analysis: BreakevenAnalysis) -> list[tuple[str, float]]:
    """How many times as fast as pageable memory the other ways are at the reference size, the fastest first."""
    size = reference_size(analysis)
    found = [
        (way, speed.median)
        for way in analysis.measured.ways("round_trip")
        if way != "pageable" and (speed := analysis.measured.speed_up("round_trip", way, 1).get(size))
    ]
    return sorted(found, key=lambda pair: -pair[1])


def _alike(one: Threshold, other: Threshold) -> bool:
    if one.state != other.state or one.state not in {"from", "up_to"}:
        return one.state == other.state
    return max(one.value, other.value) <= AGREEMENT * min(one.value, other.value)
