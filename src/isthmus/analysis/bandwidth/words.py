"""Sentences about a kind of memory: the rate at which it moves, and that rate over another kind's."""

from collections.abc import Sequence

from isthmus.analysis.phrases import (
    direction_name,
    factor_digits,
    link_rate,
    memory_name,
    moved_memory_name,
    range_text,
    spanned,
)
from isthmus.analysis.statistics.contrast import contrasts
from isthmus.analysis.statistics.curve import ONE_WAY, Curve, find
from isthmus.analysis.statistics.shape import LARGE_BYTES, largest, plateau
from isthmus.language import capitalised, enumerated, say
from isthmus.record import Direction, Run, format_bytes, format_rate


def moves(run: Run, curves: Sequence[Curve], kind: str, directions: Sequence[Direction] = ONE_WAY) -> str:
    """``Pinned memory moves 55.5 GB/s H2D and 55.3 GB/s D2H, 88 % of the link.``; empty where it was not measured."""
    known = [curve for direction in directions if (curve := find(curves, direction, kind))]
    if not known:
        return ""
    values = {"name": capitalised(moved_memory_name(kind)), "rates": enumerated([_rate(curve) for curve in known])}
    shares = []
    for curve in known:
        limit, settled = link_rate(run, both=curve.direction == "both"), plateau(curve)
        if limit and settled:
            shares.append(f"{100 * settled.rate.median / limit:.0f} %")
    if len(shares) < len(known):
        return say("bandwidth.moves", **values)
    return say("bandwidth.moves_of_link", **values, shares=enumerated(list(dict.fromkeys(shares))))


def _rate(curve: Curve) -> str:
    """Where the curve levels off, else the rates of its largest sizes."""
    direction, settled = direction_name(curve.direction), plateau(curve)
    if settled:
        return f"{format_rate(settled.rate.median)} {direction}"
    end = largest(curve)
    rates = [point.rate.median for point in end]
    first, last = (format_bytes(point.bytes) for point in (end[0], end[-1]))
    return say(
        "bandwidth.unsettled", rates=range_text(min(rates), max(rates)), direction=direction, sizes=spanned(first, last)
    )


def over(curves: Sequence[Curve], kind: str, other: str, minimum_bytes: int = LARGE_BYTES) -> str:
    """How many times the other kind's rate, in each direction; empty where not both were measured."""
    gaps = contrasts(curves, kind, other, minimum_bytes)
    if not gaps:
        return ""
    if not any(gap.matters for gap in gaps.values()):
        return say("bandwidth.tied", other=memory_name(other))
    factors = [
        f"{factor_digits(gap.ratio)}x {direction_name(direction)}"
        if gap.matters
        else say("bandwidth.tied_way", direction=direction_name(direction))
        for direction, gap in gaps.items()
    ]
    size = format_bytes(minimum_bytes)
    return say("bandwidth.over", other=memory_name(other), size=size, factors=enumerated(factors))
