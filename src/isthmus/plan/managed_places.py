"""Times at shares of an array that were not measured, from those at shares that were."""

import math
from collections.abc import Mapping, Sequence

from isthmus.record import Interval


def at_share(measured: Mapping[float, Interval], share: float, *, levels: bool) -> Interval:
    """Seconds where a share is touched, from seconds by share.

    Between two shares the time is a line: so much in any case, and so much for each byte. With `levels`, it is known
    to stop growing where touches come so close that everything moves: the growth before is then followed until it
    meets the time at the next share, and is a power of the share. A larger share never takes less, and at most in
    proportion to it, which bounds what lies beyond all that was measured. The interval between two shares holds what
    each measured share would have been predicted with, had it not been measured.
    """
    if share in measured:
        return measured[share]
    shares = sorted(measured)
    if not shares[0] < share < shares[-1]:
        return _beyond(measured, shares, share)
    found = _between(measured, shares, share, levels)
    off = _held_out(measured, shares, levels)
    return Interval(found.median, found.low / (1 + off), found.high * (1 + off))


def _between(measured: Mapping[float, Interval], shares: Sequence[float], share: float, levels: bool) -> Interval:
    above = next(place for place, each in enumerate(shares) if each >= share)
    low, high = shares[above - 1], shares[above]
    if not levels:
        part = (share - low) / (high - low)
        return Interval(*((1 - part) * a + part * b for a, b in zip(measured[low], measured[high], strict=True)))
    before = _slope(measured, shares[above - 2], low) if above > 1 else None
    growth = _slope(measured, low, high)
    if before is not None and before > growth:
        # The growth before, followed on, exceeds the next time: somewhere between it has become level.
        return Interval(
            *(min(a * (share / low) ** before, max(a, b)) for a, b in zip(measured[low], measured[high], strict=True))
        )
    part = math.log(share / low) / math.log(high / low)
    return Interval(*(a ** (1 - part) * b**part for a, b in zip(measured[low], measured[high], strict=True)))


def _beyond(measured: Mapping[float, Interval], shares: Sequence[float], share: float) -> Interval:
    """Along the last slope, between not growing at all and growing in proportion to the share.

    From a single share nobody knows the slope: it is taken to be the worse of the two, so that a way is not chosen for
    what is hoped of it.
    """
    end, neighbour = (shares[0], shares[1:2]) if share < shares[0] else (shares[-1], shares[-2:-1])
    factor = share / end
    slope = _slope(measured, *sorted((end, neighbour[0]))) if neighbour else float(factor > 1)
    return Interval(
        measured[end].median * factor**slope,
        measured[end].low * min(factor, 1.0),
        measured[end].high * max(factor, 1.0),
    )


def _slope(measured: Mapping[float, Interval], low: float, high: float) -> float:
    """Of the logarithm over that of the share, within what can be."""
    slope = math.log(measured[high].median / measured[low].median) / math.log(high / low)
    return min(max(slope, 0.0), 1.0)


def _held_out(measured: Mapping[float, Interval], shares: Sequence[float], levels: bool) -> float:
    """Median relative error of the shares with neighbours on both sides, each predicted without itself; else 0."""
    errors = []
    for left_out in shares[1:-1]:
        others = [each for each in shares if each != left_out]
        predicted = _between(measured, others, left_out, levels).median
        errors.append(abs(math.log(predicted / measured[left_out].median)))
    return math.expm1(sorted(errors)[len(errors) // 2]) if errors else 0.0
