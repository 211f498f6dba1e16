"""Devices of one host at work together: what they lose together, and which of them share something."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from isthmus.compare import GroupKey
from isthmus.fleet.cells import CellKey, is_link_bound
from isthmus.fleet.gathering import Gathered
from isthmus.fleet.outliers import Outlier
from isthmus.fleet.reading import DeviceRow


@dataclass(frozen=True)
class Contention:
    """A kind of large transfers with the share of its rate that a device of the group loses together with others.

    `by_link` tells that the link is its limit, and not what CPUs copy or pages that move.
    """

    kind: GroupKey
    lost: float
    by_link: bool


def contentions(gathered: Gathered, cells: Mapping[CellKey, Sequence[int]], members: Sequence[int]) -> list[Contention]:
    """Every kind of large transfers of `bandwidth` that was measured alone and together, the largest loss first.

    Each of these members, which had company and a device for themselves, is held against itself, the sizes of a kind
    taken together, and the median over members counts. What went both ways at once counts as a whole, and its ways not
    by themselves once more.
    """
    if not members:
        return []
    columns = np.array(members, np.intp)
    shared = []
    for (_, kind), places in _together(cells).items():
        alone = {gathered.points[place]: place for place in cells.get(CellKey("alone", kind), [])}
        same = ((place, msgspec.structs.replace(gathered.points[place], phase="alone")) for place in places)
        pairs = [(place, alone[point]) for place, point in same if point in alone]
        if not pairs:
            continue
        together, before = (gathered.medians[list(side)][:, columns] for side in zip(*pairs, strict=True))
        ratios = np.log(together / before)
        measured = ratios[:, np.isfinite(ratios).any(axis=0)]
        if measured.shape[1]:
            slowdown = float(np.median(np.nanmedian(measured, axis=0)))
            shared.append(Contention(kind, -math.expm1(-slowdown), is_link_bound(kind)))
    return sorted(shared, key=lambda each: -each.lost)


def with_company(gathered: Gathered, cells: Mapping[CellKey, Sequence[int]]) -> set[int]:
    """The places of devices that were at work while another card of their machine was, in the same launch.

    Those are at work that have a time of a large transfer of `bandwidth` together with others.
    """
    rows = [place for places in _together(cells).values() for place in places]
    at_work = np.flatnonzero(np.isfinite(gathered.medians[rows]).any(axis=0)).tolist() if rows else []
    launches = {place: (gathered.devices[place].machine, gathered.devices[place].fleet) for place in at_work}
    cards = Counter(launch for launch, _ in {(launches[place], gathered.devices[place].card) for place in at_work})
    return {place for place, launch in launches.items() if cards[launch] > 1}


def _together(cells: Mapping[CellKey, Sequence[int]]) -> dict[CellKey, Sequence[int]]:
    """The cells that count."""
    return {
        cell: places
        for cell, places in cells.items()
        if cell.phase == "together"
        and cell.kind.experiment == "bandwidth"
        and cell.kind.size == "large"
        and cell.kind.method != "duplex"
    }


def sharing(devices: Sequence[DeviceRow]) -> set[int]:
    """The places of devices that several ranks measured: together each had a part of it."""
    ranks = Counter((device.machine, device.card) for device in devices)
    return {place for place, device in enumerate(devices) if ranks[device.machine, device.card] > 1}


def with_neighbours(outliers: Iterable[Outlier], devices: Sequence[DeviceRow], shared: set[int]) -> list[Outlier]:
    """The outliers, those that are slow together with others of their host with these as neighbours.

    Devices that ranks `shared` are left as they are.
    """
    kept = list(outliers)
    machines: dict[str, list[int]] = defaultdict(list)
    for outlier in kept:
        if outlier.phases == ("together",) and outlier.device not in shared:
            machines[devices[outlier.device].machine].append(outlier.device)
    return [
        replace(outlier, neighbours=tuple(place for place in sorted(others) if place != outlier.device))
        if outlier.device in (others := machines[devices[outlier.device].machine]) and len(others) > 1
        else outlier
        for outlier in kept
    ]
