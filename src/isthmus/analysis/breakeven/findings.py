"""When pinning pays and what to use instead, in sentences: findings and verdict of the breakeven experiment."""

from isthmus.analysis.breakeven.analysis import BreakevenAnalysis, analyse_breakeven
from isthmus.analysis.breakeven.tables import uses_cell, written
from isthmus.analysis.breakeven.words import PLAIN_CASES, case_words
from isthmus.analysis.phrases import memory_name, times
from isthmus.document.finding import Finding
from isthmus.language import in_brackets, say, sentences
from isthmus.record import Run, format_bytes


def findings(run: Run) -> list[Finding]:
    """What the breakeven experiment of a run says; nothing for a run without it."""
    analysis = analyse_breakeven(run)
    if analysis is None:
        return []
    candidates = [_pinning(analysis), _choice(analysis), _in_place(analysis)]
    return [finding for finding in candidates if finding]


def takeaway(run: Run) -> Finding | None:
    """When pinning pays and what is the fastest; None for a run that has nothing to compare."""
    by_topic = {finding.topic: finding for finding in findings(run) if finding.topic != "breakeven_in_place"}
    choice = by_topic.get("breakeven_choice")
    text = sentences(finding.text for finding in by_topic.values())
    return Finding("note", "breakeven", text, do=choice.do if choice else ()) if text else None


def _pinning(analysis: BreakevenAnalysis) -> Finding | None:
    """From how many uses on pinned memory beats pageable memory at the reference size, by case."""
    size = analysis.reference_bytes
    least_uses = {case: analysis.measured.least_uses(case, size, "pageable", "pinned") for case in PLAIN_CASES}
    uses = [
        f"{written(uses_cell(least))}{in_brackets(case_words(case))}"
        for case, least in least_uses.items()
        if least and least.known
    ]
    if not uses:
        return None
    text = say("breakeven.pays_in", size=format_bytes(size), uses=say("common.comma").join(uses))
    return Finding("note", "breakeven_pinning", text)


def _choice(analysis: BreakevenAnalysis) -> Finding | None:
    """The fastest memory kind for one use there and back, where that is not pageable memory."""
    ranked = _ranked(analysis)
    if not ranked or ranked[0][1] <= 1:
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
