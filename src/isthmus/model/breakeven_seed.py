"""What another machine answered in 2008, and why this one answers otherwise.

Source: "Caffe 1: Pinned Memory Vs. Non-Pinned Memory" on Keson's blog: Core 2 Extreme at 3.2 GHz, GTX 280, PCIe 2.0, a
buffer that is allocated, used once and freed.
"""

import math
from typing import NamedTuple

from isthmus.model.breakeven_comparison import BreakevenAnalysis
from isthmus.model.breakeven_price import pinning_price
from isthmus.model.breakeven_thresholds import Contest
from isthmus.model.breakeven_words import PLAIN_CASES, case_words, size_words, uses_words, vague
from isthmus.model.finding import Finding
from isthmus.model.phrases import enumerated
from isthmus.model.threshold import Threshold
from isthmus.record import MIB, Run, format_bytes, format_seconds, median_interval

__all__ = ["SEED_ANSWERS", "SeedAnswer", "seed_finding", "seed_threshold", "seed_words"]


class SeedAnswer(NamedTuple):
    """From which size pinned memory paid there, in one case and figure; None where it never did."""

    case: str
    figure: str
    bytes: int | None


SEED_ANSWERS = (
    SeedAnswer("round_trip", "figure 7", 16 * MIB),
    SeedAnswer("round_trip", "figure 9", 10 * MIB),
    SeedAnswer("reduction", "figure 8", None),
    SeedAnswer("reduction", "figure 9", 128 * MIB),
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
    sentences = []
    for case in PLAIN_CASES:
        ours = seed_threshold(analysis, case)
        if ours is None:
            continue
        theirs = [answer for answer in SEED_ANSWERS if answer.case == case]
        said = " or ".join(f"{seed_words(answer)} ({answer.figure})" for answer in theirs)
        text = f"Used once {case_words(case)}, pinned memory paid {said}"
        text += f"; here, against fresh pages, it wins {size_words(ours)}"
        sizes = [answer.bytes for answer in theirs if answer.bytes]
        if ours.state == "from":
            text += f", {_against(ours, min(sizes), max(sizes))}"
        elif ours.state == "never":
            least = analysis.measured.least_uses(case, max(sizes), "pageable", "pinned")
            text += f", and at {format_bytes(max(sizes))} {uses_words(least)}" if least else ""
        sentences.append(f"{text}.")
    if not sentences:
        return None
    text = f"A GTX 280 on PCIe 2.0 was asked the same in 2008. {' '.join(sentences)}"
    return Finding("info", "breakeven_2008", text, cause=_why_otherwise(run, analysis))


def seed_words(answer: SeedAnswer) -> str:
    """Their answer as the rest of a sentence."""
    return "never" if answer.bytes is None else f"from {format_bytes(answer.bytes)} on"


def _against(ours: Threshold, smallest: int, largest: int) -> str:
    """Our size beside theirs, by its interval where that reaches theirs or is all that is known."""
    if ours.low <= largest and smallest <= ours.high:
        first, last = format_bytes(smallest), format_bytes(largest)
        theirs = first if first == last else f"{first.removesuffix(' MiB')} to {last}"
        return f"which cannot be told from the {theirs} of 2008"
    low, high = (ours.low, ours.high) if vague(ours) else (ours.value, ours.value)
    if low <= 0.0:
        return f"at most {high / smallest:.2g} times that size"
    if math.isinf(high):
        return f"at least {low / largest:.2g} times that size"
    return f"{_share(low / largest, high / smallest)} that size"


def _why_otherwise(run: Run, analysis: BreakevenAnalysis) -> str:
    here = []
    ours = _pinning_seconds_per_mib(run)
    if ours is not None:
        factor = ours / _PINNING_SECONDS_PER_MIB
        here.append(f"the driver takes {format_seconds(ours)} per MiB to pin, {_share(factor, factor)} as long")
    price = pinning_price(analysis)
    ratio = price.ratio.get("round_trip") if price else None
    if ratio:
        here.append(f"a whole use there and back takes {_share(ratio, ratio)} as long with pageable memory")
    if price and price.setup > 0 and price.saved.get("round_trip", 0.0) > 0:
        uses = price.setup / price.saved["round_trip"]
        here.append(f"large buffers make up for what pinning costs after {uses:.2g} uses there and back")
    if not here:
        return ""
    return (
        f"There pinning took {format_seconds(_PINNING_SECONDS_PER_MIB)} per MiB (61 ms for 512 MB), and pinned copies "
        f"were {_COPY_RATIO} times as fast as pageable ones. Here {enumerated(here)}."
    )


def _share(low: float, high: float) -> str:
    first, last = f"{low:.2g}", f"{high:.2g}"
    return f"{first} times" if first == last else f"{first} to {last} times"


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
