"""Rates of pageable and pinned copies as a CUDA article published them, to put measured ones beside.

"Host pinned and pageable memory: test of copies to and from a device, results and analysis" (in Chinese, by jielahou):
one cudaMemcpy of each size, 160 MiB to 3040 MiB in steps of 160 MiB; the device is not named, its pinned rate looks
like PCIe 4.0 x16.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from isthmus.analysis.statistics.curve import Curve, bandwidth_curves, find
from isthmus.record import MIB, Run

__all__ = ["PublishedRates", "published_rates"]

_Way = Literal["h2d", "d2h"]
# GB/s in the order of the sizes.
_PUBLISHED: Mapping[tuple[str, _Way], tuple[float, ...]] = {
    ("pageable", "h2d"): (
        *(9.40, 10.24, 10.30, 3.52, 10.53, 4.55, 10.66, 10.46, 3.39, 3.22),
        *(3.23, 7.77, 10.47, 3.20, 10.27, 10.47, 3.23, 11.40, 9.36),
    ),
    ("pageable", "d2h"): (
        *(6.21, 8.07, 3.56, 7.96, 5.48, 8.00, 8.08, 8.09, 8.05, 4.59),
        *(4.78, 3.23, 3.06, 4.24, 3.49, 3.30, 4.24, 3.76, 3.04),
    ),
    ("pinned", "h2d"): (
        *(25.37, 25.39, 25.40, 25.42, 25.42, 25.43, 25.43, 25.43, 25.26, 25.44),
        *(25.44, 25.44, 25.43, 25.32, 25.44, 25.12, 25.44, 25.44, 25.44),
    ),
    ("pinned", "d2h"): (
        *(26.35, 26.38, 26.38, 26.39, 26.40, 26.39, 26.40, 26.40, 26.40, 26.40),
        *(26.40, 26.40, 26.40, 26.39, 26.40, 26.40, 26.40, 26.40, 26.40),
    ),
}
# The published sizes begin at 160 MiB; the nearest power of two below belongs to them.
_FROM_BYTES = 128 * MIB


@dataclass(frozen=True)
class PublishedRates:
    """Smallest and largest published rate of one kind and way, and those of a run's sizes from 128 MiB on.

    Rates in bytes per second; `gain` is by how much the slowest and the fastest pinned rate of a size exceed that of
    pageable memory, for pinned memory alone.
    """

    memory: str
    direction: _Way
    published: tuple[float, float]
    measured: tuple[float, float] | None
    published_gain: tuple[float, float] | None = None
    measured_gain: tuple[float, float] | None = None


def published_rates(run: Run) -> list[PublishedRates]:
    """One entry for each kind and way that were published; empty where the run has none of them at such sizes."""
    curves = bandwidth_curves(run)
    found = []
    for (memory, way), rates in _PUBLISHED.items():
        curve = find(curves, way, memory)
        measured = _large_rates(curve)
        gains = measured_gains = None
        if memory == "pinned":
            gains = _span([fast / slow for fast, slow in zip(rates, _PUBLISHED["pageable", way], strict=True)])
            slow = _large_rates(find(curves, way, "pageable"))
            measured_gains = _span([rate / slow[size] for size, rate in measured.items() if size in slow])
        published = (min(rates) * 1e9, max(rates) * 1e9)
        found.append(PublishedRates(memory, way, published, _span([*measured.values()]), gains, measured_gains))
    return found if any(each.measured for each in found) else []


def _large_rates(curve: Curve | None) -> dict[int, float]:
    points = curve.points if curve else ()
    return {point.bytes: point.rate.median for point in points if point.bytes >= _FROM_BYTES}


def _span(values: list[float]) -> tuple[float, float] | None:
    return (min(values), max(values)) if values else None
