"""Two curves against each other, size by size: how many times as fast, and from which size on significantly."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from isthmus.analysis.statistics.curve import ONE_WAY, Curve, Point, find
from isthmus.record import Direction, Interval

# A difference below this factor is no reason to change a program.
MATTERS = 1.05


@dataclass(frozen=True)
class Contrast:
    """`fast` over `slow` at the sizes that both have.

    A size counts as faster or slower only where the two 95 % intervals do not overlap. `faster_from` is the smallest
    size from which on every larger size is faster; None when the largest is not. `slower_to` is the largest size up to
    which every smaller one is slower; None when the smallest is not.
    """

    sizes: tuple[int, ...]
    ratios: tuple[float, ...]
    faster: tuple[int, ...]
    slower: tuple[int, ...]

    @property
    def ratio(self) -> float:
        """Median of the ratios over the sizes."""
        return median(self.ratios)

    @property
    def told_apart(self) -> bool:
        """Whether the curves differ, the same way, at more than half of the sizes."""
        return 2 * max(len(self.faster), len(self.slower)) > len(self.sizes)

    @property
    def matters(self) -> bool:
        """Whether the difference is significant and large enough to act on."""
        return self.told_apart and not self.alike

    @property
    def alike(self) -> bool:
        """Whether the typical ratio is too close to 1 to act on."""
        return 1 / MATTERS < self.ratio < MATTERS

    @property
    def faster_from(self) -> int | None:
        """Smallest size from which on the first curve is faster at every size."""
        start = None
        for size in reversed(self.sizes):
            if size not in self.faster:
                break
            start = size
        return start

    @property
    def slower_to(self) -> int | None:
        """Largest size up to which the first curve is slower at every size."""
        end = None
        for size in self.sizes:
            if size not in self.slower:
                break
            end = size
        return end

    @property
    def gained(self) -> dict[int, float]:
        """The ratios of the sizes at which the first curve is faster."""
        return {size: ratio for size, ratio in zip(self.sizes, self.ratios, strict=True) if size in self.faster}

    def span(self, first: int) -> tuple[float, float]:
        """Lowest and highest ratio from size `first` on."""
        chosen = [ratio for size, ratio in zip(self.sizes, self.ratios, strict=True) if size >= first]
        return min(chosen), max(chosen)


def contrast(fast: Curve, slow: Curve, *, minimum_bytes: int = 1) -> Contrast | None:
    """Rates of `fast` over those of `slow` at common sizes of at least `minimum_bytes`; None without a common size."""
    return paired(
        [
            (point.bytes, point, other)
            for point in fast.points
            if point.bytes >= minimum_bytes and (other := slow.at(point.bytes)) is not None
        ]
    )


def paired(pairs: Sequence[tuple[int, Point, Point]]) -> Contrast | None:
    """The first rate of each pair over the second, by size or whatever else pairs ascend by; None without a pair."""
    if not pairs:
        return None
    return Contrast(
        sizes=tuple(size for size, _, _ in pairs),
        ratios=tuple(point.rate.median / other.rate.median for _, point, other in pairs),
        faster=tuple(size for size, point, other in pairs if above(point, other)),
        slower=tuple(size for size, point, other in pairs if above(other, point)),
    )


def contrasts(curves: Sequence[Curve], kind: str, other: str, minimum_bytes: int) -> dict[Direction, Contrast]:
    """`contrast` of two kinds of memory for each one-way direction in which both were measured."""
    by_direction = {}
    for direction in ONE_WAY:
        first, second = find(curves, direction, kind), find(curves, direction, other)
        pair = contrast(first, second, minimum_bytes=minimum_bytes) if first and second else None
        if pair:
            by_direction[direction] = pair
    return by_direction


def above(point: Point, other: Point) -> bool:
    """Whether the first rate is significantly higher: the two 95 % intervals do not overlap, and both are known."""
    is_known = Interval.exists_for(min(len(point.samples), len(other.samples)))
    return is_known and point.rate.low > other.rate.high


def ratio(over: Interval, under: Interval) -> Interval:
    """One figure over another, with all that the ends of both leave room for: at least 95 % of what may be true.

    Where either has no interval, their ratio has none.
    """
    if not (over.is_known and under.is_known):
        return Interval(*[over.median / under.median] * 3)
    return Interval(over.median / under.median, over.low / under.high, over.high / under.low)
