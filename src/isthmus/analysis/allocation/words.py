"""Words about what memory costs: a curve as a fixed part and a part for each MiB, factors, and the size to name."""

import math
from collections.abc import Iterable

from isthmus.analysis.allocation.cost_fit import CostFit, CostPiece, fit_cost
from isthmus.analysis.allocation.cost_ratio import CostRatio
from isthmus.analysis.allocation.model import PHASES, AllocationCosts, CostCurve
from isthmus.analysis.phrases import memory_name
from isthmus.language import enumerated, in_brackets, say
from isthmus.record import MIB, format_bytes, format_seconds

__all__ = [
    "SHOWN_BYTES",
    "cost_words",
    "factor_words",
    "how_many_times",
    "ratio_range",
    "shown_size",
    "steps_sentence",
    "times_span",
]

# Large enough that the part for each byte counts, small enough that every machine measures it.
SHOWN_BYTES = 64 * MIB
# By so much the largest size must take longer for its cost per MiB to mean something.
_GROWN = 10


def cost_words(curve: CostCurve) -> str:
    """What a curve costs, which a sentence names: ``0.50 ms plus 0.36 ms per MiB``."""
    pieces = fit_cost(curve).pieces
    if not pieces:
        return _places(curve)
    first, last = pieces[0], pieces[-1]
    if len(pieces) == 1:
        return say("allocation.flat", fixed=_piece(first)) if first.flat else _piece(first)
    return say(
        "allocation.two_lines",
        first=_piece(first),
        end=format_bytes(first.to_bytes),
        second=_piece(last),
        start=format_bytes(last.from_bytes),
    )


def _places(curve: CostCurve) -> str:
    """Where no line will do: the times at the smallest size, at 1 MiB and at the largest."""
    first, last = curve.points[0], curve.points[-1]
    points = dict.fromkeys(point for point in (first, curve.at(MIB), last) if point)
    places = enumerated(
        [
            say("allocation.place", time=format_seconds(point.seconds.median), size=format_bytes(point.bytes))
            for point in points
        ]
    )
    if last.seconds.median < _GROWN * first.seconds.median:
        return places
    return say("allocation.grown", places=places, per_mib=format_seconds(last.seconds.median / last.bytes * MIB))


def _piece(piece: CostPiece) -> str:
    fixed, per_mib = format_seconds(piece.fixed.median), format_seconds(piece.per_byte.median * MIB)
    if piece.flat:
        return fixed
    if piece.proportional:
        return say("allocation.per_mib", per_mib=per_mib)
    return say("allocation.line", fixed=fixed, per_mib=per_mib)


def _within(fits: Iterable[CostFit]) -> str:
    """How close those lines are that describe their points: ``(every size within 3 %)``; empty without any."""
    pieces = [piece for fit in fits for piece in fit.pieces]
    if not pieces:
        return ""
    percent = max(1, math.ceil(100 * max(piece.deviation for piece in pieces)))
    outliers = sorted({size for piece in pieces for size in piece.outliers})
    if not outliers:
        return in_brackets(say("allocation.within", percent=percent))
    sizes = enumerated([format_bytes(size) for size in outliers])
    return in_brackets(say("allocation.within_but", percent=percent, sizes=sizes))


def steps_sentence(costs: AllocationCosts, kind: str, touching: str = "") -> str:
    """What getting memory, touching it first and freeing it cost; empty where getting it was not measured.

    `touching` names the first touch, which a curve's cost is of.
    """
    allocate, touch, free = (costs.find(kind, phase) for phase in PHASES)
    if allocate is None:
        return ""
    words = {
        "memory": memory_name(kind),
        "allocate": cost_words(allocate),
        "within": _within(fit_cost(curve) for curve in (allocate, free) if curve),
    }
    if touch and free:
        return say(
            "allocation.allocate_touch_free", touching=touching, touch=cost_words(touch), free=cost_words(free), **words
        )
    if touch:
        return say("allocation.allocate_touch", touching=touching, touch=cost_words(touch), **words)
    if free:
        return say("allocation.allocate_free", free=cost_words(free), **words)
    return say("allocation.allocate", **words)


def factor_words(ratio: float) -> str:
    """A factor as people say it, two digits where it is huge or tiny: ``1.2``, ``7,400``, ``<0.001``."""
    if ratio < 0.00095:
        return "<0.001"
    if ratio < 0.0995:
        return f"{ratio:.2g}"
    if ratio < 1.5:
        return f"{ratio:.2f}"
    if ratio < 9.95:
        return f"{ratio:.1f}"
    return f"{ratio:.0f}" if ratio < 999.5 else f"{float(f'{ratio:.2g}'):,.0f}"


def how_many_times(ratio: float) -> str:
    """``1.2 times``, ``7,400 times``."""
    return say("common.times", factor=factor_words(ratio))


def times_span(gap: CostRatio) -> str:
    """The smallest and the largest ratio: ``3.1 to 7.2 times``."""
    low, high = map(factor_words, gap.span)
    return say("common.times", factor=low) if low == high else say("common.times_range", low=low, high=high)


def ratio_range(gap: CostRatio) -> str:
    """The smallest and the largest ratio with their sizes: ``0.80 (at 256 MiB) to 1.55 times (at 1 MiB)``."""
    by_ratio = sorted(zip((ratio.median for ratio in gap.ratios), gap.sizes, strict=True))
    (low, low_size), (high, high_size) = by_ratio[0], by_ratio[-1]
    if factor_words(low) == factor_words(high):
        return how_many_times(low)
    return say(
        "allocation.range_with_sizes",
        low=factor_words(low),
        low_size=format_bytes(low_size),
        high=factor_words(high),
        high_size=format_bytes(high_size),
    )


def shown_size(sizes: Iterable[int]) -> int:
    """The size to name in a sentence: 64 MiB, or the nearest below it, or the smallest. There must be one."""
    found = sorted(sizes)
    return max((size for size in found if size <= SHOWN_BYTES), default=found[0])
