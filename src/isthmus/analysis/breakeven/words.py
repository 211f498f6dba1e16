"""Words for break-even answers: cases and numbers of uses."""

import math

from isthmus.analysis.phrases import about_bytes
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.language import say, say_or
from isthmus.record import format_bytes

# The cases that reports show; data that is produced in place makes curves of the same shape.
PLAIN_CASES = ("round_trip", "reduction")
# The numbers of uses that sentences and a chart of both cases have.
FEW_AND_MANY = (1, 10)
# Where the ends of an interval differ by more, they are the answer.
WIDE = 1.5


def case_words(case: str) -> str:
    """The case in running text; one that this version does not know keeps its field name."""
    return say_or(f"breakeven.case_{case}", case.replace("_", " "))


def answer_words(threshold: Threshold) -> str:
    """From which size on something pays, or up to which it was looked for: ``from 1.35 MiB``, ``at no size up to ...``.

    A threshold that the draws cannot tell gives the largest size at which the challenger lost, and the largest of all.
    """
    low, high, size = threshold.low, threshold.high, ""
    match threshold.state:
        case "always" if threshold.certain:
            key = "at_every_size"
        case "never" if threshold.certain:
            key = "at_no_size"
        case "always" | "from" if low <= 0 and math.isfinite(high):
            key, size = "from_at_most", about_bytes(high)
        case "from" if math.isfinite(high):
            near = high <= WIDE * low
            key, size = (
                "from_size",
                about_bytes(threshold.value) if near else from_to(about_bytes(low), about_bytes(high)),
            )
        case "up_to":
            key, size = "up_to", about_bytes(threshold.value)
        case _:
            # Where it may yet pay begins with the interval, or with what is above the last loss.
            lost = low if threshold.known else max(threshold.slower, default=0.0)
            is_within = threshold.first < lost < threshold.last
            key, size = ("not_up_to", about_bytes(lost)) if is_within else ("within_noise", "")
    first, last = (format_bytes(round(end)) for end in (threshold.first, threshold.last))
    return say(f"breakeven.answer_{key}", size=size, first=first, last=last)


def from_to(low: str, high: str) -> str:
    """``3.6-8.7 MiB``, or both units where they differ."""
    shared = low.partition(" ")[2] == high.partition(" ")[2]
    return f"{low.partition(' ')[0] if shared else low}-{high}"


def about_uses(count: float) -> str:
    """A number of uses; large ones to two digits."""
    return f"{count:.0f}" if count < 100 else f"{float(f'{count:.2g}'):.0f}"


def uses_count(count: float) -> str:
    """``1 use``, ``12 uses``."""
    return say("breakeven.uses", count=count, number=about_uses(count))
