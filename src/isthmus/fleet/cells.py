"""How much slower than its like each device is, by kind of transfer: the sizes of a kind taken together.

A device's times of one size vary by a few per cent from one measurement to the next; the middle one of many sizes
hardly does, so that kinds tell slow devices from unlucky ones where single sizes do not.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from isthmus.compare import GroupKey, group_key
from isthmus.fleet.reading import Floats
from isthmus.record import Case, Phase, Point, Series, memory_kind

# What machines of one kind differ by, as far as is known before looking: what the link bounds little, what CPUs and
# their neighbours bound much (docs/statistics.md).
_BY_LINK, _BY_OTHERS = 0.03, 0.10


class CellKey(NamedTuple):
    """A kind of transfer, alone or together with the other devices of the host."""

    phase: Phase
    kind: GroupKey


def cells_of(points: Sequence[Point]) -> dict[CellKey, list[int]]:
    """The places of the points of each kind, in the order of the points."""
    cells: dict[CellKey, list[int]] = defaultdict(list)
    for place, point in enumerate(points):
        cells[CellKey(point.phase, group_key(case_of(point)))].append(place)
    return dict(cells)


def case_of(point: Point, seconds: Sequence[float] = ()) -> Case:
    """The case of a point, with these samples if any."""
    return Case(
        experiment=point.experiment,
        method=point.method,
        host_memory=point.host_memory,
        bytes=point.bytes,
        direction=point.direction,
        series=[Series(metric=point.metric, samples=list(seconds))] if seconds else [],
    )


def unseen_spread(kind: GroupKey) -> float:
    """The standard deviation of a kind's times between machines before one has looked at any."""
    return _BY_LINK if is_link_bound(kind) else _BY_OTHERS


def is_link_bound(kind: GroupKey) -> bool:
    """Whether the link is the limit, rather than what CPUs copy, pages that move, or the calls."""
    return kind.size == "large" and memory_kind(kind.host_memory).link_bound


def typical_times(medians: Floats, members: npt.NDArray[np.intp]) -> Floats:
    """The median over these devices of each point; NaN where none of them has it."""
    return np.array([_median(row[members]) for row in medians], np.float32)


def residuals(
    medians: Floats, typical: Floats, members: npt.NDArray[np.intp], cells: Sequence[Sequence[int]]
) -> npt.NDArray[np.float64]:
    """For each cell and device the logarithm of its times over the typical ones: the median over the cell's points.

    NaN for devices that have less than half of the points which the fleet has.
    """
    values = np.full((len(cells), len(members)), np.nan)
    for row, places in enumerate(cells):
        known = [place for place in places if np.isfinite(typical[place])]
        if not known:
            continue
        ratios = np.stack([np.log(medians[place][members] / typical[place]) for place in known], axis=1)
        ratios.sort(axis=1)  # NaN comes last.
        counts = np.isfinite(ratios).sum(axis=1)
        enough = 2 * counts >= len(known)
        each = np.arange(len(members))
        below, above = np.maximum(counts - 1, 0) // 2, np.minimum(counts // 2, len(known) - 1)
        middle = (ratios[each, below] + ratios[each, above]) / 2
        values[row] = np.where(enough, middle, np.nan)
    return values


def _median(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else np.nan
