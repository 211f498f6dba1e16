"""What the managed experiment says: where on demand beats copying all, what is fastest, how much moves at a time."""

from isthmus.analysis.managed.granularity import Mechanism, counted_passes, mechanisms, unit_words
from isthmus.analysis.managed.model import (
    ON_DEMAND,
    WHOLE_COPIES,
    ManagedWay,
    Movement,
    main_movements,
    overtaking,
    why_no_migration,
)
from isthmus.analysis.managed.published import paper_answers
from isthmus.analysis.managed.words import managed_answer, pattern_name, touched_words, way_label
from isthmus.analysis.phrases import factor_words, memory_label
from isthmus.analysis.statistics.contrast import MATTERS, ratio
from isthmus.document.finding import Finding, known
from isthmus.language import clauses, enumerated, say, sentences
from isthmus.record import Run, format_bytes, format_seconds

_PREFETCHED = ManagedWay("prefetch_whole", "managed")
_ADVISED = tuple(ManagedWay(method, "managed") for method in ("read_mostly", "prefer_device", "accessed_by"))
# Fewer methods at one place are no choice.
_LEAST_WAYS = 4


def findings(run: Run) -> list[Finding]:
    """All that the run's largest array supports, if it measured one, and how much moves at a time."""
    main = main_movements(run)
    candidates: list[Finding | None] = [_threshold(each, run) for each in main.values()]
    if percents := main.get("percent"):
        candidates += [_prefetch(percents), _advice(percents)]
    if main:
        # At the ends of what was measured by most methods: elsewhere the fastest may be one that was left out.
        parts = []
        for movement in main.values():
            counts = {
                place: sum(movement.at(method, place) is not None for method in movement.curves)
                for place in movement.places
            }
            places = [place for place, count in counts.items() if count == max(counts.values())]
            parts += [_fastest_words(movement, place) for place in dict.fromkeys([*places[:1], *places[-1:]])]
        text = sentences(parts)
        why = why_no_migration(run)
        candidates += [
            Finding("note", "managed_fastest", text) if text else None,
            Finding("note", "managed_stays", say("managed.stays", why=why)) if why else None,
            _paper(run),
        ]
    return known(*candidates, *granularity_findings(run))


def takeaway(run: Run) -> Finding | None:
    """What to take away; None where nothing was measured."""
    main = main_movements(run)
    thresholds = [threshold for each in main.values() if (threshold := _threshold(each, run))]
    parts = [each.text for each in thresholds]
    if percents := main.get("percent"):
        parts.append(_fastest_words(percents, 100))
    text = sentences(parts)
    if not text:
        fault = _device_fault(mechanisms(run))
        return Finding("note", "managed", fault.text, do=fault.do) if fault else None
    prefetch = _prefetch(percents) if percents else None
    fixes = [do for each in (*thresholds, prefetch) if each for do in each.do]
    return Finding("note", "managed", text, do=tuple(fixes[:1]))


def _paper(run: Run) -> Finding | None:
    """Where on demand wins next to the paper's answers, and why its estimate of the unit cannot be."""
    answers = paper_answers(run)
    texts = [
        say(f"managed.paper_{pattern}", published=each.published, here=each.here) for pattern, each in answers.items()
    ]
    if not texts:
        return None
    units = {each.key: each.unit.bytes for each in mechanisms(run) if each.unit and not each.unit.beyond}
    fault, block = units.get("device"), units.get("device_grown")
    cause = ""
    if fault and block and fault < block:
        sizes = {"unit": fault, "twice": 2 * fault, "block": block}
        cause = say("managed.paper_unit", **{name: format_bytes(size) for name, size in sizes.items()})
    return Finding("note", "managed_paper", sentences(texts), cause=cause)


