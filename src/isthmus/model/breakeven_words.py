"""Words for break-even answers: sizes and numbers of uses with their intervals, cases and ways."""

import math
from collections.abc import Mapping

from isthmus.model.breakeven_thresholds import Span
from isthmus.model.phrases import about_bytes, enumerated, memory_name
from isthmus.model.threshold import Threshold
from isthmus.record import format_bytes

__all__ = [
    "PLAIN_CASES",
    "about_uses",
    "both_cases",
    "case_words",
    "range_words",
    "size_interval",
    "size_words",
    "spans_words",
    "uses_interval",
    "uses_words",
    "vague",
]

# Of which sentences speak; the same with data produced in place they compare with these.
PLAIN_CASES = ("round_trip", "reduction")
# As the rest of a clause that begins "a buffer that is used once".
_CASE_WORDS = {
    "round_trip": "there and back",
    "reduction": "where only a result comes back",
    "round_trip_in_place": "there and back, produced in place",
    "reduction_in_place": "where only a result comes back, produced in place",
}


def both_cases(words: Mapping[str, str], link: str = ", and ") -> str:
    """What holds in each case, as one clause; said once where it is the same."""
    if len(words) > 1 and len(set(words.values())) == 1:
        return f"{next(iter(words.values()))} in both cases"
    return link.join(f"{case_words(case)} {said}" for case, said in words.items())


def case_words(case: str) -> str:
    """The case in running text; one that this version does not know keeps its field name."""
    return _CASE_WORDS.get(case, case.replace("_", " "))


def size_words(threshold: Threshold) -> str:
    """Where the challenger wins, as the rest of a sentence: ``from 720 KiB on (700 to 740 KiB)``."""
    within = range_words(threshold)
    match threshold.state:
        case "always":
            doubt = f", up to {about_bytes(threshold.high)} by the medians alone" if threshold.high > 0 else ""
            return f"at every size {within}{doubt}"
        case "never":
            return f"at no size {within}"
        case "cannot_tell":
            return f"from a size that this run cannot tell{_known_part(threshold)}"
        case "from":
            again = "it also wins at some smaller sizes" if threshold.crossings > 1 else ""
            return _place_words(threshold, "from {} on", again)
        case _:
            again = "not at all of them" if threshold.crossings > 1 else ""
            return _place_words(threshold, "only up to {}", again)


def vague(threshold: Threshold) -> bool:
    """Whether the interval of a size is so wide that the estimate within it says nothing."""
    low, high = max(threshold.low, threshold.first), min(threshold.high, threshold.last)
    return high > _VAGUE * low


_VAGUE = 3.0


def _place_words(threshold: Threshold, place: str, again: str) -> str:
    interval = size_interval(threshold)
    if not vague(threshold):
        return f"{place.format(about_bytes(threshold.value))} ({'; '.join(filter(None, (interval, again)))})"
    bounded = threshold.low > 0.0 and math.isfinite(threshold.high)
    where = f"somewhere between {' and '.join(map(about_bytes, (threshold.low, threshold.high)))}"
    return place.format(where if bounded else interval) + (f" ({again})" if again else "")


def range_words(threshold: Threshold) -> str:
    """The sizes that were compared: ``from 4 KiB to 128 MiB``."""
    return f"from {format_bytes(int(threshold.first))} to {format_bytes(int(threshold.last))}"


def size_interval(threshold: Threshold) -> str:
    """The interval of the size in words; ends outside of the range are said as such."""
    low, high = threshold.low, threshold.high
    if low <= 0.0:
        return f"at most {about_bytes(high)}"
    if math.isinf(high):
        return f"at least {about_bytes(low)}"
    first, last = about_bytes(low), about_bytes(high)
    return first if first == last else f"{first} to {last}"


def uses_words(threshold: Threshold) -> str:
    """How many uses it takes, as the rest of a sentence: ``from 6 uses on (5 to 7)``."""
    match threshold.state:
        case "always":
            return f"from the first use on{uses_interval(threshold)}"
        case "never":
            return "after no number of uses"
        case "cannot_tell":
            return "after a number of uses that this run cannot tell"
        case "from":
            return f"from {_uses(threshold.value)} on{uses_interval(threshold)}"
        case _:
            return f"only up to {_uses(threshold.value)}{uses_interval(threshold)}"


def uses_interval(threshold: Threshold) -> str:
    """The interval of the number in brackets; nothing where it is the number itself."""
    low, high = about_uses(max(threshold.low, 1.0)), about_uses(max(min(threshold.high, threshold.last), 1.0))
    return "" if low == high else f" ({low} to {high})"


def about_uses(count: float) -> str:
    """A number of uses; large ones to two digits, since nobody counts them."""
    return f"{count:.0f}" if count < 100 else f"{float(f'{count:.2g}'):.0f}"


def spans_words(spans: list[Span]) -> str:
    """Which way is the fastest where: ``mapped memory up to 64 KiB (none certainly faster) and ...``."""
    if len(spans) == 1:
        return f"{memory_name(spans[0].way)} at every size{_TIED if spans[0].tied else ''}"
    if len(spans) > _MOST_SPANS:
        ways = [memory_name(way) for way in dict.fromkeys(span.way for span in spans)]
        return f"another one from size to size: {enumerated(ways, 'or')}"
    words = []
    for span in spans:
        if span is spans[0]:
            place = f"up to {format_bytes(span.last)}"
        elif span is spans[-1]:
            place = f"from {format_bytes(span.first)} on"
        elif span.first == span.last:
            place = f"at {format_bytes(span.first)}"
        else:
            place = f"from {format_bytes(span.first)} to {format_bytes(span.last)}"
        words.append(f"{memory_name(span.way)} {place}{_TIED if span.tied else ''}")
    return enumerated(words)


# More changes of the lead are no rule to go by.
_MOST_SPANS = 4
# Another way is not certainly slower at some of these sizes.
_TIED = " (none certainly faster)"


def _known_part(threshold: Threshold) -> str:
    """What is certain where the threshold is not."""
    if threshold.slower and not threshold.faster:
        return f" (slower for certain at {_points(threshold.slower)}, faster for certain nowhere)"
    if threshold.faster and not threshold.slower:
        return f" (faster for certain at {_points(threshold.faster)}, slower for certain nowhere)"
    if threshold.faster and threshold.slower:
        return " (faster for certain at some sizes, slower at others)"
    return ""


def _points(points: tuple[float, ...]) -> str:
    return about_bytes(points[0]) if len(points) == 1 else f"{len(points)} sizes up to {about_bytes(points[-1])}"


def _uses(count: float) -> str:
    return "1 use" if count == 1 else f"{about_uses(count)} uses"
