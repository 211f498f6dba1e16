"""Devices of one host that are right alone and slow together: they share something that others have for themselves."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from isthmus.fleet.outliers import Outlier
from isthmus.fleet.reading import DeviceRow

__all__ = ["with_neighbours"]


def with_neighbours(outliers: Iterable[Outlier], devices: Sequence[DeviceRow]) -> list[Outlier]:
    """The outliers, those that are slow together with others of their host with these as neighbours."""
    found = list(outliers)
    machines: dict[str, list[int]] = defaultdict(list)
    for outlier in found:
        if outlier.phases == ("together",):
            machines[devices[outlier.device].machine].append(outlier.device)
    return [
        replace(outlier, neighbours=tuple(place for place in sorted(shared) if place != outlier.device))
        if outlier.phases == ("together",) and len(shared := machines[devices[outlier.device].machine]) > 1
        else outlier
        for outlier in found
    ]
