"""Devices of one host that are right alone and slow together: they share something that others have for themselves."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from isthmus.fleet.outliers import Outlier
from isthmus.fleet.reading import DeviceRow


def sharing(devices: Sequence[DeviceRow]) -> set[int]:
    """The places of devices that several ranks measured: together each had a part of it."""
    ranks = Counter((device.machine, device.card) for device in devices)
    return {place for place, device in enumerate(devices) if ranks[device.machine, device.card] > 1}


def with_neighbours(outliers: Iterable[Outlier], devices: Sequence[DeviceRow], shared: set[int]) -> list[Outlier]:
    """The outliers, those that are slow together with others of their host with these as neighbours.

    Of those devices that ranks `shared`, that says enough.
    """
    found = list(outliers)
    machines: dict[str, list[int]] = defaultdict(list)
    for outlier in found:
        if outlier.phases == ("together",) and outlier.device not in shared:
            machines[devices[outlier.device].machine].append(outlier.device)
    return [
        replace(outlier, neighbours=tuple(place for place in sorted(others) if place != outlier.device))
        if outlier.device in (others := machines[devices[outlier.device].machine]) and len(others) > 1
        else outlier
        for outlier in found
    ]
