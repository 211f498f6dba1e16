"""Words about what memory costs: a curve as a fixed part and a part for each MiB, factors, and the size to name."""

import math
from collections.abc import Iterable

from isthmus.model.allocation import CostCurve
from isthmus.model.cost_fit import CostFit, CostPiece, fit_cost
from isthmus.model.cost_ratio import CostRatio
from isthmus.model.phrases import enumerated, times
from isthmus.record import MIB, format_bytes, format_seconds

__all__ = ["SHOWN_BYTES", "costs_text", "how_many_times", "ratio_range", "shown_size", "within_text"]

# Large enough that the part for each byte counts, small enough that every machine measures it.
SHOWN_BYTES = 64 * MIB
# By so much the largest size must take longer for its cost per MiB to mean something.
_GROWN = 10


def costs_text(curve: CostCurve) -> str:
    """What a curve costs, as the rest of a sentence: ``takes 0.50 ms plus 0.36 ms per MiB``."""
    pieces = fit_cost(curve).pieces
    if not pieces:
        return f"takes {_places_text(curve)}"
    first, last = pieces[0], pieces[-1]
    if len(pieces) == 1:
        return f"takes {_piece_text(first)}{' whatever the size' if first.flat else ''}"
    return (
        f"takes {_piece_text(first)} up to {format_bytes(first.to_bytes)} and {_piece_text(last)} from "
        f"{format_bytes(last.from_bytes)} on"
    )


def _places_text(curve: CostCurve) -> str:
    """Where no line will do: the times at the smallest size, at 1 MiB and at the largest."""
    first, last = curve.points[0], curve.points[-1]
    middle = curve.at(MIB)
    points = dict.fromkeys(point for point in (first, middle, last) if point)
    places = [f"{format_seconds(point.seconds.median)} at {format_bytes(point.bytes)}" for point in points]
    text = enumerated(places)
    if last.seconds.median >= _GROWN * first.seconds.median:
        text += f" ({format_seconds(last.seconds.median / last.bytes * MIB)} per MiB there)"
    return text


def _piece_text(piece: CostPiece) -> str:
    if piece.flat:
        return format_seconds(piece.fixed.median)
    per_mib = f"{format_seconds(piece.per_byte.median * MIB)} per MiB"
    return per_mib if piece.proportional else f"{format_seconds(piece.fixed.median)} plus {per_mib}"


def within_text(fits: Iterable[CostFit]) -> str:
    """How close those lines are that describe their points: ``(every size within 3 %)``; empty without any."""
    pieces = [piece for fit in fits for piece in fit.pieces]
    if not pieces:
        return ""
    outliers = sorted({size for piece in pieces for size in piece.outliers})
    sizes = f"all sizes but {enumerated([format_bytes(size) for size in outliers])}" if outliers else "every size"
    return f" ({sizes} within {max(1, math.ceil(100 * max(piece.deviation for piece in pieces)))} %)"


def how_many_times(ratio: float) -> str:
    """A factor as people say it, two digits where it is huge or tiny: ``1.2 times``, ``7,400 times``."""
    if ratio < 0.00095:
        return "under 0.001 times"
    if ratio < 0.0995:
        return f"{ratio:.2g} times"
    if ratio < 999.5:
        return times(ratio, ratio)
    return f"{float(f'{ratio:.2g}'):,.0f} times"


def ratio_range(gap: CostRatio) -> str:
    """The smallest and the largest ratio with their sizes: ``0.80 (at 256 MiB) to 1.55 times (at 1 MiB)``."""
    by_ratio = sorted(zip((ratio.median for ratio in gap.ratios), gap.sizes, strict=True))
    (low, low_size), (high, high_size) = by_ratio[0], by_ratio[-1]
    first, last = how_many_times(low), how_many_times(high)
    if first == last:
        return first
    return f"{first.removesuffix(' times')} (at {format_bytes(low_size)}) to {last} (at {format_bytes(high_size)})"


def shown_size(sizes: Iterable[int]) -> int:
    """The size to name in a sentence: 64 MiB, or the nearest below it, or the smallest. There must be one."""
    found = sorted(sizes)
    return max((size for size in found if size <= SHOWN_BYTES), default=found[0])
