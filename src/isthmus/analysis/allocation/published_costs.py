"""Allocation costs published for a GTX 280 of 2008 beside those of a run, with what the figures say about why.

Source: Keson, "Pinned Memory vs. Non-Pinned Memory", from measurements on a 3.2 GHz Core 2 Extreme with a GTX 280 and
PCI Express 2.0, up to 512 MiB.
"""

from dataclasses import dataclass
from typing import Literal

from isthmus.analysis.allocation.cost_ratio import cost_ratio
from isthmus.analysis.allocation.model import AllocationCosts, Phase
from isthmus.analysis.allocation.words import cost_words, times_span
from isthmus.analysis.statistics.shape import LARGE_BYTES
from isthmus.language import say
from isthmus.record import KIB, MIB, Interval, format_bytes, format_seconds

__all__ = ["PublishedCost", "published_costs"]


@dataclass(frozen=True)
class PublishedCost:
    """One published figure beside the run's.

    Both are ranges in seconds or in times what malloc or free takes; the ends of a single figure are equal, and then
    `interval` is that of the run's. `why` is what the figures say about the difference.
    """

    name: str
    unit: Literal["seconds", "times"]
    published: tuple[float, float]
    here: tuple[float, float]
    interval: Interval | None
    why: str

    @property
    def factor(self) -> tuple[float, float] | None:
        """The run's over the published figure; None where a range was published."""
        low, high = self.published
        return (self.here[0] / low, self.here[1] / low) if low == high else None


def published_costs(costs: AllocationCosts) -> list[PublishedCost]:
    """Those whose sizes and kinds the run has, times first."""
    return [*_times(costs), *_ratios(costs)]


class _Line:
    """The fixed part and that for each MiB on which two published times lie."""

    def __init__(self, small: tuple[int, float], large: tuple[int, float]) -> None:
        self.per_mib = (large[1] - small[1]) / (large[0] - small[0]) * MIB
        self.fixed = small[1] - self.per_mib * small[0] / MIB


_PINNED = {MIB: 2300e-6, 512 * MIB: 61e-3}
_DEVICE = {256: 1e-6, 512 * KIB: 50e-6, 512 * MIB: 12.5e-3}
_PINNED_LINE = _Line(*_PINNED.items())
_DEVICE_LINE = _Line(*list(_DEVICE.items())[1:])


def _times(costs: AllocationCosts) -> list[PublishedCost]:
    found = []
    for call, kind, figures in (("cudaMallocHost", "pinned", _PINNED), ("cudaMalloc", "device", _DEVICE)):
        cost = costs.phase(kind, "allocate")
        for size, seconds in figures.items():
            if cost and size in cost.sizes:
                here = cost.at(size)
                why = _why_pinned(costs) if kind == "pinned" else _why_device(costs, size)
                name = f"{call}, {format_bytes(size)}"
                ends = (here.median, here.median)
                found.append(PublishedCost(name, "seconds", (seconds, seconds), ends, here, why))
    return found


def _why_pinned(costs: AllocationCosts) -> str:
    curve = costs.find("pinned", "allocate")
    if curve is None:
        return ""
    fixed, per_mib = format_seconds(_PINNED_LINE.fixed), format_seconds(_PINNED_LINE.per_mib)
    return say("allocation.why_pinned", fixed=fixed, per_mib=per_mib, here=cost_words(curve))


def _why_device(costs: AllocationCosts, size: int) -> str:
    curve, pool = costs.find("device", "allocate"), costs.find("device_pool", "allocate")
    if curve is None:
        return ""
    if size == min(_DEVICE):
        time = format_seconds(curve.points[0].seconds.median)
        point = pool.at(size) if pool else None
        if point and point.seconds.median <= _DEVICE[size]:
            return say("allocation.why_small_pooled", time=time, pool=format_seconds(point.seconds.median))
        return say("allocation.why_small", time=time)
    return say("allocation.why_device", per_mib=format_seconds(_DEVICE_LINE.per_mib), here=cost_words(curve))


_Bounds = tuple[int, int]
_RATIOS: tuple[tuple[str, str, Phase, _Bounds, tuple[float, float]], ...] = (
    ("cudaMallocHost / malloc", "pinned", "allocate", (1, 512 * MIB), (1e3, 1e5)),
    ("cudaMalloc / malloc < 4 MiB", "device", "allocate", (1, 4 * MIB - 1), (10**1.5, 10**1.5)),
    ("cudaMalloc / malloc >= 4 MiB", "device", "allocate", (4 * MIB, 512 * MIB), (1e2, 1e4)),
    ("cudaFreeHost / free", "pinned", "free", (1, 512 * MIB), (1e3, 1e5)),
    ("cudaFree / free", "device", "free", (1, 512 * MIB), (1e2, 1e3)),
)


def _ratios(costs: AllocationCosts) -> list[PublishedCost]:
    found = []
    for name, kind, phase, (least, most), published in _RATIOS:
        gap = cost_ratio(costs.phase(kind, phase), costs.phase("malloc", phase), least_bytes=least)
        medians = [gap.at(size).median for size in gap.sizes if size <= most] if gap else []
        if medians:
            here = (min(medians), max(medians))
            found.append(PublishedCost(name, "times", published, here, None, _why_ratio(costs, kind, phase)))
    return found


def _why_ratio(costs: AllocationCosts, kind: str, phase: Phase) -> str:
    """What malloc or free takes itself, said once, and the ratio to memory that is there, which says more."""
    curve = costs.find("malloc", phase)
    if curve is None or kind != "pinned":
        return ""
    if phase == "free":
        return say("allocation.why_free", here=cost_words(curve))
    fair = cost_ratio(costs.whole(kind), costs.whole("pageable"), least_bytes=LARGE_BYTES)
    if fair:
        return say("allocation.why_malloc_fair", here=cost_words(curve), times=times_span(fair))
    return say("allocation.why_malloc", here=cost_words(curve))
