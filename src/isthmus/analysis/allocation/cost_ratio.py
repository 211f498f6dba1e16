"""How many times as much one thing costs as another, size by size, with intervals: certainly more, less, or unknown."""

from dataclasses import dataclass

import numpy as np

from isthmus.analysis.allocation.model import SizedCost
from isthmus.analysis.statistics.resample import interval_of
from isthmus.record import Interval

__all__ = ["CostRatio", "cost_ratio"]

# A difference below this factor is no reason to change a program.
_MATTERS = 1.05


@dataclass(frozen=True)
class CostRatio:
    """First over second cost at the sizes that both have; there is one at least."""

    sizes: tuple[int, ...]
    ratios: tuple[Interval, ...]

    @property
    def typical(self) -> float:
        """Median over the sizes."""
        return float(np.median([ratio.median for ratio in self.ratios]))

    @property
    def span(self) -> tuple[float, float]:
        """The smallest and the largest over the sizes."""
        medians = [ratio.median for ratio in self.ratios]
        return min(medians), max(medians)

    @property
    def told_apart(self) -> bool:
        """Whether one certainly costs more, the same one at more than half of the sizes."""
        dearer = sum(ratio.low > 1 for ratio in self.ratios)
        cheaper = sum(ratio.high < 1 for ratio in self.ratios)
        return 2 * max(dearer, cheaper) > len(self.ratios)

    @property
    def alike(self) -> bool:
        """Whether the ratio is certainly too close to 1 to act on, at every size."""
        return all(ratio.low > 1 / _MATTERS and ratio.high < _MATTERS for ratio in self.ratios)

    @property
    def unknown(self) -> bool:
        """Whether neither certainly costs more at any size."""
        return all(ratio.low <= 1 <= ratio.high for ratio in self.ratios)

    @property
    def inverse(self) -> "CostRatio":
        """Second over first cost."""
        return CostRatio(
            self.sizes, tuple(Interval(1 / ratio.median, 1 / ratio.high, 1 / ratio.low) for ratio in self.ratios)
        )

    def at(self, size: int) -> Interval:
        """The ratio at one of `sizes`."""
        return self.ratios[self.sizes.index(size)]


def cost_ratio(first: SizedCost | None, second: SizedCost | None, *, least_bytes: int = 0) -> CostRatio | None:
    """Their ratio at common sizes of at least `least_bytes`; None without such a size or without one of the two."""
    if first is None or second is None:
        return None
    sizes = tuple(size for size in first.sizes if size in second.sizes and size >= least_bytes)
    if not sizes:
        return None
    quotients = first.only(sizes).draws / second.only(sizes).draws
    return CostRatio(sizes, tuple(interval_of(row) for row in quotients))
