"""What pinning costs once and saves with every use, as the breakeven experiment's programs pay it."""

from dataclasses import dataclass
from statistics import median

from isthmus.analysis.breakeven.comparison import BreakevenAnalysis
from isthmus.analysis.breakeven.measured import interpolated
from isthmus.analysis.breakeven.words import PLAIN_CASES, both_cases
from isthmus.language import say
from isthmus.record import MIB, format_bytes, format_seconds

__all__ = ["PinningPrice", "pinning_price", "price_words", "reference_size"]

_REFERENCE_BYTES = 64 * MIB


@dataclass(frozen=True)
class PinningPrice:
    """What pinning costs and saves against pageable memory, in seconds with buffers of `bytes`.

    `setup` is what getting and giving back pinned memory takes longer, once; `saved` what each use then takes less, and
    `ratio` how many times as long a use takes with pageable memory, by case.
    """

    bytes: int
    setup: float
    saved: dict[str, float]
    ratio: dict[str, float]


def pinning_price(analysis: BreakevenAnalysis) -> PinningPrice | None:
    """The price at the reference size, as the program itself pays it; None where it was not measured."""
    size = reference_size(analysis)
    setups, saved, ratio = [], {}, {}
    for case in analysis.measured.cases():
        both = [analysis.measured.totals.get((case, way)) for way in ("pageable", "pinned")]
        further = [interpolated(totals.further, size) for totals in both if totals and totals.further]
        first = [interpolated(analysis.measured.seconds(case, way, 1), size) for way in ("pageable", "pinned")]
        pageable, pinned = further if len(further) == 2 else (None, None)
        if pageable is None or pinned is None or first[0] is None or first[1] is None:
            continue
        setups.append(float((first[1] - pinned - first[0] + pageable)[0]))
        saved[case], ratio[case] = float((pageable - pinned)[0]), float((pageable / pinned)[0])
    # What a buffer costs once is the same in every case: the median of what each of them says.
    return PinningPrice(size, median(setups), saved, ratio) if setups else None


def reference_size(analysis: BreakevenAnalysis) -> int:
    """64 MiB, or the largest measured size where that is less."""
    sizes = {size for totals in analysis.measured.totals.values() for size in totals.seconds}
    return min(_REFERENCE_BYTES, max(sizes))


def price_words(analysis: BreakevenAnalysis) -> str:
    """The price for each MiB in sentences; empty where it was not measured."""
    price = pinning_price(analysis)
    if price is None:
        return ""
    mebibytes, size = price.bytes / MIB, format_bytes(price.bytes)
    if price.setup <= 0:
        return say("breakeven.price_nothing", size=size)
    setup = format_seconds(price.setup / mebibytes)
    gains = {
        case: format_seconds(saved / mebibytes)
        for case, saved in price.saved.items()
        if case in PLAIN_CASES and saved > 0
    }
    if not gains:
        return say("breakeven.price_without_gain", size=size, setup=setup)
    return say("breakeven.price", size=size, setup=setup, gains=both_cases(gains))
