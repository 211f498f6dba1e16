"""How well thresholds derived from single costs agree with measured ones, and which costs they miss, in sentences."""

from isthmus.model.breakeven_comparison import AGREEMENT, TIGHT, Blame, BreakevenAnalysis, ThresholdComparison, share_of
from isthmus.model.finding import Finding
from isthmus.model.phrases import about_bytes, memory_name
from isthmus.record import format_seconds

__all__ = ["derived_finding"]

# Costs that explain less than these say little.
_MOST_BLAMED = 3


def derived_finding(analysis: BreakevenAnalysis) -> Finding | None:
    """The share that agrees and what explains the rest; None where there is nothing to compare."""
    share = share_of(analysis.comparisons)
    missing = [f"{memory_name(way)}: {reason}" for way, reason in _missing(analysis).items()]
    if not analysis.comparisons:
        return None
    if not share.comparable:
        return Finding(
            "info",
            "breakeven_derived",
            "This run does not hold the allocation and bandwidth figures from which thresholds could be derived.",
            fix="Measure allocation, bandwidth and breakeven in one run.",
        )
    text = (
        "Thresholds put together from what this run measured of single steps are those measured end to end in "
        f"{_percent(share.agreeing, share.comparable)} of the {share.comparable} pairs that can be compared (two ways, "
        f"a case and a number of uses; the same answer, sizes within a factor of {AGREEMENT:g} by their medians), and "
        f"in {_percent(share.agreeing + share.near, share.comparable)} by their intervals."
    )
    undecided = sum(each.outcome == "undecided" for each in analysis.comparisons)
    if undecided:
        text += f" In {undecided} more one of the two cannot tell."
    if missing:
        text += f" Not derived: {'; '.join(missing)}."
    differing = [each for each in analysis.comparisons if each.outcome == "differs"]
    return Finding("info", "breakeven_derived", text, cause=_explained(differing, from_caches=analysis.from_caches))


def _missing(analysis: BreakevenAnalysis) -> dict[str, str]:
    """One reason for each measured way that has any."""
    measured = {way for _, way in analysis.measured.totals}
    return {way: reason for (_, way), reason in analysis.missing.items() if way in measured}


def _percent(part: int, whole: int) -> str:
    # Rounded down, because 100 % would say that there is no exception.
    return f"{100 * part // whole} %"


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
    sentences = [f"In {len(group)} of the {len(differing)} that differ {_blamed(group)}." for group in shown]
    others = len(differing) - sum(map(len, shown))
    if others:
        sentences.append(f"The page lists the cause of the other {others}.")
    tight = sum(each.ill_conditioned for each in differing)
    if tight:
        sentences.append(
            f"In {tight} of them the two ways differ by less than {100 * TIGHT:.0f} % wherever the answers disagree: a "
            "small error moves such a threshold far."
        )
    if not from_caches and any(part == "use" for _, part, _ in groups):
        sentences.append("A program copies what it has just written and caches may still hold, which bandwidth avoids.")
    return " ".join(sentences)


def _blamed(group: list[Blame]) -> str:
    """``a use of pageable memory takes longer in the program than its parts alone: 2.78 us at 5 KiB to 1.2 ms ...``."""
    way, part, seconds, _ = group[0]
    what = f"a use of {memory_name(way)}" if part == "use" else f"getting and giving back {memory_name(way)}"
    ends = [min(group, key=lambda blame: blame.bytes), max(group, key=lambda blame: blame.bytes)]
    amounts = [f"{format_seconds(abs(end.seconds))} at {about_bytes(end.bytes)}" for end in ends]
    alone = f"takes {'longer' if seconds > 0 else 'less'} in the program than its parts take alone"
    return f"{what} {alone} ({' to '.join(dict.fromkeys(amounts))}){_missing_cost(group[0])}"


def _missing_cost(blame: Blame) -> str:
    """The cost that the parts leave out, as the end of a sentence; empty where it is not known."""
    longer = blame.seconds > 0
    match blame.way, blame.part:
        case "pageable", "use" if not longer:
            return ": its copies overlap with what follows, while single ones are waited for"
        case "managed_prefetch", "use" if longer:
            return ": the CPU's first accesses after the pages came back fault again, which neither experiment measures"
        case "mapped", "use" if longer:
            return (
                ": its kernel reads over the link what the CPU has just written, and writes at the same time where all "
                "comes back, which neither experiment measures"
            )
        case "pinned" | "mapped" | "touched_registered", "setup":
            return ": what allocation takes varies from visit to visit"
        case _:
            return ""
