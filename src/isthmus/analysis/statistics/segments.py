"""Where a method changes its pace: latency and rate by stretches of sizes, with breakpoints found in the data."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from isthmus.analysis.statistics.resample import DRAWS, Draws, interval_of
from isthmus.record import Interval

__all__ = ["Segment", "breakpoints", "fit_segments", "relative_line"]

# A line takes two points; with a third it could be wrong.
_LEAST_POINTS = 3
# No method of the last decade changes its pace more often; it bounds the work for sweeps of a thousand sizes.
_MOST_SEGMENTS = 8
# Smaller misses part no segments: they matter to no program, and small transfers that are measured again at another
# moment differ by as much.
_FLOOR = 0.05
# Steps of Gauss and Newton: the last one changes lines by less than a thousandth.
_STEPS = 4

_Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Segment:
    """seconds = `fixed` + `per_byte` x bytes from one measured size to another, both included and neither negative.

    Both hold the estimate and its draws; `scatter` is the standard deviation of the points from it, as a share.
    """

    from_bytes: int
    to_bytes: int
    scatter: float
    fixed: Draws = field(repr=False, compare=False)
    per_byte: Draws = field(repr=False, compare=False)

    @property
    def latency(self) -> Interval:
        """Seconds that do not depend on the size."""
        return interval_of(self.fixed)

    @property
    def rate(self) -> Interval | None:
        """Bytes per second of what does; None where that time may be none at all."""
        per_byte = interval_of(self.per_byte)
        if per_byte.low <= 0:
            return None
        return Interval(1 / per_byte.median, 1 / per_byte.high, 1 / per_byte.low)

    def at(self, size: float) -> Draws:
        """Seconds of the line at any size."""
        found: Draws = self.fixed + self.per_byte * size
        return found


def breakpoints(segments: Sequence[Segment]) -> list[tuple[int, int]]:
    """The two neighbouring measured sizes between which each change of pace lies."""
    return [(before.to_bytes, after.from_bytes) for before, after in pairwise(segments)]


def fit_segments(sizes: Sequence[int], seconds: Draws) -> tuple[Segment, ...]:
    """The fewest lines in bytes that describe seconds (a row for each of the ascending sizes), one after the other.

    A latency and a rate describe a transfer (Hockney, Parallel Computing 20, 1994: r_inf and n_half), and a protocol
    that changes with the size makes several such lines with jumps between them (Hoefler, Lichei and Rehm 2007,
    doi 10.1109/IPDPS.2007.370593). Least is the sum of squares of the misses in the logarithm of time, so that
    microseconds count as much as seconds. Where the breakpoints lie is found by dynamic
    programming over all of them (Bai and Perron 2003, doi 10.1002/jae.659), how many there are by the Bayesian
    information criterion (Yao 1988, doi 10.1016/0167-7152(88)90118-6). A segment has at least three sizes.

    The draws are those of the points, scattered as the points are about the line: sizes that were measured at different
    moments differ by more than the samples of one moment tell. Breakpoints are the same in every draw.

    `fit_cost` asks another question of allocations: whether one line or two describe them well enough to be stated.

    Raises ValueError without sizes.
    """
    if not sizes:
        raise ValueError("a fit needs at least one size")
    places = np.asarray(sizes, dtype=np.float64)
    starts = _starts(_costs(places, seconds[:, 0]))
    return tuple(
        _segment(sizes[start:end], places[start:end], seconds[start:end])
        for start, end in pairwise([*starts, len(sizes)])
    )


def relative_line(sizes: _Array, seconds: Draws) -> tuple[Draws, Draws]:
    """Fixed part and part for each byte of the lines of least relative squares, one for each column of `seconds`."""
    return _lines(_moments(sizes[:, np.newaxis], seconds).sum(axis=1))


def _costs(sizes: _Array, seconds: _Array) -> _Array:
    """Sum of squares of relative misses of the best line from one point (row) to another (column); inf where none."""
    count = len(sizes)
    costs = np.full((count, count), np.inf)
    for start in range(count):
        # Summed from each start anew: of a difference of sums from the smallest size on, rounding would leave nothing.
        sums = np.cumsum(_moments(sizes[start:], seconds[start:]), axis=1)
        fixed, per_byte = _lines(sums)
        costs[start, start:] = np.maximum(_misses(sums, fixed, per_byte), 0.0)
    short = np.arange(count)[np.newaxis, :] - np.arange(count)[:, np.newaxis] + 1 < min(_LEAST_POINTS, count)
    costs[short] = np.inf
    return costs


def _starts(costs: _Array) -> list[int]:
    """Index of the first point of each segment, for the number of segments with the least criterion."""
    count = len(costs)
    best, before = [costs[0]], [np.zeros(count, dtype=np.int64)]
    for _ in range(1, min(_MOST_SEGMENTS, count // _LEAST_POINTS)):
        # Rows: where the last segment starts; columns: where it ends.
        ways = np.vstack([np.full(count, np.inf), best[-1][:-1, np.newaxis] + costs[1:]])
        before.append(np.argmin(ways, axis=0))
        best.append(np.min(ways, axis=0))
    # Each segment has two parameters, and a place where it begins.
    criteria = [
        count * np.log(each[-1] / count + _FLOOR**2) + (3 * number - 1) * np.log(count)
        for number, each in enumerate(best, 1)
    ]
    starts: list[int] = []
    end = count - 1
    for number in range(int(np.argmin(criteria)), -1, -1):
        starts.insert(0, int(before[number][end]))
        end = starts[0] - 1
    return starts


def _segment(sizes: Sequence[int], places: _Array, seconds: Draws) -> Segment:
    count = len(sizes)
    fixed, per_byte = _logarithmic_lines(places, seconds[:, :1])
    misses = np.log(seconds[:, 0] / (fixed + per_byte * places))
    scatter = float(np.sqrt(np.sum(misses**2) / max(count - 2, 1)))
    # Seeded by the data: the same in every process, and different for every segment.
    random = np.random.default_rng(zlib.crc32(np.ascontiguousarray(seconds[:, 0]).tobytes()))
    scattered = seconds.copy()
    scattered[:, 1:] *= random.lognormal(0.0, scatter, (count, DRAWS))
    fixed, per_byte = _logarithmic_lines(places, scattered)
    return Segment(sizes[0], sizes[-1], scatter, fixed, per_byte)


def _logarithmic_lines(sizes: _Array, seconds: Draws) -> tuple[Draws, Draws]:
    """Lines of least squares in the logarithm of time, one for each column of `seconds`.

    By Gauss and Newton from the lines of least relative misses, which lie below where points scatter widely: a point
    of half the time misses by as much as one of twice the time in the logarithm, and by half as much relatively.
    """
    column = sizes[:, np.newaxis]
    fixed, per_byte = relative_line(sizes, seconds)
    for _ in range(_STEPS):
        line = fixed + per_byte * column
        fixed, per_byte = _lines(_moments(column, line, 1 + np.log(seconds / line)).sum(axis=1))
    return fixed, per_byte


def _moments(sizes: _Array, seconds: _Array, target: float | _Array = 1.0) -> _Array:
    """What sums of squares of (line / seconds - target) are made of, along the first axis, for each point."""
    inverse = 1 / seconds
    rate = sizes * inverse
    aim = target * np.ones_like(rate)
    found: _Array = np.stack([aim**2, aim * inverse, aim * rate, inverse**2, inverse * rate, rate**2])
    return found


def _lines(sums: _Array) -> tuple[_Array, _Array]:
    """Fixed part and part for each byte of the lines of least squares, of which neither is negative."""
    _, inverse, rate, inverse2, mixed, rate2 = sums
    determinant = inverse2 * rate2 - mixed**2
    # A single size determines no line; that it is all rate is the careful guess for anything larger.
    is_line = determinant > 1e-12 * inverse2 * rate2
    safe = np.where(is_line, determinant, 1.0)
    fixed = np.where(is_line, (inverse * rate2 - rate * mixed) / safe, 0.0)
    per_byte = np.where(is_line, (rate * inverse2 - inverse * mixed) / safe, rate / rate2)
    # Where the best line has a negative part, the best without one has none of that part.
    falling, rootless = per_byte < 0, fixed < 0
    fixed = np.where(falling, inverse / inverse2, np.where(rootless, 0.0, fixed))
    per_byte = np.where(falling, 0.0, np.where(rootless, rate / rate2, per_byte))
    return fixed, per_byte


def _misses(sums: _Array, fixed: _Array, per_byte: _Array) -> _Array:
    target, inverse, rate, inverse2, mixed, rate2 = sums
    found: _Array = (
        target
        - 2 * (fixed * inverse + per_byte * rate)
        + fixed**2 * inverse2
        + 2 * fixed * per_byte * mixed
        + per_byte**2 * rate2
    )
    return found
