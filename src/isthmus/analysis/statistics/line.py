"""A latency and a time for each byte: the line of least relative squares through measured times."""

import numpy as np
import numpy.typing as npt

from isthmus.analysis.statistics.curve import Curve
from isthmus.analysis.statistics.resample import Draws, interval_of
from isthmus.record import Interval

# Two sizes lie on a line whatever they are, and say nothing about how well it fits.
_LEAST_SIZES = 3


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
