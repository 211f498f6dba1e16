"""How well thresholds derived from single costs agree with measured ones, and which costs they miss, in sentences."""

from isthmus.analysis.breakeven.comparison import (
    AGREEMENT,
    TIGHT,
    Blame,
    BreakevenAnalysis,
    ThresholdComparison,
    share_of,
)
from isthmus.analysis.breakeven.costs import USUAL
from isthmus.analysis.breakeven.model import Missing
from isthmus.analysis.phrases import about_bytes, memory_name, spanned
from isthmus.document.finding import Finding
from isthmus.language import clauses, say, sentences
from isthmus.record import format_seconds

__all__ = ["derived_finding", "missing_words"]

# Costs that explain less than these say little.
_MOST_BLAMED = 3


def derived_finding(analysis: BreakevenAnalysis) -> Finding | None:
    """The share that agrees and what explains the rest; None where there is nothing to compare."""
    if not analysis.comparisons:
        return None
    share = share_of(analysis.comparisons)
    if not share.comparable:
        return Finding(
            "info", "breakeven_derived", say("breakeven.nothing_derived"), fix=say("breakeven.nothing_derived_fix")
        )
    parts = [
        say(
            "breakeven.derived_share",
            percent=_percent(share.agreeing, share.comparable),
            pairs=share.comparable,
            factor=AGREEMENT,
            near=_percent(share.agreeing + share.near, share.comparable),
        )
    ]
    undecided = sum(each.outcome == "undecided" for each in analysis.comparisons)
    if undecided:
        parts.append(say("breakeven.derived_undecided", number=undecided))
    missing = [
        say("breakeven.not_derived_way", memory=memory_name(way), reason=missing_words(reason))
        for way, reason in _missing(analysis).items()
    ]
    if missing:
        parts.append(say("breakeven.not_derived", ways=clauses(missing)))
    differing = [each for each in analysis.comparisons if each.outcome == "differs"]
    cause = _explained(differing, from_caches=analysis.from_caches)
    return Finding("info", "breakeven_derived", sentences(parts), cause=cause)


def missing_words(missing: Missing) -> str:
    """Why the costs of a way cannot be put together."""
    term = missing.term
    if term is None:
        return say(f"breakeven.missing_{missing.reason}")
    step = f"{term.method} {term.direction.upper()}" if term.direction else term.method
    memory = memory_name("pageable" if term.host_memory == USUAL else term.host_memory)
    return say("breakeven.missing_no_time", step=step, memory=memory)


def _missing(analysis: BreakevenAnalysis) -> dict[str, Missing]:
    """One reason for each measured way that has any."""
    measured = {way for _, way in analysis.measured.totals}
    return {way: reason for (_, way), reason in analysis.missing.items() if way in measured}


def _percent(part: int, whole: int) -> int:
    # Rounded down, because 100 % would say that there is no exception.
    return 100 * part // whole


def _explained(differing: list[ThresholdComparison], *, from_caches: bool) -> str:
    """The costs behind the disagreements, the most frequent first, and how many hang on a hair."""
    if not differing:
        return ""
    groups: dict[tuple[str, str, bool], list[Blame]] = {}
    for each in differing:
        if each.blame:
            groups.setdefault((each.blame.way, each.blame.part, each.blame.seconds > 0), []).append(each.blame)
    ranked = sorted(groups.values(), key=len, reverse=True)
    shown = ranked[:_MOST_BLAMED]
    parts = [text for group in shown for text in (_blamed(group, len(differing)), _left_out(group[0]))]
    others = len(differing) - sum(map(len, shown))
    if others:
        parts.append(say("breakeven.others_listed", number=others))
    tight = sum(each.ill_conditioned for each in differing)
    if tight:
        parts.append(say("breakeven.tight", number=tight, percent=100 * TIGHT))
    if not from_caches and any(part == "use" for _, part, _ in groups):
        parts.append(say("breakeven.caches"))
    return sentences(parts)


def _blamed(group: list[Blame], differing: int) -> str:
    """``In 24 of the 94 that differ a use of pageable memory takes longer in the program ...``."""
    way, part, seconds, _ = group[0]
    ends = [min(group, key=lambda blame: blame.bytes), max(group, key=lambda blame: blame.bytes)]
    amounts = [
        say("breakeven.amount", time=format_seconds(abs(end.seconds)), size=about_bytes(end.bytes)) for end in ends
    ]
    return say(
        f"breakeven.blamed_{part}_{'longer' if seconds > 0 else 'less'}",
        number=len(group),
        differing=differing,
        memory=memory_name(way),
        amounts=spanned(*amounts),
    )


def _left_out(blame: Blame) -> str:
    """The cost that the parts leave out; empty where it is not known."""
    longer = blame.seconds > 0
    match blame.way, blame.part:
        case "pageable", "use" if not longer:
            return say("breakeven.copies_overlap")
        case "managed_prefetch", "use" if longer:
            return say("breakeven.faults_again")
        case "mapped", "use" if longer:
            return say("breakeven.reads_over_link")
        case "pinned" | "mapped" | "touched_registered", "setup":
            return say("breakeven.allocation_varies")
        case _:
            return ""
