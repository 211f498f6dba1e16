"""Words about what memory costs: a curve as a fixed part and a part for each MiB, factors, and the size to name."""

import math
from collections.abc import Iterable

from isthmus.model.allocation import CostCurve
from isthmus.model.cost_fit import TOLERANCE, CostFit, CostPiece, fit_cost
from isthmus.model.phrases import times
from isthmus.record import MIB, format_bytes, format_seconds

__all__ = ["SHOWN_BYTES", "costs_text", "how_many_times", "shown_size", "within_text"]

# Large enough that the part for each byte counts, small enough that every machine measures it.
SHOWN_BYTES = 64 * MIB


def costs_text(curve: CostCurve) -> str:
    """What a curve costs, as the rest of a sentence: ``takes 0.50 ms plus 0.36 ms per MiB``."""
    fit = fit_cost(curve)
    if len(fit.pieces) == 1:
        whatever = " whatever the size" if fit.pieces[0].flat else ""
        return f"takes {_piece_text(fit.pieces[0])}{whatever}"
    if fit.pieces:
        first, second = fit.pieces
        return (
            f"takes {_piece_text(first)} up to {format_bytes(first.to_bytes)} and {_piece_text(second)} from "
            f"{format_bytes(second.from_bytes)} on"
        )
    places = " and ".join(
        f"{format_seconds(point.seconds.median)} at {format_bytes(point.bytes)}"
        for point in dict.fromkeys((curve.points[0], curve.points[-1]))
    )
    if len(curve.points) < 3:
        return f"takes {places}"
    return f"takes {places}, and {_growth_text(curve)}"


def _growth_text(curve: CostCurve) -> str:
    """Where no line will do: what a MiB costs from the size on at which the time has doubled."""
    start = curve.points[0].seconds.median
    grown = [point for point in curve.points if point.seconds.median >= 2 * start]
    no_line = f"no straight line comes within {100 * TOLERANCE:.0f} % of the sizes between"
    if not grown:
        return no_line
    per_mib = [point.seconds.median / point.bytes * MIB for point in grown]
    low, high = format_seconds(min(per_mib)), format_seconds(max(per_mib))
    return f"{no_line}: from {format_bytes(grown[0].bytes)} on a MiB costs {low} to {high}"


def _piece_text(piece: CostPiece) -> str:
    if piece.flat:
        return format_seconds(piece.fixed.median)
    per_mib = f"{format_seconds(piece.per_byte.median * MIB)} per MiB"
    return per_mib if piece.proportional else f"{format_seconds(piece.fixed.median)} plus {per_mib}"


def within_text(fits: Iterable[CostFit]) -> str:
    """How close those lines are that describe their points: ``(every size within 3 %)``; empty without any."""
    deviations = [piece.deviation for fit in fits for piece in fit.pieces]
    return f" (every size within {max(1, math.ceil(100 * max(deviations)))} %)" if deviations else ""


def how_many_times(ratio: float) -> str:
    """A factor as people say it, two digits where it is huge or tiny: ``1.2 times``, ``7,400 times``."""
    if ratio < 0.0995:
        return f"{ratio:.2g} times"
    if ratio < 999.5:
        return times(ratio, ratio)
    return f"{float(f'{ratio:.2g}'):,.0f} times"


def shown_size(sizes: Iterable[int]) -> int:
    """The size to name in a sentence: 64 MiB, or the nearest below it, or the smallest. There must be one."""
    found = sorted(sizes)
    return max((size for size in found if size <= SHOWN_BYTES), default=found[0])
