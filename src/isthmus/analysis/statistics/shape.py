"""The shape of a rate curve: where it settles, where it reaches half of that, how far repeats differ."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
import numpy.typing as npt

from isthmus.analysis.statistics.curve import Curve, Point
from isthmus.analysis.statistics.resample import Draws, interval_of
from isthmus.record import KIB, MIB, Interval

# Up to here a copy is all latency, on every link of the last decade; from there on, steadiness is a matter of rate.
SMALL_BYTES = 4 * KIB
LARGE_BYTES = MIB

_AGREEMENT = 0.05
# Every run has some of these kinds of memory, and verdicts are about them.
_MAIN_KINDS = ("pinned", "pageable", "pageable_isthmus")
# Two sizes lie on a line whatever they are, and say nothing about how well it fits.
_LEAST_SIZES = 3


@dataclass(frozen=True)
class Plateau:
    """Where a curve settles: its rate in bytes per second with an interval, from which size on, out of which sizes."""

    rate: Interval
    from_bytes: int
    to_bytes: int


def largest(curve: Curve) -> list[Point]:
    """The points that decide how a curve ends: from a quarter of its largest size on, at least three if it has them."""
    quarter = [point for point in curve.points if point.bytes * 4 >= curve.points[-1].bytes]
    return quarter if len(quarter) >= 3 else list(curve.points[-3:])


def compared_bytes(curves: Sequence[Curve]) -> int:
    """The size at which a run's kinds of memory are compared: the largest that pinned and pageable memory share.

    Curves that end before 1 MiB do not count where others go further; without a shared size it is the smallest of the
    ends. `curves` has at least one, all with points.
    """
    main = [curve for curve in curves if curve.host_memory in _MAIN_KINDS] or list(curves)
    large = [curve for curve in main if curve.points[-1].bytes >= LARGE_BYTES] or main
    ends = [curve.points[-1].bytes for curve in large]
    shared = set.intersection(*({point.bytes for point in curve.points} for curve in large))
    least = min(LARGE_BYTES, *ends)
    return max((size for size in shared if size >= least), default=min(ends))


def compared_point(curve: Curve, size: int) -> Point:
    """The point of this size, or of the curve's largest where it was not measured."""
    return curve.at(size) or curve.points[-1]


