"""What the paper measured on a V100, what this machine did instead, and what its own figures say about why.

Source: IPSJ SIG Technical Report 2020-HPC-177 No. 13, sections 5.1 and 5.2: an array of 8 GiB, OpenACC, Tesla V100, PCI
Express 3.0. Of its bars for all of the array the ratios alone are printed.
"""

from typing import NamedTuple

from isthmus.analysis.managed.model import ManagedPoint, Movement
from isthmus.analysis.managed.thresholds import ON_DEMAND, WHOLE_COPIES
from isthmus.analysis.managed.words import phases_words
from isthmus.analysis.statistics.contrast import MATTERS, ratio
from isthmus.language import enumerated, say, sentences
from isthmus.record import GIB, KIB, Interval, format_bytes, format_rate, format_seconds

__all__ = [
    "PAPER_BOTH_RATIO",
    "PAPER_BYTES",
    "PAPER_DENSE_RATIO",
    "PAPER_DENSE_SECONDS",
    "PAPER_EXPLICIT_SECONDS",
    "PAPER_PERCENT",
    "PAPER_STRIDE",
    "PAPER_STRIDE_RATIO",
    "PAPER_STRIDE_SECONDS",
    "PAPER_WHOLE_RATIO",
    "MovedWhole",
    "TouchCost",
    "moved_whole",
    "phases_told",
    "touch_cost",
    "touches_told",
]

PAPER_BYTES = 8 * GIB
# Managed wins up to about this share, and from about this stride on.
PAPER_PERCENT = 60
PAPER_STRIDE = 128 * KIB
# Explicit whatever the stride; managed at the threshold, and at denser strides.
PAPER_EXPLICIT_SECONDS = 2.03
PAPER_STRIDE_SECONDS = 1.65
PAPER_DENSE_SECONDS = 2.6
PAPER_STRIDE_RATIO = PAPER_STRIDE_SECONDS / PAPER_EXPLICIT_SECONDS
PAPER_DENSE_RATIO = PAPER_DENSE_SECONDS / PAPER_EXPLICIT_SECONDS
# All of the array: directives with managed memory over directives alone, and over managed memory alone, as printed.
# Their quotient is managed over explicit.
PAPER_BOTH_RATIO = 1.44
PAPER_WHOLE_RATIO = PAPER_BOTH_RATIO / 0.99


class MovedWhole(NamedTuple):
    """All of the array touched: copied from pageable memory and on demand.

    Rates are bytes of the array over the time of a phase, which holds the device's computing or the CPU's adding up.
    """

    bytes: int
    explicit: ManagedPoint
    managed: ManagedPoint

    @property
    def ratio(self) -> Interval:
        """On demand over explicit."""
        return ratio(self.managed.seconds, self.explicit.seconds)

    def rate(self, seconds: Interval) -> float:
        """Bytes per second of one of the phases."""
        return self.bytes / seconds.median


class TouchCost(NamedTuple):
    """Seconds that each further double adds to the phase in, between two strides of at least 128 KiB."""

    sparse: int
    dense: int
    seconds: float


def moved_whole(movement: Movement) -> MovedWhole | None:
    """Section 5.1 on this machine; None where one of the two was not measured with all of the array."""
    explicit, managed = movement.at(WHOLE_COPIES[0], 100), movement.at(ON_DEMAND, 100)
    if movement.pattern != "percent" or explicit is None or managed is None:
        return None
    return MovedWhole(movement.bytes, explicit, managed)


def touch_cost(movement: Movement) -> TouchCost | None:
    """What each further double between two strides of at least 128 KiB costs; None where the figures do not tell.

    Pages of up to 2 MiB move at once at most, but it is the time of the touches that is divided, whatever they move.
    """
    strides = [place for place in movement.curves.get(ON_DEMAND, {}) if place >= PAPER_STRIDE]
    if movement.pattern != "stride" or len(strides) < 2:
        return None
    points = movement.curves[ON_DEMAND]
    dense, sparse = strides[-2], strides[-1]
    more = -(-movement.bytes // dense) - -(-movement.bytes // sparse)
    if more <= 0 or points[dense].into.low <= points[sparse].into.high:
        return None
    return TouchCost(sparse, dense, (points[dense].into.median - points[sparse].into.median) / more)


def phases_told(whole: MovedWhole) -> str:
    """What both phases took in both ways, at which rates, and which of them makes the difference."""
    explicit, managed = whole.explicit, whole.managed
    told = say(
        "managed.phases_told",
        explicit=phases_words(explicit.into, explicit.out),
        managed=phases_words(managed.into, managed.out),
        explicit_in=format_rate(whole.rate(explicit.into)),
        explicit_out=format_rate(whole.rate(explicit.out)),
        managed_in=format_rate(whole.rate(managed.into)),
        managed_out=format_rate(whole.rate(managed.out)),
    )
    gaps = {
        "in": managed.into.median - explicit.into.median,
        "out": managed.out.median - explicit.out.median,
    }
    total = sum(gaps.values())
    phase = max(gaps, key=lambda name: abs(gaps[name]))
    if 1 / MATTERS < whole.ratio.median < MATTERS:
        return told
    share = gaps[phase] / total
    if share > MATTERS:
        # One phase gains what the other loses in part, so that no share of the sum says anything.
        return sentences([told, say(f"managed.opposite_{phase}")])
    return sentences([told, say(f"managed.share_{phase}", percent=100 * min(share, 1))])


def touches_told(movement: Movement) -> str:
    """How the phase in falls with the stride, and what a touch more costs; empty where there is nothing to compare."""
    points = movement.curves.get(ON_DEMAND, {})
    if len(points) < 2:
        return ""
    dense, *others = points
    shares = [
        say(
            "managed.share_at",
            percent=100 * points[place].into.median / points[dense].into.median,
            stride=format_bytes(place),
        )
        for place in others
    ]
    told = say(
        "managed.touches_told",
        time=format_seconds(points[dense].into.median),
        dense=format_bytes(dense),
        shares=enumerated(shares),
        percent=100 * dense / others[-1],
    )
    cost = touch_cost(movement)
    if cost is None:
        return told
    sparse, denser, time = format_bytes(cost.sparse), format_bytes(cost.dense), format_seconds(cost.seconds)
    return sentences([told, say("managed.touch_cost", sparse=sparse, dense=denser, time=time)])
