"""When pinning pays and what to use instead, in sentences: findings and verdict of the breakeven experiment."""

from collections.abc import Mapping
from statistics import median

from isthmus.analysis.breakeven.comparison import AGREEMENT, BreakevenAnalysis, analyse_breakeven, share_of
from isthmus.analysis.breakeven.measured import interpolated
from isthmus.analysis.breakeven.model import Missing
from isthmus.analysis.breakeven.thresholds import Contest
from isthmus.analysis.breakeven.words import PLAIN_CASES, case_words, size_words, uses_words
from isthmus.analysis.phrases import factor_digits, memory_name, times
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.document.finding import Finding, Takeaway
from isthmus.language import enumerated, say, sentences
from isthmus.record import MIB, Run, format_bytes, format_seconds


def findings(run: Run) -> list[Finding]:
    """What the breakeven experiment of a run says; nothing for a run without it."""
    analysis = analyse_breakeven(run)
    if analysis is None:
        return []
    found = [_pinning(analysis), _choice(analysis), _in_place(analysis), _derived(analysis)]
    return [finding for finding in found if finding]


def takeaway(run: Run) -> Takeaway | None:
    """When pinning pays and what is the fastest; None for a run without the experiment."""
    analysis = analyse_breakeven(run)
    if analysis is None:
        return None
    size = format_bytes(analysis.reference_bytes)
    least = _least_uses(analysis)
    ranked = _ranked(analysis)
    parts = [_pays(analysis, least)]
    if ranked and ranked[0][1] > 1:
        way, speed = ranked[0]
        parts.append(say("breakeven.fastest", size=size, memory=memory_name(way), times=times(speed, speed)))
        if way == "staging":
            return Takeaway(sentences(parts), say("breakeven.keep_staging"))
    return Takeaway(sentences(parts) or say("breakeven.nothing_to_compare"), _advice(least))


def _advice(least: Mapping[str, Threshold]) -> str:
    """What follows for pinning where no buffer is kept; empty where the run cannot tell."""
    states = {threshold.state for threshold in least.values()}
    if states == {"always"}:
        return say("breakeven.pin_always")
    if states and states <= {"always", "from"}:
        return say("breakeven.pin_from")
    return say("breakeven.pin_never") if states == {"never"} else ""


def _by_case(both: str, one: str, answers: Mapping[str, str], **words: object) -> str:
    """The text `both` where both cases have an answer, `one` where a single one has; empty without any."""
    if len(answers) == len(PLAIN_CASES):
        return say(both, **answers, **words)
    return "".join(say(one, case=case_words(case), answer=answer, **words) for case, answer in answers.items())


def _pays(analysis: BreakevenAnalysis, least: Mapping[str, Threshold]) -> str:
    size = format_bytes(analysis.reference_bytes)
    return _by_case(
        "breakeven.pays_both", "breakeven.pays_in", {case: uses_words(each) for case, each in least.items()}, size=size
    )


def _pinning(analysis: BreakevenAnalysis) -> Finding | None:
    least = _least_uses(analysis)
    if not least:
        return None
    once = {
        case: size_words(threshold)
        for case in PLAIN_CASES
        if (threshold := analysis.measured.thresholds.get(Contest(case, 1, "pageable", "pinned")))
    }
    text = sentences([_pays(analysis, least), _by_case("breakeven.once_both", "breakeven.once_in", once)])
    return Finding("note", "breakeven_pinning", text, cause=_price(analysis))


