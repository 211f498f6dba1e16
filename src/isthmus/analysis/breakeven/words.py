"""Words for break-even answers: sizes and numbers of uses with their intervals, cases and ways."""

import math
from collections.abc import Iterable, Mapping

from isthmus.analysis.breakeven.thresholds import Span
from isthmus.analysis.phrases import about_bytes, memory_name, spanned
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.language import can_say, clauses, enumerated, in_brackets, say
from isthmus.record import format_bytes

__all__ = [
    "PLAIN_CASES",
    "about_uses",
    "both_cases",
    "by_case",
    "case_words",
    "plain_size_words",
    "size_words",
    "spans_words",
    "uses_count",
    "uses_words",
    "vague",
]

# Of which sentences speak; the same with data produced in place they compare with these.
PLAIN_CASES = ("round_trip", "reduction")


def both_cases(words: Mapping[str, str]) -> str:
    """What holds in each case of a use, in one clause; said once where it is the same."""
    if len(words) > 1 and len(set(words.values())) == 1:
        return say("breakeven.in_both", said=next(iter(words.values())))
    first, *others = _in_cases(words)
    for other in others:
        first = say("breakeven.both", first=first, second=other)
    return first


def by_case(words: Mapping[str, str]) -> str:
    """The same for what is long, as clauses of their own."""
    return both_cases(words) if len(set(words.values())) == 1 else clauses(_in_cases(words))


def _in_cases(words: Mapping[str, str]) -> list[str]:
    return [say("breakeven.in_case", case=case_words(case), said=said) for case, said in words.items()]


def case_words(case: str) -> str:
    """The case in running text; one that this version does not know keeps its field name."""
    key = f"breakeven.case_{case}"
    return say(key) if can_say(key) else case.replace("_", " ")


def size_words(threshold: Threshold) -> str:
    """Where the challenger wins: ``from 720 KiB on (700 KiB to 740 KiB)``, ``at no size from 4 KiB to 128 MiB``."""
    if threshold.state == "always" and not threshold.certain:
        # Of an answer that holds everywhere by the medians one end of the interval lies within the range.
        rising = math.isfinite(threshold.high)
        return say(
            "breakeven.size_always_but_low" if rising else "breakeven.size_always_but_high",
            **_range(threshold),
            size=about_bytes(threshold.high if rising else threshold.low),
        )
    return plain_size_words(threshold)


def plain_size_words(threshold: Threshold) -> str:
    """The same by the medians, where that the interval allows another answer is said beside it."""
    match threshold.state:
        case "always":
            return say("breakeven.size_always", **_range(threshold))
        case "never":
            return say("breakeven.size_never", **_range(threshold))
        case "cannot_tell":
            return _untold(threshold)
        case "from" | "up_to":
            return _place(threshold, threshold.state)


def vague(threshold: Threshold) -> bool:
    """Whether the interval of a size is so wide that the estimate within it says nothing."""
    low, high = max(threshold.low, threshold.first), min(threshold.high, threshold.last)
    return high > _VAGUE * low


_VAGUE = 3.0


def _range(threshold: Threshold) -> dict[str, str]:
    """The sizes that were compared."""
    return {"first": format_bytes(int(threshold.first)), "last": format_bytes(int(threshold.last))}


def _place(threshold: Threshold, state: str) -> str:
    again = say(f"breakeven.again_{state}") if threshold.crossings > 1 else ""
    low, high = threshold.low, threshold.high
    if not vague(threshold):
        notes = clauses([_interval(threshold), again])
        return say(f"breakeven.size_{state}", size=about_bytes(threshold.value), note=in_brackets(notes))
    note = in_brackets(again)
    if low <= 0.0:
        return say(f"breakeven.size_{state}_at_most", size=about_bytes(high), note=note)
    if math.isinf(high):
        return say(f"breakeven.size_{state}_at_least", size=about_bytes(low), note=note)
    return say(f"breakeven.size_{state}_between", low=about_bytes(low), high=about_bytes(high), note=note)


