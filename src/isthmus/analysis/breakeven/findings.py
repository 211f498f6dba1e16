"""When pinning pays and what to use instead, in sentences: findings and verdict of the breakeven experiment."""

from isthmus.analysis.breakeven.derived import AGREEMENT, BreakevenAnalysis, analyse_breakeven
from isthmus.analysis.breakeven.thresholds import Contest
from isthmus.analysis.breakeven.words import FEW_AND_MANY, PLAIN_CASES, answer_words, case_words, uses_count
from isthmus.analysis.phrases import about_bytes, memory_name, percent_words, times
from isthmus.document.finding import Finding, known
from isthmus.language import clauses, say, sentences
from isthmus.record import Run, format_bytes

_DETAILS = ("breakeven_derived", "breakeven_in_place")


def findings(run: Run) -> list[Finding]:
    """What the breakeven experiment of a run says; nothing for a run without it."""
    analysis = analyse_breakeven(run)
    if analysis is None:
        return []
    return known(_pinning(analysis), _derived(analysis), _choice(analysis), _in_place(analysis))


def takeaway(run: Run) -> Finding | None:
    """When pinning pays and what is the fastest; None for a run that has nothing to compare."""
    by_topic = {finding.topic: finding for finding in findings(run) if finding.topic not in _DETAILS}
    choice = by_topic.get("breakeven_choice")
    text = sentences(finding.text for finding in by_topic.values())
    return Finding("note", "breakeven", text, do=choice.do if choice else ()) if text else None


def _pinning(analysis: BreakevenAnalysis) -> Finding | None:
    """From which size on pinned memory beats pageable memory, by case and number of uses."""
    texts = []
    for case in PLAIN_CASES:
        answers = [
            say("breakeven.with_uses", answer=answer_words(threshold), uses=uses_count(uses))
            for uses in FEW_AND_MANY
            if (threshold := analysis.measured.thresholds.get(Contest(case, uses, "pageable", "pinned")))
        ]
        if answers:
            texts.append(say("breakeven.pays_case", case=case_words(case), answers=say("common.comma").join(answers)))
    return Finding("note", "breakeven_pinning", say("breakeven.pays", cases=clauses(texts))) if texts else None


def _derived(analysis: BreakevenAnalysis) -> Finding | None:
    """The same from set-up costs and copy rates, and how near that is; None where nothing can be compared."""
    compared = [each for each in analysis.derived if each.agrees is not None]
    if not compared:
        return None
    parts = [
        say(
            "breakeven.derived_size",
            size=about_bytes(each.derived.value),
            measured=about_bytes(each.measured.value),
            case=case_words(each.contest.case),
            uses=uses_count(each.contest.uses),
        )
        for each in compared
        if each.apart is not None and each.contest.uses in FEW_AND_MANY
    ]
    texts = [say("breakeven.derived", sizes=clauses(parts))] if parts else []
    agreeing = sum(bool(each.agrees) for each in compared)
    texts.append(say("breakeven.derived_share", number=agreeing, count=len(compared), percent=round(100 * AGREEMENT)))
    losses = [each.loss for each in compared if each.loss is not None and not each.agrees]
    cause = say("breakeven.derived_cause", percent=percent_words(max(losses))) if losses else ""
    return Finding("note", "breakeven_derived", sentences(texts), cause=cause)


def _choice(analysis: BreakevenAnalysis) -> Finding | None:
    """The fastest of several memory kinds for one use there and back, where that is not pageable memory."""
    ranked = _ranked(analysis)
    if len(ranked) < 2 or ranked[0][1] <= 1:
        return None
    kind, speed = ranked[0]
    size, factor = format_bytes(analysis.reference_bytes), times(speed, speed)
    text = say("breakeven.fastest", size=size, memory=memory_name(kind), times=factor)
    return Finding("note", "breakeven_choice", text, do=(say("breakeven.keep_staging") if kind == "staging" else "",))


def _in_place(analysis: BreakevenAnalysis) -> Finding | None:
    """What it gains to produce data in pageable memory instead of copying it there."""
    size = analysis.reference_bytes
    gains = []
    for case in PLAIN_CASES:
        slow, fast = (analysis.measured.seconds(each, "pageable", 1).get(size) for each in (case, f"{case}_in_place"))
        if slow is not None and fast is not None:
            gains.append(float(slow[0] / fast[0]))
    if not gains:
        return None
    text = say("breakeven.in_place", size=format_bytes(size), times=times(min(gains), max(gains)))
    return Finding("note", "breakeven_in_place", text)


def _ranked(analysis: BreakevenAnalysis) -> list[tuple[str, float]]:
    """How many times as fast as pageable memory the other memory kinds are at the reference size, the fastest first."""
    ranked = [
        (kind, speed.median)
        for kind in analysis.measured.kinds("round_trip")
        if kind != "pageable"
        and (speed := analysis.measured.speed_up("round_trip", kind, 1).get(analysis.reference_bytes))
    ]
    return sorted(ranked, key=lambda pair: -pair[1])
