"""What another machine answered in 2008, and why this one answers otherwise.

Source: "Caffe 1: Pinned Memory Vs. Non-Pinned Memory" on Keson's blog: Core 2 Extreme at 3.2 GHz, GTX 280, PCIe 2.0, a
buffer that is allocated, used once and freed.
"""

import math
from typing import NamedTuple

from isthmus.analysis.breakeven.comparison import BreakevenAnalysis
from isthmus.analysis.breakeven.price import pinning_price
from isthmus.analysis.breakeven.thresholds import Contest
from isthmus.analysis.breakeven.words import PLAIN_CASES, case_words, size_words, uses_words, vague
from isthmus.analysis.phrases import spanned
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.document.finding import Finding
from isthmus.language import enumerated, say, sentences
from isthmus.record import MIB, Run, format_bytes, format_seconds, median_interval

__all__ = ["SEED_ANSWERS", "SeedAnswer", "seed_finding", "seed_threshold", "seed_words"]


class SeedAnswer(NamedTuple):
    """From which size pinned memory paid there, in one case and figure; None where it never did."""

    case: str
    figure: int
    bytes: int | None


SEED_ANSWERS = (
    SeedAnswer("round_trip", 7, 16 * MIB),
    SeedAnswer("round_trip", 9, 10 * MIB),
    SeedAnswer("reduction", 8, None),
    SeedAnswer("reduction", 9, 128 * MIB),
)
# 61 ms for 512 MB, by the driver's call alone.
_PINNING_SECONDS_PER_MIB = 61e-3 / 512
# Rate of copies of pinned memory over that of pageable memory on its fastest machine.
_COPY_RATIO = 2.4


def seed_threshold(analysis: BreakevenAnalysis, case: str) -> Threshold | None:
    """This machine's answer to the same question: pinned against pageable memory for one use."""
    return analysis.measured.thresholds.get(Contest(case, 1, "pageable", "pinned"))


def seed_finding(run: Run, analysis: BreakevenAnalysis) -> Finding | None:
    """Our answers beside theirs, with the reason for the difference; None where nothing can be compared."""
    compared = [
        _compared(analysis, case, ours) for case in PLAIN_CASES if (ours := seed_threshold(analysis, case)) is not None
    ]
    if not compared:
        return None
    text = sentences([say("breakeven.asked_in_2008"), *compared])
    return Finding("info", "breakeven_2008", text, cause=_why_otherwise(run, analysis))


def _compared(analysis: BreakevenAnalysis, case: str, ours: Threshold) -> str:
    theirs = [answer for answer in SEED_ANSWERS if answer.case == case]
    words = {
        "case": case_words(case),
        "theirs": enumerated([seed_words(answer) for answer in theirs], "or"),
        "ours": size_words(ours),
    }
    sizes = [answer.bytes for answer in theirs if answer.bytes]
    if ours.state == "from":
        return say("breakeven.seed_from_size", **words, against=_against(ours, min(sizes), max(sizes)))
    least = analysis.measured.least_uses(case, max(sizes), "pageable", "pinned") if ours.state == "never" else None
    if least:
        return say("breakeven.seed_from_uses", **words, size=format_bytes(max(sizes)), uses=uses_words(least))
    return say("breakeven.seed_compared", **words)


def seed_words(answer: SeedAnswer) -> str:
    """Their answer with the figure that gives it."""
    if answer.bytes is None:
        return say("breakeven.seed_never", figure=answer.figure)
    return say("breakeven.seed_from", size=format_bytes(answer.bytes), figure=answer.figure)


def _against(ours: Threshold, smallest: int, largest: int) -> str:
    """Our size beside theirs, by its interval where that reaches theirs or is all that is known."""
    if ours.low <= largest and smallest <= ours.high:
        return say("breakeven.like_2008", sizes=spanned(format_bytes(smallest), format_bytes(largest)))
    low, high = (ours.low, ours.high) if vague(ours) else (ours.value, ours.value)
    if low <= 0.0:
        return say("breakeven.at_most_2008", times=_times(high / smallest, high / smallest))
    if math.isinf(high):
        return say("breakeven.at_least_2008", times=_times(low / largest, low / largest))
    return say("breakeven.times_2008", times=_times(low / largest, high / smallest))


def _why_otherwise(run: Run, analysis: BreakevenAnalysis) -> str:
    here = []
    ours = _pinning_seconds_per_mib(run)
    if ours is not None:
        factor = ours / _PINNING_SECONDS_PER_MIB
        here.append(say("breakeven.here_pins", time=format_seconds(ours), times=_times(factor, factor)))
    price = pinning_price(analysis)
    ratio = price.ratio.get("round_trip") if price else None
    if ratio:
        here.append(say("breakeven.here_used", times=_times(ratio, ratio)))
    if price and price.setup > 0 and price.saved.get("round_trip", 0.0) > 0:
        uses = price.setup / price.saved["round_trip"]
        here.append(say("breakeven.here_made_up", uses=f"{uses:.2g}"))
    if not here:
        return ""
    then = say("breakeven.pinned_in_2008", time=format_seconds(_PINNING_SECONDS_PER_MIB), ratio=_COPY_RATIO)
    return sentences([then, *here])


def _times(low: float, high: float) -> str:
    first, last = f"{low:.2g}", f"{high:.2g}"
    return say("common.times", factor=first) if first == last else say("common.times_range", low=first, high=last)


def _pinning_seconds_per_mib(run: Run) -> float | None:
    """What the driver takes to allocate a MiB of pinned memory, in blocks of 512 MiB or the next smaller size there is.

    None for a run without such rows of the allocation experiment, and where no link needs locked pages, so that a
    driver may merely promise them.
    """
    blocks = {
        case.bytes: case
        for case in run.cases
        if (case.experiment, case.method, case.host_memory) == ("allocation", "allocate", "pinned")
        and MIB <= case.bytes <= 512 * MIB
        and case.samples("host_seconds")
    }
    if not blocks or run.fingerprint.device.shares_host_memory:
        return None
    block = blocks[max(blocks)]
    return median_interval(block.samples("host_seconds")).median / block.bytes * MIB