def _interval(threshold: Threshold) -> str:
    """The interval of the size, ends outside of the range said as such; empty where it reads as the size itself."""
    low, high = threshold.low, threshold.high
    if low <= 0.0:
        return say("breakeven.at_most", size=about_bytes(high))
    if math.isinf(high):
        return say("breakeven.at_least", size=about_bytes(low))
    span = spanned(about_bytes(low), about_bytes(high))
    return "" if span == about_bytes(threshold.value) else span


def uses_words(threshold: Threshold) -> str:
    """How many uses it takes: ``from 6 uses on (5 to 7)``."""
    match threshold.state:
        case "always":
            return say("breakeven.uses_always", note=_uses_interval(threshold))
        case "never":
            return say("breakeven.uses_never")
        case "cannot_tell":
            return say("breakeven.uses_untold")
        case "from":
            return say("breakeven.uses_from", uses=uses_count(threshold.value), note=_uses_interval(threshold))
        case "up_to":
            return say("breakeven.uses_up_to", uses=uses_count(threshold.value), note=_uses_interval(threshold))


def _uses_interval(threshold: Threshold) -> str:
    """The interval of the number in brackets; nothing where it is the number itself."""
    low, high = about_uses(max(threshold.low, 1.0)), about_uses(max(min(threshold.high, threshold.last), 1.0))
    return "" if low == high else in_brackets(spanned(low, high))


def about_uses(count: float) -> str:
    """A number of uses; large ones to two digits, since nobody counts them."""
    return f"{count:.0f}" if count < 100 else f"{float(f'{count:.2g}'):.0f}"


def uses_count(count: float) -> str:
    """``1 use``, ``12 uses``."""
    return say("breakeven.uses", count=count, number=about_uses(count))


def spans_words(spans: list[Span]) -> str:
    """Which way is the fastest where: ``mapped memory up to 64 KiB (none certainly faster) and ...``."""
    if len(spans) == 1:
        return say("breakeven.fastest_everywhere", **_way(spans[0]))
    if len(spans) > _MOST_SPANS:
        ways = [memory_name(way) for way in dict.fromkeys(span.way for span in spans)]
        return say("breakeven.fastest_changes", ways=enumerated(ways, "or"))
    *others, last = _places(spans)
    return say("breakeven.spans", others=say("common.comma").join(others), last=last)


def _places(spans: list[Span]) -> Iterable[str]:
    for span in spans:
        first, last = format_bytes(span.first), format_bytes(span.last)
        if span is spans[0]:
            yield say("breakeven.fastest_up_to", size=last, **_way(span))
        elif span is spans[-1]:
            yield say("breakeven.fastest_from", size=first, **_way(span))
        elif span.first == span.last:
            yield say("breakeven.fastest_at", size=first, **_way(span))
        else:
            yield say("breakeven.fastest_between", first=first, last=last, **_way(span))


def _way(span: Span) -> dict[str, str]:
    # Where another way is not certainly slower at some of these sizes.
    return {"way": memory_name(span.way), "note": in_brackets(say("breakeven.tied")) if span.tied else ""}


# More changes of the lead are no rule to go by.
_MOST_SPANS = 4


def _untold(threshold: Threshold) -> str:
    """That there is no answer, with what is certain nevertheless."""
    if threshold.slower and not threshold.faster:
        return say("breakeven.size_untold_slower", points=_points(threshold.slower))
    if threshold.faster and not threshold.slower:
        return say("breakeven.size_untold_faster", points=_points(threshold.faster))
    return say("breakeven.size_untold_mixed" if threshold.faster else "breakeven.size_untold")


def _points(points: tuple[float, ...]) -> str:
    size = about_bytes(points[-1])
    return size if len(points) == 1 else say("breakeven.points", number=len(points), size=size)