def _price(analysis: BreakevenAnalysis) -> str:
    """What pinning costs once and saves with every use, for each MiB at the reference size; empty where not measured.

    The setup is what getting and giving back pinned memory takes longer; it is the same in every case, so the median of
    what the cases say.
    """
    size = analysis.reference_bytes
    setups, saved = [], {}
    for case in analysis.measured.cases():
        totals = [analysis.measured.totals.get((case, way)) for way in ("pageable", "pinned")]
        further = [interpolated(each.further, size) for each in totals if each and each.further]
        first = [interpolated(analysis.measured.seconds(case, way, 1), size) for way in ("pageable", "pinned")]
        pairs = [
            (float(a[0]), float(b[0])) for a, b in zip(first, further, strict=False) if a is not None and b is not None
        ]
        if len(pairs) < 2:
            continue
        (pageable, pageable_use), (pinned, pinned_use) = pairs
        setups.append((pinned - pinned_use) - (pageable - pageable_use))
        saved[case] = pageable_use - pinned_use
    if not setups:
        return ""
    if median(setups) <= 0:
        return say("breakeven.price_nothing", size=format_bytes(size))
    gains = {case: saved[case] for case in PLAIN_CASES if saved.get(case, 0) > 0}
    mebibytes = size / MIB
    setup = format_seconds(median(setups) / mebibytes)
    words = {case: format_seconds(gain / mebibytes) for case, gain in gains.items()}
    return _by_case("breakeven.price_both", "breakeven.price_in", words, size=format_bytes(size), setup=setup)


def _choice(analysis: BreakevenAnalysis) -> Finding | None:
    """How many times as fast as pageable memory the other ways are for one use there and back."""
    ranked = _ranked(analysis)
    if not ranked:
        return None
    ways = [say("breakeven.way", memory=memory_name(way), factor=factor_digits(speed)) for way, speed in ranked]
    text = say("breakeven.choice", size=format_bytes(analysis.reference_bytes), ways=enumerated(ways))
    keep = ranked[0][0] == "staging" and ranked[0][1] > 1
    return Finding("note", "breakeven_choice", text, fix=say("breakeven.keep_staging") if keep else "")


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


def _derived(analysis: BreakevenAnalysis) -> Finding | None:
    """One line of how well thresholds derived from single costs agree; None where there is nothing to compare."""
    if not analysis.comparisons:
        return None
    share = share_of(analysis.comparisons)
    if not share.comparable:
        fix = say("breakeven.nothing_derived_fix")
        return Finding("note", "breakeven_derived", say("breakeven.nothing_derived"), fix=fix)
    # Rounded down, because 100 % would say that there is no exception.
    agree, near = (100 * count // share.comparable for count in (share.agreeing, share.agreeing + share.near))
    text = say("breakeven.derived", percent=agree, pairs=share.comparable, factor=AGREEMENT, near=near)
    measured = {way for _, way in analysis.measured.totals}
    missing = {way: reason for (_, way), reason in analysis.missing.items() if way in measured}
    ways = [
        say("breakeven.not_derived_way", memory=memory_name(way), reason=_missing_words(reason))
        for way, reason in missing.items()
    ]
    return Finding(
        "note",
        "breakeven_derived",
        sentences([text, say("breakeven.not_derived", ways=enumerated(ways)) if ways else ""]),
    )


def _missing_words(missing: Missing) -> str:
    """Why the costs of a way cannot be put together."""
    if missing.term is None:
        return say(f"breakeven.missing_{missing.reason}")
    step = f"{missing.term.method} {missing.term.direction or ''}".strip()
    return say("breakeven.missing_no_time", step=step)


def _least_uses(analysis: BreakevenAnalysis) -> dict[str, Threshold]:
    """From how many uses on pinned memory beats pageable memory at the reference size, by case."""
    size = analysis.reference_bytes
    found = {case: analysis.measured.least_uses(case, size, "pageable", "pinned") for case in PLAIN_CASES}
    return {case: least for case, least in found.items() if least}


def _ranked(analysis: BreakevenAnalysis) -> list[tuple[str, float]]:
    """How many times as fast as pageable memory the other ways are at the reference size, the fastest first."""
    found = [
        (way, speed.median)
        for way in analysis.measured.ways("round_trip")
        if way != "pageable"
        and (speed := analysis.measured.speed_up("round_trip", way, 1).get(analysis.reference_bytes))
    ]
    return sorted(found, key=lambda pair: -pair[1])