def granularity_findings(run: Run) -> list[Finding]:
    """What a fault of the device moves and costs; where counters and timing differ, or counts are incomplete."""
    all_mechanisms = mechanisms(run)
    fault = _device_fault(all_mechanisms)
    findings = [fault] if fault else []
    findings += [
        Finding(
            "note",
            "granularity_differs",
            say("granularity.differs", mechanism=each.name, counted=unit_words(counted), timed=unit_words(timed)),
        )
        for each in all_mechanisms
        if each.agreement == "no" and (counted := each.counted) and (timed := each.timed)
    ]
    passes = counted_passes(run)
    if lossy := [each.case.note for each in passes if each.case.note]:
        text = say("granularity.lost", count=len(lossy), total=len(passes), note=lossy[0])
        findings.append(Finding("note", "migrations_lost", text))
    return findings


def _device_fault(of: list[Mechanism]) -> Finding | None:
    """What a fault of the device moves, where that is known, and what to do about it where its time is known too."""
    device = next((each for each in of if each.key == "device"), None)
    if device is None or (unit := device.unit) is None or unit.bytes is None:
        return None
    fix = ""
    if device.waiting and not unit.beyond:
        fix = say("granularity.fix", size=format_bytes(unit.bytes), time=format_seconds(device.waiting.median))
    return Finding("note", "managed_granularity", say("granularity.fault", unit=unit_words(unit)), do=(fix,))


def _threshold(movement: Movement, run: Run) -> Finding | None:
    """Where on demand beats copying the whole array, from pageable and from pinned memory."""
    target, pattern = run.settings.target_relative_half_width, movement.pattern
    answers = [answer for each in WHOLE_COPIES if (answer := overtaking(movement, ON_DEMAND, each, target))]
    if not answers:
        return None
    words = [
        say(
            "managed_report.against",
            what=managed_answer(pattern, each.threshold),
            memory=memory_label(each.incumbent.memory),
        )
        for each in answers
    ]
    size, what = format_bytes(movement.bytes), pattern_name(pattern)
    text = say("managed.beats", size=size, what=what, answers=clauses(words))
    # A threshold that some draws contradict, such as one that may lie beyond all measured, is no ground for advice.
    first = answers[0].threshold
    advised = first.certain and first.state in {"up_to", "from", "never"}
    return Finding("note", f"managed_{pattern}", text, do=(say("managed.leave") if advised else "",))


def _prefetch(movement: Movement) -> Finding | None:
    prefetched, managed = movement.at(_PREFETCHED, 100), movement.at(ON_DEMAND, 100)
    if prefetched is None or managed is None:
        return None
    gain = ratio(managed.seconds, prefetched.seconds)
    text = say("managed.prefetch", gain=factor_words(gain))
    return Finding("note", "managed_prefetch", text, do=(say("managed.prefetch_fix") if gain.low > MATTERS else "",))


def _advice(movement: Movement) -> Finding | None:
    """The best advice against none, at the largest part that was touched with and without it.

    What costs little where little is touched may cost much where all is.
    """
    managed = movement.curves.get(ON_DEMAND, {})
    shared = {method: max(movement.curves.get(method, {}).keys() & managed.keys(), default=0) for method in _ADVISED}
    place = max(shared.values())
    if not place:
        return None
    costs = {
        method: ratio(movement.curves[method][place].seconds, managed[place].seconds)
        for method in _ADVISED
        if shared[method] == place
    }
    best = min(costs, key=lambda method: costs[method].median)
    touched = touched_words(movement.pattern, place)
    text = say("managed.advice", touched=touched, method=way_label(best), ratio=factor_words(costs[best]))
    return Finding("note", "managed_advice", text)


def _fastest_words(movement: Movement, place: int) -> str:
    """The fastest method at one place and those without a significant difference; empty where there is no choice."""
    points = {method: point for method in movement.curves if (point := movement.at(method, place))}
    if len(points) < _LEAST_WAYS:
        return ""
    best = min(points.values(), key=lambda point: point.seconds.median)
    tied = [method for method in points if points[method].seconds.low <= best.seconds.high]
    tied.sort(key=lambda method: points[method].seconds.median)
    methods = enumerated([way_label(method) for method in tied], "or")
    return say("managed.fastest", touched=touched_words(movement.pattern, place), methods=methods)
