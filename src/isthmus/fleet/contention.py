"""What devices lose while the others of their host work, beside what they get alone: the price of what they share."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from isthmus.compare import GroupKey
from isthmus.fleet.cells import CellKey, is_link_bound
from isthmus.fleet.gathering import Gathered
from isthmus.fleet.groups import Group
from isthmus.fleet.switches import sharing

__all__ = ["Contention", "contentions"]


@dataclass(frozen=True)
class Contention:
    """A kind of large transfers with the share of its rate that a device of the group loses together with others.

    `by_link` tells that the link is its limit, and not what CPUs copy or pages that move.
    """

    kind: GroupKey
    lost: float
    by_link: bool


def contentions(gathered: Gathered, cells: Mapping[CellKey, Sequence[int]], group: Group) -> list[Contention]:
    """Every kind of large transfers that was measured alone and together, the largest loss first.

    Each device is held against itself, the sizes of a kind taken together, and the median over devices counts. Those
    without a neighbour say nothing, and no more do ranks that share one device: they take it from each other. What went
    both ways at once counts as a whole, and its ways not by themselves once more.
    """
    members = np.array(_with_neighbours(gathered, group), np.intp)
    if not len(members):
        return []
    found = []
    for (phase, kind), places in cells.items():
        if phase != "together" or kind.size != "large" or kind.method == "duplex":
            continue
        alone = {gathered.points[place]: place for place in cells.get(CellKey("alone", kind), [])}
        same = ((place, replace(gathered.points[place], phase="alone")) for place in places)
        pairs = [(place, alone[point]) for place, point in same if point in alone]
        if not pairs:
            continue
        together, before = (gathered.medians[list(side)][:, members] for side in zip(*pairs, strict=True))
        ratios = np.log(together / before)
        measured = ratios[:, np.isfinite(ratios).any(axis=0)]
        if measured.shape[1]:
            slowdown = float(np.median(np.nanmedian(measured, axis=0)))
            found.append(Contention(kind, -math.expm1(-slowdown), is_link_bound(kind)))
    return sorted(found, key=lambda each: -each.lost)


def _with_neighbours(gathered: Gathered, group: Group) -> list[int]:
    """Members that are not their host's only device, and have it for themselves."""
    cards = {(device.machine, device.card) for device in gathered.devices}
    devices = Counter(machine for machine, _ in cards)
    shared = sharing(gathered.devices)
    return [place for place in group.members if devices[gathered.devices[place].machine] > 1 and place not in shared]
