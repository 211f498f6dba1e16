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
    """Every kind of large transfers of `bandwidth` that was measured alone and together, the largest loss first.

    Each device is held against itself, the sizes of a kind taken together, and the median over devices counts. Those
    without a neighbour say nothing, and no more do ranks that share one device: they take it from each other. What went
    both ways at once counts as a whole, and its ways not by themselves once more.
    """
    wanted = {cell: places for cell, places in cells.items() if cell.phase == "together" and _counts(cell.kind)}
    rows = [place for places in wanted.values() for place in places]
    members = np.array(_with_neighbours(gathered, group, rows), np.intp)
    if not len(members):
        return []
    found = []
    for (_, kind), places in wanted.items():
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


def _counts(kind: GroupKey) -> bool:
    return kind.experiment == "bandwidth" and kind.size == "large" and kind.method != "duplex"


def _with_neighbours(gathered: Gathered, group: Group, rows: Sequence[int]) -> list[int]:
    """Members that had a device for themselves and another one of their launch at work beside them.

    Those are at work that have a time at one of these `rows` of points.
    """
    devices, shared = gathered.devices, sharing(gathered.devices)
    at_work = np.flatnonzero(np.isfinite(gathered.medians[list(rows)]).any(axis=0)).tolist() if rows else []
    cards = {(devices[place].machine, devices[place].fleet, devices[place].card) for place in at_work}
    beside = Counter((machine, launch) for machine, launch, _ in cards)
    working = {place for place in at_work if beside[devices[place].machine, devices[place].fleet] > 1} - shared
    return [place for place in group.members if place in working]