def plateau(curve: Curve) -> Plateau | None:
    """The rate of the largest transfers; None when they do not agree on one, or when there are fewer than two.

    Asked are the points of `largest`. They agree when all but one (of up to three: all; of twenty or more: all but a
    tenth) lie within 5 % of their median, the largest among them. The plateau is the median of those that do, its
    interval runs from the lowest to the highest end of their intervals, and it begins at the smallest of them, or as
    far below as the sizes stay within the same 5 % one after the other.
    """
    asked = largest(curve)
    if len(asked) < 2:
        return None
    center = median(point.rate.median for point in asked)
    agreeing = [point for point in asked if _agrees(point, center)]
    outliers = 0 if len(asked) <= 3 else max(1, len(asked) // 10)
    if len(agreeing) < 2 or asked[-1] not in agreeing or len(asked) - len(agreeing) > outliers:
        return None
    start = agreeing[0].bytes
    if start == asked[0].bytes:
        for point in reversed(curve.points[: -len(asked)]):
            if not _agrees(point, center):
                break
            start = point.bytes
    rate = Interval(
        median(point.rate.median for point in agreeing),
        min(point.rate.low for point in agreeing),
        max(point.rate.high for point in agreeing),
    )
    return Plateau(rate, start, asked[-1].bytes)


@dataclass(frozen=True)
class HalfSize:
    """The size that moves at half of the plateau; `at_most` when the smallest size measured is faster than that."""

    bytes: float
    at_most: bool = False


def half_size(curve: Curve) -> HalfSize | None:
    """Where the curve first reaches half of its plateau, interpolated in logarithms; None without a plateau."""
    settled = plateau(curve)
    if settled is None:
        return None
    sizes = [point.bytes for point in curve.points]
    half = _crossing(sizes, [point.rate.median for point in curve.points], settled.rate.median / 2)
    return HalfSize(half, at_most=half <= sizes[0])


def latency(curve: Curve) -> Interval | None:
    """Time of one small transfer in seconds: the median over the sizes up to 4 KiB; None when there are none.

    The interval runs from the lowest to the highest end of theirs.
    """
    small = [point.seconds for point in curve.points if point.bytes <= SMALL_BYTES]
    if not small:
        return None
    typical = median(seconds.median for seconds in small)
    return Interval(typical, min(seconds.low for seconds in small), max(seconds.high for seconds in small))


def spread(curve: Curve) -> float | None:
    """How far repeats of one size from 1 MiB on differ: 95th over 5th percentile, the median over the sizes."""
    large = [point.spread for point in curve.points if point.bytes >= LARGE_BYTES]
    return median(large) if large else None


def _agrees(point: Point, center: float) -> bool:
    return abs(point.rate.median / center - 1) <= _AGREEMENT


def _crossing(sizes: list[int], rates: list[float], level: float) -> float:
    """First size at which the rates reach `level`; the smallest size if they begin above it, the largest if never."""
    for index, rate in enumerate(rates):
        if rate < level:
            continue
        if index == 0:
            return sizes[0]
        below = rates[index - 1]
        share = math.log(level / below) / math.log(rate / below)
        return float(sizes[index - 1] * (sizes[index] / sizes[index - 1]) ** share)
    return sizes[-1]


def relative_line(sizes: npt.NDArray[np.float64], seconds: Draws) -> tuple[Draws, Draws]:
    """Fixed part and part for each byte of the lines of least relative squares, one for each column of `seconds`.

    Neither is negative: where the best line has a negative part, the best without it is taken. Relative misses count,
    so that microseconds do as much as seconds. A latency and a rate describe a transfer (Hockney, Parallel Computing
    20, 1994: r_inf and n_half). `seconds` has a row for each of the sizes, of which there must be one.
    """
    inverse = 1 / seconds
    rate = sizes[:, np.newaxis] * inverse
    ones, rates = inverse.sum(axis=0), rate.sum(axis=0)
    ones2, mixed, rates2 = (inverse**2).sum(axis=0), (inverse * rate).sum(axis=0), (rate**2).sum(axis=0)
    determinant = ones2 * rates2 - mixed**2
    # A single size determines no line; that it is all rate is the careful guess for anything larger.
    is_line = determinant > 1e-12 * ones2 * rates2
    safe = np.where(is_line, determinant, 1.0)
    fixed = np.where(is_line, (ones * rates2 - rates * mixed) / safe, 0.0)
    per_byte = np.where(is_line, (rates * ones2 - ones * mixed) / safe, rates / rates2)
    falling, rootless = per_byte < 0, fixed < 0
    fixed = np.where(falling, ones / ones2, np.where(rootless, 0.0, fixed))
    per_byte = np.where(falling, 0.0, np.where(rootless, rates / rates2, per_byte))
    return fixed, per_byte


def fixed_and_rate(curve: Curve) -> tuple[Interval, Interval] | None:
    """Fixed seconds and bytes per second of t = a + bytes / b through all sizes of a curve, with 95 % intervals.

    Squares are of relative misses. The bootstrap draws medians from the samples and misses of the line from those of
    all sizes, so that intervals are wide where times lie on no line. None with fewer than three sizes, and where the
    line has no rate or one that is known no better than by itself.
    """
    if len(curve.points) < _LEAST_SIZES:
        return None
    sizes = np.array([float(point.bytes_moved) for point in curve.points])
    seconds = curve.draws.copy()
    fixed, per_byte = relative_line(sizes, seconds[:, :1])
    if per_byte[0] <= 0:
        return None
    line = fixed[0] + sizes * per_byte[0]
    misses = (seconds[:, 0] / line - 1) * np.sqrt(len(sizes) / (len(sizes) - 2))
    drawn = np.random.default_rng(1).choice(misses, (len(sizes), seconds.shape[1] - 1))
    spread = seconds[:, 1:] / seconds[:, :1]
    seconds[:, 1:] = line[:, np.newaxis] * np.maximum(1 + drawn, 0.01) * spread
    fixed, per_byte = relative_line(sizes, seconds)
    rate = interval_of(1 / np.maximum(per_byte, 1e-18))
    return (interval_of(fixed), rate) if rate.relative_half_width < 1 else None
